"""A play of the gallery, enumerated by the auditor: the exact law of what a stranger emits on a toy."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

from rheo_proof.audit.exploring import Exploration, Run, explore
from rheo_proof.audit.session import installation, session
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import Q, to_fraction
from tests.audit.brute import Law
from tests.audit.fault import Fault
from tests.audit.gallery_correct import Right

NEAREST = 10_000
ROUNDING = Fraction(1, 10**12)


def explored(played: Fault | Right, function: Callable[..., Any]) -> Exploration:
    """Every run of the play, with this function in it."""

    def program(run: Run) -> Hashable:
        def dice(weights: Sequence[Fraction]) -> int:
            support = [x for x, w in enumerate(weights) if w]
            chosen = run.choose([Q(weights[x].numerator, weights[x].denominator) for x in support], "draft token")
            return support[chosen]

        with session(run, function):
            return played.outcome(function, dice)

    with installation():
        return explore(program, Limits(5_000))


def law_of(played: Fault | Right, function: Callable[..., Any]) -> Law:
    """The law of the outcome; the floats of the toy are rounded rationals, so are the probabilities (to 1e-12)."""
    law = {outcome: to_fraction(mass) for outcome, mass in explored(played, function).law.items()}
    snapped = {outcome: mass.limit_denominator(NEAREST) for outcome, mass in law.items()}
    if all(abs(law[x] - snapped[x]) < ROUNDING for x in law):
        return {outcome: mass for outcome, mass in snapped.items() if mass}
    return law
