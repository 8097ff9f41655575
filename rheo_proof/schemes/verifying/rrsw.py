"""Recursive rejection without replacement (arXiv 2402.12374), the ablation of the RheoSampling paper."""

from __future__ import annotations

from itertools import takewhile

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.law import Law, residual, without
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, ZERO
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.tree import Branch
from rheo_proof.schemes.verifying.rheo import acceptance
from rheo_proof.schemes.verifying.walk import Walk, Walking


class Rrsw(Walking):
    """At u: test the children in slot order against a running residual r, which starts as p.

    A deterministic child x is taken with probability r(x), else deleted from r. The sampled child is taken with
    probability min(1, r(X)/t(X)), else r = norm((r - t)+). When no child is taken, y ~ r is emitted.

    Deterministic children that follow one another are tested with one draw, which is the same as one coin each: the
    first with probability r(x_1), the second with r(x_2) / (1 - r(x_1)) if that fails, and so on. Those at the end
    share the draw of y.
    """

    def order(self, children: tuple[Branch, ...], chance: Chance) -> tuple[Branch, ...]:
        """The order in which children are tested."""
        return children

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The test of the next children."""
        level = len(walk.prefix)
        children = walk.children if walk.tested else self.order(walk.children, chance)
        run = tuple(takewhile(lambda child: child.kind != "sampled", children))
        if len(run) == len(children):
            return self.last_draw(model, walk, run, chance)
        if run:
            return self.test_run(model, walk, run, children[len(run) :], chance)
        sampled, rest = children[0], children[1:]
        assert sampled.law is not None
        x = chance.value(sampled.token)
        if chance.coin(acceptance(walk.r, sampled.law, x), ("coin", level, 1)):
            return self.move(model, (*walk.prefix, x), sampled.children)
        return Walk(walk.prefix, residual(walk.r, sampled.law), rest, walk.tested + 1)

    def test_run(
        self, model: ToyModel, walk: Walk, run: tuple[Branch, ...], rest: tuple[Branch, ...], chance: Chance
    ) -> Walk | Emission:
        """Test deterministic children one after the other with a single draw."""
        tokens = tuple(chance.value(child.token) for child in run)
        weights = [walk.r[x] for x in tokens]
        choice = chance.draw(Law([*weights, ONE - sum(weights, ZERO)]), ("coin", len(walk.prefix), 0))
        if choice < len(run):
            return self.move(model, (*walk.prefix, tokens[choice]), run[choice].children)
        return Walk(walk.prefix, without(walk.r, tokens), rest, walk.tested + 1)
