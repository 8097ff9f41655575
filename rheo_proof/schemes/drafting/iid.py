"""K independent draws at every node, with replacement, as a list (SpecInfer, arXiv 2305.09781; SpecTr, 2310.15141)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, Q
from rheo_proof.schemes.drafting.growing import Child, Draw, Growing, at_least_1
from rheo_proof.schemes.tree import Path


@dataclass(frozen=True)
class Iid(Growing):
    """`slots` children of every node, each drawn from q(.|u); a repeated token is listed again."""

    slots: int
    depth: int

    def __post_init__(self) -> None:
        at_least_1(slots=self.slots, depth=self.depth)

    def children(self, model: ToyModel, prefix: Prefix, place: Path, draw: Draw) -> Sequence[Child]:
        """X_1, ..., X_K ~ q."""
        q = model.draft(prefix)
        return [Child(draw(q), q) for _ in range(self.slots)]

    def tuples(self, q: Law) -> dict[tuple[int, ...], Q]:
        """The law D of the list of children: what optimal transport is about."""
        law: dict[tuple[int, ...], Q] = {(): ONE}
        for _ in range(self.slots):
            law = {(*seen, x): mass * q[x] for seen, mass in law.items() for x in q.support}
        return law
