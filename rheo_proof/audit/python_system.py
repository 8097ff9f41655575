"""Randomness of the operating system, which has no law that could be checked: refused in a run."""

from __future__ import annotations

import _random
import os
from collections.abc import Callable
from random import SystemRandom
from typing import Any

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.replacing import Hidden
from rheo_proof.audit.streams import active

REASON = "the operating system's randomness is not enumerated"

_SYSTEM = ("random", "getrandbits", "randbytes")


def _system(name: str) -> Callable[..., Any]:
    original = vars(SystemRandom)[name]

    def method(self: Any, *args: Any) -> Any:
        if active() is not None:
            refuse("SystemRandom", REASON)
        return original(self, *args)

    method.__name__ = name
    return method


SYSTEM_PATCHES = {name: _system(name) for name in _SYSTEM}
"""What replaces the methods of `SystemRandom`."""


class Refused(Hidden):
    """A function that is refused in a run."""

    __slots__ = ("__name__", "original", "reason")

    def __init__(self, original: Callable[..., Any], reason: str) -> None:
        self.original = original
        self.reason = reason
        self.__name__ = original.__name__

    def __call__(self, *args: Any, **named: Any) -> Any:
        if active() is not None:
            refuse(self.__name__, self.reason)
        return self.original(*args, **named)

    def __getattr__(self, name: str) -> Any:
        """What a class has, which may be drawn from, too."""
        if active() is not None:
            refuse(self.__name__, self.reason)
        return getattr(self.original, name)


def operating_system() -> dict[Callable[..., Any], Refused]:
    """Functions that ask the operating system for random bytes, and the bare generator; what takes their place."""
    names = [name for name in ("urandom", "getrandom") if hasattr(os, name)]
    bare: dict[Callable[..., Any], Refused] = {
        _random.Random: Refused(_random.Random, "only random.Random is followed")
    }
    return bare | {getattr(os, name): Refused(getattr(os, name), REASON) for name in names}
