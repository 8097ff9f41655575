"""`rheo-prove --certificate` and `rheo-prove check`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rheo_proof.theorems import certificate
from tests.certified import digits
from tests.cli.program import ROOT, is_one_line, prove, prove_here, written

SMALL = ("--vocab", "2", "--depth", "2", "--slots", "2", "--nodes", "3", "--instances", "2")


def test_a_certificate_of_a_run_holds_and_one_changed_digit_makes_the_check_fail(tmp_path: Path) -> None:
    run = prove(tmp_path, "--vocab", "2", "--depth", "2", "--instances", "1", "--certificate", "c.json")
    assert (run.status, run.err) == (0, "")
    assert "Certificate: c.json; `rheo-prove check c.json` checks it." in run.out
    checked = prove(tmp_path, "check", "c.json")
    assert (checked.status, checked.err) == (0, "")
    assert checked.out == (
        "HOLDS: 12 claims of lossless, 0 of biased, on 1 models.\n"
        "Proved from the scheme: 4 with rheo, 4 with rrsw, 4 with flow\n"
    )
    text = (tmp_path / "c.json").read_text("utf-8")
    tried = list(digits(text))
    for position in tried[len(tried) // 3 :: len(tried) // 3]:
        changed = f"{text[:position]}{(int(text[position]) + 1) % 10}{text[position + 1 :]}"
        (tmp_path / "d.json").write_text(changed, "utf-8")
        assert prove_here("check", str(tmp_path / "d.json")).status in (1, 2)
    assert len(tried) > 1_000


def test_the_checker_as_a_copied_file_says_the_same(tmp_path: Path) -> None:
    assert prove_here(*SMALL, "--certificate", str(tmp_path / "c.json")).status == 0
    copied = tmp_path / "checker.py"
    copied.write_bytes((ROOT / "rheo_proof" / "theorems" / "checker.py").read_bytes())
    command = [sys.executable, "-I", "-S", str(copied), str(tmp_path / "c.json")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, prove_here("check", str(tmp_path / "c.json")).out)


def test_a_refutation_has_a_certificate_with_the_smallest_counterexample(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    run = prove_here("--fault", "skip-residual", *SMALL, "--head", "1", "--certificate", str(path))
    assert run.status == 1
    content = written(path)
    assert content["verdict"] == "biased"
    assert len(content["claims"]) == 3
    smallest = content["claims"][-1]
    assert (smallest["verdict"], smallest["scheme"]["name"]) == ("biased", "skip-residual")
    assert f"`rheo-prove check {path}` checks it, but what it says of skip-residual is taken as stated" in run.words
    checked = prove_here("check", str(path))
    assert checked.status == 3
    assert re.match(
        r"CONSISTENT: .*, [1-9] of biased, on 3 models; taken as stated, not proved here: skip-residual\.\n",
        checked.out,
    )


def test_a_wrong_certificate_is_one_line_and_status_1(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    assert prove_here(*SMALL, "--certificate", str(path)).status == 0
    content = written(path)
    content["claims"][3]["expected_tokens"] = "1"
    path.write_text(json.dumps(content), "utf-8")
    run = prove_here("check", str(path))
    assert (run.status, run.out, run.err) == (1, "WRONG: claim 3: expected_tokens does not follow.\n", "")


@pytest.mark.parametrize("what", ["missing.json", ".", "text.txt"])
def test_what_is_no_certificate_is_one_line_and_status_2(what: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("no JSON", "utf-8")
    run = prove_here("check", str(tmp_path / what))
    assert (run.status, run.out, run.err.count("\n")) == (2, "", 1)
    assert str(tmp_path / what) in run.err


# All policies


POLICIES = ("policies", "--vocab", "3", "--depth", "1", "--slots", "2", "--nodes", "2", "--instances", "2")


@pytest.mark.parametrize(
    ("options", "status"), [(("--verify", "rheo", "--verify", "flow"), 0), (("--verify", "rrsw"), 1)]
)
def test_a_certificate_about_all_policies_holds_and_a_changed_one_does_not(
    options: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    run = prove_here(*POLICIES, "--head", "1", *options, "--certificate", str(path))
    assert run.status == status
    assert f"Certificate: {path}" in run.words
    content = written(path)
    assert (content["statement"], content["verdict"]) == ("policies", "biased" if status else "lossless")
    checked = prove_here("check", str(path))
    assert (checked.status, checked.err) == (0, "")
    assert checked.out.startswith("HOLDS: ")
    state = content["claims"][0]["states"][-1]
    state["value"] = dict.fromkeys(state["value"], "1/97")
    path.write_text(json.dumps(content), "utf-8")
    assert prove_here("check", str(path)).status == 1


@pytest.mark.parametrize(
    "options",
    [("--head", "any"), ("--peek",), ("--verify", "skip-residual"), ("--verify", "rheo", "--verify", "bottom-up")],
)
def test_policies_that_the_checker_does_not_know_have_no_certificate(options: tuple[str, ...], tmp_path: Path) -> None:
    """That is said before anything is decided."""
    run = prove_here(*POLICIES, *options, "--no-shrink", "--certificate", str(tmp_path / "p.json"))
    assert is_one_line(run, 2)
    assert "certificates about rheo, rrsw, match, flow with numbers for --head and without --peek" in run.err
    assert os.listdir(tmp_path) == []


def test_policies_do_not_write_two_results_into_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "p.json")
    assert is_one_line(prove_here(*POLICIES, "--json", path, "--certificate", path), 2)


# The file


def test_a_run_that_is_not_decided_writes_no_certificate_and_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text("old", "utf-8")
    run = prove_here(*SMALL, "--max-classes", "1", "--certificate", str(path))
    assert run.status == 3
    assert "No certificate was written: not everything was decided: more than 1 classes." in run.words
    assert path.read_text("utf-8") == "old"
    assert os.listdir(tmp_path) == ["c.json"]


def test_a_certificate_that_would_be_too_large_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "MOST_CLASSES", 10)
    run = prove_here(*SMALL, "--certificate", str(tmp_path / "c.json"))
    assert run.status == 3
    assert "No certificate was written: more than 10 classes. It is smaller with fewer --instances" in run.words
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("where", ["missing/c.json", ".", ""])
def test_a_target_that_cannot_be_written_is_refused_before_any_work(where: str) -> None:
    assert is_one_line(prove_here(*SMALL, "--certificate", where), 2)


def test_two_results_in_one_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    run = prove_here(*SMALL, "--certificate", str(path), "--json", str(tmp_path / "x" / ".." / "c.json"))
    assert is_one_line(run, 2)
    run = prove_here(*SMALL, "--certificate", str(path), "--json", str(path))
    assert is_one_line(run, 2)
    assert "name two files" in run.err
    assert not path.exists()


def test_the_model_is_not_overwritten_by_its_certificate(tmp_path: Path) -> None:
    model: dict[str, Any] = {"vocab": 1, "depth": 1, "target": {"": [1], "0": [1]}, "draft": {"": [1]}}
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model), "utf-8")
    assert is_one_line(prove_here("--model", str(path), "--certificate", str(path)), 2)
    assert written(path) == model
    assert prove_here("--model", str(path), "--certificate", str(tmp_path / "c.json")).status == 0
    assert prove_here("check", str(tmp_path / "c.json")).status == 0
