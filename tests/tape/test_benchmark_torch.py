"""The benchmark and the GPU check of the torch decoder run, and say what they found. No time is looked at."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from tests.benchmark_files import load

CPU = torch.device("cpu")


bench = load("torch_decoder")
check = load("gpu_check")
ROW = bench.Row("a : b", "1", "2", 2.0, "at most 1.5", False)


# The benchmark


def test_the_quick_benchmark_runs(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    done = CliRunner().invoke(bench.main, ["--quick", "--json", str(file)], catch_exceptions=False)
    assert done.exit_code == 0
    found = json.loads(file.read_text("utf-8"))
    whats = [row["what"] for row in found["rows"]]
    for rule in bench.RULES:
        assert [f"toy {rule}, {dtype} : NumPy" in whats for dtype in ("float64", "float32")] == [True, True]
        assert [f"step {rule}, V = 2,000, batch {batch}" in whats for batch in (1, 2)] == [True, True]
    assert len(whats) == 4 * len(bench.RULES)
    assert all(note in done.output for note in found["notes"])
    assert len(found["notes"]) == 3


def test_the_stated_sizes_are_those_of_the_requirement() -> None:
    toy, large, full = bench.TOY, bench.LARGE, bench.Sizes()
    assert (bench.TOY_VOCAB, toy.slots, toy.depth, toy.nodes, toy.head) == (5, 3, 3, 8, 1)
    assert (large.slots, large.depth, large.nodes, large.sparse) == (10, 8, 60, 128)
    assert (full.toy_batch, full.vocabs, full.batches) == (100_000, (32_000, 128_000), (1, 32))
    assert (bench.TIMES_NUMPY, bench.TIMES_UNAVOIDABLE) == (10, 1.5)


def test_a_missed_requirement_is_said() -> None:
    assert [replace(ROW, met=met).cells()[-1] for met in (True, False, None)] == ["met", "NOT met", "-"]
    assert bench.failures([ROW], strict=False) == []
    assert bench.failures([ROW, replace(ROW, met=None), replace(ROW, met=True)], strict=True) == [
        "a : b: 2.00, NOT met"
    ]


def test_a_missed_requirement_fails_a_strict_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "measure", lambda *_: ([ROW], []))
    assert [CliRunner().invoke(bench.main, options).exit_code for options in ([], ["--strict"])] == [0, 1]


def test_bytes_are_those_that_are_read_and_written() -> None:
    values = torch.zeros(10, 100, dtype=torch.float64)
    with bench.Moved() as moved:
        assert (values[:, :50] + values[:1, 50:].expand(10, -1)).shape == (10, 50)
    assert (moved.operations, moved.bytes) == (1, 8 * (500 + 50 + 500))


# The check


def test_the_quick_check_passes_on_a_cpu(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    parts = [option for name in ("tapes", "law", "crosscheck", "capture") for option in ("--part", name)]
    done = CliRunner().invoke(check.main, ["--device", "cpu", "--json", str(file), *parts], catch_exceptions=False)
    found = json.loads(file.read_text("utf-8"))["parts"]
    assert done.exit_code == 0, found
    assert {name: part["passed"] for name, part in found.items()} == {
        "tapes": True,
        "law": True,
        "crosscheck": True,
        "capture": None,
    }
    assert "capture: skipped: needs CUDA" in done.output
    assert found["tapes"]["tapes"] == 40 * 2 * 7 * 4


def test_the_benchmark_is_a_part_of_the_check() -> None:
    result = check.checked(check.PARTS["benchmark"], CPU, True)
    assert result["passed"] is True, result
    assert len(result["rows"]) == 4 * len(bench.RULES)


def test_without_a_gpu_one_line_is_printed_and_nothing_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    done = CliRunner().invoke(check.main, ["--json", str(tmp_path / "found.json")], catch_exceptions=False)
    assert (done.exit_code, done.output.count("\n")) == (0, 1)
    assert list(tmp_path.iterdir()) == []


def again(work: Callable[[], Any]) -> tuple[Callable[[], None], Any]:
    """In the place of a CUDA graph: does the work once more."""
    results = [*work()]

    def replay() -> None:
        results[:] = work()

    return replay, results


@pytest.mark.parametrize("rule", bench.RULES)
def test_a_replay_is_compared_with_a_call(rule: str) -> None:
    assert check.replays(rule, CPU, again) >= 20
    with pytest.raises(check.Failed, match="differs from a call"):
        check.replays(rule, CPU, lambda work: (lambda: None, again(work)[1]))


def test_a_part_that_fails_is_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check.rheo_gpu, "decode_step", lambda *_: 1 / 0)
    file = tmp_path / "found.json"
    done = CliRunner().invoke(check.main, ["--device", "cpu", "--json", str(file), "--part", "tapes"])
    assert done.exit_code == 1
    assert "ZeroDivisionError" in json.loads(file.read_text("utf-8"))["parts"]["tapes"]["error"]


def test_a_wrong_string_fails_the_tapes(monkeypatch: pytest.MonkeyPatch) -> None:
    verify = sys.modules["rheo_gpu.verify"]
    monkeypatch.setattr(verify, "residual", lambda at, r, mass: r)
    result = check.checked(check.PARTS["tapes"], CPU, True)
    assert result["passed"] is False
    assert "strings differ" in result["error"]


def test_a_wrong_law_fails_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    verify = sys.modules["rheo_gpu.verify"]
    monkeypatch.setattr(verify, "residual", lambda at, r, mass: r)
    result = check.checked(check.PARTS["law"], CPU, True)
    assert result["passed"] is False
    assert result["error"].startswith("Failed: gpu_check rheo 0")
