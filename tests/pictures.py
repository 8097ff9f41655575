"""What an SVG shows, for the tests that compare a committed figure with one drawn now."""

from __future__ import annotations

import re


def drawn(picture: str) -> tuple[list[str], list[int]]:
    """The words of an SVG, and the numbers of its lines rounded, whatever version drew it."""
    words = re.findall(r">([^<>]+)</text>", picture)
    paths = re.findall(r'<path d="([^"]+)"', picture)
    assert words
    assert paths
    return words, [round(float(x)) for path in paths for x in re.findall(r"-?\d+(?:\.\d+)?", path)]
