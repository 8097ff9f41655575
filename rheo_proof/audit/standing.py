"""Constants in a race of noise, and what is known of a random number at an end of its range.

A constant beside random numbers wins or loses by their ranges; where either is possible, the race is refused. In a
search of boundary cases a clock that is pinned to its end is such a constant, and both outcomes are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheo_proof.audit.constants import finite, is_nan, plus, times
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.scalars import Scalar, Settled
from rheo_proof.audit.steps import Cut, applied, threshold_of, value_range
from rheo_proof.exact.number import ONE


def at_its_end(cell: Scalar) -> Any:
    """In a search of boundary cases: the number that the cell is where its latent is pinned to an end; else itself."""
    end = cell.latent.at_an_end()
    if isinstance(cell, Settled):
        return cell.constant if end is None else plus(times(cell.a, applied(cell.steps, end)), cell.b)
    return cell if end is None or any(step[0] == "row" for step in cell.steps) else applied(cell.steps, end)


def _loses(value: Any, rival: Scalar, largest: bool) -> bool | None:
    """Whether a constant loses against a random number; None where either may win."""
    spread = value_range(rival.steps)
    if spread is None:
        # A softmax is positive.
        if (largest and value <= 0) or (not largest and value > ONE):
            return True
        refuse("race of a softmax of noise with a number")
    if (value <= spread.low) if largest else (value >= spread.high):
        return True
    wins = (value >= spread.high) if largest else (value <= spread.low)
    return False if wins else None


def beaten(value: Any, rivals: Sequence[Scalar], largest: bool, whole: bool) -> bool:
    """Whether a constant certainly loses against one of these random numbers, or wins against all; refuses the rest.

    With `whole`, everybody's rank is asked for: then it has to lose against all of them or against none.
    """
    if is_nan(value):
        refuse("race of random numbers", "one of them is NaN")
    answers = {_loses(value, rival, largest) for rival in rivals}
    if answers not in ({True}, {False}) and (whole or True not in answers):
        refuse("race of random numbers with a constant", "either may win")
    return True in answers


def wins_at_an_end(value: Any, rivals: Sequence[Scalar], largest: bool) -> bool | None:
    """Whether the best constant wins in a search of boundary cases: a clock at its end against noise of its own.

    Only what is possible counts there: if both are, there is a branch for each. None if it lost such a race: one of
    the rivals is ahead then, which no region says of several, so that nothing may look at them after the race.
    """
    latents = [rival.latent for rival in rivals]
    cuts = [threshold_of(rival.steps, value, closed=False) for rival in rivals] if finite(value) else [None]
    open_cuts = [cut for cut in cuts if isinstance(cut, Cut)]
    unknown = None in cuts or len({id(latent) for latent in latents}) < len(latents)
    if unknown or not open_cuts or not all(latent.fresh for latent in latents) or (not largest) in cuts:
        return not beaten(value, rivals, largest, whole=False)
    for latent in latents:
        latent.looked_at()
    wins = latents[0].run.fork(2, "a number at its end in a race") == 0
    for latent, cut in zip(latents, cuts, strict=True):
        if isinstance(cut, Cut) and (wins or len(latents) == 1):
            latent.narrow(cut.below is (largest is wins), cut.threshold)
    return True if wins else None
