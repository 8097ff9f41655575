"""NaiveTree: test the first draft, then look whether the residual token was drafted too (arXiv 2602.16994)."""

from __future__ import annotations

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.law import residual
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.rheo import acceptance
from rheo_proof.schemes.verifying.walk import Walk, Walking


class NaiveTree(Walking):
    """At u: Bern(min(1, p(X_1)/q(X_1))) moves to X_1; otherwise y ~ norm((p - q)+), which is moved to if it is listed.

    Only X_1 needs to have been drawn from the law it carries; the others may come from anywhere.
    """

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The test of the first child, or the draw."""
        if not walk.children or walk.tested:
            return self.last_draw(model, walk, walk.children, chance)
        first = walk.children[0]
        assert first.law is not None
        x = chance.value(first.token)
        if chance.coin(acceptance(walk.r, first.law, x), ("coin", len(walk.prefix), 1)):
            return self.move(model, (*walk.prefix, x), first.children)
        return Walk(walk.prefix, residual(walk.r, first.law), walk.children, 1)
