"""The page about what cannot be enumerated: its runs are real, and its numbers are those of the library."""

from __future__ import annotations

import re
import shlex
import sys
from math import log
from pathlib import Path

import pytest

from rheo_proof.audit.boxes import MISS, PROBES, ROUNDS, unseen
from rheo_proof.audit.carving import MOST_CELLS
from rheo_proof.audit.sampled import AT_ONCE, EPS
from rheo_proof.audit.verdict import MODES
from rheo_proof.stats.ledger import separate_ledger
from rheo_proof.stats.plan import ALPHA, BETA
from tests.cli.program import prove_here

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "audit-fallback.md").read_text("utf-8")
WORDS = " ".join(PAGE.split())
[PROGRAM] = re.findall(r"^```python\n([\s\S]*?)^```", PAGE, re.MULTILINE)
BLOCKS = re.findall(r"^```console\n([\s\S]*?)^```", PAGE, re.MULTILINE)
RUNS = [run.split("\n", 1) for block in BLOCKS for run in re.split(r"^\$ rheo-prove ", block, flags=re.MULTILINE)[1:]]


def without_times(text: str) -> str:
    return " ".join(re.sub(r"in [\d.]+ s", "in T s", text).split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page")
    (made / "kernel.py").write_text(PROGRAM, "utf-8")
    return made


def test_the_page_shows_runs_of_both_modes() -> None:
    assert [re.findall(r"--mode (\w+)", command) for command, _ in RUNS] == [["piecewise"], ["sampled"], ["sampled"]]


@pytest.mark.parametrize(("command", "shown"), RUNS)
def test_a_command_prints_what_the_page_shows(
    command: str, shown: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RHEO_SEED", raising=False)
    monkeypatch.chdir(folder)
    monkeypatch.delitem(sys.modules, "kernel", raising=False)
    with separate_ledger():
        run = prove_here(*shlex.split(command))
    assert run.err == ""
    assert run.status == (0 if "LOSSLESS" in shown else 1 if "Biased" in shown else 3)
    assert without_times(run.out).replace("fractions.Fraction", "gmpy2.mpq") == without_times(shown)


def test_the_numbers_in_the_text_are_those_of_the_library() -> None:
    assert (
        f"{ROUNDS} rounds are allowed, so the sentence in the verdict is eps = ln({ROUNDS} / {MISS:.0e})".replace(
            "e-0", "e-"
        )
        in WORDS
    )
    assert unseen(PROBES) == log(ROUNDS / MISS) / PROBES
    assert f"more than {MOST_CELLS:,} boxes for one draft" in WORDS
    assert f"up to {AT_ONCE} copies of the requests" in WORDS
    assert f"The false-alarm rate, {ALPHA:.0e}, is for the whole battery".replace("e-0", "e-") in WORDS
    assert f"`--eps`, {EPS} by default, with miss rate {BETA:.0e}".replace("e-0", "e-") in WORDS
    assert {mode for mode in MODES if f"`{mode}`" in PAGE} == set(MODES)


def test_the_tests_that_the_page_names_exist() -> None:
    named = re.findall(r"`(?:tests/audit/)?(test_\w+\.py)`", PAGE)
    assert len(named) >= 5
    for name in named:
        assert (ROOT / "tests" / "audit" / name).is_file(), name
