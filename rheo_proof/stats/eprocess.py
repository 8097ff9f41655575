"""The Dirichlet-grid e-process (F4): evidence against a law that may be looked at, and acted on, after every draw.

For a vector a > 0 fixed in advance, the ratio of the Dirichlet-multinomial likelihood to the one under p,

    M(a) = Gamma(a0) / Gamma(a0 + n) * prod_i Gamma(a_i + c_i) / Gamma(a_i) / p_i^c_i,   a0 = sum a_i,

is a martingale with mean 1 when the draws have law p (arXiv 2011.03567), and so is the average over a grid of a = w p.
Ville's inequality: P(M >= 1/alpha at any time) <= alpha. The grid costs ln 5 of evidence and adapts to the size of
the error. Everything is kept in logarithms, so nothing overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, isfinite, log
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.cells import TINY, Counts, LawLike, read_counts, read_law

GRID = (1.0, 1e1, 1e2, 1e3, 1e4)
"""Prior weights w, in units of k - 1."""

ROUNDING = 2.0**-46
"""Rounding error allowed for, relative to the sum of the absolute values of the terms: 128 units in the last place."""


class EProcess:
    """An e-process against one law. `log_e` is the evidence so far, rounded down; `log_max` its running maximum.

    `weights`: the grid of prior weights, fixed before the first draw. Raises `InputError` for unusable laws or weights.

    >>> process = EProcess(["1/2", "1/2"])
    >>> process.update([500, 500]).log_e < 0, process.update([1500, 500]).p_value < 1e-9, process.draws
    (True, True, 3000)
    """

    def __init__(self, law: LawLike, weights: Sequence[float] | None = None) -> None:
        self.target = read_law(law)
        grid = [max(self.target.size - 1, 1) * w for w in GRID] if weights is None else list(weights)
        if not grid or not all(isfinite(w) and w > 0 for w in grid):
            raise InputError(f"weights: {weights!r} are not positive numbers")
        self.prior = np.multiply.outer(np.array(grid), self.target.p)
        # Gamma(a) = Gamma(1 + a) / a, and Gamma(1 + a) is 1 to all digits for a tiny a, which may be 0 as a float.
        logs = np.add.outer(np.log(grid), self.target.log_p)
        self.log_gamma = np.where(self.prior < TINY, -logs, gammaln(np.maximum(self.prior, TINY)))
        self.total = Counts((0,) * self.target.size)
        self.log_e = 0.0
        self.log_max = 0.0

    @property
    def draws(self) -> int:
        """How many draws have been seen."""
        return self.total.n

    @property
    def p_value(self) -> float:
        """1 / (largest evidence so far): at most alpha with probability at most alpha, whenever one looks (Ville)."""
        return exp(-self.log_max)

    def rejects(self, alpha: float) -> bool:
        """Whether the evidence has ever reached 1 / alpha."""
        return self.log_max >= log(1 / alpha)

    def update(self, counts: Any) -> EProcess:
        """Add the counts of new draws, which must not have been chosen by looking at them. Returns itself.

        A draw in a cell of probability 0 is infinite evidence. Raises `InputError` for unusable counts.
        """
        self.total += read_counts(counts, self.target)
        self.log_e = inf if self.total.impossible else self._log_e()
        if not self.log_e >= -inf:
            raise InputError(f"the evidence of {self.draws} draws is not a number")
        self.log_max = max(self.log_max, self.log_e)
        return self

    def _log_e(self) -> float:
        """Cells without draws have a factor of exactly 1 and are left out."""
        every = np.array(self.total.c, dtype=np.float64)
        seen = every > 0
        a, c = self.prior[:, seen], every[seen]
        a0 = self.prior.sum(axis=1, keepdims=True)
        terms = np.concatenate(
            [
                gammaln(a0),
                -gammaln(a0 + c.sum()),
                gammaln(a + c),
                -self.log_gamma[:, seen],
                np.broadcast_to(-c * self.target.log_p[seen], a.shape),
            ],
            axis=1,
        )
        lower = terms.sum(axis=1) - ROUNDING * np.abs(terms).sum(axis=1)
        return float(logsumexp(lower)) - log(len(self.prior))
