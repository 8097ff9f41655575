"""What the random sources of NumPy and `random` are replaced by is found once for all tests of this folder in a row.

Not for the whole session: what replaces `math` is nothing that other tests could hand to a compiler.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rheo_proof.audit import calls as ordinary
from rheo_proof.audit import patches
from rheo_proof.audit.session import installation

collect_ignore = ["triton_kernel.py"]  # a program of its own, for where triton is installed


ordinary.CALLS = 0
"""Ordinary calls take longer than most of these audits; `test_calls.py` asks for them."""

FOLDER = Path(__file__).parent
STACK = ExitStack()


@pytest.fixture(scope="session", autouse=True)
def _taken_away_at_the_end() -> Iterator[None]:
    """Also where a run is broken off."""
    yield
    STACK.close()


@pytest.fixture(scope="module", autouse=True)
def _installed(_taken_away_at_the_end: None) -> None:
    """For this file and those that follow: finding everything takes longer than most tests."""
    if patches._installed is None:
        STACK.enter_context(installation())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None]:
    """Put everything back before a test of another folder."""
    try:
        return (yield)
    finally:
        if nextitem is None or FOLDER not in nextitem.path.parents:
            STACK.close()
