"""What several files in this folder do before a test."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


@pytest.fixture(autouse=True)
def asked_of_the_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """A test that asks the network for anything fails, also where a library goes on without an answer."""
    asked: list[Any] = []

    def refuse(*of: Any, **_: Any) -> None:
        asked.append(of)
        raise OSError("there is no network here")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    yield asked
    assert not asked, f"asked of the network: {asked}"
