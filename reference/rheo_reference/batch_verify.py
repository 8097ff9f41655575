"""Verification of many trees at once, level by level: only the steps that still walk are looked at.

RheoVerification and RRSw test a sampled child against a law that the prefix of its parent decides alone: the target
law, or in RRSw the target law without all heads. (With the paper's proxy, and RRSw takes no other, all heads of a node
rank before its sampled child and are kept with it.) So their coins and residuals are looked up.
"""

from __future__ import annotations

import numpy as np

from .batch_tables import Cdfs, Tables, pad
from .batch_tree import Trees
from .laws import Floats, Ints
from .tree import ROOT


class Match:
    """y ~ p. The other rules build on it."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.p = Cdfs(tables.target)

    def begin(self, trees: Trees, coin_u: Floats, token_u: Floats) -> None:
        """Turn to a batch of kept trees and the uniforms for them."""
        self.trees, self.coin_u, self.token_u = trees, coin_u, token_u

    def tokens_at(self, level: int, step: Ints, node: Ints, prefix: Ints) -> Ints:
        """The tokens that come out of some steps, each at a node (`leaf` where it was not expanded) and its prefix."""
        return self.p.draw(prefix, self.token_u[step, level])


class Rheo(Match):
    """Bern(min(1, p(X)/t(X))) for the sampled child, else y ~ norm((p - t)+); y ~ p without one."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        running = [self.running(i) for i in range(len(tables.draft))]
        self.accepted = tables.coins(running)
        self.p_or_residual = tables.residuals(running)

    def running(self, prefix: int) -> tuple[Floats, float]:
        """The law r / mass that the sampled child is tested against."""
        return self.tables.target[prefix], 1.0

    def tokens_at(self, level: int, step: Ints, node: Ints, prefix: Ints) -> Ints:
        tables, trees = self.tables, self.trees
        sampled = trees.rank(step, node, tables.sampled_slot.take(prefix)) > 0
        token = self.p_or_residual.draw(prefix + sampled * len(tables.target), self.token_u[step, level])
        tested = np.flatnonzero(sampled)
        if len(tested):
            draw = trees.draws[node[tested], step[tested]]
            true = self.coin_u[step[tested], level, 1] < self.accepted.take(draw)
            token[tested[true]] = tables.sampled.take(draw[true])
        return token


class Rrsw(Rheo):
    """Heads with one coin, then the sampled child, then the residual; y ~ p without a sampled child."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        heads = [self.heads(i) for i in range(len(tables.draft))]
        masses = [np.append(tables.target[i][x], self.running(i)[1]) for i, x in enumerate(heads)]
        self.head_or_none = Cdfs([pad(row, tables.width + 1, 0.0) for row in masses])
        self.head = np.concatenate([pad(x, tables.width + 1, -1) for x in heads])

    def heads(self, prefix: int) -> Ints:
        """The head tokens of a node."""
        return np.array([slot.token for slot in self.tables.expansions[prefix].head], dtype=np.int64)

    def running(self, prefix: int) -> tuple[Floats, float]:
        """What is left of the target law without the heads."""
        heads, r = self.heads(prefix), self.tables.target[prefix]
        if not len(heads):
            return r, 1.0
        r = r.copy()
        r[heads] = 0.0
        return r, float(r.sum())

    def tokens_at(self, level: int, step: Ints, node: Ints, prefix: Ints) -> Ints:
        token = super().tokens_at(level, step, node, prefix)
        tested = np.flatnonzero(self.trees.rank(step, node, self.tables.sampled_slot.take(prefix)) > 0)
        if len(tested):
            at = prefix[tested]
            taken = self.head_or_none.draw(at, self.coin_u[step[tested], level, 0])
            head = self.head.take(at * (self.tables.width + 1) + taken)
            token[tested[head >= 0]] = head[head >= 0]
        return token


def walk(rule: Match, tokens: Ints, lengths: Ints) -> None:
    """From the root of every tree down to where it ends; what is emitted is written into the two arrays."""
    tables, trees = rule.tables, rule.trees
    step = np.arange(trees.steps)
    node, prefix = np.full_like(step, ROOT), np.zeros_like(step)
    for level in range(tokens.shape[1]):
        token = rule.tokens_at(level, step, node, prefix)
        tokens[step, level] = token
        lengths[step] = level + 1
        slot = tables.slot_of.take(trees.draws[node, step] * tables.vocab + token)
        moved = np.flatnonzero(trees.rank(step, node, slot) > 0)
        step, prefix = step[moved], prefix[moved] * tables.vocab + 1 + token[moved]
        node = trees.node_of(level + 1, step, node[moved] * trees.width + slot[moved])
