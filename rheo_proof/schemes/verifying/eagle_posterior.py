"""evaluate_posterior of EAGLE, its branch for sampling (SafeAILab/EAGLE cb7e084; arXiv 2406.16858, 2503.01840)."""

from __future__ import annotations

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.law import without
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.walk import Walk, Walking


class EaglePosterior(Walking):
    """At u, with r = p: each child x in turn, a repeated one once: Bern(r(x)) moves to it, else r = norm(r without x).

    When none is taken, y ~ r is emitted. Draft probabilities are taken as 1. The same law as `Match`, by more coins.
    """

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The test of the next child, or the last draw."""
        level = len(walk.prefix)
        if not walk.children:
            return Emission(walk.prefix, chance.latent(walk.r, ("token", level, 0), ("y",)))
        child, x = walk.children[0], chance.value(walk.children[0].token)
        if chance.coin(walk.r[x], ("coin", level, walk.tested)):
            return self.move(model, (*walk.prefix, x), child.children)
        unseen = tuple(other for other in walk.children if chance.value(other.token) != x)
        return Walk(walk.prefix, without(walk.r, (x,)), unseen, walk.tested + 1)
