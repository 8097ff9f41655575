"""The clock inside a call: a function that goes on without drawing random numbers is stopped where it is.

Between two runs the clock is looked at anyway. Within a call only a signal can stop it, so this works in the main
thread of systems that have `SIGALRM`, and elsewhere a call that never ends is not stopped. Nothing is raised while the
auditor's own code runs outside of a call.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rheo_proof.audit.errors import NotEnumerable, stopped
from rheo_proof.audit.signatures import call
from rheo_proof.audit.sites import NOWHERE, Site, is_foreign

AGAIN = 0.1
"""Seconds to the next signal: a later call may not end either, and no signal counts outside of calls."""


class OutOfTime(NotEnumerable):
    """A call of the audited function was still going on when time was up."""

    def __init__(self, site: Site) -> None:
        super().__init__("a call that had not ended when time was up", site)
        self.args = (f"out of time, in a call that had not ended, at {site}",)


def interrupted(frame: FrameType | None) -> Site | None:
    """The line of audited code that a frame belongs to; None if no audited function is being called."""
    site = NOWHERE
    while frame is not None:
        if frame.f_code is call.__code__:
            return site
        if site is NOWHERE and is_foreign(frame.f_code.co_filename):
            site = Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return None


@contextmanager
def alarm(deadline: float | None) -> Iterator[None]:
    """Raise `OutOfTime` in calls that go on after the deadline (of `time.monotonic`); None sets no alarm.

    A timer and a handler that were set before are served meanwhile, and put back.
    """
    if deadline is None or not hasattr(signal, "setitimer") or threading.current_thread() != threading.main_thread():
        yield
        return
    begun = time.monotonic()
    remaining, interval = signal.getitimer(signal.ITIMER_REAL)
    others = _Earlier(signal.getsignal(signal.SIGALRM), begun + remaining if remaining else None, interval)

    def ring(number: int, frame: FrameType | None) -> None:
        others.ring(number, frame)
        site = interrupted(frame) if time.monotonic() >= deadline else None
        if site is not None:
            stopped[:] = [OutOfTime(site)]
            raise stopped[0]

    before = signal.signal(signal.SIGALRM, ring)
    try:
        first = min(deadline - begun, remaining or float("inf"))
        signal.setitimer(signal.ITIMER_REAL, max(first, 0.001), AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)
        if others.due is not None:
            signal.setitimer(signal.ITIMER_REAL, max(others.due - time.monotonic(), 0.001), interval)


class _Earlier:
    """The handler that was there before, and when its timer is due."""

    def __init__(self, handler: Callable[..., Any] | int | None, due: float | None, interval: float) -> None:
        self.handler, self.due, self.interval = handler, due, interval

    def ring(self, number: int, frame: FrameType | None) -> None:
        """Pass a signal on, if it is time."""
        if self.due is None or time.monotonic() < self.due:
            return
        self.due = self.due + self.interval if self.interval else None
        if callable(self.handler):
            self.handler(number, frame)
