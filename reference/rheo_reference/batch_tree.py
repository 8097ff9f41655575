"""Drafting and pruning of many trees at once.

An expanded node is numbered layer by layer and in rank order within its layer. Its slots stand at fixed places, whether
they exist or not: candidate `node * width + slot`. So the number of a candidate orders candidates as their creation
does. A slot that does not exist has the value NaN, which sorts behind all others and passes on to all that is below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .batch_tables import Tables
from .config import Config
from .laws import Floats, Ints


@dataclass(frozen=True, eq=False)
class Trees:
    """Kept trees. One node is added behind the expanded ones, without children: `leaf` stands for all others.

    draws:   [node, step], the draw of an expanded node (see batch_tables.py).
    origins: [node, step], the candidate that was expanded; -1 for the root.
    layers:  where the nodes of each layer begin, and where the last one ends.
    ranks:   [step, node, slot] in one dimension, one slot more than there are: 1 for the best candidate, 0 if pruned.
    order:   [rank - 1, step], the kept candidates, and arbitrary ones behind them where there are too few.
    """

    draws: Ints
    origins: Ints
    layers: tuple[int, ...]
    ranks: NDArray[np.int32]
    order: Ints
    width: int

    @property
    def leaf(self) -> int:
        """The node that stands for all that were not expanded."""
        return len(self.draws) - 1

    @property
    def steps(self) -> int:
        """How many trees there are."""
        return len(self.draws[0])

    def rank(self, step: Ints, node: Ints | int, slot: Ints | int) -> NDArray[np.int32]:
        """The rank of a child, 0 if it was not kept or does not exist."""
        return self.ranks.take((step * (self.leaf + 1) + node) * (self.width + 1) + slot)

    def node_of(self, layer: int, step: Ints, candidate: Ints) -> Ints:
        """The expanded node of a layer that a candidate became, or `leaf`."""
        node = np.full(len(step), self.leaf)
        if layer + 1 < len(self.layers):
            for expanded in range(*self.layers[layer : layer + 2]):
                node[self.origins[expanded].take(step) == candidate] = expanded
        return node


def draft_trees(tables: Tables, config: Config, draft_u: Floats) -> Trees:
    """Expand layer by layer, the best nodes of each, then keep the best of all candidates."""
    steps, width = len(draft_u), tables.width
    each = np.arange(steps)
    layers = [0, 1]
    while len(layers) <= config.depth:
        layers.append(layers[-1] + min(config.width, (layers[-1] - layers[-2]) * width))
    nodes = layers[-1]
    draws = np.zeros((nodes + 1, steps), dtype=np.intp)
    origins = np.full((nodes + 1, steps), -1)
    values = np.empty((nodes, width, steps))

    prefix, value = np.zeros((1, steps), dtype=np.intp), np.ones((1, steps))
    for layer in range(config.depth):
        here = slice(layers[layer], layers[layer + 1])
        u = draft_u[:, layer, : len(prefix)].T
        draw = draws[here] = prefix * tables.vocab + tables.tail.draw(prefix, u)
        for slot in range(width):
            np.multiply(value, tables.factors[slot].take(draw), out=values[here, slot])
        if layer + 1 < config.depth:
            members = values[here].reshape(-1, steps)
            best = ranked(members)[: layers[layer + 2] - layers[layer + 1]]
            parent, slot_of_best = np.divmod(best, width)
            value = members[best, each]
            prefix = tables.children[slot_of_best, draw[parent, each]]
            origins[layers[layer + 1] : layers[layer + 2]] = best + layers[layer] * width

    candidates = values.reshape(-1, steps)
    order = ranked(candidates)[: config.nodes]
    ranks = np.zeros((steps, nodes + 1, width + 1), dtype=np.int32)
    exists = ~np.isnan(candidates[order, each])
    at = (each * (nodes + 1) + order // width) * (width + 1) + order % width
    ranks.ravel()[at] = exists * np.arange(1, len(order) + 1, dtype=np.int32)[:, None]
    return Trees(draws, origins, tuple(layers), ranks.ravel(), order, width)


def ranked(values: Floats) -> Ints:
    """Indices along the first axis by (-value, index), NaN last."""
    return np.ascontiguousarray(np.argsort(np.negative(values.T, order="C"), axis=1, kind="stable").T)
