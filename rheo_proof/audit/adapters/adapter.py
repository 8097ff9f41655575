"""What an adapter is asked for: cases, programs to explore, and what is exactly expected of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from rheo_proof.audit.baselines import Baseline
from rheo_proof.audit.cases import DTYPES, Case, Request, Table
from rheo_proof.audit.exploring import Run
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.sources import Source
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import Q

__all__ = ["Adapter", "Baseline"]


class Adapter(Protocol):
    """How functions of one kind are called, read and judged."""

    @property
    def name(self) -> str:
        """What it is called."""

    def check(self, function: Callable[..., Any]) -> None:
        """Raise `AuditError` with one line unless the function can be called like that."""

    def cases(self, dtypes: Iterable[str] = DTYPES, tables: Iterable[str | Table] | None = None) -> tuple[Case, ...]:
        """The cases that fit; `tables` names those to choose from."""

    def requests(self, case: Case) -> tuple[Request, ...]:
        """What to explore, one after another."""

    def program(self, function: Callable[..., Any], case: Case, request: Request) -> Callable[[Run], Outcome]:
        """One call with everything random taken away, for `explore`."""

    def step(self, function: Callable[..., Any], case: Case, request: Request, source: Source) -> Outcome:
        """One call in which nothing is intercepted."""

    def target(self, case: Case, request: Request) -> ToyModel:
        """The law that the emitted string has, once it is completed."""

    def baseline(self, case: Case, request: Request) -> Baseline:
        """How much known rules accept of the same drafts."""

    def slack(self, case: Case) -> Q:
        """A bound on the relative error of an entry of a row as it is handed over."""
