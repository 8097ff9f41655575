"""Monotone functions of one uniform, as a list of elementary steps, and what a threshold on the value says about u.

Steps, applied from the first to the last: `("affine", a, b)` with a != 0, `("log",)`, `("exp",)`, `("inv",)` for 1/x,
`("clamp", lo, hi)`, and `("row", i)` for an increasing function that all cells of one row share (softmax). Every step
is monotone on the range of what comes before it; one that is not is refused by whoever wants to add it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from rheo_proof.audit.constants import (
    INFINITY,
    Constant,
    exponential,
    finite,
    logarithm,
    over,
    plus,
    times,
)
from rheo_proof.audit.errors import refuse
from rheo_proof.exact.number import ONE, ZERO, Q

Step: TypeAlias = tuple[Any, ...]
Steps: TypeAlias = tuple[Step, ...]

UNDONE = {("log",): ("exp",), ("exp",): ("log",), ("inv",): ("inv",)}


def extended(steps: Steps, step: Step) -> Steps:
    """The steps with one more, merged with the last where they make one.

    >>> extended((("affine", Q(2), ONE),), ("affine", Q(3), ZERO)) == (("affine", Q(6), Q(3)),)
    True
    """
    if steps:
        last = steps[-1]
        if step[0] == "affine" and last[0] == "affine":
            step = ("affine", step[1] * last[1], step[1] * last[2] + step[2])
            steps = steps[:-1]
        elif UNDONE.get(step) == last:
            return steps[:-1]
    if step == ("affine", ONE, ZERO):
        return steps
    return (*steps, step)


def applied(steps: Steps, x: Constant) -> Constant:
    """The value at a number, with the infinities and NaN of floats; a row step is refused."""
    for step in steps:
        match step:
            case ("affine", a, b):
                x = plus(times(a, x), b)
            case ("log",):
                x = logarithm(x)
            case ("exp",):
                x = exponential(x)
            case ("inv",):
                x = over(ONE, x)
            case ("clamp", low, high):
                x = low if low is not None and x < low else high if high is not None and x > high else x
            case _:
                refuse("a number of a softmax of noise", "only races may look at it")
    return x


class Range(NamedTuple):
    """The open interval of values; ends may be infinite."""

    low: Constant
    high: Constant

    @property
    def sign(self) -> int:
        """1 or -1 if all values (but perhaps with probability 0) have this sign, else 0."""
        return 1 if self.low >= 0 else -1 if self.high <= 0 else 0


def value_range(steps: Steps) -> Range | None:
    """The values that u in (0, 1) gives; None after a row step."""
    low: Constant = ZERO
    high: Constant = ONE
    for step in steps:
        if step[0] == "row":
            return None
        if step == ("inv",):
            # 0 is an end of the range or outside of it, and approached from inside.
            ends = [_inverse_at(low, 1), _inverse_at(high, -1)]
        else:
            ends = [applied((step,), low), applied((step,), high)]
        low, high = min(ends), max(ends)
    return Range(low, high)


def _inverse_at(end: Constant, side: int) -> Constant:
    """The limit of 1/x at an end of an interval that lies on this side of it."""
    if finite(end) and end == ZERO:
        return INFINITY if side > 0 else -INFINITY
    return over(ONE, end)


class Cut(NamedTuple):
    """The event U < threshold, or its complement."""

    below: bool
    threshold: Q


def threshold_of(steps: Steps, t: Constant, closed: bool) -> Cut | bool | None:
    """The event f(U) < t, or f(U) <= t if `closed`, as an event about U (up to probability 0).

    None if a row step is in the way. Thresholds that go through log or exp are right to 50 digits.

    >>> threshold_of((("affine", Q(2), ZERO),), ONE, False) == (True, ONE / 2)
    True
    >>> threshold_of((("affine", Q(-1), ONE),), ONE / 4, False) == (False, Q(3, 4))  # 1 - u < 1/4
    True
    """
    below = True
    for position in reversed(range(len(steps))):
        decided = _certain(steps[: position + 1], t, closed)
        if decided is not None:
            return decided is below
        step = steps[position]
        match step:
            case ("affine", a, b):
                t = (t - b) / a
                if a < ZERO:
                    below, closed = not below, not closed
            case ("log",):
                t = exponential(t)
            case ("exp",):
                t = logarithm(t)
            case ("inv",):
                t = _inverse_at(t, _sign(steps[:position]))
                below, closed = not below, not closed
            case ("clamp", _, _):
                pass
            case _:
                return None
    if not finite(t) or t <= ZERO or t >= ONE:
        return (t > ZERO) is below
    return Cut(below, t)


def _certain(steps: Steps, t: Constant, closed: bool) -> bool | None:
    """Whether f(U) < t (or <= t) is certain or impossible already by the range of f."""
    step = steps[-1]
    if step[0] == "clamp":
        _, low, high = step
        if high is not None and (t > high or (closed and t == high)):
            return True
        if low is not None and (t < low or (not closed and t == low)):
            return False
    spread = value_range(steps)
    if spread is None:
        return None
    if t > spread.high:
        return True
    if t < spread.low:
        return False
    if not any(each[0] == "clamp" for each in steps):
        # No value has a probability of its own, so it does not matter whether an end belongs to the range.
        if t == spread.high:
            return True
        if t == spread.low:
            return False
    return None


def _sign(steps: Steps) -> int:
    """The sign of all values."""
    spread = value_range(steps)
    return spread.sign if spread is not None else 0
