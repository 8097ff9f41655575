"""What several files in this folder do before a test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "smollm2"


@pytest.fixture
def example_modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The modules of examples/smollm2 can be imported; those that a test imports are forgotten behind it."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(EXAMPLE) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]
