"""Recursive rejection with replacement: one test after the other against a running residual (arXiv 2305.09781)."""

from __future__ import annotations

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.law import residual
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.rheo import acceptance
from rheo_proof.schemes.verifying.walk import Walk, Walking


class Rrs(Walking):
    """At u: for each child X with its law q_k, in the order of the list, Bern(min(1, r(X)/q_k(X))).

    After a rejection r = norm((r - q_k)+). A repeated token is tested again. When no child is taken, y ~ r; it cannot
    be a child that was rejected. The same rule with the conditional laws of draws without replacement is RRSw (arXiv
    2402.14160, 2402.12374).
    """

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The test of the next child, or the last draw."""
        if not walk.children:
            return self.last_draw(model, walk, (), chance)
        child, rest = walk.children[0], walk.children[1:]
        assert child.law is not None
        x = chance.value(child.token)
        if chance.coin(acceptance(walk.r, child.law, x), ("coin", len(walk.prefix), walk.tested)):
            return self.move(model, (*walk.prefix, x), child.children)
        return Walk(walk.prefix, residual(walk.r, child.law), rest, walk.tested + 1)
