"""Tests that need Storm start with `storm_or_skip()`.

Without stormpy they are skipped, unless `RHEO_REQUIRE_STORM=1` says that it has to be there, as in CI: then they fail.
"""

from __future__ import annotations

import os

import pytest


def storm_or_skip() -> None:
    """Skip the module without stormpy, or fail where it is required."""
    required = os.environ.get("RHEO_REQUIRE_STORM", "")
    if required not in ("", "0", "1"):
        raise ValueError(f"RHEO_REQUIRE_STORM is {required!r}, expected 1 or 0")
    if required == "1":
        import stormpy  # noqa: F401
    else:
        pytest.importorskip("stormpy", reason="needs the extra `storm`")
