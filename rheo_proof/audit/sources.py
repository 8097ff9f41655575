"""Where the randomness of an audit's own part comes from: drafts, bonus tokens, uniforms that are arguments."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, Protocol

from rheo_proof.audit.arrays import Arrays
from rheo_proof.audit.exploring import Run
from rheo_proof.exact.law import Law
from rheo_proof.exact.number import Q


class Source(Protocol):
    """What making arguments and reading answers may ask for; `arrays` makes the arrays."""

    arrays: Arrays

    def choose(self, weights: Sequence[Q], what: str) -> int:
        """One of several outcomes, decided now; weights are positive and sum to 1."""

    def uniform(self) -> Any:
        """A uniform on [0, 1)."""

    def exponential(self) -> Any:
        """An Exp(1) variable."""

    def seed(self) -> int:
        """A seed for a generator that is an argument."""

    def phase(self, name: str) -> None:
        """What follows belongs to the phase `draft` or `verify`."""


class RunSource:
    """The run of an exploration. Generators that are arguments have seeds 0, 1, ... in every run."""

    def __init__(self, run: Run, arrays: Arrays) -> None:
        self.run = run
        self.arrays = arrays
        self._seeds = count()

    def choose(self, weights: Sequence[Q], what: str) -> int:
        """A branch."""
        return self.run.choose(weights, what)

    def uniform(self) -> Any:
        """A latent."""
        return self.run.uniform()

    def exponential(self) -> Any:
        """A latent."""
        return self.run.exponential()

    def seed(self) -> int:
        """The next number."""
        return next(self._seeds)

    def phase(self, name: str) -> None:
        """Latents remember the phases in which they are looked at."""
        self.run.phase = name


def pick(source: Source, law: Law, what: str) -> int:
    """A token drawn from a law and decided at once; a certain one costs no branch."""
    support = law.support
    if len(support) == 1:
        return support[0]
    return support[source.choose([law[x] for x in support], what)]


def token(source: Source, law: Law, what: str = "bonus token") -> Any:
    """A token that need not be decided yet: in an exploration a cell, else a number."""
    if isinstance(source, RunSource) and len(law.support) > 1:
        return source.run.categorical(list(law))
    return pick(source, law, what)
