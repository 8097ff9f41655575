"""The benchmark of the NumPy decoder runs, and says what it found. No time is looked at."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.benchmark_files import load

bench = load("reference")
ROW = bench.Row("a : b", "1", "2", 60.0, "at least 50", True)


def test_the_quick_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--quick"]) == 0
    printed = capsys.readouterr().out
    for rule in bench.RULES:
        assert f"batched {rule} : one by one" in printed
        assert printed.count(f"step {rule}, V = 2,000") == 2
    assert printed.count(" met ") == 3 * len(bench.RULES)


def test_the_stated_sizes_are_those_of_the_requirement() -> None:
    toy, large, full = bench.TOY, bench.LARGE, bench.Sizes()
    assert (bench.TOY_VOCAB, toy.slots, toy.depth, toy.nodes) == (5, 3, 3, 8)
    assert (full.vocab, large.sparse, large.slots, large.depth, large.nodes) == (128_000, 128, 10, 8, 60)
    assert (bench.TIMES_SCALAR, bench.STEPS_PER_SECOND, bench.TIMES_FLOOR) == (50, 200_000, 1.5)


def test_a_missed_requirement_is_said() -> None:
    assert ROW.cells()[-1] == "met"
    assert replace(ROW, met=False).cells()[-1] == "NOT met"


def test_when_a_run_fails() -> None:
    missed, wrong = replace(ROW, met=False), replace(ROW, wrong=2)
    assert bench.failures([ROW, missed], strict=False) == []
    assert bench.failures([ROW, missed], strict=True) == ["a : b: 60.00, NOT met"]
    assert bench.failures([ROW, wrong], strict=False) == ["a : b: 2 strings differ"]


def test_strings_that_differ_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from rheo_reference import batch_tables

    monkeypatch.setattr(batch_tables, "acceptance", lambda *_: 0.0)
    assert bench.simulation("rheo", replace(bench.QUICK, scalar=60)).wrong > 0
