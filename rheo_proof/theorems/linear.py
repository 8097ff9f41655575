"""Linear programs in exact rationals: whether linear inequalities have a common solution, and one that has room.

A dictionary simplex with Bland's rule, which cannot cycle. The programs of `regions.py` have a dozen unknowns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rheo_proof.exact.number import ONE, ZERO, Q


class Row(NamedTuple):
    """The linear form a . x + b."""

    a: tuple[Q, ...]
    b: Q

    def at(self, x: Sequence[Q]) -> Q:
        """Its value."""
        return sum((c * y for c, y in zip(self.a, x, strict=True)), self.b)


class _Dictionary:
    """basic[i] = b[i] - sum_j a[i][j] nonbasic[j]; the objective is v + sum_j c[j] nonbasic[j]."""

    def __init__(self, a: list[list[Q]], b: list[Q], c: list[Q]) -> None:
        self.a, self.b, self.c, self.v = a, b, c, ZERO
        self.nonbasic = list(range(len(c)))
        self.basic = list(range(len(c), len(c) + len(b)))

    def pivot(self, i: int, j: int) -> None:
        """Exchange the i-th basic and the j-th nonbasic variable."""
        row = self.a[i]
        inverse = ONE / row[j]
        self.b[i] *= inverse
        self.a[i] = row = [inverse if k == j else value * inverse for k, value in enumerate(row)]
        for other in range(len(self.b)):
            if other != i and (factor := self.a[other][j]):
                self.b[other] -= factor * self.b[i]
                self.a[other] = [
                    -factor * row[j] if k == j else value - factor * row[k] for k, value in enumerate(self.a[other])
                ]
        if factor := self.c[j]:
            self.v += factor * self.b[i]
            self.c = [-factor * row[j] if k == j else value - factor * row[k] for k, value in enumerate(self.c)]
        self.basic[i], self.nonbasic[j] = self.nonbasic[j], self.basic[i]

    def maximise(self) -> bool:
        """Pivot to the maximum; False if there is none because the objective is unbounded."""
        while True:
            entering = [(name, j) for j, name in enumerate(self.nonbasic) if self.c[j] > ZERO]
            if not entering:
                return True
            j = min(entering)[1]
            leaving = [(self.b[i] / self.a[i][j], name, i) for i, name in enumerate(self.basic) if self.a[i][j] > ZERO]
            if not leaving:
                return False
            self.pivot(min(leaving)[2], j)

    def solution(self, n: int) -> tuple[Q, ...]:
        """The values of the first n variables."""
        values = dict(zip(self.basic, self.b, strict=True))
        return tuple(values.get(name, ZERO) for name in range(n))


def maximum(rows: Sequence[Row], objective: Sequence[Q]) -> tuple[Q, tuple[Q, ...]] | None:
    """The largest objective . x over all x >= 0 at which no row is negative, and such an x.

    None if there is no such x, or no largest value.

    >>> found = maximum([Row((-ONE, -ONE), ONE)], [ONE, 2 * ONE])
    >>> found is not None and found == (2, (0, 1))
    True
    """
    n = len(objective)
    # The first phase: variable n is how much every row may be short of, and is made as small as it can be.
    short = _Dictionary([[-c for c in row.a] + [-ONE] for row in rows], [row.b for row in rows], [ZERO] * n + [-ONE])
    if rows and min(short.b) < ZERO:
        short.pivot(min(range(len(rows)), key=lambda i: short.b[i]), n)
        short.maximise()
        if short.v < ZERO:
            return None
    if n in short.basic:
        i = short.basic.index(n)
        if any(short.a[i]):
            short.pivot(i, next(j for j, value in enumerate(short.a[i]) if value))
    short.c, short.v = [ZERO] * len(short.nonbasic), ZERO
    for j, name in enumerate(short.nonbasic):
        if name == n:
            for line in short.a:
                line[j] = ZERO
        elif name < n:
            short.c[j] += objective[name]
    for i, name in enumerate(short.basic):
        if name < n:
            short.v += objective[name] * short.b[i]
            short.c = [c - objective[name] * value for c, value in zip(short.c, short.a[i], strict=True)]
    for j, name in enumerate(short.nonbasic):
        if name == n:
            short.c[j] = ZERO
    return (short.v, short.solution(n)) if short.maximise() else None


def interior(strict: Sequence[Row], weak: Sequence[Row], n: int) -> tuple[Q, ...] | None:
    """A point x >= 0 at which strict rows are positive and weak ones not negative, or None if there is none.

    The smallest strict row is as large as it can be there, up to 1.

    >>> interior([Row((ONE,), -ONE / 4)], [Row((-ONE,), ONE / 4)], 1) is None
    True
    """
    room = [Row((*row.a, -ONE), row.b) for row in strict] + [Row((*row.a, ZERO), row.b) for row in weak]
    room.append(Row((*(ZERO,) * n, -ONE), ONE))
    found = maximum(room, [ZERO] * n + [ONE])
    if found is None or (strict and not found[0] > ZERO):
        return None
    return found[1][:n]
