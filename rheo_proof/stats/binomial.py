"""One event: the exact binomial test, the Clopper-Pearson interval, and Holm's correction for a report."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

from scipy.stats import beta, binom

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.number import Q, rational
from rheo_proof.stats.cells import TINY, Counts, Target, level

ROUNDED_UP = 1 + 1e-9
"""Binomial tails are multiplied by this; scipy's are accurate to about 1e-12."""


LEAST_FLOAT = 5e-324
"""What is added to an upper bound that may have lost digits, or all of itself, to underflow."""

MOST = 2**53
"""No more draws than a float counts exactly."""


class Interval(NamedTuple):
    """A confidence interval for a probability."""

    low: float
    high: float


def _successes(successes: Any, n: Any) -> tuple[int, int]:
    try:
        c, draws = index(successes), index(n)
    except TypeError:
        raise InputError(f"{successes!r} of {n!r}: expected two integers") from None
    if isinstance(successes, bool) or not 0 <= c <= draws or draws < 1:
        raise InputError(f"{c} of {draws}: expected 0 <= successes <= n and n >= 1")
    if draws > MOST:
        raise InputError(f"{c} of {draws}: expected n <= {MOST:,}")
    return c, draws


def binomial_p_value(successes: Any, n: Any, probability: Any) -> float:
    """Twice the smaller exact tail of Binomial(n, probability) at the observed count, at most 1; rounded up.

    `probability` is a rational. An event of probability 0 that happened, or of probability 1 that failed to, has
    p-value 0. Where the probability, or 1 minus it, is below `TINY`, n times that bounds the tail of the rare side.
    Raises `InputError` for anything but 0 <= successes <= n <= `MOST` and a probability in [0, 1].

    >>> binomial_p_value(0, 10, "1/2") < 2 / 2**10 * 1.000001, binomial_p_value(5, 10, "1/2")
    (True, 1.0)
    """
    c, draws = _successes(successes, n)
    exact = rational(probability, "probability")
    if not 0 <= exact <= 1:
        raise InputError(f"probability: {exact} is not in [0, 1]")
    return _two_sided(c, draws, exact)


def _two_sided(c: int, draws: int, exact: Q) -> float:
    if exact in (0, 1):
        return 1.0 if c == draws * exact else 0.0
    if 2 * exact > 1:  # the rarer side, because a float next to 1 has lost the digits of what is missing
        c, exact = draws - c, 1 - exact
    p = float(exact)
    if p < TINY:
        return min(1.0, 2 * (float(draws * exact) * ROUNDED_UP + LEAST_FLOAT)) if c else 1.0
    below, above = float(binom.cdf(float(c), float(draws), p)), float(binom.sf(float(c - 1), float(draws), p))
    if not (0 <= below <= 1 and 0 <= above <= 1):
        raise InputError(f"the tails of {c} of {draws} at {p} are {below} and {above}, not probabilities")
    tail = min(below, above)
    return min(1.0, 2 * tail * ROUNDED_UP)


def clopper_pearson(successes: Any, n: Any, alpha: Any) -> Interval:
    """The exact interval for a probability: it misses the true one with probability at most alpha, whatever that is.

    It is what `binomial_p_value` does not reject. Raises `InputError` as that does.

    >>> interval = clopper_pearson(0, 10, 0.05)
    >>> interval.low, round(interval.high, 4)
    (0.0, 0.3085)
    """
    c, draws = _successes(successes, n)
    alpha = level(alpha, "alpha")
    low = float(beta.ppf(alpha / 2, c, draws - c + 1)) if c else 0.0
    high = float(beta.isf(alpha / 2, c + 1, draws - c)) if c < draws else 1.0
    if not 0 <= low <= high <= 1:
        raise InputError(f"the interval of {c} of {draws} is [{low}, {high}], not one of probabilities")
    return Interval(low * (1 - 1e-9), min(1.0, high * ROUNDED_UP))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: all of them at once are valid (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, p_values[i] * (len(p_values) - rank)))
        adjusted[i] = largest
    return adjusted


class Cell(NamedTuple):
    """One cell of a report: what was drawn, what was expected, and its exact p-value after Holm's correction."""

    cell: Any
    drawn: int
    expected: float
    p_value: float


def worst_cells(counts: Counts, target: Target, most: int = 5) -> list[Cell]:
    """The cells with the smallest exact binomial p-values, corrected by Holm; impossible ones that were drawn first.

    Beyond `MOST` draws the counts are rounded to floats, and the p-values are exact for those.

    >>> from rheo_proof.stats.cells import read_counts, read_law
    >>> law = read_law({"a": "1/2", "b": "1/4", "c": "1/4"})
    >>> worst_cells(read_counts({"a": 50, "b": 10, "c": 40}, law), law, 1)[0].cell
    'b'
    """
    n = counts.n
    pairs = [(cell, c, target.probability(cell)) for cell, c in zip(target.cells, counts.c, strict=True)]
    pairs += [(cell, c, target.probability(cell)) for cell, c in counts.outside]
    p_values = holm([_two_sided(c, n, p) for _, c, p in pairs])
    cells = [Cell(cell, c, float(n * p), value) for (cell, c, p), value in zip(pairs, p_values, strict=True)]
    return sorted(cells, key=lambda cell: (cell.p_value, -abs(cell.drawn - cell.expected)))[:most]
