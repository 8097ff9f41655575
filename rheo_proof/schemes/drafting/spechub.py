"""SpecHub's pairs of drafts: one of the two is always the hub (Sun et al., arXiv 2411.05289)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law, without
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import Q
from rheo_proof.schemes.drafting.growing import Child, Draw, Growing
from rheo_proof.schemes.tree import Path


@dataclass(frozen=True)
class SpecHub(Growing):
    """Two children of every node: X_1 ~ q; then X_2 ~ q without the hub h if X_1 = h, else X_2 = h.

    The hub is the draft's best token, the smaller one of equal ones. A draft that knows only the hub gives one child.
    """

    depth: int

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise InputError(f"depth is {self.depth}, expected at least 1")

    def children(self, model: ToyModel, prefix: Prefix, place: Path, draw: Draw) -> Sequence[Child]:
        """The pair; the first child carries q, from which a rule can tell the hub."""
        q = model.draft(prefix)
        h, first = hub(q), Child(draw(q), q)
        if first.token != h:
            return [first, Child(h)]
        if len(q.support) == 1:
            return [first]
        rest = without(q, (h,))
        return [first, Child(draw(rest), rest)]

    def tuples(self, q: Law) -> dict[tuple[int, ...], Q]:
        """The law D of the pair: A(x) = q(x) for (x, h), B(x) = q(h) q(x) / (1 - q(h)) for (h, x)."""
        h, others = hub(q), [x for x in q.support if x != hub(q)]
        if not others:
            return {(h,): q[h]}
        law: dict[tuple[int, ...], Q] = {(x, h): q[x] for x in others}
        law.update({(h, x): q[h] * q[x] / (1 - q[h]) for x in others})
        return law


def hub(q: Law) -> int:
    """The most likely token of q, the smaller one of equal ones.

    >>> hub(Law.read(["3/10", "1/10", "3/5"]))
    2
    """
    return min(q.support, key=lambda x: (-q[x], x))
