"""The exact multinomial (F7): every outcome with its probability. For calibrating the library itself, not for tests.

There are C(n + k - 1, k - 1) outcomes: 5,151 for n = 100 and k = 3, which takes a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb, fsum, log

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlogy

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.cells import Counts, Floats, LawLike, Target, read_counts, read_law

MOST = 2_000_000
"""No more outcomes than this are enumerated."""


def outcomes(n: int, k: int) -> npt.NDArray[np.int64]:
    """All vectors of k counts that sum to n, shape (C(n + k - 1, k - 1), k). Raises `InputError` for too many.

    >>> outcomes(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    if n < 1 or k < 1 or comb(n + k - 1, k - 1) > MOST:
        raise InputError(f"n = {n}, k = {k}: expected 1 to {MOST:,} outcomes")
    return np.array(list(_compositions(n, k)), dtype=np.int64).reshape(-1, k)


def _compositions(n: int, k: int) -> Iterator[tuple[int, ...]]:
    if k == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in _compositions(n - first, k - 1):
            yield (first, *rest)


def probabilities(all_counts: npt.NDArray[np.int64], p: Floats) -> Floats:
    """The multinomial probability of each row of counts under p; they sum to 1 up to rounding.

    >>> probabilities(outcomes(2, 2), np.array([0.5, 0.5])).round(12).tolist()
    [0.25, 0.5, 0.25]
    """
    n = int(all_counts[0].sum())
    logs = gammaln(n + 1) - gammaln(all_counts + 1).sum(axis=1) + xlogy(all_counts, p).sum(axis=1)
    return np.asarray(np.exp(logs), dtype=np.float64)


def exact_p_value(counts: object, law: LawLike, statistic: Callable[[Counts, Target], float]) -> float:
    """P(statistic >= the observed one) under the law, by enumeration; 0 when a draw was impossible.

    Outcomes within a relative 1e-12 of the observed statistic count as equal to it. Raises `InputError` for too many.

    >>> from rheo_proof.stats.goodness import empirical_tv
    >>> round(exact_p_value([4, 0], ["1/2", "1/2"], empirical_tv), 12)
    0.125
    """
    target = read_law(law)
    read = read_counts(counts, target)
    if read.impossible:
        return 0.0
    everything = outcomes(read.n, target.size)
    values = np.array([statistic(Counts(tuple(map(int, row))), target) for row in everything])
    observed = statistic(read, target)
    return min(1.0, fsum(probabilities(everything, target.p)[values >= observed * (1 - 1e-12)]))


def size(law: LawLike, n: int, log_p: Callable[[Counts, Target], float], alpha: float) -> float:
    """The true probability that a test with this p-value rejects at level alpha when the law is right.

    `log_p` maps counts and target to the logarithm of a p-value. A sound test has size at most alpha.
    """
    target = read_law(law)
    everything = outcomes(n, target.size)
    rejected = np.array([log_p(Counts(tuple(map(int, row))), target) <= log(alpha) for row in everything])
    return fsum(probabilities(everything, target.p)[rejected])
