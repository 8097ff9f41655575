"""One event of known probability: draws planned, tested exactly, told with its interval."""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Any

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.binomial import ROUNDED_UP, Interval, binomial_p_value, clopper_pearson
from rheo_proof.stats.cells import level
from rheo_proof.stats.ledger import current
from rheo_proof.stats.plan import ALPHA, BETA, MARGIN
from rheo_proof.stats.seeds import VARIABLE, root_seed
from rheo_proof.stats.verdict import LawMismatch


def event_draws(eps: Any, alpha: Any = ALPHA, beta: Any = BETA) -> int:
    """Draws after which the exact binomial test sees a probability that is off by `eps`, proved by Hoeffding.

    n >= ((sqrt(ln(2/alpha)/2) + sqrt(ln(1/beta)/2)) / eps)^2.

    >>> event_draws(0.01)
    263252
    """
    # The tails are rounded up by `ROUNDED_UP`, as if alpha were smaller by that.
    reach = sqrt(log(2 * ROUNDED_UP**2 / level(alpha, "alpha")) / 2) + sqrt(log(1 / level(beta, "beta")) / 2)
    return ceil((reach * (1 + MARGIN) / level(eps, "eps")) ** 2)


def assert_event_probability(
    successes: Any, n: Any, probability: Any, *, eps: Any, alpha: Any = ALPHA, beta: Any = BETA, name: str = "event"
) -> Interval:
    """Raise `LawMismatch` if an event of this exact probability happened too often or too rarely in n draws.

    For one event with a name: an acceptance rate, the mass outside the nucleus. The exact two-sided binomial test at
    level alpha; returns the Clopper-Pearson interval at alpha. Raises `InputError` for fewer than `event_draws` draws.

    >>> from rheo_proof.stats.ledger import separate_ledger
    >>> with separate_ledger():
    ...     low, high = assert_event_probability(1010, 3000, "1/3", eps=0.1)
    >>> low < 1 / 3 < high
    True
    """
    p_value, interval = binomial_p_value(successes, n, probability), clopper_pearson(successes, n, alpha)
    needed = event_draws(eps, alpha, beta)
    if n < needed:
        raise InputError(f"{name}: {n:,} draws are fewer than the {needed:,} planned for eps {eps} (event_draws)")
    current().spend(level(alpha, "alpha"))
    if not p_value > level(alpha, "alpha"):  # NaN raises, too
        raise LawMismatch(
            f"{name}: happened in {successes:,} of {n:,} draws, expected probability {probability}; "
            f"p-value {p_value:.2g}, Clopper-Pearson interval [{interval.low:.6f}, {interval.high:.6f}]; "
            f"root seed {root_seed()} ({VARIABLE})"
        )
    return interval
