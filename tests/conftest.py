"""Hypothesis profiles: `HYPOTHESIS_PROFILE` names one, else `ci` under CI and `default` elsewhere.

Tensors are small here and workers share the cores: one thread each, unless `OMP_NUM_THREADS` says otherwise. That
halves the time of the tests that draw samples. It has to be said before torch or numpy are loaded. A program under test
may take more, but not for the tests after it: threads that wait for one another on busy cores cost many times the work.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest_plugins = ["rheo_proof.pytest_plugin"]

EXAMPLES = 100

# Two runs of the same tree see the same examples. Exact arithmetic takes as long as it takes: no deadline.
settings.register_profile(
    "default", max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, print_blob=True
)
settings.register_profile("ci", settings.get_profile("default"))
# The search for something new: ten times the examples, other ones on every run.
settings.register_profile("deep", settings.get_profile("default"), max_examples=10 * EXAMPLES, derandomize=False)

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, bool, bool]:
    """Give torch back the number of threads that it had before the test."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 0
    try:
        return (yield)
    finally:
        if torch and torch.get_num_threads() != before:
            torch.set_num_threads(before)
