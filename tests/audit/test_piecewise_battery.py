"""The piecewise mode on cases of the battery: right verifiers that are handed uniforms pass, faults and curves do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rheo_proof.audit.adapters import find
from rheo_proof.audit.auditing import audit
from rheo_proof.audit.modes import PiecewiseAudit
from rheo_proof.audit.verdict import Verdict
from tests.audit import array_verifiers as verifiers

ADAPTER = find("chain", arrays="numpy", batched=True, returns="padded", roles={"uniforms": "uniforms[B,K+1]"})
