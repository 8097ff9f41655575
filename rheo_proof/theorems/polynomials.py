"""What `regions.py` asks of polynomials over the rationals: linear forms, substitution, values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sympy import QQ, Symbol
from sympy.polys.orderings import lex
from sympy.polys.rings import PolyRing

from rheo_proof.exact.number import ZERO, Q

Poly: TypeAlias = Any
"""A `sympy.polys.rings.PolyElement` over the rationals: a mapping from exponents to coefficients."""


class Space:
    """Unknowns that are never negative, in blocks; a block is what `Region.point` gives values to at once."""

    def __init__(self, blocks: Sequence[Sequence[str]]) -> None:
        self.names = tuple(name for block in blocks for name in block)
        self.ring: Any = PolyRing([Symbol(name) for name in self.names or ("unused",)], QQ, lex)
        position = {name: i for i, name in enumerate(self.names)}
        self.blocks = tuple(tuple(position[name] for name in block) for block in blocks if block)
        self._factors: dict[Poly, tuple[Poly, ...]] = {}
        self._constants: dict[Q, Poly] = {}
        self._shapes: dict[Poly, tuple[frozenset[int], int]] = {}

    def unknown(self, i: int) -> Poly:
        """The i-th unknown."""
        return self.ring.gens[i]

    def factors(self, poly: Poly) -> tuple[Poly, ...]:
        """Polynomials whose product is a positive multiple of this one, itself not constant."""
        if degree(poly) == 1:
            return (poly,)
        if poly not in self._factors:
            coefficient, factors = poly.factor_list()
            sign = () if coefficient > 0 else (self.ring.ground_new(QQ(-1)),)
            self._factors[poly] = (*sign, *(factor for factor, power in factors for _ in range(power)))
        return self._factors[poly]

    def shape(self, poly: Poly) -> tuple[frozenset[int], int]:
        """Unknowns and degree of a polynomial that is asked for often."""
        if poly not in self._shapes:
            self._shapes[poly] = frozenset(unknowns(poly)), degree(poly)
        return self._shapes[poly]

    def constant(self, value: Q) -> Poly:
        """A constant polynomial."""
        if value not in self._constants:
            self._constants[value] = self.ring.ground_new(QQ(int(value.numerator), int(value.denominator)))
        return self._constants[value]


def number(coefficient: Any) -> Q:
    """A coefficient as `Q`."""
    return Q(int(coefficient.numerator), int(coefficient.denominator))


def unknowns(poly: Poly) -> set[int]:
    """The unknowns that occur."""
    found: set[int] = set()
    for exponents in poly:
        if any(exponents):
            found.update(i for i, power in enumerate(exponents) if power)
    return found


def degree(poly: Poly) -> int:
    """The total degree; 0 for the zero polynomial."""
    return max((sum(exponents) for exponents in poly), default=0)


def linear(poly: Poly, order: Sequence[int]) -> tuple[tuple[Q, ...], Q]:
    """Coefficients of the unknowns in `order`, and the constant, of a polynomial of degree at most 1."""
    found, constant = dict.fromkeys(order, ZERO), ZERO
    for exponents, coefficient in poly.items():
        if any(exponents):
            found[exponents.index(1)] = number(coefficient)
        else:
            constant = number(coefficient)
    return tuple(found[i] for i in order), constant


def normal(poly: Poly) -> tuple[Poly, int]:
    """A non-zero polynomial is sign * positive constant * shape, where shape has leading coefficient 1: shape, sign."""
    leading = poly.LC
    if leading == 1:
        return poly, 1
    return poly.quo_ground(leading), 1 if leading > 0 else -1


def coefficients(poly: Poly, i: int) -> dict[int, Poly]:
    """The polynomial in the i-th unknown: the coefficient of each power."""
    ring = poly.ring
    found: dict[int, Poly] = {}
    for exponents, coefficient in poly.items():
        rest = (*exponents[:i], 0, *exponents[i + 1 :])
        found.setdefault(exponents[i], ring.zero.copy())[rest] = coefficient
    return found


def substituted(poly: Poly, i: int, above: Poly, below: Poly) -> tuple[Poly, int]:
    """poly at unknown i = above/below, times below^d, d its degree there; and d."""
    found = coefficients(poly, i)
    d = max(found, default=0)
    if not d:
        return poly, 0
    terms = (c * (above**k if k else 1) * below ** (d - k) for k, c in found.items())  # sympy knows no 0**0
    return sum(terms, poly.ring.zero), d


def value(poly: Poly, at: Mapping[int, Q]) -> Q:
    """The value at a point that has all its unknowns."""
    total = ZERO
    for exponents, coefficient in poly.items():
        term = number(coefficient)
        for i, power in enumerate(exponents):
            if power:
                term *= at[i] ** power
        total += term
    return total


def partly(poly: Poly, at: Mapping[int, Q]) -> Poly:
    """The polynomial with some unknowns replaced by numbers."""
    here = [(poly.ring.gens[i], QQ(int(at[i].numerator), int(at[i].denominator))) for i in unknowns(poly) if i in at]
    return poly.subs(here) if here else poly
