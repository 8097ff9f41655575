"""Tests that need Coq start with `coq_or_skip(FILE)`; `computed` runs a text that computes with the files of `proofs/`.

They are skipped without coqc, and where `make proofs` has not been run since the sources changed. With
`RHEO_REQUIRE_COQ=1`, as in CI, a missing coqc is a failure then, and the files are compiled.
"""

from __future__ import annotations

import ast
import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

PROOFS = Path(__file__).parents[2] / "proofs"
BUILD_LIMIT, RUN_LIMIT = 300, 120
"""Seconds for compiling the files, and for one text."""


def coq_or_skip(name: str) -> None:
    """Skip the module unless coqc is there and proofs/NAME.v compiled; where that is required, compile it or fail."""
    required = os.environ.get("RHEO_REQUIRE_COQ", "")
    if required not in ("", "0", "1"):
        raise ValueError(f"RHEO_REQUIRE_COQ is {required!r}, expected 1 or 0")
    make = ["make", "-C", str(PROOFS), f"{name}.vo"]
    if required == "1":
        if shutil.which("coqc") is None:
            pytest.fail("coqc is not installed, and RHEO_REQUIRE_COQ=1 says that it has to be", pytrace=False)
        with (PROOFS / ".lock").open("w") as lock:  # one process at a time
            fcntl.flock(lock, fcntl.LOCK_EX)
            _run(make, BUILD_LIMIT, PROOFS)
    elif shutil.which("coqc") is None or shutil.which("make") is None:
        pytest.skip("needs coqc and make", allow_module_level=True)
    elif subprocess.run([*make, "-q"], capture_output=True, timeout=RUN_LIMIT, check=False).returncode:
        pytest.skip("needs `make proofs`", allow_module_level=True)


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
