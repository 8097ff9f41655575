"""Boxes of uniforms, the cells of a function that is constant on them, and how far such cells may be trusted.

Fresh random points are spread over the cells in proportion to their volumes. If the law made of the cells is wrong by a
total variation distance of eps or more, the function departs from them on a set of that volume, and with N points all
of them miss that set with probability at most exp(-N eps), whatever the set looks like: with f_c the part of cell c
that departs, v_c its volume and at least N v_c points in it,

    P(all miss) <= prod_c (1 - f_c)^(N v_c) <= exp(-N sum_c v_c f_c) <= exp(-N eps).
"""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import product
from math import log
from typing import NamedTuple

from rheo_proof.audit.breakpoints import Point, replaced
from rheo_proof.exact.number import Q

PROBES = 2048
"""Fresh random points over all cells."""
MISS = 1e-9
"""With what probability those points may miss a fault of the size that is reported."""
ROUNDS = 32
"""How often all points are drawn afresh after one of them contradicted a cell."""
CORNERS = 64
"""Most corners of a box that are asked."""


class NotBoxes(Exception):
    """The regions of the function are not boxes, so it has no law as a sum of their volumes: nothing is decided."""


class Box(NamedTuple):
    """For each uniform the first and the last float, as ordinals."""

    low: Point
    high: Point

    def corners(self, generator: random.Random) -> list[Point]:
        """All corners, or `CORNERS` of them, the lowest and the highest among them."""
        sides = list(zip(self.low, self.high, strict=True))
        if 2 ** len(sides) <= CORNERS:
            return list(product(*(dict.fromkeys(side) for side in sides)))
        some = [tuple(generator.choice(side) for side in sides) for _ in range(CORNERS - 2)]
        return [self.low, self.high, *some]

    def cut(self, i: int, c: int) -> tuple[Box, Box]:
        """The part where uniform i is below ordinal c, and the rest."""
        return Box(self.low, replaced(self.high, i, c - 1)), Box(replaced(self.low, i, c), self.high)

    def holds(self, point: Point) -> bool:
        """Whether the point lies in the box."""
        return all(a <= u <= b for a, u, b in zip(self.low, point, self.high, strict=True))


class Cell(NamedTuple):
    """A box and the answer there."""

    box: Box
    answer: Hashable


class AtZero(NamedTuple):
    """What the function answers where uniform `i` is exactly 0, beside a cell with another answer."""

    i: int
    beside: Hashable
    answer: Hashable


@dataclass(frozen=True)
class Pieces:
    """The cells of a function of uniforms, and how far one may trust them.

    `probes`: fresh random points that agreed. `resolution`: how far in TV the law moves at most if the break points are
    anywhere between the neighbouring floats at which they were found. `used` of `drawn` variables make a difference.
    """

    cells: tuple[Cell, ...]
    law: dict[Hashable, Q]
    drawn: int
    used: int
    breaks: int
    calls: int
    probes: int
    resolution: Q
    at_zero: tuple[AtZero, ...] = field(default=())


def unseen(probes: int, miss: float = MISS) -> float:
    """The eps for which a law wrong by eps passes `probes` fresh points with probability at most `miss`.

    Every round of points counts, `ROUNDS` at most: eps = ln(ROUNDS / miss) / probes.

    >>> round(unseen(2048), 4), round(unseen(20480), 5)
    (0.0118, 0.00118)
    """
    return min(1.0, log(ROUNDS / miss) / probes)
