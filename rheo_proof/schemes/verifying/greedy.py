"""The optimal rule for greedy drafts (Hu et al., arXiv 2502.18779)."""

from __future__ import annotations

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.law import residual
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.walk import Walk, Walking


class Greedy(Walking):
    """At u with the best tokens T and one Y ~ t: Bern(p(Y)/t(Y)) moves to Y; else y ~ norm((p - t)+).

    A y in T is moved to, any other is emitted. Without Y, y ~ p. Y is the last child and the only one with a law.
    On these trees RheoVerification is the same rule; this one is written from the other paper.
    """

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The test of Y, or the draw."""
        if not walk.children or walk.children[-1].law is None:
            return self.last_draw(model, walk, walk.children, chance)
        *top, last = walk.children
        t, Y, p = last.law, chance.value(last.token), walk.r
        assert t is not None
        if chance.coin(min(ONE, p[Y] / t[Y]), ("coin", len(walk.prefix), 1)):
            return self.move(model, (*walk.prefix, Y), last.children)
        return Walk(walk.prefix, residual(p, t), tuple(top), 1)
