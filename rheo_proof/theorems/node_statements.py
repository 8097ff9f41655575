"""One node, for all p and t: the token that a rule makes of X ~ t and of the other slots has law p.

p and t are unknown laws on V tokens; t has no mass on the m head tokens. The slots come from the drafting method's own
program, the token from the rule's, both run on symbolic numbers. What happens below the node plays no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law, point
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.drafting.expansion import Expansion
from rheo_proof.schemes.drafting.rheo import Rheo as RheoDrafting
from rheo_proof.schemes.scheme import Parameters, Scheme
from rheo_proof.schemes.tree import Tree
from rheo_proof.theorems.cutting import by_permutation
from rheo_proof.theorems.polynomials import Poly, Space
from rheo_proof.theorems.regions import Point, Region
from rheo_proof.theorems.regionwise import lossless, placed
from rheo_proof.theorems.symbolic_run import Weighted, explored, outcomes
from rheo_proof.theorems.symbols import at_point, numerator, simplex, unknown
from rheo_proof.theorems.unread import UnreadLaw, without_what_is_below

KEPT = {"X": "heads and X kept", "some": "some fills, too", "all": "every slot kept", "pruned": "heads kept, X pruned"}
"""What is kept below the node."""
EVERY_FILL = 4
"""Up to so many tokens, every number of fills is run; beyond, none and all."""


@dataclass(frozen=True)
class Case:
    """V tokens, the first m of them heads, and which slots are kept.

    `scaled`: p on the tail is written as (1 - p(head)) r, so that what RRSw compares, r with t, is linear. `ordered`:
    t falls along the tail, as drafting sorts it; a refutation must be a draft tree. `fills`: how many if only "some".
    """

    vocab: int
    head: int
    kept: str
    scaled: bool = False
    ordered: bool = False
    fills: int = 0

    @property
    def slots(self) -> int:
        """K that makes exactly the slots that are kept."""
        k = self.head + 1
        return {"X": k, "some": k + self.fills, "all": self.vocab, "pruned": self.head}[self.kept]

    def whole(self) -> Region:
        """All p and t."""
        n, m = self.vocab - 1, self.head
        names = [f"{'r' if self.scaled and m <= i else 'p'}{i}" for i in range(n)]
        space = Space([[*names, *(f"t{i}" for i in range(m, n))]])
        one = space.constant(ONE)
        entries = [space.unknown(i) for i in range(len(space.names))]
        simplices = [entries[:m], entries[m:n]] if self.scaled else [entries[:n]]
        weak = [one - sum(part, 0) for part in (*simplices, entries[n:]) if part]
        if self.ordered and entries[n:]:
            t = [*entries[n:], one - sum(entries[n:], 0)]
            weak += [a - b for a, b in pairwise(t)]
        return Region.whole(space, weak)

    def parts(self, every_order: bool) -> list[Region]:
        """All p and t, or so many that each p and t is a rearrangement of the tail tokens of some."""
        if every_order:
            return [self.whole()]
        return by_permutation(self.whole(), lambda region: [[poly] for poly in self.compared(region)])

    def laws(self, region: Region) -> tuple[Law, Law]:
        """p and t."""
        n, m = self.vocab - 1, self.head
        t = Law([*(ZERO,) * m, *simplex(region, range(n, n + n - m))])
        if not self.scaled:
            return Law(simplex(region, range(n))), t
        heads = [unknown(region, i) for i in range(m)]
        s = ONE - sum(heads, ZERO)
        return Law([*heads, *(s * r for r in simplex(region, range(m, n)))]), t

    def compared(self, region: Region) -> list[Poly]:
        """What the rules compare on the tail, token by token: p - t, or r - t."""
        n, m = self.vocab - 1, self.head
        p, t = self.laws(region)
        left = simplex(region, range(m, n)) if self.scaled else p.probs[m:]
        return [numerator(region, a - b) for a, b in zip(left, t.probs[m:], strict=True)]

    def shape(self, region: Region) -> tuple[Any, ...]:
        """What a region says of p and t that stays when heads, or tail tokens, change places."""
        p, _ = self.laws(region)
        heads = [numerator(region, x) for x in p.probs[: self.head]]
        rest = numerator(region, ONE - p.mass(range(self.head)))

        def signs(polys: list[Poly]) -> list[tuple[int, ...]]:
            return sorted(tuple(sorted(region.signs(poly))) for poly in polys)

        return (*signs(heads), *signs([rest]), *signs(self.compared(region)))

    def draft(self, t: Law) -> Law:
        """A draft law with this tail law and these heads: 1/(m + 1) on each head, the same on the whole tail."""
        share = Q(1, self.head + 1)
        return Law([*(share,) * self.head, *(share * x for x in t.probs[self.head :])])

    def parameters(self, base: Parameters) -> Parameters:
        """Those of a scheme that drafts exactly these slots, one layer deep."""
        return replace(base, slots=self.slots, head=self.head, depth=1, beam=None, nodes=self.slots)

    def model(self, region: Region, at: Point, order: Sequence[int] = ()) -> ToyModel:
        """p and the draft's law at a rational point, uniform targets below; the tokens in another order, if given."""
        tokens = order or range(self.vocab)
        p, t = (Law(at_point(law[x], at) for x in tokens) for law in self.laws(region))
        uniform = Law([Q(1, self.vocab)] * self.vocab)
        q = self.draft(t)
        return ToyModel(self.vocab, 1, lambda u: uniform if u else p, lambda u: q, "the point")


def cases(rule: str, vocab: int, heads: tuple[int, ...] = (), ordered: bool = False) -> Iterator[Case]:
    """Every m below V, or those given; X kept with no fills, some, or all, or pruned. With `ordered`, not with some."""
    for m in heads or range(vocab):
        scaled = rule == "rrsw" and m > 0 and not ordered
        for kept in KEPT:
            most = vocab - m - 2 if vocab <= EVERY_FILL and not ordered else 0
            for fills in range(1, most + 1) if kept == "some" else (0,):
                case = Case(vocab, m, kept, scaled, ordered, fills)
                if m < vocab and case.slots and not (kept == "all" and case.slots == m + 1):
                    yield case


def checked(scheme: Scheme, case: Case, orders: Sequence[Sequence[int]], region: Region, at: Point) -> int:
    """Ask the exact prover at a point, the tokens in several orders. Raises `SoundnessError` if it finds a bias."""
    return sum(
        lossless(scheme, case.model(region, at, order), f"{placed(region, at)}, tokens {order}") for order in orders
    )


def differences(
    scheme: Scheme, case: Case, limits: Limits, reads_draft: bool, region: Region
) -> list[tuple[Prefix, Any]]:
    """Pr[token is y] - p(y) for every y: all 0 iff the statement holds in the region.

    A rule of the specification may not read the draft's row or what is below the node, which the statement leaves
    open. A fault may: nothing is kept below, and the target's rows there are those of one model.
    """
    p, t = case.laws(region)
    draft = case.draft(t) if reads_draft else None

    below = point(0, case.vocab) if reads_draft else UnreadLaw(case.vocab)

    def q(prefix: Prefix) -> Law:
        if draft is None:
            raise SoundnessError("a rule asked for the draft's row")
        return draft

    model = ToyModel(case.vocab, 1, lambda u: below if u else p, q)
    start = Weighted()
    assert isinstance(scheme.drafting, RheoDrafting)
    for tree, weight in outcomes(partial(_tree, scheme.drafting, case, t)):
        state = scheme.verifying.start(model, tree)
        start.add(state if reads_draft else without_what_is_below(state), weight)
    law: list[Any] = [ZERO] * case.vocab
    finals = explored(
        lambda state, chance: scheme.verifying.step(model, state, chance),
        start,
        lambda state: _token(state) is not None,
        limits,
    )
    for state, weight in finals.items():
        y = _token(state)
        assert y is not None
        law[y] = law[y] + weight
    return [((y,), mass - wanted) for y, (mass, wanted) in enumerate(zip(law, p, strict=True))]


def _tree(drafting: RheoDrafting, case: Case, t: Law, chance: Chance) -> Tree:
    """The slots of the node, in the order of insertion."""
    m = case.head
    at = Expansion(case.draft(t), tuple(range(m)), tuple(range(m, case.vocab)), Q(1, m + 1), t, ZERO)
    if case.kept == "pruned":
        at = at._replace(t=None)
    return Tree(tuple(node for _, node in drafting.slots_of(at, (), chance, 0, 0)))


def _token(state: Any) -> int | None:
    """The token produced at the node, once it is known."""
    prefix = getattr(getattr(state, "walk", state), "prefix", ())
    if not prefix and isinstance(state, Emission):
        prefix = (state.token,)
    return prefix[0] if prefix else None
