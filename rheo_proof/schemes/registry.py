"""Every scheme that has a name: plain ones, harmless variations, deliberate faults."""

from __future__ import annotations

from rheo_proof.exact.errors import InputError
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.scheme import SCHEMES, Named
from rheo_proof.schemes.variations import VARIATIONS

ALL: dict[str, Named] = {**SCHEMES, **VARIATIONS, **FAULTS}


def scheme_named(name: str) -> Named:
    """The scheme or variation of that name. Raises `InputError` that lists the known ones.

    >>> scheme_named("top-k").lossless
    True
    """
    return _look_up(name, {**SCHEMES, **VARIATIONS}, "scheme")


def fault_named(name: str) -> Named:
    """The fault of that name. Raises `InputError` that lists the known ones."""
    return _look_up(name, FAULTS, "fault")


def _look_up(name: str, known: dict[str, Named], what: str) -> Named:
    if name not in known:
        raise InputError(f"unknown {what} {name!r}; known are {', '.join(known)}")
    return known[name]
