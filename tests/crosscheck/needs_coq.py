"""Tests that need Coq: `coq_or_skip()` first, then `computed` on a text that computes with the files of `proofs/`.

Without coqc they are skipped, unless `RHEO_REQUIRE_COQ=1` says that it has to be there, as in CI: then they fail.
"""

from __future__ import annotations

import ast
import fcntl
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

PROOFS = Path(__file__).parents[2] / "proofs"
BUILD_LIMIT, RUN_LIMIT = 300, 120
"""Seconds for compiling the files, and for one text."""


def coq_or_skip() -> None:
    """Skip the module without coqc, or fail where it is required."""
    required = os.environ.get("RHEO_REQUIRE_COQ", "")
    if required not in ("", "0", "1"):
        raise ValueError(f"RHEO_REQUIRE_COQ is {required!r}, expected 1 or 0")
    if shutil.which("coqc") is None:
        if required == "1":
            pytest.fail("coqc is not installed, and RHEO_REQUIRE_COQ=1 says that it has to be", pytrace=False)
        pytest.skip("needs coqc", allow_module_level=True)


@cache
def built(name: str) -> None:
    """Compile a file of `proofs/` and all before it, unless that was done; one process at a time."""
    with (PROOFS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _run(["make", "-C", str(PROOFS), f"{name}.vo"], BUILD_LIMIT, PROOFS)


def computed(preamble: str, terms: list[str], folder: Path) -> list[Any]:
    """What Coq says that the terms are, lists, pairs and whole numbers as Python reads them."""
    text = folder / "terms.v"
    asked = "\n".join(f"Eval vm_compute in ({term})." for term in terms)
    text.write_text(f"{preamble}\nSet Printing Width 1000000.\nSet Printing Depth 1000000.\n{asked}\n")
    said = _run(["coqc", "-q", "-w", "none", "-Q", str(PROOFS), "Rheo", text.name], RUN_LIMIT, folder)
    values = [value(answer) for answer in re.findall(r"^     = (.*?)^     : ", said, re.MULTILINE | re.DOTALL)]
    assert len(values) == len(terms), said
    return values


def value(answer: str) -> Any:
    """A printed value.

    >>> value("[:: ([:: 1; 2], true, (-1)%Z); ([::], false, 7%positive)]")
    [([1, 2], True, -1), ([], False, 7)]
    """
    for written, read in (("true", "True"), ("false", "False"), ("[:: ", "["), ("[::", "["), (";", ",")):
        answer = answer.replace(written, read)
    return ast.literal_eval(re.sub(r"%[A-Za-z_]+", "", answer).strip())


def _run(command: list[str], limit: int, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout
