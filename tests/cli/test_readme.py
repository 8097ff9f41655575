"""The README: every run it shows is a real one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.program import Run, prove

ROOT = Path(__file__).resolve().parents[2]
RUN = re.compile(r"^```console\n\$ rheo-prove(?P<arguments>.*)\n(?P<shown>[\s\S]*?)^```", re.MULTILINE)
README = (ROOT / "README.md").read_text("utf-8")
RUNS = [(run["arguments"].strip(), run["shown"]) for run in RUN.finditer(README)]


def settled(text: str) -> list[str]:
    """The lines of an output without times, the widths that depend on them, and blank lines."""
    without_times = re.sub(r" +\d+\.\d\d s\b", " time", text)
    lines = (re.sub(r"[ ─]+", " ", line).strip() for line in without_times.splitlines())
    return [line for line in lines if line]


def test_the_readme_shows_a_proof_a_refutation_and_a_model_of_ones_own() -> None:
    assert len(RUNS) == 3
    verdicts = [(shown.count("PROVED"), shown.count("REFUTED")) for _, shown in RUNS]
    assert verdicts == [(1, 0), (0, 1), (1, 0)]


def run_of(arguments: str, request: pytest.FixtureRequest) -> Run:
    """A run in a process of its own; the longest is that of other tests, too, and also writes JSON."""
    if arguments == "--vocab 5 --depth 3":
        return request.getfixturevalue("proof")[0]
    return prove(ROOT, *arguments.split())


@pytest.mark.parametrize(("arguments", "shown"), RUNS, ids=[arguments for arguments, _ in RUNS])
def test_the_command_prints_what_the_readme_shows(arguments: str, shown: str, request: pytest.FixtureRequest) -> None:
    run = run_of(arguments, request)
    assert run.err == ""
    expected = settled(shown)
    if "fractions.Fraction" in run.out:
        expected = [line.replace("gmpy2.mpq", "fractions.Fraction") for line in expected]
    assert settled(run.out) == expected
    assert run.status == (1 if "REFUTED" in shown else 0)


def test_an_output_that_differs_in_one_number_is_noticed() -> None:
    shown = RUNS[0][1]
    assert settled(shown) != settled(shown.replace("16,", "17,").replace("1,628", "1,629"))
    assert settled(shown) == settled(re.sub(r"\d+\.\d\d s", "9.99 s", shown))
