"""Cones in the space of several independent Exp(1) variables, cut by homogeneous linear conditions.

Which of several exponential clocks rings first, in which order they ring, and any comparison of two of them are linear
conditions a . E < 0 without a constant. The region of noise that is still possible is then a union of simplicial cones,
and with rays r_1 .. r_n the cone { sum t_i r_i, t >= 0 } has probability

    | det(r_1 .. r_n) | / prod_i (r_i . 1)

by substituting t into the density exp(-E . 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rheo_proof.exact.number import ONE, ZERO, Q

Vector: TypeAlias = tuple[Q, ...]
Cone: TypeAlias = tuple[Vector, ...]
"""As many rays as dimensions, linearly independent, with non-negative coordinates."""


def orthant(dimension: int) -> Cone:
    """All values: the rays are the axes."""
    return tuple(tuple(ONE if i == j else ZERO for j in range(dimension)) for i in range(dimension))


def determinant(rows: Sequence[Vector]) -> Q:
    """The determinant, by exact elimination.

    >>> determinant([(Q(1), Q(2)), (Q(3), Q(4))]) == -2
    True
    """
    matrix = [list(row) for row in rows]
    result = ONE
    for column in range(len(matrix)):
        pivot = next((i for i in range(column, len(matrix)) if matrix[i][column]), None)
        if pivot is None:
            return ZERO
        if pivot != column:
            matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
            result = -result
        top = matrix[column]
        result *= top[column]
        for i in range(column + 1, len(matrix)):
            if matrix[i][column]:
                factor = matrix[i][column] / top[column]
                matrix[i] = [x - factor * y for x, y in zip(matrix[i], top, strict=True)]
    return result


def probability(cone: Cone) -> Q:
    """Pr[E in cone] for independent Exp(1) coordinates.

    >>> str(probability(((Q(1), Q(2)), (Q(0), Q(1)))))  # E_2 / 2 > E_1: the clock of rate 2 rings later
    '1/3'
    """
    volume = abs(determinant(cone))
    for ray in cone:
        volume /= sum(ray, ZERO)
    return volume


def cut(cones: Iterable[Cone], a: Vector) -> tuple[list[Cone], list[Cone]]:
    """The parts of a union of cones where a . E < 0 and where a . E > 0 (the boundary has probability 0).

    A zero functional puts everything on the second side.
    """
    below: list[Cone] = []
    above: list[Cone] = []
    waiting = list(cones)
    while waiting:
        cone = waiting.pop()
        values = [sum((x * y for x, y in zip(a, ray, strict=True) if x and y), ZERO) for ray in cone]
        low = next((i for i, value in enumerate(values) if value < ZERO), None)
        high = next((i for i, value in enumerate(values) if value > ZERO), None)
        if low is None:
            above.append(cone)
        elif high is None:
            below.append(cone)
        else:
            # The point of the edge from ray `low` to ray `high` on the boundary replaces one of the two in each half.
            middle = tuple(x * values[high] - y * values[low] for x, y in zip(cone[low], cone[high], strict=True))
            waiting.append((*cone[:high], middle, *cone[high + 1 :]))
            waiting.append((*cone[:low], middle, *cone[low + 1 :]))
    return below, above


def product(first: Sequence[Cone], second: Sequence[Cone]) -> list[Cone]:
    """The cones of two independent groups of clocks, side by side."""
    left, right = len(first[0]), len(second[0])
    return [
        tuple([(*ray, *(ZERO,) * right) for ray in one] + [(*(ZERO,) * left, *ray) for ray in other])
        for one in first
        for other in second
    ]


def first_of(rates: Sequence[Q], winner: int) -> Cone:
    """The cone where clock `winner` of E_i / rates[i] rings first, among fresh clocks; its probability is its share.

    >>> str(probability(first_of([Q(1), Q(2), Q(3)], 2)))
    '1/2'
    """
    rays = list(orthant(len(rates)))
    rays[winner] = tuple(rates)
    return tuple(rays)
