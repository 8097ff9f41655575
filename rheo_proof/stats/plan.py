"""How many draws: the planner of the statistical checks, and its inverse.

A check at error rates alpha (a correct sampler fails) and beta (a sampler at distance eps or more passes) needs n draws
such that both are *proved*. With A the cells that the faulty law q makes likelier, Hoeffding's inequality keeps the
frequency of A above q(A) - sqrt(ln(1/beta) / (2 n)) with probability 1 - beta, and T >= freq(A) - p(A), as well as
G >= 4 n (freq(A) - p(A))^2 (data processing and Pinsker). So

    TV (F1):  n >= ((S/2 + sqrt(ln(1/alpha)/2) + sqrt(ln(1/beta)/2)) / (eps - slack))^2
    G  (F2):  n >= ((sqrt(g)/2 + sqrt(ln(1/beta)/2)) / eps)^2,   g the critical value of G at alpha

Both are rounded up by more than the tests round their statistics down. The asymptotic number (F3) is what Pearson's
chi-square would need if its approximation held: a floor to compare with, never a plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Any

from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.cells import LawLike, level, read_law
from rheo_proof.stats.goodness import SLACK, spread

ALPHA = 1e-9
BETA = 1e-3
MARGIN = 2.0**-34
"""Relative margin of every planned number; larger than `SLACK` several times over."""
ROUNDING = 2.0**-46
"""What rounding in G can hide of a distance: 2**-45 n T of a statistic that is at least 4 n T^2."""
SMALLEST = 1e-9
"""No smaller distance is planned for: the margins would have to be looked at again."""


def critical_g(alpha: float, d: int) -> float:
    """The g at which Agrawal's bound on P(G >= g) is alpha, for d = k - 1 degrees of freedom; rounded up.

    >>> [round(critical_g(1e-9, k - 1), 1) for k in (3, 5, 25, 125)]
    [56.0, 66.4, 141.3, 420.2]
    """
    budget = log(1 / alpha) / d
    # At x = g / (2d) the bound is exp(-d (x - 1 - ln x)); the left end has no budget, the right one too much.
    x = brentq(lambda x: x - 1 - log(x) - budget, 1.0, 4.0 + 4.0 * budget, xtol=1e-13, rtol=1e-14)
    return float(2 * d * x * (1 + SLACK))


def asymptotic_draws(cells: int, eps: float, alpha: float = ALPHA, beta: float = BETA) -> int:
    """F3: draws that the chi-square approximation asks for in the worst direction. A floor, not a plan.

    n = lambda / (4 eps^2), lambda the non-centrality at which a chi-square with k - 1 degrees of freedom stays below
    its 1 - alpha quantile with probability beta; n sum (q - p)^2 / p >= 4 n eps^2 by Cauchy and Schwarz.

    >>> asymptotic_draws(5, 0.01, 1e-9, 1e-6), asymptotic_draws(5, 0.01, 1e-4, 1e-2)
    (330982, 119586)
    """
    if cells < 2 or beta >= 1 - alpha:
        return 1
    d = cells - 1
    critical = chi2.isf(alpha, d)
    high = 4.0 * (critical + 10 * log(1 / beta) + 10)
    weight: float = brentq(lambda noncentral: ncx2.cdf(critical, d, noncentral) - beta, 1e-9, high)
    return ceil(weight / (4 * eps**2))


@dataclass(frozen=True)
class Fixed:
    """Draws of one test on a fixed number of draws: by F1, and by F2 (None with slack, or with a single cell)."""

    tv: int
    g: int | None

    @property
    def test(self) -> str:
        """Which test needs fewer draws: `G` or `TV`."""
        return "TV" if self.g is None or self.tv < self.g else "G"

    @property
    def draws(self) -> int:
        """The smaller of the two."""
        return self.tv if self.g is None else min(self.tv, self.g)


@dataclass(frozen=True)
class Plan:
    """Draws that prove a check's power at distance `eps`. `cells` is k, the cells of positive probability.

    `single`: one test at alpha. `capped`: the fixed part of the sequential check, at alpha/2. `stages`: the two stages
    of the two-stage check, at `first` and alpha / `first`, each with beta/2. `floor`: the asymptotic number.
    """

    cells: int
    eps: float
    alpha: float
    beta: float
    slack: float
    first: float
    single: Fixed
    capped: Fixed
    stages: tuple[Fixed, Fixed]
    floor: int

    @property
    def draws(self) -> int:
        """Draws of a single fixed test."""
        return self.single.draws

    @property
    def cap(self) -> int:
        """Most draws of the sequential check; a correct sampler takes all of them, a wrong one usually far fewer."""
        return self.capped.draws


def plan_draws(
    law: LawLike | int, eps: Any, alpha: Any = ALPHA, beta: Any = BETA, slack: float = 0.0, first: Any = None
) -> Plan:
    """Plan a check of `law` (or of any law on that many cells) that refutes every output law at TV >= `eps`.

    A correct sampler fails with probability at most `alpha`; one at distance `eps` or more passes with probability at
    most `beta`. `slack`: a distance that is allowed (F1'). `first`: level of stage 1 of the two-stage check, by default
    1e-3 or the square root of alpha, whichever is larger. Raises `InputError` for unusable numbers.

    >>> plan = plan_draws(5, 0.05)
    >>> plan.draws, plan.single.test, plan.single.tv, plan.floor
    (14076, 'G', 14774, 9660)
    """
    eps, alpha, beta = level(eps, "eps"), level(alpha, "alpha"), level(beta, "beta")
    cells, s = _cells(law)
    slack = slack if slack == 0 else level(slack, "slack")
    if slack:
        s = sqrt(cells - 1) * (1 + SLACK)
    if eps - slack < SMALLEST:
        least = slack + SMALLEST
        raise InputError(
            f"eps: {eps:g} is too small; expected at least {least:g}" + (", by the slack" if slack else "")
        )
    one = level(first, "first") if first is not None else max(1e-3, sqrt(alpha))
    if one <= alpha:
        raise InputError(f"first: {one:g} is not larger than alpha, {alpha:g}")

    def fixed(a: float, b: float) -> Fixed:
        reach = eps - slack
        g = None if slack or cells < 2 else _draws(g_reach(cells, a, b), reach - ROUNDING)
        return Fixed(_draws(tv_reach(s, a, b), reach), g)

    return Plan(
        cells=cells,
        eps=eps,
        alpha=alpha,
        beta=beta,
        slack=slack,
        first=one,
        single=fixed(alpha, beta),
        capped=fixed(alpha / 2, beta),
        stages=(fixed(one, beta / 2), fixed(alpha / one, beta / 2)),
        floor=asymptotic_draws(cells, eps - slack, alpha, beta),
    )


def tv_reach(s: float, alpha: float, beta: float) -> float:
    """eps sqrt(n) of the TV test: S/2 + sqrt(ln(1/alpha)/2) + sqrt(ln(1/beta)/2)."""
    return s / 2 + sqrt(log(1 / alpha) / 2) + sqrt(log(1 / beta) / 2)


def g_reach(cells: int, alpha: float, beta: float) -> float:
    """eps sqrt(n) of the G test: sqrt(g)/2 + sqrt(ln(1/beta)/2)."""
    return sqrt(critical_g(alpha, cells - 1)) / 2 + sqrt(log(1 / beta) / 2)


def _draws(reach: float, eps: float) -> int:
    return ceil((reach * (1 + MARGIN) / eps) ** 2)


def _cells(law: LawLike | int) -> tuple[int, float]:
    """k and S; for a bare number of cells the largest S there is."""
    if isinstance(law, int):
        if isinstance(law, bool) or law < 1:
            raise InputError(f"cells: {law} is not a number of cells")
        return law, sqrt(law - 1) * (1 + SLACK)
    target = read_law(law)
    return target.size, spread(target)


def detectable_tv(law: LawLike | int, n: int, alpha: Any = ALPHA, beta: Any = BETA) -> float:
    """The smallest eps that n draws of a fixed test are proved to refute with probability 1 - beta; above 1 if none.

    The inverse of `plan_draws`: planning for it takes at most n draws. Raises `InputError` for unusable numbers.

    >>> plan_draws(5, detectable_tv(5, 14076)).draws
    14076
    """
    alpha, beta = level(alpha, "alpha"), level(beta, "beta")
    if n < 1:
        raise InputError(f"n: {n!r} is not a positive number of draws")
    cells, s = _cells(law)
    found = tv_reach(s, alpha, beta) * (1 + MARGIN) / sqrt(n)
    if cells > 1:
        found = min(found, g_reach(cells, alpha, beta) * (1 + MARGIN) / sqrt(n) + ROUNDING)
    return found * (1 + 2.0**-50)
