"""What a statistical check found, and how a failure is told."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log, pi
from typing import Any

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.binomial import Interval, worst_cells
from rheo_proof.stats.cells import Counts, Target
from rheo_proof.stats.goodness import approximate, empirical_tv, tv_radius
from rheo_proof.stats.seeds import VARIABLE

DELTA = 1e-3
"""The interval that is shown for TV misses it with probability at most this."""


class LawMismatch(AssertionError):
    """A sampler does not have the law it is said to have; `verdict` holds what was found."""

    def __init__(self, message: str, verdict: Any = None) -> None:
        super().__init__(message)
        self.verdict = verdict


@dataclass(frozen=True)
class Verdict:
    """A check that was carried out: `log_p` is the logarithm of a bound on its p-value, and it failed if `rejected`.

    `looks`: how often the draws were looked at; `stages`: how many stages were planned, each with draws of its own. The
    interval for TV holds for all looks and stages at once. `test`: the id of the test that ran, None outside pytest.
    """

    name: str
    method: str
    target: Target
    counts: Counts
    planned: int
    levels: str
    log_p: float
    alpha: float
    looks: int
    root: int
    test: str | None
    stages: int = 1

    def __post_init__(self) -> None:
        if not self.log_p <= 0.0:
            raise InputError(f"{self.name}: the p-value bound is {self.log_p}, not the logarithm of a probability")

    @property
    def rejected(self) -> bool:
        """Whether the p-value bound is at most alpha."""
        return self.log_p <= log(self.alpha)

    @property
    def draws(self) -> int:
        """How many draws were looked at."""
        return self.counts.n

    @property
    def tv(self) -> float:
        """TV of the empirical law and the expected one."""
        return empirical_tv(self.counts, self.target)

    @property
    def tv_interval(self) -> Interval:
        """An interval for TV(q, p), q the sampler's law, that holds with probability 1 - `DELTA`, whenever one stops.

        McDiarmid's radius at level 6 DELTA / (pi^2 j^2) for look j, and DELTA / 2 in place of DELTA for each of two
        stages; q may live on all listed cells and one more.
        """
        spent = DELTA / self.stages * 6 / (pi * self.looks) ** 2
        radius = tv_radius(len(self.target.all_cells) + 1, self.draws, spent)
        return Interval(max(0.0, self.tv - radius), min(1.0, self.tv + radius))

    @property
    def command(self) -> str:
        """One line that repeats the check with the same random numbers; outside pytest, what they hang on."""
        if self.test is None:
            return f"{VARIABLE}={self.root}, the assertion named {self.name!r}"
        line = f"{VARIABLE}={self.root} pytest {shlex.quote(self.test)}"
        return line if self.test == self.name else f"{line}  # the assertion named {self.name!r}"

    def lines(self) -> list[str]:
        """The report, a line each."""
        low, high = self.tv_interval
        return [
            f"{self.name}: the draws do not have the expected law",
            f"  {self.method}: {self.draws:,} draws, planned {self.planned:,}; {self.levels}",
            f"  TV {self.tv:.6f}, {100 * (1 - DELTA):g}% interval [{low:.6f}, {high:.6f}]",
            f"  p-value bound {in_words(self.log_p)}",
            "  worst cells (exact binomial, Holm):",
            *(f"    {line}" for line in _cells(worst_cells(self.counts, self.target))),
            f"  {approximate(self.counts, self.target).line()}",
            f"  root seed {self.root}; reproduce with:",
            f"  {self.command}",
        ]

    def enforce(self) -> Verdict:
        """Raise `LawMismatch` with the report if the check failed, else return the verdict."""
        if self.rejected:
            raise LawMismatch("\n".join(self.lines()), self)
        return self


def in_words(log_p: float) -> str:
    """A p-value bound from its logarithm, two digits, rounded up; powers of ten below any float included.

    >>> in_words(log(0.0123)), in_words(-5000.0), in_words(0.0), in_words(float("-inf"))
    ('1.3e-2', '3.4e-2172', '1', '0')
    """
    if log_p == 0.0 or log_p == float("-inf"):
        return "1" if log_p == 0.0 else "0"
    tens = log_p / log(10)
    power = floor(tens)
    digits = ceil(10 ** (tens - power + 1) * (1 + 1e-9))
    return f"{digits / 10:.1f}e{power}" if digits < 100 else f"1.0e{power + 1}"


def _cells(worst: Sequence[Any]) -> list[str]:
    rows = [("cell", "drawn", "expected", "p-value")]
    for cell, count, expected, p_value in worst:
        rows.append((_named(cell), f"{count:,}", f"{expected:,.1f}", f"{p_value:.2g}"))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d:>{widths[3]}}" for a, b, c, d in rows]


def _named(cell: Any) -> str:
    """A string of tokens as it is written elsewhere, `0,1,2`; any other cell as itself."""
    strings = isinstance(cell, tuple) and all(isinstance(token, int) for token in cell)
    return ",".join(map(str, cell)) if strings else str(cell)
