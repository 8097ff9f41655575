"""How an audit ends when it cannot give a law."""

from __future__ import annotations

from typing import NoReturn

from rheo_proof.audit.sites import Site, user_site
from rheo_proof.exact.errors import InputError, SoundnessError


class NotEnumerable(BaseException):
    """The audited function does something with a random number of which no exact law is known here.

    Not an `Exception`: a bare `except Exception` in the audited code must not turn it into a law. `shared` says that
    two draws of different kinds start from one state of a generator, so that they are dependent.
    """

    def __init__(self, operation: str, site: Site, reason: str = "", shared: bool = False) -> None:
        self.operation = operation
        self.site = site
        self.reason = reason
        self.shared = shared
        super().__init__(f"not enumerable: {operation} at {site}" + (f" ({reason})" if reason else ""))


class AuditError(InputError):
    """The audit was asked for in a way that makes no sense."""


class Unsound(SoundnessError):
    """The enumeration contradicts itself: weights that do not sum to 1, or runs that cannot be repeated."""


FAILURES = (Exception, SystemExit)
"""What audited code may raise: that is an answer, if no good one, and never the end of an audit."""

pending: list[BaseException] = []
"""What was raised in the run in progress. It is raised again after the run, should the audited code have caught it."""

stopped: list[BaseException] = []
"""What stopped the call in progress because time was up (`alarm.py`); raised again where the call has ended."""


def unsound(message: str) -> Unsound:
    """An `Unsound` that cannot be swallowed."""
    error = Unsound(message)
    pending.append(error)
    return error


def refuse(operation: str, reason: str = "", shared: bool = False) -> NoReturn:
    """Raise `NotEnumerable` at the line of audited code that is being run."""
    refuse_at(operation, user_site(), reason, shared)


def refuse_at(operation: str, site: Site, reason: str = "", shared: bool = False) -> NoReturn:
    """Raise `NotEnumerable` at an earlier line."""
    error = NotEnumerable(operation, site, reason, shared)
    pending.append(error)
    raise error
