"""SpecHub: the optimal plan of two drafts of which one is the hub (Sun et al., arXiv 2411.05289)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.walk import Walk, Walking


class Plan(NamedTuple):
    """What each pair gives: (x, h) passes x with `first`[x] = m1(x)/A(x), else h with `hub_second` = m4/S1.

    (h, x) passes x with `second`[x] = m2(x)/B(x), else h with `hub_first` = m3/S2; `left` is p without all of these.
    """

    first: tuple[Q, ...]
    second: tuple[Q, ...]
    hub_first: Q
    hub_second: Q
    left: tuple[Q, ...]


@dataclass(frozen=True)
class SpecHub(Walking):
    """At u with the pair (X_1, X_2): the other token is tried first, then the hub h; else y ~ norm(what is left of p).

    Expects the pairs of `drafting/spechub.py`: of two children one is the best token of the law of the first one. A
    single child, the only token of its draft, is taken with probability p(h). The repository of the authors has a
    `shortcut` of 999/1000: where p(h) is above it h is taken outright, which is off by 1 - p(h) at that node.
    """

    shortcut: Q = ONE

    def __post_init__(self) -> None:
        shortcut = rational(self.shortcut, "shortcut")
        if not ZERO <= shortcut <= ONE:
            raise InputError(f"shortcut is {shortcut}, expected a probability from 0 to 1")
        object.__setattr__(self, "shortcut", shortcut)

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """One coin: for the other token, then for the hub; or the last draw."""
        if not walk.children:
            return self.last_draw(model, walk, (), chance)
        q = walk.children[0].law
        assert q is not None
        h, p = hub_of(q), model.target(walk.prefix)
        pair = [chance.value(child.token) for child in walk.children]
        if p[h] > self.shortcut:
            return self.move(model, (*walk.prefix, h), walk.children[pair.index(h)].children)
        at = plan(p, q, h)
        tries = [(slot, (at.second if slot else at.first)[x]) for slot, x in enumerate(pair) if x != h]
        tries.append((pair.index(h), at.hub_first if pair[0] == h else at.hub_second))
        slot, a = tries[walk.tested]
        if chance.coin(a, ("coin", len(walk.prefix), walk.tested)):
            return self.move(model, (*walk.prefix, pair[slot]), walk.children[slot].children)
        if walk.tested + 1 < len(tries):
            return Walk(walk.prefix, walk.r, walk.children, walk.tested + 1)
        return Walk(walk.prefix, normalised(at.left), (), walk.tested + 1)


def hub_of(q: Law) -> int:
    """The best token of q, the smaller one of equal ones."""
    return max(q.support, key=lambda x: (q[x], -x))


@lru_cache(maxsize=1 << 12)
def plan(p: Law, q: Law, h: int) -> Plan:
    """The plan: m1 = min(p, A), m2 = min(p - m1, B) off the hub; m3 = min(p(h), S2), m4 = min(p(h) - m3, S1).

    A(x) = q(x) and B(x) = q(h) q(x) / (1 - q(h)) are the probabilities of the pairs (x, h) and (h, x).
    """
    tokens = range(len(p))
    if q[h] == ONE:
        off = tuple(ZERO for _ in tokens)
        return Plan(off, off, p[h], ZERO, tuple(ZERO if x == h else p[x] for x in tokens))
    A = [ZERO if x == h else q[x] for x in tokens]
    B = [q[h] * mass / (ONE - q[h]) for mass in A]
    m1 = [min(p[x], A[x]) for x in tokens]
    m2 = [min(p[x] - m1[x], B[x]) for x in tokens]
    S1, S2 = sum(A, ZERO) - sum(m1, ZERO), sum(B, ZERO) - sum(m2, ZERO)
    m3 = min(p[h], S2)
    m4 = min(p[h] - m3, S1)
    return Plan(
        tuple(share(m1[x], A[x]) for x in tokens),
        tuple(share(m2[x], B[x]) for x in tokens),
        share(m3, S2),
        share(m4, S1),
        tuple(p[x] - (m3 + m4 if x == h else m1[x] + m2[x]) for x in tokens),
    )


def share(part: Q, whole: Q) -> Q:
    """part / whole; 0 of nothing."""
    return part / whole if whole else ZERO
