"""Where the randomness of an audit's own part comes from: drafts, bonus tokens, uniforms that are arguments."""

from __future__ import annotations

from collections.abc import Sequence
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

    def categorical(self, law: Law) -> Any:
        """A token, perhaps decided later."""

    def uniform(self) -> Any:
        """A uniform on [0, 1)."""

    def exponential(self) -> Any:
        """An Exp(1) variable."""


class RunSource:
    """The run of an exploration."""

    def __init__(self, run: Run, arrays: Arrays) -> None:
        self.run = run
        self.arrays = arrays

    def choose(self, weights: Sequence[Q], what: str) -> int:
        """A branch."""
        return self.run.choose(weights, what)

    def categorical(self, law: Law) -> Any:
        """A token that is not decided yet; a certain one is a number."""
        return law.support[0] if len(law.support) == 1 else self.run.categorical(list(law))

    def uniform(self) -> Any:
        """A latent."""
        return self.run.uniform()

    def exponential(self) -> Any:
        """A latent."""
        return self.run.exponential()


def pick(source: Source, law: Law, what: str) -> int:
    """A token drawn from a law and decided at once; a certain one costs no branch."""
    support = law.support
    if len(support) == 1:
        return support[0]
    return support[source.choose([law[x] for x in support], what)]
