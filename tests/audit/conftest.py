"""What the random sources of NumPy and `random` are replaced by is found once for all tests of a file.

Not for the whole session: what replaces `math` is nothing that other tests could hand to a compiler.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rheo_proof.audit import calls as ordinary
from rheo_proof.audit.session import installation

collect_ignore = ["triton_kernel.py"]  # a program of its own, for where triton is installed


ordinary.CALLS = 0
"""Ordinary calls take longer than most of these audits; `test_calls.py` asks for them."""


@pytest.fixture(scope="module", autouse=True)
def _installed() -> Iterator[None]:
    with installation():
        yield
