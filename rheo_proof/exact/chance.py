"""Chance: where a random program gets its randomness, and the readings that follow one path.

A decoding rule is written once, as a function that asks a `Chance` for draws and coins. Who answers decides what the
run means: `Replay` follows a script (and an enumerator writes the scripts), `Sample` rolls exact dice, `Tape` reads
uniforms from a list. The class enumerator (`classes.py`) answers with tokens that are not decided yet.

A *latent* token has been drawn, but nobody has looked at it. A program may carry it around and must ask before it
uses it: `find` ("is it one of these?") or `value` ("which is it?").
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import lcm
from typing import TypeAlias

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.number import ONE, ZERO, Q

Site: TypeAlias = tuple[str, int, int]
"""Which uniform of a tape answers: `("draft", layer, b)`, `("coin", level, i)` or `("token", level, 0)`."""

Name: TypeAlias = tuple[object, ...]


class Var:
    """A latent token under its name. Comparing it with a number, or using it as a condition, raises `TypeError`."""

    __slots__ = ("_hash", "name")

    def __init__(self, name: Name) -> None:
        self.name = name
        self._hash = hash(("Var", name))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Var):
            return self.name == other.name
        raise TypeError(f"latent token {self.name} compared with {other!r}: ask Chance.find or Chance.value")

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        raise TypeError(f"latent token {self.name} used as a condition: ask Chance.find or Chance.value")

    def __repr__(self) -> str:
        return f"Var{self.name}"


Token: TypeAlias = int | Var


class Chance(ABC):
    """The source of randomness of a random program. Every request is fresh and independent of all earlier ones."""

    @abstractmethod
    def latent(self, law: Law, site: Site, name: Name, order: Sequence[int] | None = None) -> Token:
        """Draw a token that nobody has looked at yet; `order` is the order of its inverse cdf on a tape."""

    @abstractmethod
    def find(self, token: Token, among: Sequence[int]) -> int | None:
        """Which of the tokens `among` it is, or None when it is none of them."""

    @abstractmethod
    def value(self, token: Token) -> int:
        """Which token it is."""

    @abstractmethod
    def coin(self, a: Q, site: Site) -> bool:
        """A coin that is true with probability a, for a in [0, 1]."""

    def draw(self, law: Law, site: Site) -> int:
        """Draw a token and look at it."""
        return self.value(self.latent(law, site, ("draw", *site)))


class OnePath(Chance):
    """The readings in which every draw is decided at once: a subclass says how one is picked."""

    @abstractmethod
    def pick(self, weights: Sequence[tuple[int, Q]], site: Site) -> int:
        """Choose one of the outcomes, each given with its positive probability."""

    def latent(self, law: Law, site: Site, name: Name, order: Sequence[int] | None = None) -> Token:
        """Draw now."""
        outcomes = law.support if order is None else [x for x in order if law[x]]
        return self.pick([(x, law[x]) for x in outcomes], site)

    def find(self, token: Token, among: Sequence[int]) -> int | None:
        """Compare."""
        return self.value(token) if token in among else None

    def value(self, token: Token) -> int:
        """The token itself."""
        if isinstance(token, Var):
            raise SoundnessError(f"{token} belongs to another reading")
        return token

    def coin(self, a: Q, site: Site) -> bool:
        """Toss now; a coin of probability 0 or 1 is not tossed."""
        if type(a) is not Q or not ZERO <= a <= ONE:
            raise SoundnessError(f"a coin of probability {a!r} of type {type(a).__name__}")
        weights = [(x, mass) for x, mass in ((1, a), (0, ONE - a)) if mass]
        return self.pick(weights, site) == 1


class Replay(OnePath):
    """Follow a script of choices, then take the first outcome each time; `weight` is the probability of the path.

    For each request, `taken` holds the choice made and `options` how many outcomes there were.
    """

    def __init__(self, script: Sequence[int] = ()) -> None:
        self.script = script
        self.taken: list[int] = []
        self.options: list[int] = []
        self.weight = ONE

    def pick(self, weights: Sequence[tuple[int, Q]], site: Site) -> int:
        """The scripted outcome."""
        position = len(self.taken)
        index = self.script[position] if position < len(self.script) else 0
        self.taken.append(index)
        self.options.append(len(weights))
        outcome, mass = weights[index]
        self.weight *= mass
        return outcome


class Sample(OnePath):
    """Roll exact dice: an integer below the common denominator, so that no rounding enters.

    >>> chance = Sample(random.Random(0))
    >>> chance.draw(Law.read(["0", "1"]), ("token", 0, 0))
    1
    """

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator

    def pick(self, weights: Sequence[tuple[int, Q]], site: Site) -> int:
        """Draw by an exact integer."""
        whole = lcm(*(int(mass.denominator) for _, mass in weights))
        ticket = self.generator.randrange(whole)
        for outcome, mass in weights:
            ticket -= int(mass * whole)
            if ticket < 0:
                return outcome
        raise SoundnessError("the outcomes of a draw do not sum to 1")


class Tape(OnePath):
    """Read one uniform for each site: a coin is true iff u < a, a draw is the first token with u < cdf.

    Uniforms are exact rationals in [0, 1). `used` records which were read, in order.

    >>> half = Law.read(["1/2", "1/2"])
    >>> Tape({("token", 0, 0): ONE / 2}).draw(half, ("token", 0, 0))
    1
    """

    def __init__(self, uniforms: Mapping[Site, Q]) -> None:
        self.uniforms = uniforms
        self.used: list[Site] = []

    def pick(self, weights: Sequence[tuple[int, Q]], site: Site) -> int:
        """The first outcome whose cumulative mass exceeds the uniform of this site."""
        u = self.uniforms[site]
        if not ZERO <= u < ONE:
            raise SoundnessError(f"the uniform {u} at {site} is outside [0, 1)")
        self.used.append(site)
        cdf = ZERO
        for outcome, mass in weights:
            cdf += mass
            if u < cdf:
                return outcome
        raise SoundnessError("the outcomes of a draw do not sum to 1")
