"""Two goodness-of-fit tests with p-value bounds that hold for every law and every number of draws.

Total variation with McDiarmid's inequality (F1), and the likelihood ratio G with Agrawal's (F2). Each p-value returned
is an upper bound on the true one: statistics are rounded down and bounds up by `SLACK`, which is thousands of times
the rounding error of the floats involved. Beside them, the asymptotic chi-square tails of G and of Pearson's statistic,
which are approximate and decide nothing (docs/statistics.md shows by how much they are wrong).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, fsum, inf, isnan, log, sqrt
from typing import Any

import numpy as np
from scipy.special import chdtrc, xlog1py

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.cells import TINY, Counts, LawLike, Target, read_counts, read_law

SLACK = 2.0**-40
"""Relative error allowed for in every float that a verdict rests on; double precision has 2**-53 for one operation."""


@dataclass(frozen=True)
class TestResult:
    """What a test found: the statistic, and the natural logarithm of an upper bound on its p-value.

    Raises `InputError` for a bound that is not the logarithm of a probability, NaN among them.
    """

    __test__ = False  # not a class of tests, whatever pytest thinks of its name

    name: str
    statistic: float
    log_p: float

    def __post_init__(self) -> None:
        if not self.log_p <= 0.0:
            raise InputError(f"{self.name}: the p-value bound is {self.log_p}, not the logarithm of a probability")

    @property
    def p_value(self) -> float:
        """The bound itself; 0.0 stands for anything too small for a float."""
        return exp(self.log_p)

    def rejects(self, alpha: float) -> bool:
        """Whether the p-value bound is at most alpha."""
        return self.log_p <= log(alpha)


def _number(value: float) -> float:
    if isnan(value):
        raise InputError("a statistic of these counts is nan")
    return value


IMPOSSIBLE = "a draw in a cell of probability 0"


def spread(target: Target) -> float:
    """S = sum_i sqrt(p_i (1 - p_i)) <= sqrt(k - 1), rounded up; the mean TV of n draws is at most S / (2 sqrt(n)).

    >>> round(spread(read_law(["1/2", "1/2"])), 9)
    1.0
    """
    if target.size == 1:
        return 0.0
    return fsum(np.sqrt(np.maximum(target.p, TINY) * np.maximum(_rest(target), TINY))) * (1 + SLACK)


def _rest(target: Target) -> Any:
    """1 - p, each correctly rounded."""
    return np.array([(target.whole - weight) / target.whole for weight in target.weights])


def empirical_tv(counts: Counts, target: Target) -> float:
    """T = TV(c / n, p), half the sum of |c_i / n - p_i| over all cells: computed in integers, rounded once.

    >>> law = read_law(["1/2", "1/2"])
    >>> empirical_tv(read_counts([3, 1], law), law)
    0.25
    """
    n = counts.n
    apart = sum(abs(c * target.whole - n * w) for c, w in zip(counts.c, target.weights, strict=True))
    return (apart + counts.impossible * target.whole) / (2 * n * target.whole)


def tv_test(counts: Any, law: LawLike, slack: float = 0.0) -> TestResult:
    """F1: p-value <= exp(-2 n max(0, T - slack - S / (2 sqrt n))^2), by Jensen and McDiarmid's bounded differences.

    With `slack` > 0 the hypothesis is TV(q, p) <= slack for some law q on the possible cells of p, for engines that
    compute in single precision; S is then sqrt(k - 1). A draw in a cell of probability 0 has p-value 0.
    Raises `InputError` for unusable counts or laws.

    >>> tv_test([60, 40], ["1/2", "1/2"]).p_value > 0.5, tv_test([900, 100], ["1/2", "1/2"]).p_value < 1e-100
    (True, True)
    """
    target = read_law(law)
    read = read_counts(counts, target)
    if not 0.0 <= slack < 1.0:
        raise InputError(f"slack: {slack!r} is not at least 0 and less than 1")
    if read.impossible:
        return TestResult(IMPOSSIBLE, inf, -inf)
    t, n = empirical_tv(read, target), read.n
    s = sqrt(target.size - 1) * (1 + SLACK) if slack else spread(target)
    # NaN compares as false, and max would let it pass as 0: it is looked for by name.
    excess = max(0.0, _number(t * (1 - SLACK) - (slack + s / (2 * sqrt(n))) * (1 + SLACK)))
    return TestResult("TV (McDiarmid)", t, -2 * n * excess**2 * (1 - SLACK))


def g_statistic(counts: Counts, target: Target) -> float:
    """G = 2 sum c_i ln(c_i / (n p_i)) = 2 n KL(c / n, p); infinite when a draw was impossible.

    Summed as n p_i h(x_i) with x_i = c_i / (n p_i) - 1 from integers and h(x) = (1 + x) ln(1 + x) - x >= 0, so that
    nothing cancels between cells: the rounding error is below 2**-46 (G + n T), T the empirical TV. Where p_i is too
    small for that and c_i > 0, the same is c_i (ln(c_i / n) - ln p_i - 1) + n p_i, and n p_i is left out.

    >>> law = read_law(["1/2", "1/2"])
    >>> round(g_statistic(read_counts([3, 1], law), law), 6)
    1.046496
    """
    if counts.impossible:
        return inf
    n, whole = counts.n, target.whole
    tiny = [i for i in np.flatnonzero(target.p < TINY) if counts.c[i]]
    pairs = list(zip(counts.c, target.weights, strict=True))
    for i in tiny:
        pairs[i] = (0, 1)
    x = np.array([(c * whole - n * w) / (n * w) for c, w in pairs])
    terms = np.maximum(0.0, target.p * (xlog1py(1 + x, x) - x))
    for i in tiny:
        share = counts.c[i] / n
        terms[i] = share * (log(share) - target.log_p[i] - 1)
    return 2 * n * fsum(terms)


def log_agrawal(g: float, d: int) -> float:
    """Log of P(G >= g) <= exp(-g/2 + d) (g / (2d))^d for g > 2d, d = k - 1 (arXiv 1904.02291); 0 below that.

    >>> log_agrawal(4.0, 2), log_agrawal(56.1, 2) < log(1e-9) < log_agrawal(55.9, 2)
    (0.0, True)
    """
    if d == 0:
        return 0.0 if g <= 0.0 else -inf
    x = g / (2 * d)
    return min(0.0, d * (1 - x + log(x))) if x > 1 else 0.0


def g_test(counts: Any, law: LawLike) -> TestResult:
    """F2: p-value of G bounded by Agrawal's finite-sample inequality. A draw in a cell of probability 0 has p-value 0.

    Raises `InputError` for unusable counts or laws.

    >>> g_test([60, 40], ["1/2", "1/2"]).p_value > 0.1, g_test([900, 100], ["1/2", "1/2"]).p_value < 1e-100
    (True, True)
    """
    target = read_law(law)
    read = read_counts(counts, target)
    if read.impossible:
        return TestResult(IMPOSSIBLE, inf, -inf)
    g = g_statistic(read, target)
    if target.size == 1:
        return TestResult("G (Agrawal)", 0.0, 0.0)
    lower = g * (1 - SLACK) - read.n * empirical_tv(read, target) * 2.0**-45
    return TestResult("G (Agrawal)", g, log_agrawal(_number(lower), target.size - 1) * (1 - SLACK))


@dataclass(frozen=True)
class Approximate:
    """Chi-square tails of G and of Pearson's X2 at k - 1 degrees of freedom: approximate, and never a verdict."""

    g: float
    g_p_value: float
    pearson: float
    pearson_p_value: float

    def line(self) -> str:
        """One line for a report."""
        return (
            f"approximate, not deciding: Pearson's chi-square {self.pearson:.6g} (p ~ {self.pearson_p_value:.2g}), "
            f"G {self.g:.6g} (p ~ {self.g_p_value:.2g})"
        )


def approximate(counts: Any, law: LawLike) -> Approximate:
    """Pearson's X2 = sum (c_i - n p_i)^2 / (n p_i) and G with their asymptotic p-values, to be shown beside a verdict.

    >>> round(approximate([60, 40], ["1/2", "1/2"]).pearson, 9)
    4.0
    """
    target = read_law(law)
    read = read_counts(counts, target)
    if read.impossible:
        return Approximate(inf, 0.0, inf, 0.0)
    if target.size == 1:
        return Approximate(0.0, 1.0, 0.0, 1.0)
    n, whole = read.n, target.whole
    pairs = zip(read.c, target.weights, strict=True)
    x2 = fsum(_quotient((c * whole - n * w) ** 2, n * w * whole) for c, w in pairs)
    g, d = g_statistic(read, target), target.size - 1
    return Approximate(g, float(chdtrc(d, g)), x2, float(chdtrc(d, x2)))


def _quotient(a: int, b: int) -> float:
    """a / b, infinite where that is too large for a float."""
    try:
        return a / b
    except OverflowError:
        return inf


def tv_radius(cells: int, n: int, delta: float) -> float:
    """r with P(|TV(c / n, p) - TV(q, p)| > r) <= delta for every output law q on `cells` cells: by McDiarmid, as F1.

    >>> tv_radius(5, 10**6, 1e-3) < 0.003
    True
    """
    return (sqrt(max(cells - 1, 0)) / (2 * sqrt(n)) + sqrt(log(1 / delta) / (2 * n))) * (1 + SLACK)
