"""The rational type in use, and the border at which floats are refused.

Everything exact is computed in `Q`. It is `gmpy2.mpq` where gmpy2 is installed and `fractions.Fraction`
otherwise; the environment variable `RHEO_NUMBER` (`gmpy2` or `fraction`) decides it explicitly. The two agree on
every value, so results do not depend on the choice; only speed does. Results handed to callers are `Fraction`.
"""

from __future__ import annotations

import os
import re
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING

from rheo_proof.exact.errors import InputError

if TYPE_CHECKING:
    Q = Fraction
    NUMBER_TYPE = ""
else:

    def _choose() -> tuple[type, str]:
        wanted = os.environ.get("RHEO_NUMBER", "")
        if wanted not in ("", "gmpy2", "fraction"):
            raise InputError(f"RHEO_NUMBER is {wanted!r}: expected 'gmpy2' or 'fraction'")
        if wanted != "fraction":
            try:
                from gmpy2 import mpq
            except ImportError:
                if wanted == "gmpy2":
                    raise InputError("RHEO_NUMBER is 'gmpy2', but gmpy2 is not installed") from None
            else:
                return type(mpq(0)), "gmpy2.mpq"
        return Fraction, "fractions.Fraction"

    Q, NUMBER_TYPE = _choose()

ZERO = Q(0)
ONE = Q(1)

EXACT: set[type] = {Q}
"""The types of number that a law may hold. `theorems/symbols.py` adds its symbolic number; nothing else may."""

_WRITTEN = re.compile(r"[+-]?[0-9]+(/[0-9]+)?")


def rational(value: object, where: str = "value") -> Q:
    """Read one exact number from outside: an integer, a rational, or a string such as `3/10`.

    `where` names the place for the error message. Raises `InputError` for floats, words and zero denominators.

    >>> rational("3/10") + rational(1) == Fraction(13, 10)
    True
    >>> rational(0.3, "p(0)")
    Traceback (most recent call last):
    ...
    rheo_proof.exact.errors.InputError: p(0): 0.3 is a float; write a rational such as "3/10"
    """
    if isinstance(value, str):
        text = value.strip()
        if not _WRITTEN.fullmatch(text):
            raise InputError(f'{where}: {value!r} is not a rational; write an integer or a string such as "3/10"')
        above, _, below = text.partition("/")
        try:
            numerator, denominator = int(above), int(below or "1")
        except ValueError as error:
            raise InputError(f"{where}: a number is too long: {error}") from None
        if denominator == 0:
            raise InputError(f"{where}: {value!r} has a zero denominator")
        return Q(numerator, denominator)
    if isinstance(value, bool):
        raise InputError(f'{where}: {value!r} is not a number; write an integer or a string such as "3/10"')
    if isinstance(value, Rational):
        return Q(int(value.numerator), int(value.denominator))
    if hasattr(value, "__float__"):
        raise InputError(f'{where}: {value!r} is a float; write a rational such as "3/10"')
    raise InputError(f'{where}: {value!r} is not a number; write an integer or a string such as "3/10"')


def to_fraction(value: Q) -> Fraction:
    """The same number as a `fractions.Fraction`, the type in which results leave the library."""
    return Fraction(int(value.numerator), int(value.denominator))
