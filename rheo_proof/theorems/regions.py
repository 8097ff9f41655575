"""Regions: sets of rational points given by the signs of polynomials, and what signs other polynomials have there.

Signs of linear polynomials are found by linear programming in exact rationals. A polynomial that is zero is solved for
one unknown, which disappears.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from rheo_proof.exact.number import ZERO, Q
from rheo_proof.theorems.linear import Row, interior
from rheo_proof.theorems.polynomials import (
    Poly,
    Space,
    degree,
    linear,
    normal,
    substituted,
    unknowns,
    value,
)

Signs = frozenset[int]
ANY: Signs = frozenset((-1, 0, 1))
Point = dict[int, Q]


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
        """What is known of signs here and holds in a part that was cut off at a polynomial in these unknowns.

        Raises `Empty` where a fact of the part contradicts it.
        """
        touched = {j for i in unknowns for j in self._related(self.space.unknown(i))[0]}
        for known, signs in self._known.items():
            here = self.space.shape(known)[0]
            if not here & touched or (len(signs) == 1 and not here & set(part.solved)):
                part._known[known] = signs & part.facts.get(known, ANY)
                if not part._known[known]:
                    raise Empty

    def _linear_signs(self, poly: Poly) -> Signs:
        order, facts = self._related(poly)
        strict, weak = rows(facts, order)
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
        poly = self.simplified(poly)
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
            return (flat := self._solve(slope, cut)) and flat._solve(flat.simplified(rest), cut)
        return self._replace(i, Fraction(-rest * up, slope * up), cut)

    def _replace(self, i: int, by: Fraction, cut: tuple[tuple[Poly, int], ...]) -> Region | None:
        """Replace an unknown everywhere; None if a fact turns out to be wrong."""
        facts: dict[Poly, Signs] = {}
        touched = unknowns(by.above) | unknowns(by.below)
        for fact, signs in [*self.facts.items(), (self.space.unknown(i), frozenset((0, 1)))]:
            new, changed = substituted(fact, i, *by)
            touched |= unknowns(new) if changed else set()
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
        self._inherit(part, {i, *touched})
        return part._flattened(touched)

    def _flattened(self, touched: set[int]) -> Region | None:
        """Solve for whatever is forced to be 0 here, after something happened to some unknowns."""
        for i in sorted(touched):
            order, facts = self._related(self.space.unknown(i))
            weak = [fact for fact, signs in facts.items() if 0 in signs]
            for poly in [*weak, *map(self.space.unknown, order)]:
                if self.signs(poly) == {0}:
                    flat = self._solve(poly, self.cuts)
                    return flat and flat._flattened(touched - set(flat.solved))
        return self

    def simplified(self, poly: Poly) -> Poly:
        """A polynomial of the same sign here, without the unknowns that are solved."""
        for i in unknowns(poly) & set(self.solved):
            poly, _ = substituted(poly, i, *self.solved[i])
        return poly

    def contains(self, point: Mapping[int, Q]) -> bool:
        """Whether a point, given with all its unknowns, lies here."""
        if any(value(below, point) * point[i] != value(above, point) for i, (above, below) in self.solved.items()):
            return False
        signs = ((value(fact, point), signs) for fact, signs in self.facts.items())
        return min(point.values(), default=ZERO) >= ZERO and all(sign_of(v) in allowed for v, allowed in signs)


def sign_of(value: Q) -> int:
    """-1, 0 or 1."""
    return (value > ZERO) - (value < ZERO)


def rows(facts: Mapping[Poly, Signs], order: Sequence[int]) -> tuple[list[Row], list[Row]]:
    """Linear facts as rows that are positive, and rows that are not negative."""
    strict: list[Row] = []
    weak: list[Row] = []
    for fact, signs in facts.items():
        row = Row(*linear(fact * max(signs, key=abs), order))
        (weak if 0 in signs else strict).append(row)
    return strict, weak


def products(signs: Iterable[Signs]) -> Signs:
    """The signs of a product."""
    found: Signs = frozenset((1,))
    for each in signs:
        found = frozenset(a * b for a, b in product(found, each))
    return found
