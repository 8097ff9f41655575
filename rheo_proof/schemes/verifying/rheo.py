"""RheoVerification (arXiv 2609.21827): test the sampled child against its true law, then draw from what is left."""

from __future__ import annotations

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.law import Law, residual
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, Q
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.walk import Walk, Walking, split


class Rheo(Walking):
    """At u: Bern(min(1, p(X)/t(X))) moves to the sampled child; otherwise y ~ norm((p - t)+), or y ~ p without one.

    A y that is a kept head or fill child is moved to, any other is emitted.
    """

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The test of the sampled child, or the draw."""
        sampled, others = split(walk.children)
        if sampled is None:
            return self.last_draw(model, walk, others, chance)
        assert sampled.law is not None
        x = chance.value(sampled.token)
        a = acceptance(walk.r, sampled.law, x)
        if chance.coin(a, ("coin", len(walk.prefix), 1)):
            return self.move(model, (*walk.prefix, x), sampled.children)
        return Walk(walk.prefix, self.rejected(model, walk, sampled.law, a), others, walk.tested + 1)

    def rejected(self, model: ToyModel, walk: Walk, t: Law, a: Q) -> Law:
        """What y is drawn from after a rejection that had probability 1 - a."""
        return residual(walk.r, t)


def acceptance(r: Law, t: Law, x: int) -> Q:
    """min(1, r(x)/t(x)), the probability of keeping a token x that was drawn from t; 1 where t(x) = 0."""
    return ONE if r[x] >= t[x] else r[x] / t[x]
