"""One node, for all p and t: what a rule makes of a sampled token X ~ t, and of its siblings, has law p.

p and t are unknown laws on V tokens; t has no mass on the m head tokens. The slots of the node come from the drafting
method, the token from the rule: the programs themselves run, on symbolic numbers. Below the node nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.exact.law import Law, point
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.drafting.rheo import Expansion
from rheo_proof.schemes.drafting.rheo import Rheo as RheoDrafting
from rheo_proof.schemes.scheme import Parameters, Scheme
from rheo_proof.schemes.tree import Tree
from rheo_proof.schemes.verifying.flow import Flow, Mass, Revealing
from rheo_proof.schemes.tree import Node
from rheo_proof.theorems.polynomials import Space
from rheo_proof.theorems.regions import Point, Region
from rheo_proof.theorems.symbolic_run import SymbolicReplay, explored, outcomes
from rheo_proof.theorems.symbols import simplex, simplex_law, unknown, vanishes

KEPT = {
    "X": "heads and X kept",
    "all": "every slot kept",
    "pruned": "heads kept, X pruned",
}
"""What is kept below the node."""


@dataclass(frozen=True)
class Node1:
    """A rule at one node: V tokens, the first m of them heads, and which slots are kept.

    `scaled`: p on the tail is written as (1 - p(head)) r, so that what RRSw compares, r with t, is linear. `ordered`:
    the tail is sorted by t, as drafting sorts it; needed where a refutation is to be a draft tree.
    """

    vocab: int
    head: int
    kept: str
    scaled: bool = False
    ordered: bool = False

    @property
    def slots(self) -> int:
        """K that makes exactly the slots that are kept."""
        return {"X": self.head + 1, "all": self.vocab, "pruned": self.head}[self.kept]

    @property
    def space(self) -> Space:
        """The unknowns: all entries of p but the last, all entries of t on the tail but the last."""
        tail = range(self.head, self.vocab - 1)
        p = [f"p{i}" for i in range(self.head)] + [f"{'r' if self.scaled else 'p'}{i}" for i in tail]
        return Space([[*p, *(f"t{i}" for i in tail)]])

    def whole(self) -> Region:
        """All p and t."""
        space = self.space
        n, m = self.vocab - 1, self.head
        one = space.constant(ONE)
        entries = [space.unknown(i) for i in range(len(space.names))]
        sums = [entries[:m], entries[m:n]] if self.scaled and m else [entries[:n]]
        weak = [one - sum(part, 0) for part in (*sums, entries[n:]) if part]
        if self.ordered and entries[n:]:
            t = [*entries[n:], one - sum(entries[n:], 0)]
            weak += [a - b for a, b in zip(t, t[1:], strict=False)]
        return Region.whole(space, weak)

    def laws(self, region: Region) -> tuple[Law, Law]:
        """p and t."""
        n, m = self.vocab - 1, self.head
        t = Law([*(ZERO,) * m, *simplex(region, range(n, n + n - m))])
        if not (self.scaled and m):
            return simplex_law(region, range(n)), t
        heads = [unknown(region, i) for i in range(m)]
        s = ONE - sum(heads, ZERO)
        return Law([*heads, *(s * r for r in simplex(region, range(m, n)))]), t

    def draft(self, t: Law) -> Law:
        """A draft law that has this tail law and these heads: 1/(m + 1) on each head, the same on the whole tail."""
        share = Q(1, self.head + 1)
        return Law([*(share,) * self.head, *(share * x for x in t.probs[self.head :])])


def token_law(
    scheme: Scheme, case: Node1, p: Law, t: Law, draft: Law | None, limits: Limits
) -> list[Any]:
    """The law of the token produced at the node: mean over X ~ t, all coins and draws.

    `draft` is the row that a rule gets which asks for it; None for the rules of the specification, which may not.
    """

    def q(prefix: Prefix) -> Law:
        if draft is None:
            raise SoundnessError("a rule asked for the draft's row, which the statement does not fix")
        return draft

    model = ToyModel(case.vocab, 1, lambda u: p if not u else point(0, case.vocab), q)
    law: list[Any] = [ZERO] * case.vocab
    start: dict[Any, Any] = {}
    for tree, weight in outcomes(partial(_tree, scheme.drafting, case, t)):
        state = scheme.verifying.start(model, tree)
        start[state] = start[state] + weight if state in start else weight
    finals = explored(
        lambda state, chance: scheme.verifying.step(model, state, chance), start, lambda s: _token(s) is not None, limits
    )
    for state, weight in finals.items():
        y = _token(state)
        assert y is not None
        law[y] = law[y] + weight
    return law


def _tree(drafting: Any, case: Node1, t: Law, chance: Any) -> Tree:
    """The slots of the node, in insertion order."""
    q, m = case.draft(t), case.head
    at = Expansion(q, tuple(range(m)), tuple(range(m, case.vocab)), Q(1, m + 1), t, ZERO)
    if case.kept == "pruned":
        at = at._replace(t=None, tail=())
    return Tree(tuple(node for _, node in drafting.slots_of(at, (), chance, 0, 0)))


def _token(state: Any) -> int | None:
    """The token produced at the node, once it is known."""
    if isinstance(state, Emission):
        first = (*state.prefix, state.token)[0]
        assert isinstance(first, int)
        return first
    prefix = getattr(getattr(state, "walk", state), "prefix", ())
    return prefix[0] if prefix else None


def differences(scheme: Scheme, case: Node1, limits: Limits, reads_draft: bool, region: Region) -> list[Any]:
    """Pr[token is y] - p(y) for every y: all 0 iff the statement holds in the region."""
    p, t = case.laws(region)
    law = token_law(scheme, case, p, t, case.draft(t) if reads_draft else None, limits)
    return [mass - wanted for mass, wanted in zip(law, p, strict=True)]


def signature(case: Node1, region: Region) -> tuple[Any, ...]:
    """What a region says of p and t that does not change when heads, or tail tokens, change places."""
    p, t = case.laws(region)
    if case.scaled and case.head:
        p = Law([*p.probs[: case.head], *p.probs[case.head :]])
    signs = [tuple(sorted(region.signs(d.above))) if hasattr(d := a - b, "above") else (0,) for a, b in zip(p, t, strict=True)]
    return (*sorted(signs[: case.head]), "|", *sorted(signs[case.head :]))


def cases(rule: str, vocab: int, heads: tuple[int, ...] | None) -> Iterator[Node1]:
    """The cases of a rule: every m, X kept alone, with fills, or pruned. Without a tail there is no X."""
    for m in range(vocab) if heads is None else [m for m in heads if m < vocab]:
        for kept in KEPT:
            case = Node1(vocab, m, kept, scaled=rule == "rrsw")
            if case.slots and not (kept == "all" and case.slots == m + 1):
                yield case


def scheme_of(case: Node1, parameters: Parameters) -> Parameters:
    """The parameters of a scheme that drafts exactly the slots of the case, one layer deep."""
    return replace(parameters, slots=case.slots, head=case.head, depth=1, beam=None, nodes=case.slots)


def numbers(case: Node1, region: Region, at: Point) -> ToyModel:
    """The model at a rational point: one layer, p and the draft's law at the root, uniform targets below."""
    p, t = (Law(x if not hasattr(x, "at") else x.at(at) for x in law) for law in case.laws(region))
    uniform = Law([Q(1, case.vocab)] * case.vocab)
    q = case.draft(t)
    return ToyModel(case.vocab, 1, lambda u: uniform if u else p, lambda u: q, "the point")


def flow_space(vocab: int) -> Region:
    """w p as unknowns v, with 0 < w = sum v <= 1, and t."""
    space = Space([[*(f"v{i}" for i in range(vocab)), *(f"t{i}" for i in range(vocab - 1))]])
    v, t = ([space.unknown(i) for i in part] for part in (range(vocab), range(vocab, 2 * vocab - 1)))
    one = space.constant(ONE)
    return Region.whole(space, [one - sum(v, 0), *([one - sum(t, 0)] if t else [])], [sum(v, 0)])


def flow_differences(verifying: Flow, vocab: int, region: Region) -> list[Any]:
    """(M) for the reveal of a sampled slot X ~ t at a node u of mass w.

    Mean over X of the new mass, minus the old one, of: every token at u, X's node included; and all else, 1 - w.
    """
    v = [unknown(region, i) for i in range(vocab)]
    w = sum(v, ZERO)
    p = Law(x / w for x in v)
    t = simplex_law(region, range(vocab, 2 * vocab - 1))
    model = ToyModel(vocab, 1, lambda u: p, lambda u: t)
    start = (Mass((), (), w), Mass((vocab,), (0,), ONE - w))
    means: list[Any] = [ZERO] * (vocab + 1)
    for x in range(vocab):
        if vanishes(t[x]):
            continue
        state = verifying.reveal(model, Revealing(start, (Node((0,), x, "sampled", t),)), SymbolicReplay())
        done = {mass.path: mass for mass in state.done}
        masses = [done[()].of(p, y) for y in range(vocab)]
        masses[x] = done[(0,)].c if (0,) in done else ZERO
        masses.append(done[(vocab,)].c if (vocab,) in done else ZERO)
        means = [mean + t[x] * mass for mean, mass in zip(means, masses, strict=True)]
    return [mean - wanted for mean, wanted in zip(means, [*v, ONE - w], strict=True)]


def check_rheo(scheme: Scheme) -> RheoDrafting:
    """The drafting method. Raises `InputError` if it is not RheoSampling's."""
    if not isinstance(scheme.drafting, RheoDrafting):
        raise InputError("the node statement needs a scheme on RheoSampling's tree")
    return scheme.drafting
