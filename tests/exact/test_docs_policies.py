"""The page on all policies: its runs are real, its counts are computed again, its claims on growth follow from them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rheo_proof.exact.families import family_model
from rheo_proof.exact.limits import Limits
from rheo_proof.theorems.induction import MOST_STRINGS, layers
from tests.benchmark_files import load

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "policies.md").read_text("utf-8")
BLOCK = re.compile(r"^```console\n\$ rheo-prove (?P<command>.*)\n(?P<shown>[\s\S]*?)^```", re.MULTILINE)
SHOWN = {block["command"]: block["shown"] for block in BLOCK.finditer(PAGE)}
ROW = re.compile(r"^\| [a-z, ]+ \|(?: [0-9a-z,.]+ \|){8}$", re.MULTILINE)
bench = load("policies")
CASES = [case for cases in bench.SECTIONS.values() for case in cases]


def settled(text: str) -> list[str]:
    """The lines of an output without times, the widths that depend on them, blank lines and the number type."""
    text = re.sub(r" +\d+\.\d\d s\b", " time", text).replace("gmpy2.mpq", "a").replace("fractions.Fraction", "a")
    lines = (re.sub(r"[ ─]+", " ", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


@pytest.mark.parametrize("command", SHOWN)
def test_a_command_prints_what_the_page_shows(command: str) -> None:
    arguments = [sys.executable, "-m", "rheo_proof", *command.split()]
    run = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == (1 if "REFUTED" in SHOWN[command] else 0)
    assert run.stderr == ""
    assert words(run.stdout) == words(SHOWN[command])


def words(text: str) -> str:
    """Where a long line breaks depends on the number type."""
    return " ".join(settled(text))


def test_the_page_shows_a_proof_three_refutations_and_the_control() -> None:
    verdicts = [shown.splitlines()[-1].partition(":")[0] for shown in SHOWN.values()]
    assert verdicts == ["PROVED", "REFUTED", "REFUTED", "REFUTED", "REFUTED"]
    assert "--peek" in list(SHOWN)[-1]


def test_the_page_says_who_chooses_m_and_how_many_strings_are_too_many() -> None:
    for shown in SHOWN.values():
        assert "with the same m at every node" in words(shown)
        assert "another m at another node (--head any)" in words(shown)
    assert "| `--head M` | m, the same at every node;" in PAGE
    assert f"more than {MOST_STRINGS:,} strings" in PAGE


def rows() -> Iterator[list[str]]:
    """The rows of the tables that count states."""
    for line in ROW.findall(PAGE):
        yield [cell.strip() for cell in line.strip("|").split("|")]


@lru_cache
def states(case: Any) -> int:
    """The states of the adversary, no rule run."""
    policies = case.adversary().policies(family_model("random", 0, case.vocab, case.depth))
    return sum(map(len, layers(policies, Limits())))


def test_the_page_has_a_row_for_every_case_of_the_benchmark() -> None:
    cells = [row[:6] for row in rows()]
    assert cells == [
        [
            case.name,
            *map(str, (case.vocab, case.depth, case.slots, case.nodes)),
            "any" if case.head is None else str(case.head),
        ]
        for case in CASES
    ]
    assert len(cells) > 40


def test_the_counts_of_the_page_are_counted_again() -> None:
    seen = 0
    for case, row in zip(CASES, rows(), strict=True):
        assert row[7] == str(case.vocab ** (case.depth + 1))
        if int(row[6].replace(",", "")) < 6000:  # the larger ones have a formula in test_policies_states.py
            assert row[6] == f"{states(case):,}"
            seen += 1
    assert seen >= len(CASES) - 1


def test_growth_is_what_the_text_says() -> None:
    counts = {tuple(row[:6]): int(row[6].replace(",", "")) for row in rows()}
    for m in "01":
        grown = [counts[("rheo", "3", "3", "3", str(n), m)] for n in range(1, 7)]
        assert all(3 < after / before < 6 for before, after in pairwise(grown))
        assert counts[("rheo", "3", "2", "3", "4", "any")] > 10 * counts[("rheo", "3", "2", "3", "4", m)]
    whole = {counts[("flow, whole order", "3", "2", "3", "4", m)] for m in "01"}
    assert len(whole) == 1


def test_quick_run_of_the_benchmark_prints_the_counts_of_the_page() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "policies.py"), "--quick", "--markdown"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    printed = [[cell.strip() for cell in line.strip("|").split("|")][:8] for line in ROW.findall(run.stdout)]
    known = [row[:8] for row in rows()]
    assert len(printed) > 20
    assert [row for row in printed if row not in known] == []


def test_a_biased_rule_ends_the_benchmark() -> None:
    with pytest.raises(AssertionError, match="has the gap"):
        bench.measure(bench.Case("skip-residual", nodes=2))
