"""A case: one table of target and draft rows, rounded to a floating-point type, and what is exactly true of it.

The rows that a function is handed are floats. They are rounded first and then taken as the rationals that they are: the
target law of a case is the handed row divided by its sum, exactly, and `deviation` says how far that sum is from 1. For
dyadic tables it is 1, and the law is the row itself.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from rheo_proof.audit.errors import AuditError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel, key
from rheo_proof.exact.number import ONE, ZERO, Q

Values: TypeAlias = tuple[Fraction | float, ...]
"""A row as it is meant, before rounding. The only float in it is nan."""

Row: TypeAlias = tuple[float, ...]
"""A row as it is handed over: floats of the type of the case."""

Pairs: TypeAlias = Mapping[Prefix, tuple[Values, Values]]
"""Target and draft row after each prefix."""

Process: TypeAlias = Callable[[Law], Law]
"""What is done to a law before it counts."""

DTYPES = ("float32", "float64")
UNITS = {"float32": Q(1, 1 << 24), "float64": Q(1, 1 << 53)}
"""Unit roundoff: half of the distance from 1 to the next float."""


def rounded(value: Fraction | float, dtype: str) -> float:
    """The float of a type that is nearest to a value, ties to even (nan stays nan).

    >>> rounded(Fraction(1, 4), "float32"), rounded(Fraction(1, 10), "float64") == 0.1
    (0.25, True)
    """
    x = float(value)
    return x if dtype == "float64" or math.isnan(x) else float(struct.unpack("f", struct.pack("f", x))[0])


def exactly(x: float) -> Q:
    """A finite float as the rational that it is."""
    return Q(*x.as_integer_ratio())


@dataclass(frozen=True, eq=False)
class Table:
    """Rows for several requests and every prefix; one that is not listed has the rows of its longest listed suffix.

    `read`: the requests whose output is looked at, one after another; the others are there as company. `shift` is
    added to logits made of the rows, for faults that show only far from 0. `eos`: the token after which nothing may be
    emitted. `dtypes`: the types in which the battery hands it over.
    """

    name: str
    about: str
    vocab: int
    length: int
    rows: tuple[Pairs, ...]
    tags: frozenset[str] = frozenset()
    read: tuple[int, ...] = (0,)
    shift: float = 0.0
    eos: int | None = None
    dtypes: tuple[str, ...] = DTYPES

    def pair(self, request: int, prefix: Prefix) -> tuple[Values, Values]:
        """The intended target and draft rows."""
        rows = self.rows[request]
        while prefix not in rows:
            prefix = prefix[1:]
        return rows[prefix]


@dataclass(frozen=True)
class Request:
    """What one exploration reads: the output of request `index` in a call of all requests of the case.

    The drafts of the others are fixed strings, which `variant` chooses. Verification starts after `context`.
    """

    index: int = 0
    variant: int = 0
    context: Prefix = ()


@dataclass(frozen=True)
class Case:
    """A table in one floating-point type.

    `processes` are applied to the exact target and draft laws, not to the rows that are handed over: what a function
    does to its rows before it uses them, such as a truncation.

    >>> from rheo_proof.audit.tables import table
    >>> case = Case(table("tenths"), "float32")
    >>> case.target_row(0, ())[0], case.target(0, ())[0] == exactly(case.target_row(0, ())[0])
    (0.5, False)
    """

    table: Table
    dtype: str = "float32"
    processes: tuple[Process | None, Process | None] = (None, None)
    _rows: dict[tuple[int, Prefix], tuple[Row, Row]] = field(default_factory=dict, compare=False, repr=False)
    _laws: dict[tuple[int, int, Prefix], Law] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The table and the type, such as `tenths/float32`."""
        return f"{self.table.name}/{self.dtype}"

    @property
    def vocab(self) -> int:
        """V."""
        return self.table.vocab

    @property
    def length(self) -> int:
        """K, the number of draft tokens of a chain."""
        return self.table.length

    @property
    def batch(self) -> int:
        """B, the number of requests in one call."""
        return len(self.table.rows)

    @property
    def tags(self) -> frozenset[str]:
        """What is special about the rows."""
        return self.table.tags

    @property
    def unit(self) -> Q:
        """The unit roundoff of the type."""
        return UNITS[self.dtype]

    def _pair(self, request: int, prefix: Prefix) -> tuple[Row, Row]:
        found = self._rows.get((request, prefix))
        if found is None:
            p, q = self.table.pair(request, prefix)
            found = tuple(rounded(x, self.dtype) for x in p), tuple(rounded(x, self.dtype) for x in q)
            self._rows[request, prefix] = found
        return found

    def target_row(self, request: int, prefix: Prefix) -> Row:
        """The target row as it is handed over."""
        return self._pair(request, prefix)[0]

    def draft_row(self, request: int, prefix: Prefix) -> Row:
        """The draft row as it is handed over."""
        return self._pair(request, prefix)[1]

    def target(self, request: int, prefix: Prefix) -> Law:
        """The exact law of the handed target row. Raises `AuditError` if it is none, as rows of nan are none."""
        return self._law(request, 0, prefix)

    def draft(self, request: int, prefix: Prefix) -> Law:
        """The exact law of the handed draft row."""
        return self._law(request, 1, prefix)

    def _law(self, request: int, side: int, prefix: Prefix) -> Law:
        known = self._laws.get((request, side, prefix))
        if known is None:
            where = f"case {self.name}, request {request}, {('target', 'draft')[side]} row of {key(prefix)!r}"
            known = law_of(self._pair(request, prefix)[side], where)
            process = self.processes[side]
            known = self._laws[request, side, prefix] = process(known) if process else known
        return known

    @cached_property
    def refusal(self) -> bool:
        """Whether a row is nan, so that the only right answer is an exception."""
        return "nan" in self.tags

    @cached_property
    def deviation(self) -> Q:
        """The largest distance of the sum of a handed row from 1."""
        sums = (
            sum(map(exactly, row), ZERO)
            for request, rows in enumerate(self.table.rows)
            for prefix in rows
            for row in self._pair(request, prefix)
            if not any(map(math.isnan, row))
        )
        return max((abs(total - ONE) for total in sums), default=ZERO)

    def model(self, request: int, context: Prefix = ()) -> ToyModel:
        """The exact model of one request, from a context on: what the criterion of `StepLaw` asks for."""
        return ToyModel(
            self.vocab,
            self.length,
            lambda u: self.target(request, context + u),
            lambda u: self.draft(request, context + u),
            self.name,
        )

    def requests(self) -> tuple[Request, ...]:
        """What to read, one exploration each."""
        return tuple(Request(b, variant) for variant, b in enumerate(self.table.read))


def law_of(row: Row, where: str) -> Law:
    """A row of floats, divided by its sum exactly. Raises `AuditError` for a row that is no law at all.

    >>> law_of((0.25, 0.25, 0.5), "row")
    Law(1/4, 1/4, 1/2)
    """
    if not all(map(math.isfinite, row)) or min(row) < 0 or not any(row):
        raise AuditError(f"{where}: {row} is no law")
    weights = [exactly(x) for x in row]
    total = sum(weights, ZERO)
    return Law(w / total for w in weights)
