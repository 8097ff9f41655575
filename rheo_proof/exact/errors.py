"""The three ways in which a run can end without an answer."""


class InputError(ValueError):
    """Something handed in from outside is unusable; the message names what, where, and what would be right."""


class LimitReached(Exception):
    """A limit set by the user (classes, seconds) was reached before the question was decided."""


class SoundnessError(AssertionError):
    """An invariant that every verdict rests on is broken: a bug here, never a property of the input."""
