"""Where a function of uniforms changes its answer: the floats of a type as ordinals, and bisection down to neighbours.

The function is a black box that takes floats in (0, 1) and gives an answer that can be compared. Between two points
with different answers there is, along one of the coordinates, a pair of neighbouring floats at which the answer
changes. It is found by halving ordinals, at most once for each bit of the type.

Denormal numbers are left out, because some devices flush them to 0; 0 itself has the ordinal 0 and belongs to no cell.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeAlias

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.number import ONE, ZERO, Q

Point: TypeAlias = tuple[int, ...]
"""One ordinal for each uniform."""

Function: TypeAlias = Callable[[Sequence[tuple[float, ...]]], Sequence[Hashable]]
"""Many points at once, one answer each."""

FORMATS = {
    "float16": ("<e", "<h", -14, 10),
    "float32": ("<f", "<i", -126, 23),
    "float64": ("<d", "<q", -1022, 52),
}
"""How `struct` writes a type and its bits, the exponent of its smallest normal number, its binary digits."""

NEAR = 3
"""A candidate for a break point is looked for this many floats to either side."""


class Floats:
    """The normal floats of one type in (0, 1), by their bits read as an integer, which grows with them.

    >>> floats = Floats("float32")
    >>> floats.value(floats.last) == 1 - 2**-24, floats.value(floats.at(Q(1, 3)))
    (True, 0.3333333134651184)
    """

    def __init__(self, dtype: str) -> None:
        if dtype not in FORMATS:
            raise InputError(f"dtype: {dtype!r} is not one of {', '.join(FORMATS)}")
        self.dtype = dtype
        self._float, self._bits, smallest, digits = FORMATS[dtype]
        self.spacing = Q(1, 1 << digits)
        self.first = self.ordinal(2.0**smallest)
        self.last = self.ordinal(1.0) - 1

    def ordinal(self, value: float) -> int:
        """The bits of the float of this type nearest to a value."""
        return int(struct.unpack(self._bits, struct.pack(self._float, value))[0])

    def value(self, ordinal: int) -> float:
        """The float with these bits."""
        return float(struct.unpack(self._float, struct.pack(self._bits, ordinal))[0])

    def edge(self, ordinal: int) -> Q:
        """The least real number that is rounded down to this float; 0 for the first one, and 1 beyond the last."""
        return ZERO if ordinal == self.first else Q(*self.value(ordinal).as_integer_ratio())

    def at(self, u: Q) -> int:
        """The float to which a real number in [0, 1) is rounded down; no lower than the first."""
        if not ZERO <= u < ONE:
            raise InputError(f"{u} is not in [0, 1)")
        near = self.ordinal(int(u.numerator) / int(u.denominator))
        for ordinal in (near + 1, near, near - 1):
            if self.first < ordinal <= self.last and self.edge(ordinal) <= u:
                return ordinal
        return self.first if near <= self.first + 1 else self.last


class Answers:
    """The answers of a function, each point asked once. `calls`: how many points it was run at."""

    def __init__(self, function: Function, floats: Floats) -> None:
        self.function = function
        self.floats = floats
        self.calls = 0
        self._known: dict[Point, Hashable] = {}

    def fresh(self, points: Sequence[Point]) -> list[Hashable]:
        """Run the function at these points, known or not. Raises `InputError` unless it gives one answer each."""
        if not points:
            return []
        self.calls += len(points)
        found = list(self.function([tuple(map(self.floats.value, point)) for point in points]))
        if len(found) != len(points):
            raise InputError(f"the function was asked for {len(points)} answers and gave {len(found)}")
        return found

    def __call__(self, points: Sequence[Point]) -> list[Hashable]:
        new = [point for point in dict.fromkeys(points) if point not in self._known]
        self.remember(new, self.fresh(new))
        return [self._known[point] for point in points]

    def remember(self, points: Sequence[Point], answers: Sequence[Hashable]) -> None:
        """Keep answers that were given afresh."""
        self._known.update(zip(points, answers, strict=True))

    def at(self, point: Point) -> Hashable:
        """The answer at one point."""
        return self([point])[0]


class Pivots:
    """Where to look first: ordinals on either side of numbers that are likely break points, found ones included.

    A wrong guess costs one question; whatever is found is a pair of neighbouring floats with different answers.
    """

    def __init__(self, floats: Floats, candidates: Iterable[Q] = ()) -> None:
        self._ordinals: list[int] = []
        for c in sorted({c for c in candidates if ZERO < c < ONE}):
            self.add(floats.at(c))

    def add(self, ordinal: int) -> None:
        """One more guess."""
        for pivot in (ordinal - NEAR, ordinal + NEAR):
            place = bisect_left(self._ordinals, pivot)
            if self._ordinals[place : place + 1] != [pivot]:
                insort(self._ordinals, pivot)

    def between(self, low: int, high: int) -> int:
        """A guess strictly between two ordinals, the middle one of several; their middle where there is none."""
        start, end = bisect_left(self._ordinals, low + 1), bisect_left(self._ordinals, high)
        return self._ordinals[(start + end) // 2] if start < end else (low + high) // 2


def replaced(point: Point, i: int, ordinal: int) -> Point:
    """The point with another float as uniform i."""
    return (*point[:i], ordinal, *point[i + 1 :])


def first_change(answers: Answers, point: Point, i: int, low: int, high: int, pivots: Pivots) -> int:
    """An ordinal c in (low, high]: along uniform i the answer at c - 1 is that at low, and the one at c is another.

    The answers at low and at high must differ. Of several changes one is found.
    """
    left = answers.at(replaced(point, i, low))
    while high - low > 1:
        middle = pivots.between(low, high)
        if answers.at(replaced(point, i, middle)) == left:
            low = middle
        else:
            high = middle
    return high


def break_point(answers: Answers, x: Point, y: Point, pivots: Pivots) -> tuple[Point, int, int]:
    """A point, a uniform i and an ordinal c: there the answer changes between c - 1 and c along uniform i.

    The way from x to y changes one coordinate at a time; their answers must differ.
    """
    for i, end in enumerate(y):
        step = replaced(x, i, end)
        if answers.at(step) != answers.at(x):
            return x, i, first_change(answers, x, i, min(x[i], end), max(x[i], end), pivots)
        x = step
    raise InputError("the answers at two equal points differ: the function is not determined by its uniforms")
