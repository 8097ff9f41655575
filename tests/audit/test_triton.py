"""A Triton kernel under its interpreter, audited by the piecewise mode; runs where triton is installed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
def test_a_kernel_that_loads_its_uniforms_has_the_law_it_should() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.audit.triton_kernel"],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    laws = {
        kind: {token: Fraction(mass) for token, mass in law.items()} for kind, law in json.loads(run.stdout).items()
    }
    p, q = [Fraction(8, 16), Fraction(5, 16), Fraction(2, 16), Fraction(1, 16)], [Fraction(n, 16) for n in (2, 5, 8, 1)]
    rejected = 1 - sum(map(min, p, q))
    assert laws["right"] == {str(x): mass for x, mass in enumerate(p)}
    assert laws["wrong"] == {str(x): min(a, b) + rejected * a for x, (a, b) in enumerate(zip(p, q, strict=True))}
    assert laws["wrong"] != laws["right"]
