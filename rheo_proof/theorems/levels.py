"""RheoSampling node by node: what a verification accepts there, and what any verification of that node could.

A node holds a head, a sampled token X ~ t, and fills. Its optimum is one of transport (`transport.py`), for two laws of
candidates: "head plus X" only, and all slots. With nothing pruned, RheoVerification attains the first and, unless fills
count, the second.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ZERO, Q, to_fraction
from rheo_proof.exact.replay import replay
from rheo_proof.exact.step import StepLaw
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.theorems.transport import Tuples, by_subsets


class Level(NamedTuple):
    """A node u at which the walk can stand, or all nodes of one depth together.

    `arrival`: probability that the walk gets to u; `accepted`: that it then goes on to a child. `head_and_x` and
    `optimum`: the most any lossless rule accepts at u, of head and X only and of all slots.
    """

    prefix: Prefix
    arrival: Fraction
    accepted: Fraction
    head_and_x: Fraction
    optimum: Fraction

    @property
    def gap(self) -> Fraction:
        """What is missing to the optimum of all slots."""
        return self.optimum - self.accepted


def candidates(drafting: Rheo, q: Law, fills: bool = True) -> Tuples:
    """The law D of the children of a node with draft law q, in slot order, found by running the drafting program.

    Without `fills`, of head and sampled token only.

    >>> law = candidates(Rheo(3, 1, 1, 3, 3), Law.read(["1/2", "1/4", "1/8", "1/8"]))
    >>> {tokens: str(mass) for tokens, mass in law.items()}
    {(0, 1, 2): '1/2', (0, 2, 1): '1/4', (0, 3, 1): '1/4'}
    """
    at = drafting.expansion(q)
    return replay(
        lambda chance: tuple(
            chance.value(node.token)
            for _, node in drafting.slots_of(at, (), chance, 0, 0)
            if fills or node.kind != "fill"
        )
    )


def head_and_x(drafting: Rheo, p: Law, q: Law) -> Q:
    """p(head) + sum over the tail of min(p, t): the optimum of "head plus X" in closed form (arXiv 2502.18779).

    >>> str(head_and_x(Rheo(2, 1, 1, 2, 2), Law.read(["1/2", "3/10", "1/5"]), Law.read(["3/10", "1/10", "3/5"])))
    '19/20'
    """
    at = drafting.expansion(q)
    overlap = sum((min(p[x], at.t[x]) for x in at.tail), ZERO) if at.t is not None else ZERO
    return p.mass(at.head) + overlap


def all_slots(drafting: Rheo, p: Law, q: Law) -> Q:
    """The optimum of all slots in closed form: p(x_1 .. x_{K-1}) + sum over the other tokens of min(p, t').

    x_1 .. x_{K-1}, the best tokens of the draft, are always among the candidates. The last slot holds X where X is not
    one of them, else x_K: t' is t, with all that t has on x_{m+1} .. x_{K-1} moved to x_K.

    >>> str(all_slots(Rheo(2, 0, 1, 2, 2), Law.read(["1/4", "3/4", "0"]), Law.read(["1/2", "1/4", "1/4"])))
    '1'
    """
    at = drafting.expansion(q)
    if at.t is None:
        return p.mass(at.head)
    cut = drafting.slots - 1 - len(at.head)
    fills, rest = at.tail[:cut], at.tail[cut:]
    last = {x: at.t[x] for x in rest}
    if rest:
        last[rest[0]] += at.t.mass(fills)
    return p.mass((*at.head, *fills)) + sum((min(p[x], mass) for x, mass in last.items()), ZERO)


def rrsw_acceptance(drafting: Rheo, p: Law, q: Law) -> Q:
    """p(head) + sum over the tail of min(p, p(tail) t): what RRSw accepts of head and X, which it tests in this order.

    >>> str(rrsw_acceptance(Rheo(2, 1, 1, 2, 2), Law.read(["1/2", "3/10", "1/5"]), Law.read(["3/10", "1/10", "3/5"])))
    '9/10'
    """
    at = drafting.expansion(q)
    if at.t is None:
        return p.mass(at.head)
    left = 1 - p.mass(at.head)
    return p.mass(at.head) + sum((min(p[x], left * at.t[x]) for x in at.tail), ZERO)


def visits(law: StepLaw, vocab: int) -> dict[Prefix, Q]:
    """Probability that the walk gets to u, for every prefix u of an accepted string; shorter ones first."""
    found: dict[Prefix, Q] = {}
    for string, mass in law.strings(vocab):
        for length in range(len(string)):
            found[string[:length]] = found.get(string[:length], ZERO) + Q(mass.numerator, mass.denominator)
    return {u: found[u] for u in sorted(found, key=lambda u: (len(u), u))}


def levels(scheme: Scheme, model: ToyModel) -> list[Level]:
    """Every node at which the walk can stand, from the exact step law; the transport optima are cross-checked.

    Raises `InputError` unless the drafting is RheoSampling's with room for every node, for otherwise what is kept at a
    node depends on other nodes, and no optimum of that node alone says anything.

    >>> from rheo_proof.exact.toys import toy
    >>> from rheo_proof.schemes.verifying.rheo import Rheo as RheoVerification
    >>> found = levels(Scheme(Rheo(slots=2, head=0, depth=1, beam=2, nodes=2), RheoVerification()), toy(1))
    >>> [(level.accepted, level.head_and_x, level.optimum, level.gap) for level in found]
    [(Fraction(4, 5), Fraction(3, 5), Fraction(4, 5), Fraction(0, 1))]
    """
    drafting = scheme.drafting
    if not isinstance(drafting, Rheo) or not keeps_all(drafting):
        raise InputError("levels: the drafting is not RheoSampling's, or its beam or budget may prune nodes")
    at = visits(law_by_classes(scheme, model), model.vocab)
    found = []
    for u, arrival in at.items():
        if len(u) == drafting.depth:
            continue
        p, q = model.target(u), model.draft(u)
        onward = sum((mass for x, mass in at.items() if x[:-1] == u and x), ZERO)
        best = by_subsets(p, candidates(drafting, q, fills=False)).acceptance
        if best != head_and_x(drafting, p, q):
            raise SoundnessError(f"{u}: transport gives {best}, the closed form {head_and_x(drafting, p, q)}")
        optimum = by_subsets(p, candidates(drafting, q)).acceptance
        if optimum != all_slots(drafting, p, q):
            raise SoundnessError(f"{u}: transport gives {optimum}, the closed form {all_slots(drafting, p, q)}")
        numbers = (arrival, onward / arrival, best, optimum)
        found.append(Level(u, *map(to_fraction, numbers)))
    return found


def keeps_all(drafting: Rheo) -> bool:
    """Whether beam and budget have room for every node."""
    sizes = [drafting.slots**layer for layer in range(1, drafting.depth + 1)]
    return bool(drafting.beam >= max([1, *sizes[:-1]]) and drafting.nodes >= sum(sizes))


def by_depth(nodes: list[Level]) -> list[Level]:
    """The nodes of each depth joined, weighted by how often the walk gets there; their prefix is written as ().

    `arrival` at the next depth is `arrival` times `accepted` of this one.
    """
    joined = []
    for depth in sorted({len(level.prefix) for level in nodes}):
        here = [level for level in nodes if len(level.prefix) == depth]
        arrival = sum((level.arrival for level in here), Fraction(0))
        shares = [level.arrival / arrival for level in here]
        pairs = list(zip(shares, here, strict=True))
        accepted = sum((share * level.accepted for share, level in pairs), Fraction(0))
        best = sum((share * level.head_and_x for share, level in pairs), Fraction(0))
        joined.append(Level((), arrival, accepted, best, sum((s * level.optimum for s, level in pairs), Fraction(0))))
    return joined
