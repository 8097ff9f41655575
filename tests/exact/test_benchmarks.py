"""The counts in docs/performance.md, computed again, and the benchmark that prints them.

What computes is the benchmark's own `measure`, on the instance that a row names. No time is looked at.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.progress import Progress

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.replay import replay
from rheo_proof.schemes.laws import draft_classes, law_by_classes, run
from rheo_proof.schemes.scheme import RULES
from tests.benchmark_files import load

ROOT = Path(__file__).resolve().parents[2]
BENCHMARK = ROOT / "benchmarks" / "enumerator.py"
PAGE = (ROOT / "docs" / "performance.md").read_text("utf-8")
REPLAYED = " by replay"


bench = load("enumerator")
NAMED = {case.name: case for case in (bench.A, bench.B, bench.C, bench.D)}
CASES = [case for cases in bench.SECTIONS.values() for case in cases]
SMALL = replace(bench.A, vocab=3, slots=2, beam=2, depth=2, nodes=4)


def rows(text: str) -> Iterator[dict[str, str]]:
    """The rows of the tables that have counts, each by column."""
    head: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells or not head:
            head = cells
        elif bench.COUNTS[0] in head and not cells[0].startswith("---"):
            yield dict(zip(head, cells, strict=True))


def instance(row: dict[str, str]) -> Any:
    """What a row is about: the named case, or A, with what its other columns say."""
    case = NAMED[row.get("case", "A").removesuffix(REPLAYED)]
    for column in set(bench.FIELDS) & set(row) - {"case"}:
        field = bench.FIELDS[column]
        case = replace(case, **{field: type(getattr(case, field))(row[column])})
    stopped = re.fullmatch("more than ([0-9]+) classes", row[bench.COUNTS[0]])
    return replace(case, limit=int(stopped[1])) if stopped else case


@cache
def measured(case: Any) -> Any:
    return bench.measure(case)


def wrong(row: dict[str, str]) -> list[str]:
    """The columns of a row that say something else than what is computed."""
    found = measured(instance(row))
    if row.get("case", "").endswith(REPLAYED):
        found = replace(found, counts=(None, None, None, None, found.counts[-1]))
    cells = dict(zip(bench.COUNTS, found.count_cells(), strict=True))
    return [f"{name}: {row[name]}, computed {cell}" for name, cell in cells.items() if row[name] != cell]


def missing(text: str) -> list[Any]:
    """Instances of the benchmark that have no row, and rows that are about something else."""
    shown = [instance(row) for row in rows(text) if not row.get("case", "").endswith(REPLAYED)]
    return [case for case in CASES if case not in shown] + [case for case in shown if case not in CASES]


# The page


def test_the_page_shows_every_instance_of_the_benchmark() -> None:
    assert len(set(CASES)) > 40
    assert missing(PAGE) == []
    assert sum(row.get("case", "") == f"A{REPLAYED}" for row in rows(PAGE)) == 1


@pytest.mark.parametrize(
    "row", list(rows(PAGE)), ids=lambda row: "-".join(row[key] for key in bench.FIELDS if key in row)
)
def test_every_count_of_the_page_is_computed_again(row: dict[str, str]) -> None:
    assert wrong(row) == []


@pytest.mark.parametrize(
    ("start", "numbers"),
    [("| A | random |", 6), (f"| A{REPLAYED} | random |", 2), ("| 1 | 0 |", 8), ("| flow | 1 |", 7), ("| 20 | 0 |", 3)],
)
def test_an_altered_number_is_found(start: str, numbers: int) -> None:
    """The twin: each number of a row except times, made larger by one."""
    index, row = next((i, r) for i, r in enumerate(rows(PAGE)) if f"| {' | '.join(r.values())} |".startswith(start))
    line = f"| {' | '.join(row.values())} |"
    left = line[: line.index(f" | {row[bench.TIMES[0]]} | ")]
    found = list(re.finditer("[0-9][0-9,]*", left))
    assert PAGE.count(line) == 1
    assert len(found) == numbers
    for number in found:
        larger = f"{int(number[0].replace(',', '')) + 1:,}"
        text = PAGE.replace(line, f"{line[: number.start()]}{larger}{line[number.end() :]}")
        assert missing(text) or wrong(list(rows(text))[index]), larger


def test_numbers_in_sentences() -> None:
    """Counts are taken from the tables, which the tests above compute."""
    page = " ".join(PAGE.split())
    counts = {instance(row): {name: row[name] for name in bench.COUNTS} for row in rows(PAGE)}
    for case, base, power in ((bench.A, 4, 7), (bench.C, 49, 9), (bench.D, 5, 7)):
        assert counts[case]["assignments"] == f"{base**power:,}"
        assert f"{base}^{power} = {base**power:,}" in page
    a = measured(bench.A)
    assert f"{a.counts[3]:,} drafts of A fall into {a.counts[0]} classes" in page
    assert f"walks {a.counts[1]} classes while it drafts and {a.counts[2]} while it verifies" in page
    assert f": {a.counts[4]:,} paths for A." in page
    twelve = replace(bench.A, vocab=12)
    flow, rheo = measured(replace(twelve, rule="flow")).counts[2], counts[twelve]["walked, verifying"]
    assert f"it walks {flow:,} classes while it verifies, where `rheo` walks {rheo}." in page


@pytest.mark.parametrize("case", NAMED.values(), ids=NAMED)
def test_parameters_of_the_requirements(case: Any) -> None:
    sizes = (case.vocab, case.slots, case.head, case.beam, case.depth, case.nodes)
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {' | '.join(map(str, (case.name, *sizes)))} |")]
    for number in re.findall("[0-9.]+", bench.REQUIRED.get(case.name, (f"{bench.RATIO}",))[0]):
        assert f" {number} " in row


# The number of paths


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("family", ["random", "zeros"])
@pytest.mark.parametrize("head", [0, 1])
def test_paths_are_counted_without_running_them(rule: str, family: str, head: int) -> None:
    case = replace(SMALL, rule=rule, family=family, head=head)
    scheme, model = case.load()
    ran: list[int] = []
    replay(lambda chance: run(scheme, model, chance), ran.append)
    assert bench.replay_paths(scheme, model, draft_classes(scheme.drafting, model)) == len(ran) > 1


def test_replay_must_agree_with_classes() -> None:
    classes = bench.measure(SMALL)
    paths = classes.counts[-1]
    assert bench.measure_replay(SMALL, classes, Progress(disable=True)).counts[-1] == paths
    miscounted = replace(classes, counts=(*classes.counts[:-1], paths + 1))
    with pytest.raises(SoundnessError, match=f"{paths} paths"):
        bench.measure_replay(SMALL, miscounted, Progress(disable=True))


def test_another_law_of_replay_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    other = law_by_classes(*replace(SMALL, family="near").load())
    monkeypatch.setattr(bench, "law_by_classes", lambda scheme, model: other)
    with pytest.raises(SoundnessError, match="disagree"):
        bench.measure_replay(SMALL, bench.measure(SMALL), Progress(disable=True))


# What makes a run fail


GOOD = bench.Row(bench.B, (1, 1, 1, 1, 1), Fraction(0), (0, 0, 0), 1)
BAD = {
    "slow": replace(GOOD, seconds=(0, 2, 0)),
    "undecided": replace(GOOD, tv=None, why="more than 5 classes"),
    "big": replace(GOOD, case=bench.C, mebibytes=3000),
    "wrong": replace(GOOD, tv=Fraction(1, 7)),
    "ratio": replace(GOOD, ratio=bench.RATIO - 1),
}


def test_a_good_run_does_not_fail() -> None:
    good = [GOOD, replace(GOOD, case=bench.C), replace(GOOD, ratio=bench.RATIO)]
    assert bench.failures(good, strict=True) == []
    assert all(row.requirement().endswith(": met") for row in good)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_run_fails(name: str) -> None:
    assert len(bench.failures([GOOD, BAD[name]], strict=True)) == 1
    assert len(bench.failures([GOOD, BAD[name]], strict=False)) == (name in {"wrong", "ratio"})


# The program


class Here:
    """In the place of the pool of one process: this one, where no instance is measured twice."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, measure: Any, cases: list[Any]) -> Iterator[Any]:
        assert measure is bench.measure
        return map(measured, cases)


def assert_counts_of_the_page(printed: str, least: int) -> None:
    counts = {instance(row): [row[name] for name in bench.COUNTS] for row in rows(PAGE) if "case" not in row}
    found = [row for row in rows(printed) if "case" not in row]
    assert len(found) >= least
    assert [row for row in found if counts[instance(row)] != [row[name] for name in bench.COUNTS]] == []


def test_quick_run_has_the_counts_of_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "ProcessPoolExecutor", Here)
    assert bench.main(["--quick", "--markdown"]) == 0
    assert_counts_of_the_page(capsys.readouterr().out, 20)


def test_the_program_measures_in_processes_of_its_own() -> None:
    """A few of the instances: that all of them are printed is seen above."""
    few = "import sys, enumerator as e; s = e.SECTIONS; e.SECTIONS = {t: s[t][:2] for t in s}; e.SECTIONS.pop('Rules')"
    command = [sys.executable, "-c", f"{few}; sys.exit(e.main(['--quick', '--markdown']))"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        command, cwd=BENCHMARK.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    assert_counts_of_the_page(process.stdout, 6)


def test_a_count_that_is_not_that_of_the_page_is_noticed() -> None:
    text = PAGE[PAGE.index("| V | m | draft classes ") :]
    assert_counts_of_the_page(text, 20)
    assert text.count("| 4 | 1 | 6 | 34 |") == 1
    with pytest.raises(AssertionError):
        assert_counts_of_the_page(text.replace("| 4 | 1 | 6 | 34 |", "| 4 | 1 | 6 | 35 |"), 20)
