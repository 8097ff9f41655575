"""Constants in a race of noise, and what is known of a random number at an end of its range.

A constant beside random numbers wins or loses by their ranges; where either is possible, the race is refused. In a
search of boundary cases a clock that is pinned to its end is such a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheo_proof.audit.constants import finite, is_nan, plus, times
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.scalars import Scalar, Settled
from rheo_proof.audit.steps import applied, value_range
from rheo_proof.exact.number import ONE


def at_its_end(cell: Scalar) -> Any:
    """In a search of boundary cases: the number that the cell is where its latent is pinned to an end; else itself.

    A number inside the range of a clock, as a clamp makes one, adds nothing: what wins beside it wins beside its
    neighbours, too, and these have a probability. The latent is free again then.
    """
    end = cell.latent.at_an_end()
    if isinstance(cell, Settled):
        return cell.constant if end is None else plus(times(cell.a, applied(cell.steps, end)), cell.b)
    if end is None or any(step[0] == "row" for step in cell.steps):
        return cell
    value = applied(cell.steps, end)
    spread = value_range(tuple(step for step in cell.steps if step[0] != "clamp"))
    if spread is not None and finite(value) and spread.low < value < spread.high:
        cell.latent.pinned = None
        return cell
    return value


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
