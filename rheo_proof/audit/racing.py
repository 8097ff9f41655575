"""Boxes of uniforms, with a race of exponentials inside each box.

A function that is handed a row of exponential variables e picks the token with the largest w_i / e_i, with weights w
that it does not tell. Token i wins with probability w_i / sum(w), so no noise needs to be cut into boxes:

* with e_i far below the others, i wins, which shows what each winner leads to;
* with all but two far away, the answer changes where e_i / e_j = w_i / w_j, which bisection finds;
* fresh random points, uniforms and exponentials together, are the judges, as without races.

Beside the winners, every point of the uniforms is asked with a panel of further noise; noise that contradicted a cell
joins it. A function that uses its exponentials in another way, or two rows of them at once, is refused.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeAlias

from rheo_proof.audit.boxes import AtZero, Cell, NotBoxes, Pieces
from rheo_proof.audit.breakpoints import Answers, Floats, Point
from rheo_proof.audit.carving import MOST_CELLS, OWN, Search
from rheo_proof.audit.errors import Unsound
from rheo_proof.exact.number import ONE, ZERO, Q, to_fraction

Noise: TypeAlias = tuple[float, ...]
Answer: TypeAlias = frozenset[tuple[Hashable, Q]]
"""A law of the outcome: pairs of outcome and probability."""

Asked: TypeAlias = Callable[[tuple[float, ...], Noise], Answer]
"""The answer for given uniforms and exponentials."""

FAR = 2.0**40
"""A clock that is slower by this factor loses; so weights are told apart from 0 if no other is as many times larger."""
NEAR_TIE = 2.0**-18
"""A contradiction where two clocks are as close as this is rounding: the points are drawn afresh."""
PANEL = 8
"""Most noise that joins the panel."""


@dataclass(frozen=True)
class Race:
    """What happens on one cell: the answer for each winner of row `row`, and the weights of the winners."""

    row: int
    answers: tuple[Answer, ...]
    weights: tuple[Q, ...]

    def law(self) -> Answer:
        """The law of the outcome: that of each winner, with its probability."""
        law: dict[Hashable, Q] = {}
        whole = sum(self.weights, ZERO)
        for answer, weight in zip(self.answers, self.weights, strict=True):
            for outcome, mass in answer if weight else ():
                law[outcome] = law.get(outcome, ZERO) + mass * weight / whole
        return frozenset(law.items())

    def expected(self, noise: Noise) -> tuple[Answer, bool]:
        """The answer for some noise, and whether two clocks are so close that rounding decides."""
        v = len(self.weights)
        clocks = noise[self.row * v : (self.row + 1) * v]
        times = sorted((e / float(w), i) for i, (e, w) in enumerate(zip(clocks, self.weights, strict=True)) if w)
        tie = len(times) > 1 and times[1][0] <= times[0][0] * (1 + NEAR_TIE)
        return self.answers[times[0][1]], tie


class RaceSearch(Search):
    """The boxes of a function of n uniforms and of `rows` rows of `size` exponentials each."""

    def __init__(
        self,
        asked: Asked,
        n: int,
        rows: int,
        size: int,
        floats: Floats,
        generator: random.Random,
        candidates: Iterable[Q] = (),
        most_cells: int = MOST_CELLS,
    ) -> None:
        self.asked, self.rows, self.size, self.runs = asked, rows, size, 0
        self.races: list[Race] = []
        self.panel = [self.clocks(row, {i: 1.0}, FAR) for row in range(rows) for i in range(size)]
        super().__init__(self.on_panel, n, floats, generator, candidates, most_cells)

    def clocks(self, row: int, some: dict[int, float], others: float) -> Noise:
        """Exponentials with some clocks of one row set, its other ones far away, and equal ones in the other rows."""
        return tuple(some.get(i, others) if r == row else 1.0 for r in range(self.rows) for i in range(self.size))

    def answer(self, uniforms: tuple[float, ...], noise: Noise) -> Answer:
        self.runs += 1
        return self.asked(uniforms, noise)

    def on_panel(self, points: Sequence[tuple[float, ...]]) -> list[Hashable]:
        """For each point the answers on the whole panel."""
        return [tuple(self.answer(point, noise) for noise in self.panel) for point in points]

    # The race on a cell

    def race(self, cell: Cell) -> Race:
        """The weights on a cell, found at one point of it. Raises `NotBoxes` if two rows matter."""
        point = self.inside(cell.box)
        [found] = self.answers([point])
        if not isinstance(found, tuple):
            raise Unsound(f"{found!r} is no answer on a panel")
        by_row = [found[row * self.size : (row + 1) * self.size] for row in range(self.rows)]
        matter = [row for row, answers in enumerate(by_row) if len(set(answers)) > 1]
        if len(matter) > 1:
            raise NotBoxes(f"rows {matter[0]} and {matter[1]} of the exponentials matter at the same time")
        row = matter[0] if matter else 0
        weights = self.weights(point, row, by_row[row]) if matter else [ONE] * self.size
        return Race(row, tuple(by_row[row]), tuple(weights))

    def weights(self, point: Point, row: int, answers: Sequence[Hashable]) -> list[Q]:
        """The weights of the winners up to a factor; 0 for a token that loses against any clock."""
        uniforms = tuple(map(self.floats.value, point))

        def at(i: int, clock: float, j: int) -> Hashable:
            return self.answer(uniforms, self.clocks(row, {i: clock, j: 1.0}, FAR * FAR))

        pairs = [(i, j) for i in range(self.size) for j in range(self.size) if answers[i] != answers[j]]
        lost = {i for i, j in pairs if at(i, 1 / FAR, j) != answers[i]}
        ratios: dict[tuple[int, int], Q] = {}
        for i, j in pairs:
            if i < j and not {i, j} & lost:
                ratios[i, j] = self.ratio(lambda clock, i=i, j=j: at(i, clock, j))  # type: ignore[misc]
                ratios[j, i] = 1 / ratios[i, j]
        return scaled(self.size, ratios, lost)

    def ratio(self, at: Callable[[float], Hashable]) -> Q:
        """w_i / w_j from where the answer changes along the clock of i, that of j being 1."""
        low, high = self.floats.ordinal(1 / FAR), self.floats.ordinal(FAR)
        first = at(self.floats.value(low))
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if at(self.floats.value(middle)) == first else (low, middle)
        return Q(*self.floats.value(high).as_integer_ratio())

    # Judging

    def agrees(self, density: Q) -> bool:
        """Whether fresh uniforms and exponentials agree with all cells; if not, the panel grows or cells are cut."""
        self.races = [self.race(cell) for cell in self.cells]
        points = [
            (k, self.inside(cell.box), tuple(self.exponential() for _ in range(self.rows * self.size)))
            for k, cell in enumerate(self.cells)
            for _ in range(ceil(to_fraction(density * self.volume(cell.box))))
        ]
        self.probes = len(points)
        contradicted = False
        odd: dict[int, list[Point]] = {}
        for k, point, noise in points:
            expected, tie = self.races[k].expected(noise)
            uniforms = tuple(map(self.floats.value, point))
            found = self.answer(uniforms, noise)
            if found != expected:
                contradicted = True
                if self.answer(uniforms, noise) != found:
                    raise NotBoxes(OWN)
                if not tie:
                    odd.setdefault(k, []).append(point)
                    self.learn(noise, first=len(odd) == 1 and len(odd[k]) == 1)
        if odd:
            self.answers = Answers(self.on_panel, self.floats)
            self.cells = [part for k, cell in enumerate(self.cells) for part in self.carved(cell.box, odd.get(k, []))]
        return not contradicted

    def exponential(self) -> float:
        """A random exponential, rounded to the type."""
        return self.floats.value(self.floats.ordinal(self.generator.expovariate(1.0)))

    def learn(self, noise: Noise, first: bool) -> None:
        """Noise that contradicted a cell joins the panel, the first of a round."""
        if first:
            self.panel.append(noise)
        if len(self.panel) > self.rows * self.size + PANEL:
            raise NotBoxes("the exponentials are not used as a race of w_i / e_i for the largest")

    def pieces(self) -> Pieces:
        """The cells that agreed, with the law of the race on each."""
        laws = {cell: race.law() for cell, race in zip(self.cells, self.races, strict=True)}
        raced = {race.row for race in self.races if len(set(race.answers)) > 1}
        law: dict[Hashable, Q] = {}
        for cell, answer in laws.items():
            law[answer] = law.get(answer, ZERO) + self.volume(cell.box)
        resolution = sum((self.gap(cell.box) for cell in self.cells), ZERO) + self.floats.spacing * self.size
        return Pieces(
            tuple(Cell(cell.box, answer) for cell, answer in laws.items()),
            law,
            len(self.whole.low) + self.rows * self.size,
            len({i for i, _ in self.breaks}) + self.size * len(raced),
            len(self.breaks),
            self.runs,
            self.probes,
            resolution,
            tuple(dict.fromkeys(AtZero(end.i, None, merged(end.answer)) for end in self.at_zero())),
        )


def merged(answers: Hashable) -> Answer:
    """What is possible on some noise of a panel."""
    return frozenset().union(*answers) if isinstance(answers, tuple) else frozenset()


def scaled(size: int, ratios: dict[tuple[int, int], Q], lost: set[int]) -> list[Q]:
    """Weights from ratios: one of them is 1, and the others follow along pairs that have a ratio.

    >>> [str(w) for w in scaled(3, {(0, 1): Q(2), (1, 0): Q(1, 2), (2, 1): Q(3)}, set())]
    ['1', '1/2', '3/2']
    """
    weights = [ZERO] * size
    start = next(i for i in range(size) if i not in lost)
    weights[start] = ONE
    waiting = [start]
    while waiting:
        j = waiting.pop()
        for i in range(size):
            if i not in lost and not weights[i] and ratios.get((i, j)):
                weights[i] = weights[j] * ratios[i, j]
                waiting.append(i)
    return weights
