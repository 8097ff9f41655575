"""Limits that the user sets, and the answers that are not a verdict."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rheo_proof.exact.errors import SoundnessError
from tests.cli.program import command, environment, prove, prove_here, tables, written

BIG = ("--vocab", "9", "--depth", "3", "--slots", "4", "--nodes", "20", "--head", "0", "--instances", "3")
QUICK = ("--vocab", "2", "--depth", "1", "--instances", "1")


def test_too_few_classes_leave_everything_undecided(tmp_path: Path) -> None:
    run = prove(
        tmp_path, "--vocab", "3", "--depth", "2", "--family", "random", "--instances", "2", "--max-classes", "5"
    )
    assert (run.status, run.err) == (3, "")
    assert run.out.splitlines()[-1] == "NOT DECIDED."
    rows = [row for table in tables(run.out).values() for row in table]
    undecided = sum(int(row["models"]) - int(row["lossless"]) - int(row["biased"]) for row in rows)
    lossless = sum(int(row["lossless"]) for row in rows)
    assert undecided > 0
    assert f"Decided: {lossless} lossless, 0 biased, {undecided} undecided, of {2 * 4 * 3}" in run.words
    assert "Undecided because: more than 5 classes." in run.words


def test_enough_classes_decide_everything() -> None:
    """The twin: the limit is what left it undecided."""
    run = prove_here("--vocab", "3", "--depth", "2", "--family", "random", "--instances", "2", "--max-classes", "50000")
    assert run.status == 0
    assert ", 0 undecided, of 24" in run.words


def test_out_of_time_is_undecided_and_the_file_is_written(tmp_path: Path) -> None:
    run = prove(tmp_path, *BIG, "--timeout", "1", "--json", "run.json")
    assert (run.status, run.err) == (3, "")
    assert "Undecided because: out of time." in run.words
    assert run.out.splitlines()[-1] == "NOT DECIDED."
    content = written(tmp_path / "run.json")
    assert content["verdict"] == "undecided"
    assert len(content["instances"]) == 9
    assert "undecided" in {instance["verdict"] for instance in content["instances"]}


def test_biased_wins_over_undecided(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    sizes = ("--vocab", "3", "--depth", "2", "--family", "random", "--instances", "1")
    run = prove_here("--fault", "skip-residual", *sizes, "--no-shrink", "--max-classes", "20", "--json", str(path))
    assert run.status == 1
    assert run.out.splitlines()[-1] == "REFUTED: biased."
    content = written(path)
    assert content["verdict"] == "biased"
    assert {"biased", "undecided"} <= {instance["verdict"] for instance in content["instances"]}


@pytest.mark.parametrize("error", [RuntimeError("?"), SoundnessError("?"), MemoryError(), RecursionError()], ids=repr)
def test_an_internal_error_is_no_verdict(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("rheo_proof.theorems.instances.class_law", broken)
    run = prove_here(*QUICK, "--json", str(tmp_path / "run.json"))
    assert run.status == 4
    assert run.out == ""
    assert run.err.splitlines()[-1] == "rheo-prove: an error in this program; no verdict"
    assert os.listdir(tmp_path) == []


def test_the_two_computations_of_a_verdict_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheo_proof.exact.step.StepLaw.first_wrong", lambda *_: None)
    run = prove_here("--fault", "skip-residual", "--vocab", "2", "--depth", "1", "--family", "random", "--head", "0")
    assert run.status == 4
    assert "PROVED" not in run.out


@pytest.mark.skipif(sys.platform == "win32", reason="other pipes")
@pytest.mark.parametrize("arguments", [QUICK, ("schemes",), ("faults",)], ids=" ".join)
def test_a_reader_that_goes_away_gets_no_traceback_and_no_verdict(arguments: tuple[str, ...], tmp_path: Path) -> None:
    with subprocess.Popen(
        command(arguments), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert err == b""
    assert process.returncode not in (0, 1, 2, 3)


def test_the_first_line_can_be_read_alone(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(QUICK), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
    assert first.startswith(b"rheo: ")
    assert err == b""


def test_an_unknown_rational_type_is_unusable_input(tmp_path: Path) -> None:
    run = prove(tmp_path, *QUICK, RHEO_NUMBER="decimal")
    assert run.status == 2
    assert len(run.err.splitlines()) == 1
    assert run.err.startswith("rheo-prove: ")
    assert "RHEO_NUMBER" in run.err
