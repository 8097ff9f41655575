"""The search for the boxes on which a function of uniforms is constant.

The unit cube is cut at break points (`breakpoints.py`) until nothing that was asked contradicts that every box is
constant; then fresh random points are the judges (`boxes.py`), and a cell that one of them contradicts is cut again.

A function whose regions are not boxes, such as a comparison of the product of two uniforms, is refused: near a break
point of one uniform the others are moved, and if the break point moves with one of them, it is on a curve.

Volumes are those of a uniform on (0, 1) rounded down to the floats of the type.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from math import ceil

from rheo_proof.audit.boxes import PROBES, ROUNDS, AtZero, Box, Cell, NotBoxes, Pieces
from rheo_proof.audit.breakpoints import Answers, Floats, Function, Pivots, Point, break_point, first_change, replaced
from rheo_proof.exact.errors import LimitReached
from rheo_proof.exact.number import ONE, ZERO, Q, to_fraction

SCATTERED = 8
"""Random points of a box that are asked before it counts as constant for the time being."""
REPEATED = 8
"""Points at which the function is asked twice before anything else; so many times 8 cells, where it has too many."""
NARROW = Q(1, 32)
"""Gaps between candidates for break points that are narrower than this are looked at, one by one."""
MOST_CELLS = 5000
"""A function with more boxes is refused."""
NEARBY = 8
"""How many points near a break point must not show it before it is followed."""
FOLLOWED = 6
"""A break point that is elsewhere in this many places, each time in another, is on a curve."""
OWN = (
    "the function gives two answers for the same uniforms: it has randomness of its own, or keeps something from one "
    "call to the next"
)


def settle(searches: Sequence[tuple[Search, Q]], probes: int = PROBES) -> int:
    """Find and verify the cells of several functions, which have shares of the probability that sum to 1.

    A round in which a point contradicts a cell counts for nothing: after the cut, all points are drawn afresh, for all
    functions. Returns the number of rounds. Raises `NotBoxes` after `ROUNDS` of them, and what `Search.start` raises.
    """
    for search, _ in searches:
        search.start()
    for rounds in range(1, ROUNDS + 1):
        agree = [search.agrees(probes * share) for search, share in searches]
        if all(agree):
            return rounds
    raise NotBoxes(f"after {ROUNDS} rounds some random point still contradicted the boxes")


class Search:
    """The boxes of one function of n uniforms. `candidates`: numbers that are likely break points, such as p/q."""

    def __init__(
        self,
        function: Function,
        n: int,
        floats: Floats,
        generator: random.Random,
        candidates: Iterable[Q] = (),
        most_cells: int = MOST_CELLS,
    ) -> None:
        self.floats = floats
        self.answers = Answers(function, floats)
        self.generator = generator
        self.candidates = sorted({c for c in candidates if ZERO < c < ONE})
        self.pivots = Pivots(floats, self.candidates)
        self.most_cells = most_cells
        self.whole = Box((floats.first,) * n, (floats.last,) * n)
        self.breaks: set[tuple[int, int]] = set()
        self.cells: list[Cell] = []
        self.probes = 0

    def start(self) -> None:
        """Cut the cube for the first time. Raises `NotBoxes`, and `LimitReached` beyond `most_cells`."""
        self.repeats([self.inside(self.whole) for _ in range(REPEATED)])
        self.cells = self.carved(self.whole, self.beside_candidates())

    def agrees(self, density: Q) -> bool:
        """Whether fresh random points agree with all cells, `density` for a volume of 1; if not, cut those cells."""
        self.probes, odd = self.contradicted(density)
        self.cells = [piece for k, cell in enumerate(self.cells) for piece in self.again(cell, odd.get(k, []))]
        return not odd

    def again(self, cell: Cell, odd: Sequence[Point]) -> list[Cell]:
        """A cell, cut where points contradict it."""
        return self.carved(cell.box, list(odd)) if odd else [cell]

    def repeats(self, points: Sequence[Point]) -> None:
        """Raise `NotBoxes` unless the function gives the same answers a second time."""
        if self.answers(points) != self.answers.fresh(points):
            raise NotBoxes(OWN)

    # Cutting

    def carved(self, box: Box, seen: Sequence[Point]) -> list[Cell]:
        """Cut a box until nothing asked contradicts the parts; `seen` are points to ask."""
        cells, waiting = list[Cell](), [(box, list(seen))]
        while waiting:
            box, seen = waiting.pop()
            points = [*box.corners(self.generator), *seen, *(self.inside(box) for _ in range(SCATTERED))]
            answers = self.answers(points)
            odd = next((k for k, answer in enumerate(answers) if answer != answers[0]), None)
            if odd is None:
                cells.append(Cell(box, answers[0]))
            else:
                self.repeats([points[0], points[odd]])
                at, i, c = break_point(self.answers, points[0], points[odd], self.pivots)
                self.follow(box, at, i, c)
                self.pivots.add(c)
                self.breaks.add((i, c))
                waiting += [(half, [x for x in points if half.holds(x)]) for half in box.cut(i, c)]
            if len(cells) + len(waiting) > self.most_cells:
                self.repeats([corner for cell in cells[: 8 * REPEATED] for corner in cell.box])
                raise LimitReached(f"more than {self.most_cells} boxes")
        return cells

    def inside(self, box: Box, near: Point | None = None, scale: Q = ONE) -> Point:
        """A random point of a box; with `near`, of the box shrunk towards that point."""
        point = []
        for k, (a, b) in enumerate(zip(box.low, box.high, strict=True)):
            low, high = self.floats.edge(a), self.floats.edge(b + 1)
            u = low + (high - low) * Q(self.generator.getrandbits(64), 1 << 64)
            if near is not None:
                start = self.floats.edge(near[k])
                u = start + (u - start) * scale
            point.append(min(max(self.floats.at(u), a), b))
        return tuple(point)

    def beside_candidates(self) -> list[Point]:
        """For each uniform a point between candidates that are near to each other, to see a piece between them."""
        middles = [self.floats.at((a + b) / 2) for a, b in pairwise([ZERO, *self.candidates, ONE]) if b - a < NARROW]
        n = len(self.whole.low)
        return [replaced(self.inside(self.whole), i, c) for i in range(n) for c in middles]

    # Straight or curved

    def follow(self, box: Box, at: Point, i: int, c: int) -> None:
        """Raise `NotBoxes` if the break point c of uniform i, found at a point, moves with another uniform."""
        pair = self.step(at, i, c)
        for k in range(NEARBY):
            x = self.inside(box, at, Q(1, 1 << (k + 1)))
            if self.step(x, i, c) == pair:
                return
        for j in range(len(at)):
            places = self.places(box, at, i, j) if j != i else []
            if len({*places, c}) == FOLLOWED + 1:
                shown = ", ".join(f"{self.floats.value(place):.9g}" for place in [c, *places[:3]])
                raise NotBoxes(
                    f"the break point of uniform {i} moves with uniform {j} ({shown}, ...): the regions are not boxes, "
                    "as with a product or a comparison of two uniforms"
                )

    def step(self, x: Point, i: int, c: int) -> list[Hashable]:
        """The answers on both sides of c along uniform i."""
        return self.answers([replaced(x, i, c - 1), replaced(x, i, c)])

    def places(self, box: Box, at: Point, i: int, j: int) -> list[int]:
        """Where the answer changes along uniform i for other values of uniform j."""
        found = []
        for k in range(FOLLOWED):
            x = replaced(at, j, self.inside(box, at, Q(1, 1 << k))[j])
            ends = self.answers([replaced(x, i, box.low[i]), replaced(x, i, box.high[i])])
            if ends[0] != ends[1]:
                found.append(first_change(self.answers, x, i, box.low[i], box.high[i], self.pivots))
        return found

    # Judging

    def volume(self, box: Box) -> Q:
        """The probability that the uniforms, rounded down, lie in the box."""
        total = ONE
        for a, b in zip(box.low, box.high, strict=True):
            total *= self.floats.edge(b + 1) - self.floats.edge(a)
        return total

    def contradicted(self, density: Q) -> tuple[int, dict[int, list[Point]]]:
        """How many fresh points were asked, and for each cell that one contradicts, the points."""
        points = [
            (k, self.inside(cell.box))
            for k, cell in enumerate(self.cells)
            for _ in range(ceil(to_fraction(density * self.volume(cell.box))))
        ]
        answers = self.answers.fresh([x for _, x in points])
        self.answers.remember([x for _, x in points], answers)
        odd: dict[int, list[Point]] = {}
        for (k, x), answer in zip(points, answers, strict=True):
            if answer != self.cells[k].answer:
                odd.setdefault(k, []).append(x)
        self.repeats([found[0] for found in odd.values()])
        return len(points), odd

    def pieces(self) -> Pieces:
        """The cells as they are, with their law."""
        law: dict[Hashable, Q] = {}
        for box, answer in self.cells:
            law[answer] = law.get(answer, ZERO) + self.volume(box)
        resolution = sum((self.gap(cell.box) for cell in self.cells), ZERO)
        return Pieces(
            tuple(self.cells),
            law,
            len(self.whole.low),
            len({i for i, _ in self.breaks}),
            len(self.breaks),
            self.answers.calls,
            self.probes,
            resolution,
            tuple(dict.fromkeys(self.at_zero())),
        )

    def gap(self, box: Box) -> Q:
        """The volume between the lower faces of a box that are break points and the floats before them."""
        total = ZERO
        for i, a in enumerate(box.low):
            if a != self.floats.first:
                face = Box(replaced(box.low, i, a - 1), replaced(box.high, i, a - 1))
                total += self.volume(face)
        return total

    def at_zero(self) -> list[AtZero]:
        """Uniforms that are exactly 0, one at a time, and make a difference to the cell beside."""
        asked = [
            (i, cell.answer, replaced(corner, i, 0))
            for cell in self.cells
            for i, a in enumerate(cell.box.low)
            if a == self.floats.first
            for corner in cell.box
        ]
        answers = self.answers([x for _, _, x in asked])
        return [
            AtZero(i, beside, answer) for (i, beside, _), answer in zip(asked, answers, strict=True) if answer != beside
        ]
