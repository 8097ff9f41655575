"""Regions: sets of rational points cut out by the signs of polynomials, and a computation run on each of them.

A computation whose branches depend on signs is run on a region. Where a sign it asks for is not the same everywhere,
`Undecided` is raised, the region is cut in three, positive, negative and zero, and the computation starts anew on each
part. So the leaves cover the region whatever the computation asks. A part is left out only if linear programming in
exact rationals proves it empty. A zero is solved for one unknown, which disappears.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeVar

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.theorems.linear import Row, interior, maximum
from rheo_proof.theorems.polynomials import (
    Poly,
    Space,
    degree,
    linear,
    normal,
    number,
    partly,
    substituted,
    unknowns,
    value,
)

T = TypeVar("T")
Signs = frozenset[int]
ANY: Signs = frozenset((-1, 0, 1))
Point = dict[int, Q]
TRIES = 40


class Undecided(Exception):
    """The sign of a polynomial is not the same everywhere in a region, as far as is known."""

    def __init__(self, poly: Poly) -> None:
        super().__init__("a sign is not the same everywhere")
        self.poly = poly


class Empty(Exception):
    """A region turned out to be empty: two facts contradict each other."""


class Fraction(NamedTuple):
    """above/below, where `below` is positive in the region."""

    above: Poly
    below: Poly


class Region:
    """The points at which every fact holds: each polynomial in `facts` has one of its signs, no unknown is negative.

    `solved` holds the unknowns that zeros were solved for; they occur nowhere else. `cuts` are the polynomials at
    which this region was cut off from the first one, with their signs.
    """

    def __init__(
        self,
        space: Space,
        facts: Mapping[Poly, Signs],
        solved: Mapping[int, Fraction] | None = None,
        cuts: tuple[tuple[Poly, int], ...] = (),
    ) -> None:
        self.space = space
        self.facts = dict(facts)
        self.solved = dict(solved or {})
        self.cuts = cuts
        self._known: dict[Poly, Signs] = {}

    @classmethod
    def whole(cls, space: Space, weak: Sequence[Poly] = (), strict: Sequence[Poly] = ()) -> Region:
        """All points with no unknown negative, `weak` polynomials not negative and `strict` ones positive."""
        region = cls(space, {})
        for polys, signs in ((weak, (0, 1)), (strict, (1,))):
            for poly in polys:
                shape, sign = normal(poly)
                region.facts[shape] = frozenset(sign * s for s in signs)
        return region

    def rough(self, poly: Poly) -> Signs:
        """Signs among which those of a polynomial are, without any search."""
        if not poly:
            return frozenset((0,))
        shape, sign = normal(poly)
        known = self._known.get(shape) or self.facts.get(shape, ANY)
        if known == ANY and all(coefficient > 0 for coefficient in shape.values()):
            known = frozenset((1,)) if any(not any(exponents) for exponents in shape) else frozenset((0, 1))
        return frozenset(sign * s for s in known)

    def signs(self, poly: Poly) -> Signs:
        """The signs that a polynomial may have here: all it has are among them; linear ones have every sign named.

        (The latter only where all facts that share unknowns with it are linear.)
        """
        if not poly:
            return frozenset((0,))
        shape, sign = normal(poly)
        if shape not in self._known:
            self._known[shape] = self._signs(shape)
            if not self._known[shape]:
                raise Empty
        return frozenset(sign * s for s in self._known[shape])

    def _signs(self, shape: Poly) -> Signs:
        if shape.is_ground:
            return frozenset((1,))
        known = self.facts.get(shape, ANY)
        if len(known) == 1:
            return known
        if degree(shape) == 1:
            return known & self._linear_signs(shape)
        factors = self.space.factors(shape)
        return known if len(factors) == 1 else known & products(map(self.signs, factors))

    def _related(self, poly: Poly) -> tuple[list[int], dict[Poly, Signs]]:
        """The linear facts that share unknowns with a polynomial, directly or through each other; all unknowns."""
        left = [(fact, self.space.shape(fact)[0]) for fact in self.facts if self.space.shape(fact)[1] == 1]
        reached = unknowns(poly)
        found: dict[Poly, Signs] = {}
        while True:
            touched = [(fact, here) for fact, here in left if here & reached]
            if not touched:
                return sorted(reached), found
            left = [(fact, here) for fact, here in left if not here & reached]
            for fact, here in touched:
                reached |= here
                found[fact] = self.facts[fact]

    def _inherit(self, part: Region, unknowns: set[int]) -> None:
        """What is known of signs here and holds in a part that was cut off at a polynomial in these unknowns."""
        touched = {j for i in unknowns for j in self._related(self.space.unknown(i))[0]}
        for known, signs in self._known.items():
            here = self.space.shape(known)[0]
            if not here & touched or (len(signs) == 1 and not here & set(part.solved)):
                part._known[known] = signs

    def _rows(self, facts: Mapping[Poly, Signs], order: Sequence[int]) -> tuple[list[Row], list[Row]]:
        strict: list[Row] = []
        weak: list[Row] = []
        for fact, signs in facts.items():
            row = Row(*linear(fact * max(signs, key=abs), order))
            (weak if 0 in signs else strict).append(row)
        return strict, weak

    def _linear_signs(self, poly: Poly) -> Signs:
        order, facts = self._related(poly)
        strict, weak = self._rows(facts, order)
        row, minus = Row(*linear(poly, order)), Row(*linear(-poly, order))
        up = interior([*strict, row], weak, len(order)) is not None
        down = interior([*strict, minus], weak, len(order)) is not None
        if up and down:
            return ANY
        if not (up or down):
            return frozenset((0,))
        flat = interior(strict, [*weak, row, minus], len(order)) is not None
        return frozenset({1 if up else -1} | ({0} if flat else set()))

    def sign(self, poly: Poly) -> int:
        """The sign of a polynomial. Raises `Undecided` where it is not the same everywhere."""
        signs = self.signs(poly)
        if len(signs) > 1:
            raise Undecided(self.undecided(poly))
        return next(iter(signs))

    def undecided(self, poly: Poly) -> Poly:
        """What to cut at, to learn more of the sign of a polynomial: its first factor of unknown sign."""
        shape = normal(poly)[0]
        factors = (factor for factor in self.space.factors(shape) if not factor.is_ground)
        return next((factor for factor in factors if len(self.signs(factor)) > 1), shape)

    def where(self, poly: Poly, sign: int) -> Region | None:
        """The part where a polynomial has this sign; None if it is seen to be empty. May raise `Undecided`."""
        try:
            return self._where(poly, sign) if sign in self.signs(poly) else None
        except Empty:
            return None

    def _where(self, poly: Poly, sign: int) -> Region | None:
        cut = (*self.cuts, (poly, sign))
        if sign == 0:
            return self._solve(poly, cut)
        shape, s = normal(poly)
        if shape.is_ground:
            return self
        part = Region(self.space, {**self.facts, shape: frozenset((s * sign,))}, self.solved, cut)
        self._inherit(part, unknowns(poly))
        return part

    def _solve(self, poly: Poly, cut: tuple[tuple[Poly, int], ...]) -> Region | None:
        """Solve poly = 0 for an unknown in which it is linear, with a constant coefficient if there is one."""
        if not poly:
            return Region(self.space, self.facts, self.solved, cut)
        best: tuple[bool, int, Poly, Poly] | None = None
        for i in sorted(unknowns(poly), reverse=True):
            if max(exponents[i] for exponents in poly) == 1:
                slope = poly.diff(self.space.unknown(i))
                rest = poly - slope * self.space.unknown(i)
                if best is None or (slope.is_ground and not best[0]):
                    best = (slope.is_ground, i, slope, rest)
        if best is None:
            return Region(self.space, {**self.facts, normal(poly)[0]: frozenset((0,))}, self.solved, cut)
        _, i, slope, rest = best
        up = self.sign(slope)
        if not up:
            return (flat := self._solve(slope, cut)) and flat._solve(rest, cut)
        return self._replace(i, Fraction(-rest * up, slope * up), cut)

    def _replace(self, i: int, by: Fraction, cut: tuple[tuple[Poly, int], ...]) -> Region | None:
        """Replace an unknown everywhere; None if a fact turns out to be wrong."""
        facts: dict[Poly, Signs] = {}
        for fact, signs in [*self.facts.items(), (self.space.unknown(i), frozenset((0, 1)))]:
            new, _ = substituted(fact, i, *by)
            if not new:
                if 0 not in signs:
                    return None
                continue
            shape, s = normal(new)
            allowed = frozenset(s * sign for sign in signs) & facts.get(shape, ANY)
            if not allowed or (shape.is_ground and 1 not in allowed):
                return None
            if not shape.is_ground:
                facts[shape] = allowed
        solved = {i: by}
        for j, (above, below) in self.solved.items():
            (new_above, m), (new_below, n) = substituted(above, i, *by), substituted(below, i, *by)
            solved[j] = Fraction(new_above * by.below ** max(n - m, 0), new_below * by.below ** max(m - n, 0))
        part = Region(self.space, facts, solved, cut)
        touched = unknowns(by.above) | unknowns(by.below)
        self._inherit(part, {i, *touched})
        return part._flattened(touched)

    def _flattened(self, touched: set[int]) -> Region | None:
        """Solve for whatever is forced to be 0 here, after something happened to some unknowns."""
        for i in sorted(touched):
            unknown = self.space.unknown(i)
            order, facts = self._related(unknown)
            weak = [fact for fact, signs in facts.items() if 0 in signs]
            for poly in [*weak, *map(self.space.unknown, order)]:
                if self.signs(poly) == {0}:
                    return self._solve(poly, self.cuts)
        return self

    def contains(self, point: Mapping[int, Q]) -> bool:
        """Whether a point, given with all its unknowns, lies here."""
        if any(value(below, point) * point[i] != value(above, point) for i, (above, below) in self.solved.items()):
            return False
        signs = ((value(fact, point), signs) for fact, signs in self.facts.items())
        return min(point.values(), default=ZERO) >= ZERO and all(sign_of(v) in allowed for v, allowed in signs)

    @property
    def bent(self) -> bool:
        """Whether a fact is not linear: then linear programs alone do not show which parts are empty."""
        return any(degree(fact) > 1 for fact in self.facts)

    def shown_empty(self) -> bool:
        """Whether linear programming proves the region empty with facts that are not linear taken into account.

        Every product of powers of unknowns is an unknown of the program. Products of two linear facts are added; if
        that is not enough, those of a linear and another fact, too.
        """
        facts = [(fact * max(signs, key=abs), 0 not in signs) for fact, signs in self.facts.items() if signs != {0}]
        occurring = sorted({i for fact, _ in facts for i in unknowns(fact)})
        flat = [fact for fact, _ in facts if degree(fact) == 1] + [self.space.unknown(i) for i in occurring]
        bent = [fact for fact, _ in facts if degree(fact) > 1]
        pairs = [a * b for k, a in enumerate(flat) for b in flat[k:]]
        return any(contradictory(facts, more) for more in (pairs, [*pairs, *(a * b for a in flat for b in bent)]))

    def points(self, seed: int = 0) -> Iterator[Point]:
        """Rational points of the region, found by linear programming block by block; each is checked."""
        rng = random.Random(seed)
        for _ in range(TRIES):
            point = self._attempt(rng)
            if point is not None and self.contains(point):
                yield point

    def _attempt(self, rng: random.Random) -> Point | None:
        chosen: Point = {}
        for block in self.space.blocks:
            free = [i for i in block if i not in self.solved]
            facts = [(partly(fact, chosen), signs) for fact, signs in self.facts.items()]
            if any(fact.is_ground and sign_of(value(fact, {})) not in signs for fact, signs in facts):
                return None
            usable = {fact: signs for fact, signs in facts if degree(fact) == 1}
            order = sorted({i for fact in usable for i in unknowns(fact)} | set(free))
            strict, weak = self._rows(usable, order)
            inside = interior(strict, weak, len(order))
            if inside is None:
                return None
            aim = [ZERO + rng.randint(-3, 3) for _ in order]
            corner = maximum([*strict, *weak], aim)
            share = Q(rng.randint(1, 4), 4)
            at = dict(zip(order, inside, strict=True))
            if corner is not None and share < ONE:
                at = {i: share * at[i] + (ONE - share) * y for i, y in zip(order, corner[1], strict=True)}
            chosen.update((i, at[i]) for i in free)
        for i, (above, below) in self.solved.items():
            chosen[i] = value(above, chosen) / value(below, chosen)
        return chosen


def sign_of(value: Q) -> int:
    """-1, 0 or 1."""
    return (value > ZERO) - (value < ZERO)


def contradictory(facts: Sequence[tuple[Poly, bool]], more: Sequence[Poly]) -> bool:
    """Whether no choice of values for all products of powers makes the facts positive (strict) or not negative.

    `more` are polynomials that are not negative where the facts hold.
    """
    terms = sorted({e for poly in (*more, *(fact for fact, _ in facts)) for e in poly if any(e)})
    place = {exponents: k for k, exponents in enumerate(terms)}
    strict = [form(poly, place) for poly, is_strict in facts if is_strict]
    weak = [form(poly, place) for poly in (*more, *(fact for fact, is_strict in facts if not is_strict))]
    return interior(strict, weak, len(terms)) is None


def form(poly: Poly, place: Mapping[tuple[int, ...], int]) -> Row:
    """A polynomial as a linear form in its products of powers."""
    a, b = [ZERO] * len(place), ZERO
    for exponents, coefficient in poly.items():
        if any(exponents):
            a[place[exponents]] = number(coefficient)
        else:
            b = number(coefficient)
    return Row(tuple(a), b)


def products(signs: Iterable[Signs]) -> Signs:
    """The signs of a product."""
    found: Signs = frozenset((1,))
    for each in signs:
        found = frozenset(a * b for a, b in product(found, each))
    return found


def over_regions(
    region: Region, compute: Callable[[Region], T], guide: Point | None = None
) -> Iterator[tuple[Region, T]]:
    """Run a computation on a region, cut wherever it raises `Undecided`; the parts, each with its result.

    With a `guide`, only the part that holds this point.
    """
    waiting = [region]
    while waiting:
        part = waiting.pop()
        try:
            result = compute(part)
        except Undecided as question:
            parts = reversed(cut(part, question.poly))
            waiting += [each for each in parts if guide is None or each.contains(guide)]
        except Empty:
            continue
        else:
            yield part, result


def cut(region: Region, poly: Poly) -> list[Region]:
    """The parts of a region by the sign of a polynomial: positive, negative, zero; empty ones left out."""
    try:
        parts = [region.where(poly, sign) for sign in (1, -1, 0)]
    except Undecided as question:  # first of the coefficient of an unknown
        return cut(region, question.poly)
    found = [part for part in parts if part is not None]
    if len(found) == 1 and found[0].facts == region.facts and found[0].solved == region.solved:
        raise SoundnessError(f"a cut at {poly.as_expr()} that learns nothing")
    return found


def by_permutation(region: Region, signed: Callable[[Region], Sequence[Sequence[Poly]]]) -> list[Region]:
    """Parts that hold, of every point, some rearrangement: the signs fall from token to token, +, 0, -.

    `signed` lists polynomials for each token; tokens are compared by the sign of the first, then of the next. Enough
    where tokens may change places.
    """
    parts: list[tuple[Region, tuple[int, ...]]] = [(region, (1,) * 9)]
    for token, polys in enumerate(signed(region)):
        grown: list[tuple[Region, tuple[int, ...], tuple[int, ...]]] = [(part, high, ()) for part, high in parts]
        for k in range(len(polys)):
            grown = [
                (smaller, highest, (*signs, sign))
                for part, highest, signs in grown
                for sign in (1, 0, -1)
                if (*signs, sign) <= highest[: k + 1]
                and (smaller := part.where(signed(part)[token][k], sign)) is not None
            ]
        parts = [(part, signs) for part, _, signs in grown]
    return [part for part, _ in parts]
