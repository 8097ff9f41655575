"""A law and counts as they come from outside: everything that can be wrong with them is found here.

A law is exact: its probabilities are rationals over one common denominator, and sums of counts against it are integers.
Cells of probability 0 are set aside, with every draw that lands in them, before any statistic is computed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from operator import index
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.number import ZERO, Q, rational

Floats: TypeAlias = npt.NDArray[np.float64]
LEAST = 1e-300
"""No error rate or distance may be smaller."""

LawLike: TypeAlias = "Target | Mapping[Any, Any] | Sequence[Any]"
"""What functions accept as a law: cell -> rational, or a sequence of rationals whose cells are 0, 1, 2, ..."""


@dataclass(frozen=True)
class Target:
    """A law on named cells: cell i has probability `weights[i] / whole`, and all listed weights are positive.

    `impossible`: cells that were listed with probability 0. `all_cells`: every listed cell, in the order it was given;
    counts handed in as an array follow that order.
    """

    cells: tuple[Hashable, ...]
    weights: tuple[int, ...]
    whole: int
    impossible: tuple[Hashable, ...]
    all_cells: tuple[Hashable, ...]

    @property
    def size(self) -> int:
        """k, the number of cells of positive probability."""
        return len(self.cells)

    @cached_property
    def p(self) -> Floats:
        """The probabilities of the possible cells as floats, shape (k,), each correctly rounded."""
        return np.array([weight / self.whole for weight in self.weights])

    @cached_property
    def index(self) -> dict[Hashable, int]:
        """The position of each possible cell."""
        return {cell: i for i, cell in enumerate(self.cells)}

    def probability(self, cell: Hashable) -> Q:
        """The exact probability of any cell, listed or not."""
        i = self.index.get(cell)
        return ZERO if i is None else Q(self.weights[i], self.whole)


def read_law(law: LawLike, where: str = "law") -> Target:
    """Read a law: a mapping cell -> rational, or a sequence of rationals.

    Raises `InputError` for floats, negative entries, an empty law, and a sum other than exactly 1.

    >>> law = read_law({"a": "1/2", "b": "1/2", "never": 0})
    >>> law.cells, law.weights, law.whole, law.impossible
    (('a', 'b'), (1, 1), 2, ('never',))
    """
    if isinstance(law, Target):
        return law
    if isinstance(law, Mapping):
        entries = {cell: rational(value, f"{where}, cell {cell!r}") for cell, value in law.items()}
    elif isinstance(law, str) or not hasattr(law, "__iter__"):
        raise InputError(f"{where}: {law!r} is neither a mapping cell -> rational nor a list of rationals")
    else:
        entries = {i: rational(value, f"{where}, cell {i}") for i, value in enumerate(law)}
    if not entries:
        raise InputError(f"{where}: empty; a law needs at least one cell")
    for cell, value in entries.items():
        if value < ZERO:
            raise InputError(f"{where}, cell {cell!r}: {value} is negative")
    if sum(entries.values(), ZERO) != 1:
        raise InputError(f"{where}: sums to {sum(entries.values(), ZERO)}, expected exactly 1")
    whole = lcm(*(int(value.denominator) for value in entries.values()))
    possible = {cell: int(value * whole) for cell, value in entries.items() if value}
    return Target(
        tuple(possible),
        tuple(possible.values()),
        whole,
        tuple(cell for cell, value in entries.items() if not value),
        tuple(entries),
    )


@dataclass(frozen=True)
class Counts:
    """Draws by cell: `c[i]` in possible cell i of the target, `outside` in cells of probability 0, listed or not."""

    c: tuple[int, ...]
    outside: tuple[tuple[Hashable, int], ...] = ()

    @property
    def impossible(self) -> int:
        """How many draws fell into cells of probability 0."""
        return sum(count for _, count in self.outside)

    @property
    def n(self) -> int:
        """All draws."""
        return sum(self.c) + self.impossible

    def __add__(self, other: Counts) -> Counts:
        outside = dict(self.outside)
        for cell, count in other.outside:
            outside[cell] = outside.get(cell, 0) + count
        return Counts(tuple(a + b for a, b in zip(self.c, other.c, strict=True)), tuple(outside.items()))


def read_counts(counts: Any, target: Target, where: str = "counts") -> Counts:
    """Read counts: a mapping cell -> count, where a missing cell has 0, or integers in the order of the law's cells.

    A cell that the law does not list has probability 0; its draws are kept. Raises `InputError` for a wrong shape, no
    draws, negative entries, and anything that is not an integer: floats and NaN too.

    >>> read_counts({"a": 3, "c": 1}, read_law({"a": "1/2", "b": "1/2"}))
    Counts(c=(3, 0), outside=(('c', 1),))
    """
    if isinstance(counts, Counts):
        return counts
    if isinstance(counts, Mapping):
        found = {cell: _count(value, f"{where}, cell {cell!r}") for cell, value in counts.items()}
    else:
        if isinstance(counts, str) or not hasattr(counts, "__len__"):
            raise InputError(f"{where}: {counts!r} is neither a mapping cell -> count nor an array of counts")
        shape = np.shape(counts)
        if shape != (len(target.all_cells),):
            raise InputError(f"{where}: shape {shape}, expected ({len(target.all_cells)},), one for each cell")
        values = [_count(value, f"{where}, entry {i}") for i, value in enumerate(counts)]
        found = dict(zip(target.all_cells, values, strict=True))
    outside = tuple((cell, count) for cell, count in found.items() if cell not in target.index and count)
    read = Counts(tuple(found.get(cell, 0) for cell in target.cells), outside)
    if not read.n:
        raise InputError(f"{where}: no draws at all")
    return read


def _count(value: Any, where: str) -> int:
    try:
        count = index(value)
    except TypeError:
        raise InputError(f"{where}: {value!r} is not an integer") from None
    if isinstance(value, bool | np.bool_):
        raise InputError(f"{where}: {value!r} is not an integer")
    if count < 0:
        raise InputError(f"{where}: {count} is negative")
    return count


def level(value: Any, where: str) -> float:
    """Read an error rate or a distance: a number, or a decimal or fraction as a string, from `LEAST` to 1.

    The float nearest to it is returned; the planner's margin is far larger than that rounding. Raises `InputError`,
    for NaN too.

    >>> level("1/4", "eps")
    0.25
    """
    try:
        read = float(Fraction(value)) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InputError(f"{where}: {value!r} is not a number") from None
    if not LEAST <= read < 1.0:
        raise InputError(f"{where}: {value!r} is not at least {LEAST:g} and less than 1")
    return read
