"""The page about statistical checks: its runs are real, its numbers come from them, its programs do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from rheo_proof.stats.eprocess import GRID
from rheo_proof.stats.ledger import LIMIT, separate_ledger
from rheo_proof.stats.plan import ALPHA, BETA
from rheo_proof.stats.seeds import ROOT_SEED
from rheo_proof.stats.verdict import LawMismatch
from tests.cli.program import prove_here

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "statistics.md").read_text("utf-8")
WORDS = " ".join(PAGE.split())
PLAN, CALIBRATION = "rheo-prove plan --eps 0.01 --cells 25", "python -m rheo_proof.stats.calibration"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n([\s\S]*?)^```", PAGE, re.MULTILINE)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


SHOWN = dict(block.removeprefix("$ ").split("\n", 1) for block in blocks("console"))


@lru_cache
def printed(command: str) -> str:
    program, *arguments = command.split()
    if program == "rheo-prove":
        here = prove_here(*arguments)
        assert (here.status, here.err) == (0, "")
        return here.out
    run = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def test_the_page_shows_both_commands() -> None:
    assert set(SHOWN) == {PLAN, CALIBRATION}


@pytest.mark.parametrize("command", [PLAN, CALIBRATION])
def test_a_command_prints_what_the_page_shows(command: str) -> None:
    assert lines(printed(command)) == lines(SHOWN[command])
    assert lines(printed(command)) != lines(SHOWN[command].replace("1", "2"))


def case(number: int) -> dict[str, list[str]]:
    """The rows of one case of the calibration as the page shows it: test -> ratios."""
    _, *cases = SHOWN["python -m rheo_proof.stats.calibration"].split("p = (")
    rows = (re.split(r" {2,}", line.strip()) for line in lines(cases[number])[1:] if line.startswith("  "))
    return {name: ratios for name, *ratios in rows}


def test_the_numbers_in_the_text_are_those_of_the_calibration() -> None:
    assert case(0)["alpha"][-1] == "1e-09"
    assert f"alpha = 1e-9 raises a false alarm {case(0)['Pearson'][-1]} times as often as it says" in WORDS
    assert f"approximate: {case(1)['G, chi-square tail'][-1]} times alpha in the second case" in WORDS
    assert int(case(0)["Pearson"][-1]) > 100
    bounded = [float(r) for i in range(4) for name in ("G, Agrawal (F2)", "TV, McDiarmid (F1)") for r in case(i)[name]]
    assert len(bounded) == 4 * 2 * 4
    assert max(bounded) < 1
    assert "stay below 1 everywhere" in WORDS


def test_the_levels_in_the_text_are_those_of_the_library() -> None:
    assert f"probability at most alpha, `{ALPHA:.0e}` unless".replace("e-0", "e-") in WORDS
    assert f"probability at most beta, `{BETA:.0e}` unless".replace("e-0", "e-") in WORDS
    assert f"exceeds `{float(LIMIT):.0e}`".replace("e-0", "e-") in WORDS
    assert f"averaged over {['no', 'one', 'two', 'three', 'four', 'five'][len(GRID)]} prior weights" in WORDS


def test_the_programs_of_the_page_pass_and_fail_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RHEO_SEED", raising=False)
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # the page shows a run outside pytest
    passes, fails = blocks("python")
    names: dict[str, Any] = {}
    with separate_ledger() as ledger:
        exec(passes, names)
        with pytest.raises(LawMismatch) as failure:
            exec(fails, names)
    assert sum(ledger.spent.values()) == 2
    [message] = blocks("text")
    assert lines(str(failure.value)) == lines(message)
    assert str(ROOT_SEED) in message


def test_the_tests_that_the_page_names_exist() -> None:
    named = re.findall(r"`(?:tests/)?(?:power/|exact/)?(test_\w+\.py)`", PAGE)
    assert len(named) >= 5
    for name in named:
        assert list((ROOT / "tests").rglob(name)), name
