"""FlowVerification: the mass of every kept node under the current law of the output.

Nodes are inserted in rank order. A deterministic node takes its mass from its parent's untouched tokens. A sampled node
runs the single-draft acceptance test against the whole law: it gets a = min(1, w p(x)/t(x)) where w is the mass of its
parent, and everything inserted before it is scaled by rho. On a chain this is block verification (arXiv 2403.10444).
"""

from __future__ import annotations

import numpy as np

from .laws import Floats, Laws
from .slots import Tail
from .tree import ROOT, Tree


class Masses:
    """The scalars of the inserted nodes.

    c[n]: mass of n at its insertion, scaled ever since. After the reveal of the sampled slot of u, w[u] is c[u] at that
    moment and f[u] scales u's untouched tokens. The mass of an untouched token y of u is

        c[u] p(y)                   before the reveal
        f[u] (w[u] p(y) - t(y))+    after it
    """

    def __init__(self, tree: Tree, p: Laws) -> None:
        self.tree, self.p = tree, p
        self.c, self.f, self.w = np.zeros((3, len(tree)))
        self.c[ROOT] = 1.0
        self.revealed: dict[int, Tail] = {}

    def insert(self, n: int) -> None:
        """Insert node n; all nodes of better rank are in already."""
        u, x, tail = int(self.tree.parents[n]), int(self.tree.tokens[n]), self.tree.tails[n]
        if tail is None:
            self.c[n] = self.untouched(u, x)
            return
        t, w = tail.t, self.c[u]
        wp = w * self.p[u][tail.tokens]
        i = tail.where(x)
        a, rho = 1.0, 0.0
        if wp[i] < t[i]:
            a = wp[i] / t[i]
            # As a sum of positive parts, one of which is t(x) - w p(x): it cannot cancel to 0.
            rest = np.maximum(t - wp, 0.0).sum()
            rho = (1.0 - a) / rest
        self.c[:n] *= rho
        self.f[:n] *= rho
        self.f[u], self.w[u], self.revealed[u] = rho, w, tail
        self.c[n] = a

    def untouched(self, u: int, x: int) -> float:
        """The mass of one token of u."""
        p, tail = float(self.p[u][x]), self.revealed.get(u)
        if tail is None:
            return float(self.c[u]) * p
        i = tail.where(x)
        t = tail.t[i] if i >= 0 else 0.0
        return float(self.f[u] * max(self.w[u] * p - t, 0.0))

    def full(self) -> Floats:
        """The mass of each node with all that is below it, children before parents.

        full(u) = c[u] without kept children, else the sum of full over them and of the masses of all other tokens.
        """
        full = self.c.copy()
        for u in reversed(range(len(self.tree))):
            if self.tree.children(u):
                full[u] = full[self.tree.children(u)].sum() + self.elsewhere(u)
        return full

    def elsewhere(self, u: int) -> float:
        """The mass of all tokens of u that are not kept children.

        Off the support of t it is proportional to p, whose sum there is 1 minus the rest: no sum over the vocabulary.
        """
        p, kept, tail = self.p[u], self.tree.tokens[self.tree.children(u)], self.revealed.get(u)
        off = 1.0 - p[kept].sum()
        if tail is None:
            return float(self.c[u] * max(off, 0.0))
        loose = ~np.isin(tail.tokens, kept)
        p_loose = p[tail.tokens[loose]]
        above = np.maximum(self.w[u] * p_loose - tail.t[loose], 0.0).sum()
        return float(self.f[u] * (self.w[u] * max(off - p_loose.sum(), 0.0) + above))

    def weights(self, u: int, full: Floats) -> Floats:
        """What y is drawn from at a visited node: full masses of kept children, masses of all other tokens.

        Should a walk get to a node of mass 0, which takes a sum that rounding has lifted off 0, the weights are p.
        """
        children, tail, p = self.tree.children(u), self.revealed.get(u), self.p[u]
        if not children:
            return p
        if tail is None:
            weights = self.c[u] * p
        else:
            weights = self.w[u] * p
            weights[tail.tokens] = np.maximum(weights[tail.tokens] - tail.t, 0.0)
            weights *= self.f[u]
        weights[self.tree.tokens[children]] = full[children]
        return weights if weights.any() else p
