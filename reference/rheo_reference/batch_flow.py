"""FlowVerification of many trees at once: the computation of flow.py, its sums in the same order.

Masses are arrays [rank, step]; rank 0 is the root. Nodes are inserted rank by rank, all steps side by side: a step
whose node of that rank is not sampled is scaled by 1. Expanded nodes are numbered from the top, so adding up runs over
their numbers backwards.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .batch_tables import Tables, pad
from .batch_tree import Trees
from .batch_verify import Match
from .laws import Floats, Ints
from .tree import ROOT


class Flow(Match):
    """Insert all nodes in rank order, then y by the masses that result."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        vocab, tails = tables.vocab, tables.tails()
        # By prefix and token: the target law and the tail law. By place and prefix: the tokens of the tail.
        self.flat_p, self.t = np.concatenate(tables.target), np.zeros(len(tails) * vocab)
        for i, tail in enumerate(tails):
            if tail:
                self.t[i * vocab + tail.tokens] = tail.t
        self.tail_size = np.array([len(tail.tokens) if tail else 0 for tail in tails])
        self.tail_token = np.array([pad(tail.tokens if tail else [], vocab, 0) for tail in tails]).T.copy()
        # A node's own token, by slot and draw.
        self.token = (tables.children - 1) % vocab

    def begin(self, trees: Trees, coin_u: Floats, token_u: Floats) -> None:
        super().begin(trees, coin_u, token_u)
        self.each = np.arange(trees.steps)
        self.node_rank = np.zeros((trees.leaf + 1, trees.steps), dtype=np.intp)
        for node in range(1, trees.leaf):
            parent, slot = np.divmod(trees.origins[node], trees.width)
            self.node_rank[node] = trees.rank(self.each, parent, slot)
        self.c, self.f, self.w = np.zeros((3, len(trees.order) + 1, trees.steps))
        self.c[ROOT] = 1.0
        self.revealed = np.zeros(self.c.shape, dtype=np.bool_)
        for rank in range(1, len(self.c)):
            self.insert(rank)
        self.full = self.c.copy()
        for node in reversed(range(trees.leaf)):
            self.add_up(node)

    def insert(self, rank: int) -> None:
        """Insert the nodes of one rank; all of better rank are in already."""
        trees, tables, each = self.trees, self.tables, self.each
        parent, slot = np.divmod(trees.order[rank - 1], trees.width)
        draw, u = trees.draws[parent, each], self.node_rank[parent, each]
        prefix, token = draw // tables.vocab, self.token[slot, draw]
        p, t = self.law(prefix, token)
        c = self.c[u, each]
        above = self.f[u, each] * np.maximum(self.w[u, each] * p - t, 0.0)
        self.c[rank] = np.where(self.revealed[u, each], above, c * p)

        sampled = np.flatnonzero((slot == tables.sampled_slot.take(prefix)) & (trees.rank(each, parent, slot) > 0))
        prefix, u, w, p, t = prefix[sampled], u[sampled], c[sampled], p[sampled], t[sampled]
        below = w * p < t
        a, rho = np.ones(len(sampled)), np.zeros(len(sampled))
        a[below] = (w * p)[below] / t[below]
        size = self.tail_size.take(prefix[below])
        rest = []
        for place, tokens in enumerate(self.tail_token):
            p_y, t_y = self.law(prefix[below], tokens.take(prefix[below]))
            rest.append((np.maximum(t_y - w[below] * p_y, 0.0), place < size))
        rho[below] = (1.0 - a[below]) / added(rest)
        scale = np.ones(trees.steps)
        scale[sampled] = rho
        self.c[:rank] *= scale
        self.f[:rank] *= scale
        self.f[u, sampled], self.w[u, sampled], self.revealed[u, sampled] = rho, w, True
        self.c[rank, sampled] = a

    def add_up(self, node: int) -> None:
        """The mass of an expanded node with all that is below it; its children have theirs."""
        trees, tables = self.trees, self.tables
        ranks = np.array([trees.rank(self.each, node, slot) for slot in range(trees.width)])
        step = np.flatnonzero(ranks.any(axis=0))
        ranks, draw, u = ranks[:, step], trees.draws[node, step], self.node_rank[node, step]
        prefix = draw // tables.vocab
        below, p_kept = [], []
        for rank, tokens in zip(ranks, self.token, strict=True):
            below.append((self.full[rank, step], rank > 0))
            p_kept.append((self.law(prefix, tokens.take(draw))[0], rank > 0))
        off = 1.0 - added(p_kept)
        size, p_loose, above = self.tail_size.take(prefix), [], []
        c, f, w = self.c[u, step], self.f[u, step], self.w[u, step]
        for place, tokens in enumerate(self.tail_token):
            token = tokens.take(prefix)
            p, t = self.law(prefix, token)
            slot = tables.slot_of.take(draw * tables.vocab + token)
            loose = (place < size) & (trees.rank(step, node, slot) == 0)
            p_loose.append((p, loose))
            above.append((np.maximum(w * p - t, 0.0), loose))
        revealed = f * (w * np.maximum(off - added(p_loose), 0.0) + added(above))
        elsewhere = np.where(self.revealed[u, step], revealed, c * np.maximum(off, 0.0))
        self.full[u, step] = added(below) + elsewhere

    def tokens_at(self, level: int, step: Ints, node: Ints, prefix: Ints) -> Ints:
        trees, tables = self.trees, self.tables
        token = super().tokens_at(level, step, node, prefix)
        inner = np.flatnonzero(node < trees.leaf)
        if not len(inner):
            return token
        step, node, prefix = step[inner], node[inner], prefix[inner]
        draw, u = trees.draws[node, step], self.node_rank[node, step]
        c, f, w, revealed = (mass[u, step] for mass in (self.c, self.f, self.w, self.revealed))
        weights, childless = np.empty((tables.vocab, len(inner))), np.ones(len(inner), dtype=np.bool_)
        for y in range(tables.vocab):
            p, t = self.law(prefix, np.full(len(inner), y))
            rank = trees.rank(step, node, tables.slot_of.take(draw * tables.vocab + y))
            loose = np.where(revealed, np.maximum(w * p - t, 0.0) * f, c * p)
            weights[y] = np.where(rank > 0, self.full[rank, step], loose)
            childless &= rank == 0
        drawn = inverse_cdfs(weights, self.token_u[step, level])
        by_p = childless | ~weights.any(axis=0)
        token[inner] = np.where(by_p, token[inner], drawn)
        return token

    def law(self, prefix: Ints, token: Ints) -> tuple[Floats, Floats]:
        """p and t of a token after a prefix that has a draft law."""
        at = prefix * self.tables.vocab + token
        return self.flat_p.take(at), self.t.take(at)


def inverse_cdfs(weights: Floats, u: Floats) -> Ints:
    """`tape.inverse_cdf` of each column."""
    cdf = np.cumsum(weights, axis=0)
    index = (cdf <= u * cdf[-1]).sum(axis=0)
    last = len(weights) - 1 - np.argmax(weights[::-1] > 0, axis=0)
    drawn: Ints = np.where(index < len(weights), index, last)
    return drawn


def added(terms: list[tuple[Floats, NDArray[np.bool_]]]) -> Floats:
    """The sum of the terms that a mask picks, to the last bit what `sum` makes of an array of them.

    NumPy adds up to seven numbers one after the other and more in another order, which depends on how many they are.
    """
    if len(terms) < 8:
        total = np.zeros(len(terms[0][0]))
        for value, mask in terms:
            total += np.where(mask, value, 0.0)
        return total
    values, masks = (np.array(part).T for part in zip(*terms, strict=True))
    first = np.take_along_axis(values, np.argsort(~masks, axis=1, kind="stable"), axis=1)
    count, total = masks.sum(axis=1), np.zeros(len(values))
    for size in np.unique(count):
        total[count == size] = np.ascontiguousarray(first[count == size, :size]).sum(axis=1)
    return total
