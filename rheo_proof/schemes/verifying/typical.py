"""Medusa's acceptance: typical tokens, or rows that match samples (arXiv 2401.10774; FasterDecoding/Medusa e2a5d20)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import lcm, prod
from typing import TypeAlias

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.rows import Rows

Accepts: TypeAlias = Callable[[Law, Prefix, int], bool]
"""Whether a drafted token is typical: from the target law p, the prefix u and the token x."""


EPS, DELTA = rational("9/100"), rational("3/10")


@dataclass(frozen=True)
class Typical(Rows):
    """The fast mode: a drafted x at u is accepted iff it is typical; nothing is random.

    The row with the most accepted tokens wins, of equal ones the likeliest under the target, then the first. The token
    behind it is the best one of p. Lost: the distribution; the output is one string.
    """

    accepts: Accepts

    def judge(self, model: ToyModel, rows: list[Prefix], chance: Chance) -> Emission:
        """The best row and the target's best token."""
        accepted = [self.leading(model, row) for row in rows]
        # `max` keeps the first of equal ones.
        best = max(accepted, key=lambda u: (len(u), prod((model.target(u[:i])[x] for i, x in enumerate(u)), start=ONE)))
        p = model.target(best)
        return Emission(best, min(p.support, key=lambda x: (-p[x], x)))

    def leading(self, model: ToyModel, row: Prefix) -> Prefix:
        """The typical tokens that a row begins with."""
        for length, x in enumerate(row):
            if not self.accepts(model.target(row[:length]), row[:length], x):
                return row[:length]
        return row


class SampledMatch(Rows):
    """The modes with samples: each row and position draws its own y ~ p, and accepts its token if that is y.

    The row with the most accepted tokens wins, the first of equal ones; the next token is drawn afresh. Lossy: a node
    of several rows is tried several times, and a draw that missed is thrown away. With one draw for each node, emitted
    when it misses, this is `Match`.
    """

    def judge(self, model: ToyModel, rows: list[Prefix], chance: Chance) -> Emission:
        """The best row and a fresh token. A coin with p(x) says whether a draw equals x."""
        best: Prefix = ()
        for number, row in enumerate(rows):
            length = 0
            while length < len(row) and chance.coin(model.target(row[:length])[row[length]], ("coin", number, length)):
                length += 1
            best = row[:length] if length > len(best) else best
        return Emission(best, chance.latent(model.target(best), ("token", len(best), 0), ("y",)))


@dataclass(frozen=True)
class Listed:
    """Accepts the tokens of a list of strings, each a prefix and the token behind it."""

    strings: frozenset[Prefix]

    def __call__(self, p: Law, prefix: Prefix, x: int) -> bool:
        """Whether it is listed."""
        return (*prefix, x) in self.strings


@dataclass(frozen=True)
class Entropy:
    """Accepts x iff p(x) > min(`eps`, `delta` exp(-H(p))), decided exactly; Medusa has 9/100 and 3/10.

    exp(-H(p)) is the product of p(y)^p(y). With n the common denominator of p, the second part of the minimum is
    compared as (p(x) / delta)^n > product of p(y)^(n p(y)), whose exponents are whole numbers.

    >>> p = Law.read(["9/100", "1/10", "81/100"])
    >>> [Entropy()(p, (), x) for x in range(3)]
    [False, True, True]
    """

    eps: Q = EPS
    delta: Q = DELTA

    def __post_init__(self) -> None:
        for name in ("eps", "delta"):
            value = rational(getattr(self, name), name)
            if value <= ZERO:
                raise InputError(f"{name} is {value}, expected more than 0")
            object.__setattr__(self, name, value)

    def __call__(self, p: Law, prefix: Prefix, x: int) -> bool:
        """Whether x is likely enough."""
        n = lcm(*(int(mass.denominator) for mass in p))
        product = prod((p[y] ** int(n * p[y]) for y in p.support), start=ONE)
        return p[x] > self.eps or (p[x] / self.delta) ** n > product
