"""Trees of fixed shape, written as index tuples (Medusa, arXiv 2401.10774; EAGLE-1, arXiv 2401.15077)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.schemes.drafting.greedy import best_first
from rheo_proof.schemes.drafting.growing import Child, Draw, Growing
from rheo_proof.schemes.drafting.without_replacement import draws
from rheo_proof.schemes.tree import Path

Shape: TypeAlias = tuple[tuple[int, ...], ...]
"""One tuple of child indices for each node, the root left out; indices count from 0."""


@dataclass(frozen=True)
class Static(Growing):
    """The node (i_1, .., i_d) is child i_d of the node (i_1, .., i_{d-1}), counted from 0; indices may be left out.

    Child i is the i-th best token of the draft law of its parent (Medusa: a deterministic tree), or with `sampled`
    the i-th draw without replacement from it (EAGLE-1), which carries the law it was drawn from given all earlier
    draws, those outside the shape included. Medusa's heads see no drafted token: a model of them has draft laws that
    depend on the length of the prefix alone. Raises `InputError` unless every parent is in the shape.
    """

    shape: Shape
    sampled: bool = False
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        nodes = set(self.shape)
        if not nodes or len(nodes) < len(self.shape):
            raise InputError(f"shape is {self.shape}, expected at least one index tuple, and none twice")
        for node in self.shape:
            if not node or min(node) < 0:
                raise InputError(f"shape has the node {node}, expected one or more indices of at least 0")
            if len(node) > 1 and node[:-1] not in nodes:
                raise InputError(f"shape has the node {node} without its parent, expected {node[:-1]} too")
        object.__setattr__(self, "depth", max(map(len, self.shape)))

    def children(self, model: ToyModel, prefix: Prefix, place: Path, draw: Draw) -> Sequence[Child]:
        """The children that the shape has here, as far as the draft has tokens for them."""
        node: tuple[int, ...] = ()
        for slot in place:
            node = (*node, self.below(node)[slot])
        indices = self.below(node)
        if not indices:
            return []
        q = model.draft(prefix)
        made = draws(q, indices[-1] + 1, draw) if self.sampled else [Child(x) for x in best_first(q)]
        return [made[i] for i in indices if i < len(made)]

    def below(self, node: tuple[int, ...]) -> list[int]:
        """The indices of the children of a node, in increasing order."""
        return sorted(other[-1] for other in self.shape if other[:-1] == node)


def tapered(slots: int, depth: int) -> Shape:
    """The shape of the nodes with (i_1 + 1) (i_2 + 1) .. (i_d + 1) <= slots: worse indices have fewer descendants.

    >>> tapered(2, 2)
    ((0,), (1,), (0, 0), (0, 1), (1, 0))
    """
    return tuple(node for node in full(slots, depth) if prod(i + 1 for i in node) <= slots)


def full(slots: int, depth: int) -> Shape:
    """The shape in which every node has `slots` children.

    >>> full(2, 2)
    ((0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1))
    """
    shape: list[tuple[int, ...]] = []
    layer: list[tuple[int, ...]] = [()]
    for _ in range(depth):
        layer = [(*node, i) for node in layer for i in range(slots)]
        shape += layer
    return tuple(shape)
