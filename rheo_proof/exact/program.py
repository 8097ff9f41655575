"""What an enumerator knows about a random program: it goes from state to state and ends in a final value.

A program is a function `step(state, chance)`. It asks `chance` for randomness and returns the next state, or a final
value. States are immutable and hashable, so two runs that reach the same state have the same future.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from rheo_proof.exact.chance import Chance, Token, Var
from rheo_proof.exact.model import Prefix


@runtime_checkable
class State(Hashable, Protocol):
    """Something a program can be in the middle of, or its final value."""

    def variables(self) -> Iterable[Var]:
        """The latent tokens that the state still refers to."""


class Running(State, Protocol):
    """A state that is not final. Every step leads to a state with a strictly larger `progress`."""

    @property
    def progress(self) -> tuple[int, ...]:
        """How far the run has got; states of equal progress can be merged."""


class Emission(NamedTuple):
    """The end of a verification: the accepted draft tokens, and one more token."""

    prefix: Prefix
    token: Token

    def variables(self) -> Iterable[Var]:
        """The last token, if nobody looked at it."""
        return (self.token,) if isinstance(self.token, Var) else ()


R = TypeVar("R", covariant=True)


class Step(Protocol[R]):
    """One step of a program: from a running state to the next one, or to a final value of type R."""

    def __call__(self, state: Running, chance: Chance) -> Running | R: ...
