"""Greedy drafts: the best n - 1 tokens of the draft and one drawn from the others (Hu et al., arXiv 2502.18779)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheo_proof.exact.law import Law, without
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, Q
from rheo_proof.schemes.drafting.growing import Child, Draw, Growing, at_least_1
from rheo_proof.schemes.tree import Path


@dataclass(frozen=True)
class Greedy(Growing):
    """Children of every node: T, the best `slots` - 1 tokens of q, and one Y ~ t = norm(q off T).

    No Y where T holds all that q has. This is one node of RheoSampling's tree with m = K - 1.
    """

    slots: int
    depth: int

    def __post_init__(self) -> None:
        at_least_1(slots=self.slots, depth=self.depth)

    def children(self, model: ToyModel, prefix: Prefix, place: Path, draw: Draw) -> Sequence[Child]:
        """T in decreasing order of q, then Y."""
        top, t = self.split(model.draft(prefix))
        made = [Child(x) for x in top]
        return made if t is None else [*made, Child(draw(t), t)]

    def split(self, q: Law) -> tuple[tuple[int, ...], Law | None]:
        """T and t.

        >>> Greedy(2, 1).split(Law.read(["3/10", "1/10", "3/5"]))
        ((2,), Law(3/4, 1/4, 0))
        """
        top = best_first(q)[: self.slots - 1]
        if len(top) == len(q.support):
            return top, None
        return top, without(q, top) if top else q

    def tuples(self, q: Law) -> dict[tuple[int, ...], Q]:
        """The law D of the list of children."""
        top, t = self.split(q)
        return {top: ONE} if t is None else {(*top, y): t[y] for y in t.support}


def best_first(q: Law) -> tuple[int, ...]:
    """The tokens of positive q in decreasing order, the smaller one of equal ones first.

    >>> best_first(Law.read(["3/10", "0", "7/10"]))
    (2, 0)
    """
    return tuple(sorted(q.support, key=lambda x: (-q[x], x)))
