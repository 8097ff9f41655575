"""The battery: tables on which every fault that has been reported in public shows.

Two positions and three tokens at least, another row after every prefix; residuals with two tokens, since one-token
residuals hide how they are drawn from; zeros, ties, equal rows, certain rows; several requests in one call.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from rheo_proof.audit.cases import Case, Table
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.rows import prefixes, quiet, rejecting, same, spread
from rheo_proof.audit.toys import TOYS

DYADIC = (
    "24 17 23 / 32 16 16; 13 8 11 / 8 16 8; 4 3 1 / 2 4 2; 9 11 12 / 8 8 16; 3 2 3 / 2 4 2; 2 1 1 / 1 1 2; "
    "8 7 1 / 8 8 0; 7 5 4 / 4 4 8"
)
"""q, p/q, (p-q)+ and its sum are dyadic, powers of two where they divide: in a ratio rule nothing is ever rounded."""
TENTHS = "5 3 2 / 3 2 5; 3 1 6 / 1 7 2; 1 2 7 / 6 3 1; 4 5 1 / 1 1 8; 1 1 8 / 4 4 2; 4 2 4 / 1 6 3; 2 6 2 / 5 1 4"
THIRDS = "3 3 1 / 4 2 1; 2 3 1 / 1 1 4; 4 4 1 / 3 2 4; 1 8 2 / 6 3 2; 4 7 2 / 9 1 3"
ZEROS = "2 1 0 / 1 1 2; 0 1 3 / 2 1 0; 1 0 4 / 3 2 1; 1 2 3 / 0 1 1; 0 3 2 / 1 0 3; 3 0 5 / 0 2 3; 1 5 0 / 2 1 0"
TIES = "1 2 1 / 2 1 1; 1 1 2 / 1 1 2; 2 2 1 / 1 2 2; 1 1 1 / 1 2 1; 3 1 1 / 1 1 1"
GIVEN = "5 3 2 / 1 0 0; 3 1 6 / 0 1 0; 1 2 7 / 0 0 1; 4 5 1 / 0 0 1; 1 1 8 / 0 1 0; 4 0 6 / 0 1 0"
CERTAIN = "0 1 0 / 2 3 5; 1 0 0 / 1 6 3; 0 0 1 / 7 1 2; 1 0 0 / 0 1 0; 0 1 0 / 0 1 0"
PEAKED = "98 1 1 / 90 5 5; 1 1 998 / 400 300 300; 997 2 1 / 1 2 997; 1 9998 1 / 20 79 1; 499 500 1 / 500 1 499"
DISJOINT = "1 2 0 0 / 0 0 3 1; 0 3 0 5 / 2 0 3 0; 4 0 0 1 / 0 1 1 0"
WIDE = "1 2 3 4 5 / 5 4 3 2 1; 6 1 5 2 2 / 1 3 2 6 4; 0 4 1 7 3 / 3 0 5 2 1"
SPARSE = "5 3 2 / 1 2 0; 3 1 6 / 0 1 0; 1 2 7 / 1 0 3; 4 5 1 / 0 0 1; 3 3 4 / 0 1 1"
EVENLY = "7 3 / 4 1; 3 7 / 1 2; 2 3 / 3 2; 5 1 / 2 7; 1 3 / 3 4; 6 5 / 1 3; 4 7 / 7 2"
EMPTY = "a residual that rounding has left empty"
NEARLY = f"{2**24 - 1} {2**23} {2**23 + 1} / 2 1 1; {2**23 + 1} {2**24 - 1} {2**23} / 1 2 1"


def _short(bits: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """A target row that is one float short of 1 and nowhere above the draft's: its residual is empty, and reached.

    Not shorter than that: libraries refuse rows that do not sum to 1 up to rounding, and are right.
    """
    half = Fraction(1, 2)
    return (Fraction(0), half - Fraction(1, 1 << bits), half), (Fraction(0), half, half)


def _table(name: str, about: str, pools: Iterable[str], vocab: int, length: int, tags: str) -> Table:
    """A table with one pool for each request, all of which are read."""
    whole = len(prefixes(vocab, length))
    rows = tuple(spread(pool, vocab, length, start=(whole + 1) * b) for b, pool in enumerate(pools))
    return Table(name, about, vocab, length, rows, frozenset(tags.split()), tuple(range(len(rows))))


def _company(name: str, about: str, place: int, requests: int) -> Table:
    """Several requests, one of which is read, twice, with other strings of its neighbours; these never branch."""
    rows = tuple(spread(EVENLY, 2, 2) if b == place else quiet(EVENLY, 2, 2, start=9 * b + 3) for b in range(requests))
    return Table(name, about, 2, 2, rows, frozenset({"batch", "awkward"}), (place, place))


def _beside(name: str, about: str, place: int, at: int) -> Table:
    """Two requests, one of which is read; the other rejects at a position, for certain."""
    rows = tuple(spread(EVENLY, 2, 2, start=4) if b == place else rejecting(2, 2, at) for b in range(2))
    return Table(name, about, 2, 2, rows, frozenset({"batch", "awkward"}), (place,))


BATTERY: tuple[Table, ...] = (
    _table("dyadic", "every number of the ratio rule is exact", [DYADIC], 3, 2, "dyadic"),
    _table("tenths", "tenths: none of them is a float", [TENTHS], 3, 2, "awkward"),
    _table("thirds", "sevenths, ninths, elevenths", [THIRDS], 3, 2, "awkward"),
    _table("zeros", "zeros on both sides", [ZEROS], 3, 2, "zeros endpoint"),
    _table("ties", "equal entries, in and between rows", [TIES], 3, 2, "ties equal"),
    _table("equal", "the draft is the target", [same(TENTHS)], 3, 2, "equal"),
    _table("given", "the draft is certain", [GIVEN], 3, 2, "one-hot"),
    _table("certain", "the target is certain", [CERTAIN], 3, 2, "one-hot endpoint zeros"),
    _table("peaked", "very large and very small probabilities", [PEAKED], 3, 2, "peaked"),
    _table("disjoint", "no token in common", [DISJOINT], 4, 2, "disjoint zeros endpoint"),
    _table("wide", "five tokens, one position", [WIDE], 5, 1, "zeros"),
    _table("long", "three positions, a draft of two tokens or one", [SPARSE], 3, 3, "zeros"),
    _table("nearly", "draft and target one float apart", [NEARLY], 3, 2, "dyadic nearly"),
    *(
        Table(name, EMPTY, 3, 2, ({(): _short(bits)},), frozenset({"short", "zeros"}), dtypes=(dtype,))
        for name, bits, dtype in (("short", 25, "float32"), ("shorter", 54, "float64"))
    ),
    _table("two dyadic", "two requests, one position, nothing is rounded", [DYADIC, DYADIC], 3, 1, "dyadic batch"),
    _table("two awkward", "two requests, one position, their tables unlike", [TENTHS, THIRDS], 3, 1, "awkward batch"),
    _company("first of two", "the first of two requests, two positions", 0, 2),
    _company("middle of three", "the middle one of three requests, two positions", 1, 3),
    _beside("beside a rejection", "the other request rejects its first token", 0, 0),
    _beside("beside a late rejection", "the other request rejects its second token", 1, 1),
    _table("nan draft", "draft rows of nan", ["5 3 2 / nan nan nan"], 3, 2, "nan"),
    _table("nan target", "target rows of nan", ["nan nan nan / 2 3 5"], 3, 2, "nan"),
)

_NAMED = {table.name: table for table in (*BATTERY, *TOYS.values())} | TOYS


def table(name: str | Table) -> Table:
    """A table by name, or one of your own; a report (`R23`) names the table that shows it.

    Raises `AuditError` that lists the names.

    >>> table("R23").about, table("R17") is table("R23")
    ('an everyday pair of rows, V = 3', True)
    """
    if isinstance(name, Table):
        return name
    if name not in _NAMED:
        raise AuditError(f"no table {name!r}; there are {', '.join(_NAMED)}")
    return _NAMED[name]


def battery(dtypes: Iterable[str] = ("float32", "float64"), toys: bool = True) -> tuple[Case, ...]:
    """All cases: the battery, and the tables of the reports without repetitions, in each type.

    A row that is short by a rounding of float32 is no row in float64, and many samplers refuse it.
    """
    tables = [*BATTERY, *(dict.fromkeys(TOYS.values()) if toys else ())]
    return tuple(Case(table, dtype) for dtype in dtypes for table in tables if dtype in table.dtypes)


def named(names: Iterable[str | Table], dtypes: Iterable[str] = ("float32", "float64")) -> list[Case]:
    """The cases of tables that are asked for, in each type that a table is made for.

    >>> [case.name for case in named(["short", "zeros"], ["float64"])]
    ['zeros/float64']
    """
    chosen = [table(name) for name in names]
    return [Case(each, dtype) for dtype in dtypes for each in chosen if dtype in each.dtypes]
