"""Verification of a list of children by a transport plan (arXiv 2310.15141, 2410.18234, 2502.18779)."""

from __future__ import annotations

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, ZERO
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.masses import PlanMaker, Plans, TupleLaw
from rheo_proof.schemes.verifying.walk import Walk, Walking


class OptimalTransport(Walking):
    """At u, given the tuple t of children: y with probability C(t, y)/D(t), otherwise y ~ norm(p - m).

    m(y) = sum_t C(t, y). The walk goes on below y where it is a child, also if it comes from the residual. Every
    feasible plan is lossless if D is the law of t; an optimal one accepts alpha* at the node. `plan` makes the plan,
    `tuples` is D.
    """

    def __init__(self, plan: PlanMaker, tuples: TupleLaw) -> None:
        self.plans = Plans(tuples, lambda p, law: plan(Law(p), law))

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The choice among the children by the plan, or the last draw."""
        if not walk.children or walk.tested:
            return self.last_draw(model, walk, walk.children, chance)
        t = tuple(chance.value(child.token) for child in walk.children)
        shares, rest = self.plans.shares(walk.r.probs, model.draft(walk.prefix), t)
        law = Law([*shares.values(), ONE - sum(shares.values(), ZERO)])
        choice = chance.draw(law, ("coin", len(walk.prefix), 0))
        if choice == len(shares):
            return Walk(walk.prefix, normalised(rest), walk.children, 1)
        y = list(shares)[choice]
        return self.move(model, (*walk.prefix, y), walk.children[t.index(y)].children)
