"""What is wrong with a model, a file or a request, in one line."""

from __future__ import annotations


class Unusable(ValueError):
    """Says what is wrong, where, and what would be right. Raised before anything is written or emitted."""
