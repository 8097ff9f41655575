"""Numbers and strings as they are written in what an audit finds."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

from rheo_proof.exact.model import Prefix, key

LONG = 24
"""Fractions with more characters than this are shown as a decimal only; JSON has all of them."""


def decimal(value: Fraction, digits: int = 4) -> str:
    """So many decimals, or significant digits where the number is small.

    >>> decimal(Fraction(2, 3)), decimal(Fraction(1, 3 * 10**9))
    ('0.6667', '3.3e-10')
    """
    if not value or abs(value) >= Fraction(1, 1000):
        rounded = round(value * 10**digits)
        return str(Decimal(rounded).scaleb(-digits).quantize(Decimal(1).scaleb(-digits)))
    context = Context(prec=2, capitals=0)
    return f"{context.divide(Decimal(value.numerator), Decimal(value.denominator)):.1e}"


def shown(value: Fraction) -> str:
    """A fraction with its decimal; a long one as `~` and its decimal; a whole number alone.

    >>> shown(Fraction(5, 6)), shown(Fraction(1)), shown(Fraction(1, 3**60))
    ('5/6 (0.8333)', '1', '~ 2.4e-29')
    """
    text = str(value)
    if value.denominator == 1:
        return text
    return f"{text} ({decimal(value)})" if len(text) <= LONG else f"~ {decimal(value)}"


def string(tokens: Prefix) -> str:
    """An emitted string.

    >>> string((0, 2)), string(())
    ('0,2', '(nothing)')
    """
    return key(tokens) or "(nothing)"
