"""A chain: one draw after the other (Leviathan et al., arXiv 2211.17192; Chen et al., arXiv 2302.01318)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.schemes.drafting.growing import Child, Draw, Growing
from rheo_proof.schemes.tree import Path


@dataclass(frozen=True)
class Chain(Growing):
    """x_i ~ q(.|x_1 .. x_{i-1}) for i = 1 .. `depth`; a token with q below `floor` is kept and is the last one.

    The stop looks at kept tokens only, so it is harmless; to drop the unlikely token itself is not.
    """

    depth: int
    floor: Q = ZERO

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise InputError(f"depth is {self.depth}, expected at least 1")
        floor = rational(self.floor, "floor")
        if not ZERO <= floor <= ONE:
            raise InputError(f"floor is {floor}, expected a probability from 0 to 1")
        object.__setattr__(self, "floor", floor)

    def children(self, model: ToyModel, prefix: Prefix, place: Path, draw: Draw) -> Sequence[Child]:
        """One draw, or none behind an unlikely token."""
        if prefix and model.draft(prefix[:-1])[prefix[-1]] < self.floor:
            return []
        q = model.draft(prefix)
        return [Child(draw(q), q)]
