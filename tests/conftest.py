"""Hypothesis profiles: `HYPOTHESIS_PROFILE` names one, else `ci` under CI and `default` elsewhere.

Tensors are small here and workers share the cores: one thread each, unless `OMP_NUM_THREADS` says otherwise. That
halves the time of the tests that draw samples. It has to be said before torch or numpy are loaded.
"""

from __future__ import annotations

import os

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
