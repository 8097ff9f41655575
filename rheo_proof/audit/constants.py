"""Numbers that are not random: exact rationals of the floats in use, and infinities and NaN as they are."""

from __future__ import annotations

import math
import operator
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from rheo_proof.exact.number import ONE, ZERO, Q

Constant: TypeAlias = Any
"""A `Q`, or one of the floats inf, -inf and nan."""

DIGITS = 50
LARGEST = 2000
"""Beyond e^2000 a number is infinite, below e^-2000 it is 0: far below the 50 digits that are promised."""

_CONTEXT = Context(prec=DIGITS, traps=[])

INFINITY = math.inf


def constant(value: Any) -> Constant | None:
    """The exact value of a Python, NumPy or 0-d array number; None if it is no number.

    >>> str(constant(0.1)), constant(True) == 1, constant("a") is None
    ('3602879701896397/36028797018963968', True, True)
    """
    if isinstance(value, Q):
        return value
    kind = type(value)
    if kind is float:
        return Q(*value.as_integer_ratio()) if math.isfinite(value) else value
    if kind is int or kind is bool:
        return Q(int(value))
    if isinstance(value, Fraction):
        return Q(value.numerator, value.denominator)
    item = getattr(kind, "item", None)
    if item is not None and getattr(value, "ndim", None) == 0:
        inside = value.item()
        return None if inside is value else constant(inside)
    if issubclass(kind, float):
        return constant(float(value))
    if issubclass(kind, int):
        return constant(int(value))
    return None


def finite(c: Constant) -> bool:
    """Whether it is a rational."""
    return type(c) is not float


def is_nan(c: Constant) -> bool:
    """Whether it is NaN; a random number, which `isinstance` takes for a float, is not."""
    return type(c) is float and c != c


def _rational(value: Decimal) -> Constant:
    if value.is_nan():
        return math.nan
    if value.is_infinite():
        return INFINITY if value > 0 else -INFINITY
    return Q(*value.as_integer_ratio())


@lru_cache(maxsize=1 << 12)
def exponential(c: Constant) -> Constant:
    """e^c to 50 digits; 0 and infinity beyond e^2000 either way.

    >>> exponential(ZERO) == 1, float(exponential(ONE))
    (True, 2.718281828459045)
    """
    if not finite(c):
        return ZERO if c < 0 else c
    if abs(c) > LARGEST:
        return INFINITY if c > 0 else ZERO
    return _rational(_CONTEXT.exp(_CONTEXT.divide(Decimal(int(c.numerator)), Decimal(int(c.denominator)))))


@lru_cache(maxsize=1 << 12)
def logarithm(c: Constant) -> Constant:
    """The natural logarithm to 50 digits; -inf at 0, NaN below.

    >>> logarithm(ONE) == 0, logarithm(ZERO), round(float(logarithm(Q(2))), 12)
    (True, -inf, 0.69314718056)
    """
    if not finite(c):
        return math.nan if is_nan(c) or c < 0 else INFINITY
    if c < ZERO:
        return math.nan
    if c == ZERO:
        return -INFINITY
    above = _CONTEXT.ln(Decimal(int(c.numerator)))
    return _rational(_CONTEXT.subtract(above, _CONTEXT.ln(Decimal(int(c.denominator)))))


def plus(a: Constant, b: Constant) -> Constant:
    """a + b."""
    return a + b if finite(a) and finite(b) else _float(a) + _float(b)


def times(a: Constant, b: Constant) -> Constant:
    """a * b, with 0 * inf = NaN as floats have it."""
    return a * b if finite(a) and finite(b) else _float(a) * _float(b)


def over(a: Constant, b: Constant) -> Constant:
    """a / b, with the infinities and NaN of floats when b is 0."""
    if finite(b) and b == ZERO:
        if is_nan(a) or a == ZERO:
            return math.nan
        return INFINITY if a > 0 else -INFINITY
    if finite(a) and finite(b):
        return a / b
    if finite(a) and not is_nan(b):
        return ZERO
    return _float(a) / _float(b)


def _float(c: Constant) -> float:
    """Only the sign and the infinities matter to the callers: a finite operand stands beside one that is not."""
    if not finite(c):
        return float(c)
    return float((c > ZERO) - (c < ZERO))


def related(a: Constant, relation: str, b: Constant) -> bool:
    """Whether a stands in this relation to b; nothing but `ne` holds for NaN."""
    if is_nan(a) or is_nan(b):
        return relation == "ne"
    return bool(getattr(operator, relation)(a, b))


__all__ = [
    "INFINITY",
    "ONE",
    "ZERO",
    "Constant",
    "constant",
    "exponential",
    "finite",
    "is_nan",
    "logarithm",
    "over",
    "plus",
    "related",
    "times",
]
