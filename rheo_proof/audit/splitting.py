"""What if every use had a random number of its own? Whether that repairs a law tells whether reuse is what broke it.

A random number that is compared twice is nothing wrong by itself: an inverse CDF compares one uniform with a whole
cumulative sum. So a verdict does not count uses. It runs the function once more with latents that are fresh for each
use, and only if the law is right then, reuse is the cause.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from rheo_proof.audit.draws import Draws
from rheo_proof.audit.latents import Latent
from rheo_proof.audit.sites import user_site
from rheo_proof.exact.number import ONE, ZERO

By: TypeAlias = Callable[[Latent], Hashable]
"""What tells one use from another."""


def by_phase(latent: Latent) -> Hashable:
    """One copy for drafting, one for verifying."""
    return latent.run.phase


def by_line(latent: Latent) -> Hashable:
    """One copy for each line of the function that looks."""
    return user_site()


def by_look(latent: Latent) -> Hashable:
    """One copy for each question."""
    return latent.looks


def _copied(attribute: str, default: Any) -> Any:
    """An attribute that each copy has for itself."""

    def get(self: Split) -> Any:
        return self.copies.setdefault(self.by(self), {}).get(attribute, default)

    def put(self: Split, value: Any) -> None:
        self.copies.setdefault(self.by(self), {})[attribute] = value

    return property(get, put)


class Split(Latent):
    """A latent of which each use has a copy that knows nothing of the others."""

    __slots__ = ("by", "copies")

    low = _copied("low", ZERO)
    high = _copied("high", ONE)
    group = _copied("group", None)

    def __init__(self, run: Draws, name: str, may_pin: bool, closed: bool, by: By) -> None:
        self.by = by
        self.copies: dict[Hashable, dict[str, Any]] = {}
        super().__init__(run, name, may_pin, closed)


def split(by: By, names: frozenset[str] | None = None) -> Callable[[Draws, str, bool, bool], Latent]:
    """What `explore` takes: latents with these names, or all, are split."""

    def make(run: Draws, name: str, may_pin: bool, closed: bool) -> Latent:
        if names is None or name in names:
            return Split(run, name, may_pin, closed, by)
        return Latent(run, name, may_pin, closed)

    return make
