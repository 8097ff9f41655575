"""One fault of the gallery: a stranger with the fault, its twin without it, and the laws of both on a toy.

Laws are of the first tokens (`first` of them, continued by the target where the string is shorter), or of what `read`
makes of the string. `brute` computes the faulty law by `brute.py`; nothing here is computed by the auditor.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.audit.brute import Law, table
from tests.audit.plays import Play, Prefix, Toy, by_depth


@dataclass(frozen=True)
class Fault:
    """One row of the gallery; `twin` is lossless on the toy. `exact` False: the law is known as decimals."""

    section: str
    about: str
    faulty: Callable[..., Any]
    twin: Callable[..., Any]
    toy: Toy
    play: Play
    expected: Law
    actual: Law
    tv: Fraction
    brute: Callable[[], Law]
    verdict: str = "biased"
    first: int = 1
    read: Callable[[Prefix], Hashable] = lambda tokens: tokens
    exact: bool = True

    @property
    def family(self) -> str:
        return self.faulty.__module__.rpartition(".")[2]

    @property
    def name(self) -> str:
        return self.faulty.__name__

    def outcome(self, function: Callable[..., Any], dice: Callable[..., int]) -> Hashable:
        """Play once, and read the string."""
        tokens = self.play(function, self.toy, dice)
        return self.read(self.toy.completed(tokens, self.first, dice) if self.first else tokens)


def row(*numbers: str) -> list[Fraction]:
    return [Fraction(x) for x in numbers]


def law(*numbers: str) -> Law:
    return table(row(*numbers))


P0, Q0, Q1 = row("1/2", "3/10", "1/5"), row("1/5", "3/10", "1/2"), row("3/5", "3/10", "1/10")
HALF = row("1/2", "1/2")
NEAR = row("51/100", "49/100")


def toy(p: list[Fraction], q: list[Fraction], length: int = 1, drawn: list[Fraction] | None = None) -> Toy:
    return Toy(by_depth(p), by_depth(q), length, by_depth(drawn) if drawn else None)


def pairs(first: list[Fraction], second: list[Fraction]) -> Law:
    return {(x, y): a * b for x, a in enumerate(first) for y, b in enumerate(second) if a * b}


def decimals(*numbers: float) -> Law:
    return {(x,): Fraction(number) for x, number in enumerate(numbers)}
