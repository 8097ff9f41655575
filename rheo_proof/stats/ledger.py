"""The error budget of a run of the tests: every statistical assertion spends its false-alarm rate, and it adds up.

Whether anything fails is the same for Holm's and for Bonferroni's correction, so nothing is corrected: each assertion
has a small alpha of its own, and the run fails when the sum exceeds `LIMIT`. Only the standard library is needed here.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

LIMIT = Fraction("1e-6")
"""The largest probability of a false alarm anywhere in one run of the tests."""


@dataclass
class Ledger:
    """How many assertions spent how much: `spent[alpha]` assertions at the level alpha.

    >>> ledger = Ledger()
    >>> ledger.spend(1e-9)
    >>> ledger.spend(1e-9)
    >>> ledger.line()
    'statistical assertions: 2, error budget 2 x 1e-09 = 2e-09, limit 1e-06'
    """

    spent: Counter[Fraction] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)

    def spend(self, alpha: float) -> None:
        """Count one assertion. Its alpha is read as the decimal it is written as, so a thousand of 1e-9 are 1e-6."""
        self.spent[Fraction(repr(float(alpha)))] += 1

    def occurrence(self, name: str) -> int:
        """How many assertions of this name came before, so that the second one of a test has another stream."""
        self.names[name] += 1
        return self.names[name] - 1

    def new_test(self) -> None:
        """A test begins: its assertions are numbered from 0, whatever ran before in this process."""
        self.names.clear()

    @property
    def total(self) -> Fraction:
        """An upper bound on the probability of a false alarm in this run: the sum of all alphas (Boole)."""
        return sum((alpha * count for alpha, count in self.spent.items()), Fraction(0))

    @property
    def exceeded(self) -> bool:
        """Whether the total is larger than `LIMIT`."""
        return self.total > LIMIT

    def line(self) -> str:
        """The line for the summary of a run."""
        parts = " + ".join(f"{count} x {float(alpha):g}" for alpha, count in sorted(self.spent.items())) or "0"
        return (
            f"statistical assertions: {sum(self.spent.values())}, error budget {parts} = {float(self.total):g}, "
            f"limit {float(LIMIT):g}"
        )

    def to_plain(self) -> dict[str, int]:
        """The counts as strings and integers, for another process."""
        return {str(alpha): count for alpha, count in self.spent.items()}

    def add_plain(self, spent: dict[str, int]) -> None:
        """Add the counts of another process."""
        for alpha, count in spent.items():
            self.spent[Fraction(alpha)] += count


_current = Ledger()


def current() -> Ledger:
    """The ledger that assertions of this process write to."""
    return _current


@contextmanager
def separate_ledger() -> Iterator[Ledger]:
    """Assertions inside spend from a ledger of their own. Only for tests of the assertions themselves."""
    global _current
    before, _current = _current, Ledger()
    try:
        yield _current
    finally:
        _current = before


def test_name() -> str | None:
    """The id of the test that runs, or None outside pytest."""
    running = os.environ.get("PYTEST_CURRENT_TEST")
    return running.rpartition(" ")[0] if running else None


test_name.__test__ = False  # type: ignore[attr-defined]
