"""Large sparse vocabularies (F6): the 2/3-norm and TV statistics with Monte-Carlo p-values.

When most cells expect fewer than five draws, no single statistic sees every kind of error. Two together do what any of
the usual ones does: TV sees mass that moves between likely tokens, the 2/3-norm (Valiant and Valiant 2014)

    sum ((c_i - n p_i)^2 - c_i) / p_i^(2/3)

sees many small errors in the tail. Each gets half of alpha. Neither has a useful bound here, so their p-values are
ranks among replicates drawn from the law (Phipson and Smyth 2010): valid for any number of replicates. Their power is
not proved. What they cannot see at all is a law without its far tail; test that mass as one event (`event.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.cells import TINY, Floats, LawLike, level, read_counts, read_law
from rheo_proof.stats.check import Check
from rheo_proof.stats.plan import ALPHA
from rheo_proof.stats.sampling import Sampler
from rheo_proof.stats.verdict import Verdict

STOP = 20
"""Replicates are no longer drawn once so many reached the observed value in both statistics (Besag, Clifford 1991)."""

CHUNK = 64

MOST = 10**6
"""Most replicates of an assertion: enough for alpha = 4e-12. A failing sampler has all of them drawn."""


@dataclass(frozen=True)
class SparseResult:
    """Monte-Carlo p-values of both statistics, and how many replicates were drawn."""

    tv: float
    norm: float
    replicates: int

    @property
    def p_value(self) -> float:
        """Twice the smaller one, at most 1: each statistic has half of alpha."""
        return min(1.0, 2 * min(self.tv, self.norm))


def sparse_statistics(counts: npt.NDArray[np.int64], p: Floats) -> Floats:
    """TV and 2/3-norm statistic of each row of counts: shape (rows, k) to (rows, 2). Weights stop growing below `TINY`.

    >>> sparse_statistics(np.array([[2, 2]]), np.array([0.5, 0.5])).round(3).tolist()
    [[0.0, -6.35]]
    """
    n = counts.sum(axis=1, keepdims=True)
    off = counts - n * p
    norm = ((off**2 - counts) / np.maximum(p, TINY) ** (2 / 3)).sum(axis=1)
    return np.stack([np.abs(off).sum(axis=1) / (2 * n[:, 0]), norm], axis=1)


def sparse_p_value(counts: Any, law: LawLike, generator: np.random.Generator, replicates: int) -> SparseResult:
    """Monte-Carlo p-values: (1 + b) / (B + 1) with b of B = `replicates` at least as large as the observed value.

    Drawing stops early once `STOP` replicates reached it; the p-value is then `STOP` divided by how many were drawn by
    that time. A draw in a cell of probability 0 has p-value 0. Raises `InputError` for unusable counts.

    >>> law = ["1/2", "1/4", "1/4"]
    >>> sparse_p_value([500, 250, 250], law, np.random.default_rng(0), 999).p_value
    1.0
    >>> sparse_p_value([600, 200, 200], law, np.random.default_rng(0), 999).p_value
    0.002
    """
    target = read_law(law)
    read = read_counts(counts, target)
    if replicates < 1:
        raise InputError(f"replicates: {replicates!r} is not a positive number")
    if read.impossible:
        return SparseResult(0.0, 0.0, 0)
    if read.n >= 2**63:
        raise InputError(f"counts: {read.n} draws; expected fewer than 2**63")
    observed = sparse_statistics(np.array([read.c], dtype=np.int64), target.p)[0]
    if not np.all(np.isfinite(observed)):
        raise InputError(f"the statistics of these counts are {observed.tolist()}, not finite")
    reached = np.zeros((0, 2), dtype=np.bool_)
    while len(reached) < replicates and reached.sum(axis=0).min() < STOP:
        drawn = generator.multinomial(read.n, target.p, size=min(CHUNK, replicates - len(reached)))
        reached = np.concatenate([reached, sparse_statistics(drawn, target.p) >= observed])
    tv, norm = (_p_value(column, replicates) for column in reached.T)
    return SparseResult(tv, norm, len(reached))


def _p_value(reached: npt.NDArray[np.bool_], replicates: int) -> float:
    hits = np.flatnonzero(reached)
    if len(hits) >= STOP:
        return STOP / float(hits[STOP - 1] + 1)
    return float(len(hits) + 1) / (replicates + 1)


def assert_sparse_law_equal(
    sampler: Sampler,
    law: LawLike,
    *,
    draws: int,
    alpha: Any = ALPHA,
    name: str | None = None,
    seeded: bool = False,
) -> Verdict:
    """Raise `LawMismatch` if both of two stages of `draws` fresh draws each reject at sqrt(alpha).

    False alarms: at most alpha. Power: not proved, hence `draws` is yours to choose. `replicates` follow from alpha;
    they are drawn in full only for a sampler that fails. Raises `InputError` for unusable input, and for an alpha that
    takes more than `MOST` replicates.

    >>> from rheo_proof.stats.ledger import separate_ledger
    >>> with separate_ledger():
    ...     assert_sparse_law_equal(lambda rng, n: rng.integers(50, size=n), ["1/50"] * 50, draws=200, name="die").draws
    200
    """
    target, alpha = read_law(law), level(alpha, "alpha")
    if draws < 1:
        raise InputError(f"draws: {draws!r} is not a positive number")
    stage_level = sqrt(alpha)
    replicates = ceil(2 / stage_level)
    if replicates > MOST:
        raise InputError(f"alpha: {alpha:g} takes {replicates:.3g} replicates; at most {MOST:,}, for {4 / MOST**2:g}")
    check = Check.begin(name, target, alpha, f"alpha {alpha:g}, power not proved", seeded)
    check.spend()
    for stage in (0, 1):
        counts = check.drawn(sampler, draws, stage)
        result = sparse_p_value(counts, target, check.stream(2 + stage).generator, replicates)
        method = f"two-stage Monte-Carlo check, stage {stage + 1}"
        if counts.impossible or result.p_value > stage_level:
            return check.verdict(method, counts, draws, -inf if counts.impossible else 0.0, stages=2)
    return check.verdict(method, counts, draws, min(0.0, log(stage_level) + log(result.p_value)), stages=2)
