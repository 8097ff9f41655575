"""The page on auditing: its outputs are what its commands print, its files are those of the example."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from rheo_proof.audit import calls as ordinary
from rheo_proof.audit.cases import Case
from rheo_proof.audit.judging import GUARD, rounding_bound
from rheo_proof.audit.tables import table
from rheo_proof.audit.verdict import STATUS
from rheo_proof.exact.number import ZERO, Q
from tests.cli.program import prove_here

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "audit"
PAGE = (ROOT / "docs" / "audit.md").read_text("utf-8")
BLOCK = re.compile(r"^```console\n\$ rheo-prove (?P<command>.*)\n(?P<shown>[\s\S]*?)^```", re.MULTILINE)
SHOWN = {block["command"]: block["shown"] for block in BLOCK.finditer(PAGE)}
PYTHON = re.findall(r"^```python\n([\s\S]*?)^```", PAGE, re.MULTILINE)


def settled(text: str) -> list[str]:
    """The lines of an output without times, widths and blank lines."""
    text = re.sub(r"in \d+\.\d\d s\.", "in time.", text).replace("fractions.Fraction", "gmpy2.mpq")
    lines = (re.sub(r"[ ─]+", " ", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


def test_the_page_shows_each_step() -> None:
    assert len(SHOWN) == 5
    verdicts = [settled(shown)[-1].split(",")[0].split(":")[0] for shown in SHOWN.values()]
    assert verdicts == ["LOSSLESS", "BIASED", "CONTRACT BROKEN", "CONTRACT BROKEN", "LOSSLESS"]


@pytest.mark.parametrize(("command", "shown"), SHOWN.items(), ids=SHOWN)
def test_the_command_prints_what_the_page_shows(command: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    monkeypatch.setattr(ordinary, "CALLS", 400)
    monkeypatch.setattr(sys, "path", list(sys.path))
    run = prove_here(*shlex.split(command))
    assert run.err == ""
    assert settled(run.out) == settled(shown)
    assert run.status == (0 if "LOSSLESS" in shown else 1)


def test_an_output_that_differs_in_one_number_is_noticed() -> None:
    shown = next(iter(SHOWN.values()))
    number = re.search(r"laws: (\d\.\d{4})", shown)
    assert number is not None
    assert settled(shown) != settled(shown.replace(number[1], "2.0000"))
    assert settled(shown) == settled(re.sub(r"in \d+\.\d\d s", "in 99.99 s", shown))


def test_the_code_of_the_page_is_that_of_the_example() -> None:
    verify, batched, test = PYTHON
    engine = (FOLDER / "engine.py").read_text("utf-8")
    assert verify in engine
    assert [part in (FOLDER / "batched.py").read_text("utf-8") for part in batched.split("    ...\n")] == [True, True]
    assert test.split("\n\n\n")[1].strip() in (FOLDER / "test_engine.py").read_text("utf-8")


def test_the_page_names_every_verdict_with_its_status_and_the_bounds() -> None:
    rows = dict(re.findall(r"^\| `([\w ]+)` \|.*\| (\d) \|$", PAGE, re.MULTILINE))
    assert rows == {kind: str(status) for kind, status in STATUS.items()}
    bounds = [rounding_bound(Case(table("dyadic"), dtype), ZERO, 3) for dtype in ("float32", "float64")]
    assert [f"{float(bound):.0e}" for bound in bounds] == ["1e-05", "3e-14"]
    assert "about 1e-5 in `float32` and 3e-14 in\n`float64`" in PAGE
    assert Q(1, 10**6) == GUARD
