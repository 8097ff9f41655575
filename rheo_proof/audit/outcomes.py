"""What one run of an audited function emitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import Q

Reported: TypeAlias = tuple[tuple[Q, ...], ...]
"""Draft rows, one for each draft token, as exact numbers."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The emitted string of one request, how many draft tokens were accepted, and what was drafted.

    With a `fault`, `tokens` is what could be read before it. `changed` names arguments that the call changed;
    `reported` holds the rows that a drafter said it had drawn from, where a drafter was called.
    """

    tokens: Prefix
    accepted: int
    drafted: Prefix = ()
    fault: str = ""
    changed: tuple[str, ...] = ()
    reported: Reported = ()
