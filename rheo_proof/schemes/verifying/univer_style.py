"""Optimal transport with scaled targets, a UniVer-style reconstruction.

Only the abstract of UniVer (arXiv 2605.04543) was at hand: tree verification as conditional optimal transport, the
probability of the prefix as a scaling factor. This is the rule of `weighted.py` with an optimal plan for the scaled
target w p. Nothing here claims to be the printed algorithm.
"""

from __future__ import annotations

from rheo_proof.exact.law import Law
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.schemes.tree import Branch
from rheo_proof.schemes.verifying.masses import Masses, PlanMaker, TupleLaw, Tuples
from rheo_proof.schemes.verifying.weighted import Weighted


def sampled_first(children: tuple[Branch, ...]) -> tuple[Branch, ...]:
    """Sampled children before deterministic ones, otherwise in the order of the list."""
    return tuple(sorted(children, key=lambda child: child.law is None))


class UniverStyle(Weighted):
    """Weights from a plan for w p: the plan maker is given w p and one more token, of mass 1 - w, that no tuple has."""

    def __init__(self, plan: PlanMaker, tuples: TupleLaw) -> None:
        super().__init__(tuples)
        self.plan = plan

    def order(self, children: tuple[Branch, ...]) -> tuple[Branch, ...]:
        """Sampled children first."""
        return sampled_first(children)

    def masses(self, scaled: tuple[Q, ...], tuples: Tuples) -> Masses:
        """The plan."""
        return self.plan(Law([*scaled, ONE - sum(scaled, ZERO)]), tuples)


class ScaledGreedy(Weighted):
    """The plan in closed form for the greedy draft: a fixed set T of tokens and one Y ~ t outside T.

    C(Y) = min(t(Y), w p(Y)), and a rejected tuple gives i in T the share w p(i) / s, where s = 1 - beta and beta is the
    sum of min(t(y), w p(y)) over y outside T. It accepts w p(T) + beta, the optimum (arXiv 2502.18779). Y tries first.
    """

    def order(self, children: tuple[Branch, ...]) -> tuple[Branch, ...]:
        """Y first."""
        return sampled_first(children)

    def masses(self, scaled: tuple[Q, ...], tuples: Tuples) -> Masses:
        """The closed form; T are the tokens that all tuples have in common."""
        fixed = set.intersection(*map(set, tuples))
        masses: Masses = {}
        for t, mass in tuples.items():
            masses.update({(t, y): min(mass, scaled[y]) for y in t if y not in fixed})
        s = ONE - sum(masses.values(), ZERO)
        for t, mass in tuples.items():
            rejected = mass - sum((masses[t, y] for y in t if y not in fixed), ZERO)
            masses.update({(t, i): rejected * scaled[i] / s for i in t if i in fixed and rejected})
        return masses
