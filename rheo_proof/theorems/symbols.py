"""Symbolic numbers: rational functions on a region, with the operators of an exact number.

The rules of `schemes/verifying` are written against numbers, so they run on these unchanged. A comparison is answered
if it has the same answer everywhere in the region; otherwise it raises `Undecided`, and `cutting.over_regions` runs
the rule on the parts. Denominators are kept as products of polynomials that are positive in the region.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any, TypeAlias, cast

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.number import EXACT, ONE, ZERO, Q
from rheo_proof.theorems.polynomials import Poly, degree, normal, number, unknowns, value
from rheo_proof.theorems.regions import Region, Signs, Undecided

EXACT_TYPES = (int, Q)
"""The numbers that symbolic ones meet; anything else is refused, even a 0 or 1."""
Below: TypeAlias = dict[Poly, int]
"""A product of polynomials, each with its power."""


class Symbol:
    """above/below on a region. Made from numbers and `unknown`, by arithmetic."""

    __slots__ = ("_form", "above", "below", "region")

    def __init__(self, region: Region, above: Poly, below: Below) -> None:
        self.region = region
        self.above, self.below = _cancelled(above, below)
        self._form: tuple[Poly, frozenset[tuple[Poly, int]]] | None = None

    @property
    def form(self) -> tuple[Poly, frozenset[tuple[Poly, int]]]:
        """How it is written: numbers of one form are equal, equal numbers may have several."""
        if self._form is None:
            self._form = self.above, frozenset(self.below.items())
        return self._form

    def _read(self, other: object) -> Symbol | None:
        """Another number as one of these; None for what is not exact, or belongs to another region."""
        if isinstance(other, Symbol):
            if other.region is not self.region:
                raise SoundnessError("numbers of two regions met")
            return other
        if type(other) in EXACT_TYPES:
            return Symbol(self.region, self.region.space.constant(cast(Q, other) + ZERO), {})
        return None

    def __add__(self, other: object) -> Any:
        if type(other) in EXACT_TYPES and not other:
            return self
        read = self._read(other)
        if read is None:
            return NotImplemented
        if not self.below and not read.below:
            return Symbol(self.region, self.above + read.above, {})
        common = {f: max(self.below.get(f, 0), read.below.get(f, 0)) for f in (*self.below, *read.below)}
        above = self.above * _rest(common, self.below) + read.above * _rest(common, read.below)
        return Symbol(self.region, above, common)

    __radd__ = __add__

    def __neg__(self) -> Symbol:
        return Symbol(self.region, -self.above, self.below)

    def __sub__(self, other: object) -> Any:
        read = self._read(other)
        return NotImplemented if read is None else self + -read

    def __rsub__(self, other: object) -> Any:
        return -self + other

    def __mul__(self, other: object) -> Any:
        if type(other) in EXACT_TYPES and other == 1:
            return self
        read = self._read(other)
        if read is None:
            return NotImplemented
        if not self.below and not read.below:
            return Symbol(self.region, self.above * read.above, {})
        below = {f: self.below.get(f, 0) + read.below.get(f, 0) for f in (*self.below, *read.below)}
        return Symbol(self.region, self.above * read.above, below)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        read = self._read(other)
        return NotImplemented if read is None else self * read.inverse()

    def __rtruediv__(self, other: object) -> Any:
        return self.inverse() * other

    def inverse(self) -> Symbol:
        """1 divided by it. Raises `SoundnessError` where it is 0."""
        sign = self.region.sign(self.above)
        if not sign:
            raise SoundnessError("a division by zero")
        below: Below = {}
        for factor in self.region.space.factors(self.above) if degree(self.above) else ():
            if not factor.is_ground:
                shape = normal(factor)[0]
                positive = shape * self.region.sign(shape)
                below[positive] = below.get(positive, 0) + 1
        scale = self.region.space.constant(sign / abs(number(self.above.LC)))
        return Symbol(self.region, scale * _rest(self.below, {}), below)

    def __abs__(self) -> Symbol:
        return self if self >= 0 else -self

    def _answer(self, other: object, yes: Signs) -> bool:
        """Whether the sign of self - other is one of `yes`."""
        read = self._read(other)
        if read is None:
            raise TypeError(f"a symbolic number compared with {other!r}")
        difference = (self - read).above if read.above else self.above
        for signs in (self.region.rough, self.region.signs):
            found = signs(difference)
            if found <= yes or not found & yes:
                return found <= yes
        raise Undecided(self.region.undecided(difference))

    def __lt__(self, other: object) -> bool:
        return self._answer(other, frozenset((-1,)))

    def __le__(self, other: object) -> bool:
        return self._answer(other, frozenset((-1, 0)))

    def __gt__(self, other: object) -> bool:
        return self._answer(other, frozenset((1,)))

    def __ge__(self, other: object) -> bool:
        return self._answer(other, frozenset((0, 1)))

    def __eq__(self, other: object) -> bool:
        """Whether the numbers are equal. Raises `TypeError` for a number that is not exact."""
        if isinstance(other, Number) and type(other) not in EXACT_TYPES:
            raise TypeError(f"a symbolic number compared with {other!r}")
        if type(other) not in EXACT_TYPES and not isinstance(other, Symbol):
            return NotImplemented
        return self._answer(other, frozenset((0,)))

    def __hash__(self) -> int:
        """None: a set or table asks `==` of numbers of equal hash alone, and would answer before the region is cut."""
        raise TypeError("a symbolic number has no hash: whether it is in a set depends on the region")

    def __bool__(self) -> bool:
        return self != 0

    def at(self, point: Mapping[int, Q]) -> Q:
        """The value at a point of the region."""
        bottom = ONE
        for factor, power in self.below.items():
            bottom *= value(factor, point) ** power
        return value(self.above, point) / bottom

    def __repr__(self) -> str:
        top, bottom = self.above.as_expr(), [f"({f.as_expr()})**{n}" for f, n in self.below.items()]
        return f"({top})/({'*'.join(bottom)})" if bottom else str(top)


EXACT.add(Symbol)


def _rest(whole: Below, part: Below) -> Any:
    """The product of what is in `whole` and not in `part`."""
    product: Any = 1
    for factor, power in whole.items():
        product = product * factor ** (power - part.get(factor, 0))
    return product


def _cancelled(above: Poly, below: Below) -> tuple[Poly, Below]:
    """Factors of the denominator divided out where they divide the numerator."""
    kept: Below = {}
    for factor, power in below.items() if above else ():
        here = unknowns(factor)
        while power and here <= unknowns(above) and degree(factor) <= degree(above):
            quotient, rest = above.div(factor)
            if rest:
                break
            above, power = quotient, power - 1
        if power:
            kept[factor] = power
    return above, kept


def vanishes(x: object) -> bool:
    """Whether a number is 0, everywhere in its region as far as is known; never raises `Undecided`."""
    if not isinstance(x, Symbol):
        return not x
    return not x.above or (0 in x.region.rough(x.above) and x.region.signs(x.above) == {0})


def unknown(region: Region, i: int) -> Any:
    """The i-th unknown as a number: what it was solved for, if it was."""
    if i not in region.solved:
        return Symbol(region, region.space.unknown(i), {})
    above, below = region.solved[i]
    return Symbol(region, above, {}) / Symbol(region, below, {})


def simplex(region: Region, first: Sequence[int]) -> tuple[Any, ...]:
    """A law's entries: unknowns, and 1 minus their sum."""
    entries = [unknown(region, i) for i in first]
    return (*entries, ONE - sum(entries, ZERO))


def numerator(region: Region, x: object) -> Poly:
    """A polynomial of the same sign."""
    return x.above if isinstance(x, Symbol) else region.space.constant(cast(Q, x))


def at_point(x: object, point: Mapping[int, Q]) -> Q:
    """The value at a point of the region; of a number, the number."""
    return x.at(point) if isinstance(x, Symbol) else cast(Q, x)
