"""A law and counts as they come from outside: everything that can be wrong with them is found here.

A law is exact: its probabilities are rationals over one common denominator, and sums of counts against it are integers.
Cells of probability 0 are set aside, with every draw that lands in them, before any statistic is computed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, log
from numbers import Number
from operator import index
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.number import ZERO, Q, rational

Floats: TypeAlias = npt.NDArray[np.float64]
LEAST = 1e-300
"""No error rate or distance may be smaller."""
LONGEST = 100
"""No error rate or distance may be written with more characters."""
TINY = 1e-290
"""Probabilities below this enter as logarithms: as floats they have few digits, or are 0."""
MOST_DRAWS = 10**100
"""No more draws are counted; statistics of more might not be floats any more."""

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
    def log_p(self) -> Floats:
        """The natural logarithms of the probabilities, shape (k,): finite also for a probability too small for a float.

        Relative error below 2**-50, plus 2**-53 for a probability near 1.
        """
        pairs = zip(self.weights, self.p, strict=True)
        return np.array([log(p) if p >= TINY else _log_ratio(weight, self.whole) for weight, p in pairs])

    @cached_property
    def ambiguous(self) -> bool:
        """Whether a position can be mistaken for the name of another cell: cells are numbers, but not 0, 1, 2, ..."""
        numbers = any(isinstance(cell, Number) for cell in self.all_cells)
        return numbers and self.all_cells != tuple(range(len(self.all_cells)))

    @cached_property
    def index(self) -> dict[Hashable, int]:
        """The position of each possible cell."""
        return {cell: i for i, cell in enumerate(self.cells)}

    def probability(self, cell: Hashable) -> Q:
        """The exact probability of any cell, listed or not."""
        i = self.index.get(cell)
        return ZERO if i is None else Q(self.weights[i], self.whole)


def _log_ratio(weight: int, whole: int) -> float:
    """ln(weight / whole), scaled by a power of 2 so that nothing overflows or underflows."""
    shift = whole.bit_length() - weight.bit_length()
    return log((weight << shift) / whole) - shift * log(2)


def cell_name(cell: Any, where: str) -> Any:
    """A cell as it is compared with others: NumPy scalars, also inside tuples and frozensets, become Python's own.

    Raises `InputError` for arrays and tensors, which are compared by identity, and for NaN, which equals nothing.

    >>> cell_name((np.int64(3), "a"), "cell")
    (3, 'a')
    """
    if isinstance(cell, tuple | frozenset):
        parts = [cell_name(part, where) for part in cell]
        changed = any(new is not old for new, old in zip(parts, cell, strict=True))
        return (tuple(parts) if isinstance(cell, tuple) else frozenset(parts)) if changed else cell
    plain = cell.item() if isinstance(cell, np.generic) else cell
    if hasattr(plain, "__array__") or hasattr(plain, "item"):
        kind = f"{type(cell).__module__}.{type(cell).__name__}"
        raise InputError(
            f"{where}: a cell is or contains {cell!r}, a {kind}; use plain numbers or strings, as .tolist()"
        )
    if isinstance(plain, float) and plain != plain:
        raise InputError(f"{where}: a cell is or contains nan, which equals nothing")
    return plain


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
        named = ((cell_name(cell, where), value) for cell, value in law.items())
        entries = {cell: rational(value, f"{where}, cell {cell!r}") for cell, value in named}
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
    draws, negative entries, and anything that is not an integer: floats and NaN too; and for an array where the law's
    cells are numbers in another order than 0, 1, 2, ..., because its entries could be those of the numbers.

    >>> read_counts({"a": 3, "c": 1}, read_law({"a": "1/2", "b": "1/2"}))
    Counts(c=(3, 0), outside=(('c', 1),))
    """
    if isinstance(counts, Counts):
        return counts
    if isinstance(counts, Mapping):
        named = ((cell_name(cell, where), value) for cell, value in counts.items())
        found = {cell: _count(value, f"{where}, cell {cell!r}") for cell, value in named}
    else:
        if isinstance(counts, str) or not hasattr(counts, "__len__"):
            raise InputError(f"{where}: {counts!r} is neither a mapping cell -> count nor an array of counts")
        shape = _shape(counts, where)
        if shape != (len(target.all_cells),):
            raise InputError(f"{where}: shape {shape}, expected ({len(target.all_cells)},), one for each cell")
        if target.ambiguous:
            raise InputError(f"{where}: {AMBIGUOUS}; give a mapping cell -> count")
        values = [_count(value, f"{where}, entry {i}") for i, value in enumerate(counts)]
        found = dict(zip(target.all_cells, values, strict=True))
    outside = tuple((cell, count) for cell, count in found.items() if cell not in target.index and count)
    read = Counts(tuple(found.get(cell, 0) for cell in target.cells), outside)
    if not read.n:
        raise InputError(f"{where}: no draws at all")
    if read.n > MOST_DRAWS:
        raise InputError(f"{where}: more than {float(MOST_DRAWS):g} draws")
    return read


AMBIGUOUS = "the law's cells are numbers, but not 0, 1, 2, ... in this order, so an array can be read in two ways"


def _shape(counts: Any, where: str) -> tuple[int, ...]:
    try:
        return np.shape(counts)
    except ValueError:
        raise InputError(f"{where}: rows of different lengths; expected one integer for each cell") from None


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

    The float nearest to it is returned; the planner's margin is far larger than that rounding. A decimal is never a
    `Fraction`, because 1e-999999999 would have a billion digits. Raises `InputError`, for NaN too.

    >>> level("1/4", "eps")
    0.25
    """
    if isinstance(value, str) and len(value) > LONGEST:
        raise InputError(f"{where}: {len(value)} characters long; expected at most {LONGEST}")
    try:
        read = float(Fraction(value) if isinstance(value, str) and "/" in value else value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InputError(f"{where}: {value!r} is not a number") from None
    if not LEAST <= read < 1.0:
        raise InputError(f"{where}: {value!r} is not at least {LEAST:g} and less than 1")
    return read
