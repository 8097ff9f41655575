"""What is wrong with a model, a file or a request, in one line."""

from __future__ import annotations


class Unusable(ValueError):
    """Says what is wrong, where, and what would be right. Raised before anything is written or emitted."""


def line(error: BaseException) -> str:
    """The first line of what an error of a library says, or its name."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
