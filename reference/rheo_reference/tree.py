"""Candidates of all layers, their rank order, and the kept tree in the arrays that tree attention needs.

Rank order is by (-value, creation index). Values are products in float64, taken from the root downwards, and a stable
sort leaves equal ones in creation order: so equal floats tie as specified. Products that are equal as rationals are
equal floats as long as they are exact (dyadic laws: up to 53 bits); others may be ranked either way by their last bit,
always the same way. No rounding can break the theorem, which asks less of values (see `slots.expand`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .laws import Floats, Ints, Prefix
from .slots import Slot, Tail

ROOT = 0


@dataclass(frozen=True, eq=False)
class Tree:
    """The kept nodes: index 0 is the root, index i the draft node of rank i, which was inserted i-th.

    A parent ranks before its children, so parents[i] < i; parents[0] is -1, and so is tokens[0]: the root stands for
    the last token of the prefix. `kinds` are "root", "head", "sampled" and "fill", `slots` the position among all slots
    of the parent, `tails` the law a sampled token was drawn from (None for all others).
    """

    parents: Ints
    depths: Ints
    tokens: Ints
    slots: Ints
    values: Floats
    kinds: tuple[str, ...]
    tails: tuple[Tail | None, ...]
    _children: list[list[int]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        below: list[list[int]] = [[] for _ in self.parents]
        for node in range(1, len(self)):
            below[self.parents[node]].append(node)
        object.__setattr__(self, "_children", [sorted(nodes, key=lambda node: self.slots[node]) for nodes in below])

    def __len__(self) -> int:
        return len(self.parents)

    def children(self, node: int) -> list[int]:
        """The kept children of a node, in slot order."""
        return self._children[node]

    def child(self, node: int, token: int) -> int | None:
        """The kept child that holds a token. Siblings are distinct, so there is at most one."""
        return next((child for child in self.children(node) if self.tokens[child] == token), None)

    def sampled_child(self, node: int) -> int | None:
        """The sampled child of a node, if it was kept."""
        return next((child for child in self.children(node) if self.kinds[child] == "sampled"), None)

    def paths(self) -> list[Prefix]:
        """For each node the tokens on the way to it, its own last; the root has none."""
        paths: list[Prefix] = [()]
        for node in range(1, len(self)):
            paths.append((*paths[self.parents[node]], int(self.tokens[node])))
        return paths

    def ancestor_mask(self) -> NDArray[np.bool_]:
        """mask[i, j]: node i attends to node j, that is, j is i itself or stands above it."""
        mask = np.eye(len(self), dtype=np.bool_)
        for node in range(1, len(self)):
            mask[node] |= mask[self.parents[node]]
        return mask

    def position_ids(self, prefix_length: int) -> Ints:
        """Positions in the sequence: the root is the last token of the prefix."""
        return self.depths + (prefix_length - 1)

    def retrieve_paths(self) -> Ints:
        """One row a leaf, in rank order: the nodes from the root to it, padded with -1."""
        leaves = [node for node in range(len(self)) if not self.children(node)]
        rows = np.full((len(leaves), int(self.depths.max()) + 1), -1, dtype=np.int64)
        for row, leaf in zip(rows, leaves, strict=True):
            node = leaf
            while node >= ROOT:
                row[self.depths[node]] = node
                node = int(self.parents[node])
        return rows


class Candidates:
    """All drafted nodes in the order of their creation, which is their index; the root is the first."""

    def __init__(self) -> None:
        self.parents, self.depths, self.slots = [-1], [0], [0]
        self.nodes, self.values = [Slot(-1, "root", 1.0)], [1.0]
        self.tails: list[Tail | None] = [None]
        self._paths: list[Prefix] = [()]

    def add(self, parent: int, slots: Iterable[Slot], tail: Tail | None) -> None:
        """The children of an expanded node; nodes have to be expanded in the rank order of their layer."""
        for position, slot in enumerate(slots):
            self.parents.append(parent)
            self.depths.append(self.depths[parent] + 1)
            self.slots.append(position)
            self.nodes.append(slot)
            self.values.append(self.values[parent] * slot.factor)
            self.tails.append(tail if slot.kind == "sampled" else None)
            self._paths.append((*self._paths[parent], slot.token))

    def path(self, node: int) -> Prefix:
        """The tokens on the way to a node."""
        return self._paths[node]

    def beam(self, layer: int, width: int) -> list[int]:
        """The best nodes of a layer in rank order; layer 0 is the root."""
        members = np.flatnonzero(np.equal(self.depths, layer))
        return [int(node) for node in members[ranked(np.take(self.values, members))[:width]]]

    def prune(self, nodes: int) -> Tree:
        """The best of all candidates. Every parent of a kept node is kept: it has no smaller value and is older."""
        kept = [ROOT, *(int(node) + 1 for node in ranked(np.array(self.values[1:]))[:nodes])]
        rank = {node: i for i, node in enumerate(kept)} | {-1: -1}
        return Tree(
            parents=np.array([rank[self.parents[node]] for node in kept]),
            depths=np.take(self.depths, kept),
            tokens=np.array([self.nodes[node].token for node in kept]),
            slots=np.take(self.slots, kept),
            values=np.take(self.values, kept),
            kinds=tuple(self.nodes[node].kind for node in kept),
            tails=tuple(self.tails[node] for node in kept),
        )


def ranked(values: Floats) -> Ints:
    """Indices by (-value, index)."""
    return np.argsort(-values, kind="stable")
