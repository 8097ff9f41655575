"""Limits a user can set on a run: so many classes, so many seconds."""

from __future__ import annotations

import time

from rheo_proof.exact.errors import LimitReached


class Limits:
    """Count classes and watch the clock. Raises `LimitReached` from `spend` once either limit is passed.

    >>> limits = Limits(classes=1)
    >>> limits.spend()
    >>> limits.spend()
    Traceback (most recent call last):
    ...
    rheo_proof.exact.errors.LimitReached: more than 1 classes
    """

    def __init__(self, classes: int | None = None, deadline: float | None = None) -> None:
        self.classes = classes
        self.deadline = deadline
        self.spent = 0

    def spend(self) -> None:
        """One more class is walked."""
        self.spent += 1
        if self.classes is not None and self.spent > self.classes:
            raise LimitReached(f"more than {self.classes} classes")
        self.watch()

    def watch(self) -> None:
        """Look at the clock only."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise LimitReached("out of time")
