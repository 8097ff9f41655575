"""docs/audit-faults.md: its tables are the gallery that the auditor finds again, and its names are there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from rheo_proof.audit.verdict import LOSSLESS, SLOWER
from tests.audit.audits import HOW, small
from tests.audit.gallery import CODE, GALLERY, HEADINGS, table
from tests.audit.gallery_commands import command, commands
from tests.audit.gallery_correct import CORRECT
from tests.audit.strangers import slower
from tests.audit.test_faults_gallery import swept
from tests.cli.program import prove_here

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "audit-faults.md").read_text(encoding="utf-8")


def test_the_page_shows_the_gallery_as_its_command_prints_it() -> None:
    assert "python -m tests.audit.gallery" in PAGE
    assert table().strip() in PAGE
    assert len(table().splitlines()) > len(GALLERY) + 3 * len(HEADINGS)


def test_every_fault_has_its_line_of_code() -> None:
    assert {fault.name for fault in GALLERY} == set(CODE)
    assert {fault.family for fault in GALLERY} == set(HEADINGS)


def test_the_page_names_every_correct_verifier() -> None:
    part = PAGE.split("## No false alarm")[1]
    assert re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE) == [right.name for right in CORRECT]


WORRIES = re.findall(r"^\| (.*?) \| .* \| (.*?) \|$", PAGE.split("## Worries")[1].split("\n## ")[0], re.MULTILINE)[2:]


@pytest.mark.parametrize(
    ("row", "function", "section"),
    [
        (0, slower.fixed_siblings_one_hot, "R41"),
        (1, slower.own_sample_must_match, "R42"),
        (2, slower.missing_q_is_one_hot, "R43"),
        (3, slower.greedy_on_the_rows_given, "R45"),
    ],
)
def test_a_worry_has_the_verdict_of_the_page(row: int, function: object, section: str) -> None:
    assert len(WORRIES) == 4
    assert getattr(function, "__name__", "") in HOW, "it is asked about in its own way, not in the usual one"
    verdict = swept(function, tables=small(section), dtypes=["float64"])
    assert verdict.kind == WORRIES[row][1]
    assert verdict.kind in {LOSSLESS, SLOWER}


FAULTS = {fault.name: fault for fault in GALLERY}


def test_the_page_has_a_command_for_each_function_or_says_that_python_is_needed() -> None:
    assert "\n".join(commands()).strip() in PAGE
    part = PAGE.split("## Ask for yourself")[1]
    assert all(f":{name} " in part or f"`{name}`" in part for name in FAULTS)


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if command(fault)])
def test_a_command_of_the_page_gives_the_verdict_of_its_row(name: str) -> None:
    words = shlex.split(command(FAULTS[name]))[1:]
    run = prove_here(*words, "--calls", "0", "--dtype", "float64")
    assert (run.status, run.err) == (1, "")
    assert run.out.splitlines()[-1].lower().startswith(FAULTS[name].verdict)
