"""`--json`: what is in the file, and that the file is written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import is_one_line, prove, prove_here, written
from tests.completion import filled, first_wrong
from tests.oracle import expected_tokens, step_law, total_variation

SIZES = ("--vocab", "3", "--depth", "2", "--slots", "2", "--nodes", "4")
QUICK = ("--vocab", "2", "--depth", "1", "--instances", "1")
RULES = ("rheo", "rrsw", "flow", "match")
ALL_RULES = tuple(f"--verify={rule}" for rule in RULES)
INSTANCE = {
    "family": str,
    "seed": int,
    "scheme": dict,
    "verdict": str,
    "model": dict,
    "tv": str,
    "law": dict,
    "expected_tokens": str,
    "classes": int,
    "assignments": int,
    "seconds": float,
}
SCHEME = ("slots", "head", "depth", "beam", "nodes", "sparse", "proxy", "proxy_scale", "fill_scale", "verify", "fault")


def law_of(instance: dict[str, Any]) -> dict[tuple[int, ...], Fraction]:
    return {tuple(map(int, string.split(","))): Fraction(mass) for string, mass in instance["law"].items()}


def wrong_of(instance: dict[str, Any]) -> tuple[tuple[int, ...], Fraction, Fraction] | None:
    wrong = instance["counterexample"]
    if wrong is None:
        return None
    string = tuple(map(int, wrong["string"].split(",")))
    return string, Fraction(wrong["expected"]), Fraction(wrong["actual"])


# What is in the file


def test_a_proof_has_every_key_that_is_promised(tmp_path: Path) -> None:
    run = prove(tmp_path, *SIZES, *ALL_RULES, "--instances", "4", "--json", "run.json")
    assert (run.status, run.err) == (0, "")
    content = written(tmp_path / "run.json")
    assert (content["verdict"], content["statement"], content["smallest"]) == ("lossless", "instance", [])
    assert [key for key in SCHEME if key not in content["scheme"]] == []
    assert (content["scheme"]["head"], content["scheme"]["verify"]) == ([0, 1, 2], list(RULES))
    assert (content["scheme"]["slots"], content["scheme"]["proxy_scale"]) == (2, "1")
    assert len(content["instances"]) == 4 * 3 * 4
    for instance in content["instances"]:
        assert {key: type(instance[key]) for key in INSTANCE} == INSTANCE
        assert set(instance["scheme"]) == set(SCHEME)
        assert (instance["verdict"], instance["tv"], instance["counterexample"]) == ("lossless", "0", None)
        assert instance["assignments"] >= instance["classes"] >= 1
        assert set(instance["model"]) == {"vocab", "depth", "target", "draft"}


def test_every_law_sums_to_one_and_is_the_one_that_brute_force_finds(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    assert prove_here(*SIZES, *ALL_RULES, "--instances", "10", "--json", str(path)).status == 0
    instances = written(path)["instances"]
    assert len({instance["family"] for instance in instances}) >= 9
    for instance in instances:
        law = law_of(instance)
        assert sum(law.values()) == 1
        assert law == step_law(instance["model"], instance["scheme"])
        assert Fraction(instance["expected_tokens"]) == expected_tokens(law)


@pytest.mark.parametrize("fault", ["verify-full-q", "draw-full-q", "low-proxy"])
def test_the_law_and_the_distance_of_a_fault_are_those_that_brute_force_finds(fault: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    run = prove_here(*SIZES, "--fault", fault, "--instances", "10", "--json", str(path))
    assert run.status == 1
    content = written(path)
    assert content["verdict"] == "biased"
    assert content["scheme"]["fault"] == fault
    assert {instance["verdict"] for instance in content["instances"]} == {"biased", "lossless"}
    for instance in content["instances"]:
        law, model = law_of(instance), filled(instance["model"])
        assert law == step_law(model, instance["scheme"])
        assert Fraction(instance["tv"]) == total_variation(model, law)
        assert wrong_of(instance) == first_wrong(model, law)
        assert (instance["verdict"] == "biased") == (Fraction(instance["tv"]) > 0)


def test_a_law_of_another_scheme_is_not_the_one_in_the_file(tmp_path: Path) -> None:
    """The twin of the two tests above: the comparison has teeth."""
    path = tmp_path / "run.json"
    prove_here(*SIZES, "--fault", "verify-full-q", "--head", "1", "--instances", "1", "--json", str(path))
    [instance] = written(path)["instances"]
    assert law_of(instance) != step_law(filled(instance["model"]), instance["scheme"] | {"fault": None})


def test_the_smallest_counterexample_is_in_the_file_and_is_one(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    run = prove_here(*SIZES, "--fault", "draw-full-q", "--instances", "2", "--json", str(path))
    assert run.status == 1
    [found] = written(path)["smallest"]
    assert found["name"] == "draw-full-q"
    model = filled(found["model"])
    law = step_law(model, found["scheme"])
    assert wrong_of(found) == first_wrong(model, law) is not None
    assert Fraction(found["tv"]) == total_variation(model, law) > 0


def test_undecided_instances_are_in_the_file_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    run = prove_here(*SIZES, "--instances", "2", "--max-classes", "1", "--json", str(path))
    assert run.status == 3
    content = written(path)
    assert content["verdict"] == "undecided"
    for instance in content["instances"]:
        assert instance["verdict"] == "undecided"
        assert (instance["tv"], instance["law"], instance["expected_tokens"]) == (None, None, None)
        assert "classes" in instance["why"]


@pytest.mark.parametrize("name", ["duplicate-fills", "adaptive-head", "top-k", "block"])
def test_the_file_says_which_scheme_was_decided(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    assert prove_here("--scheme", name, *QUICK, "--json", str(path)).status == 0
    assert json.dumps(name) in path.read_text("utf-8")


# The file itself


def folder_is_clean(folder: Path, *names: str) -> bool:
    """Whether a folder holds these files and nothing else, hidden ones included."""
    return sorted(os.listdir(folder)) == sorted(names)


def test_an_old_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")
    assert prove(tmp_path, *QUICK, "--json", "run.json").status == 0
    assert written(path)["verdict"] == "lossless"
    assert folder_is_clean(tmp_path, "run.json")


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    path = tmp_path / "link.json"
    path.symlink_to(tmp_path / "there" / "run.json")
    assert prove_here(*QUICK, "--json", str(path)).status == 0
    assert path.is_symlink()
    assert written(tmp_path / "there" / "run.json")["verdict"] == "lossless"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_something_that_is_not_a_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert is_one_line(prove_here(*QUICK, "--json", str(path)), 2)
    assert path.is_fifo()


@pytest.mark.parametrize("where", ["missing/run.json", "folder", "folder/", ".", "file/run.json", ""])
def test_a_target_that_cannot_be_written_is_refused_before_any_work(where: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    run = prove(tmp_path, *QUICK, "--json", where)
    assert is_one_line(run, 2)
    assert where in run.err
    assert folder_is_clean(tmp_path, "folder", "file")
    assert folder_is_clean(tmp_path / "folder")


def test_a_folder_that_may_not_be_written_to_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs this may be allowed to write everywhere, so the answers of the system are put in its mouth."""
    opened = os.open

    def access(_: object, mode: int) -> bool:
        return not mode & os.W_OK

    def denied(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if Path(path).parent == tmp_path and flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(path, flags, *rest, **more)

    monkeypatch.setattr(os, "access", access)
    monkeypatch.setattr(os, "open", denied)
    run = prove_here(*QUICK, "--json", str(tmp_path / "run.json"))
    assert is_one_line(run, 2)
    assert folder_is_clean(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such permission there")
def test_a_read_only_folder_is_refused_before_any_work(tmp_path: Path) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o555)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    assert is_one_line(prove(tmp_path, *QUICK, "--json", "read-only/run.json"), 2)
    assert folder_is_clean(folder)


def no_replace(*_: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def full_disk(_: object, file: Any, **__: object) -> None:
    file.write('{"verdict": ')
    file.flush()
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("target", "failing"),
    [("os.replace", no_replace), ("json.dump", full_disk)],
    ids=["replace", "full-disk"],
)
def test_a_failure_while_writing_leaves_the_old_file_and_no_other(
    target: str, failing: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")
    monkeypatch.setattr(target, failing)
    run = prove_here(*QUICK, "--json", str(path))
    assert run.status == 2
    assert len(run.err.splitlines()) == 1
    assert run.err.startswith(f"rheo-prove: {path}: cannot be written")
    assert path.read_text() == "old"
    assert folder_is_clean(tmp_path, "run.json")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("?")], ids=["interrupt", "internal"])
def test_an_end_while_writing_leaves_the_old_file_and_no_other(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(_: object, file: Any, **__: object) -> None:
        file.write("{")
        raise error

    path = tmp_path / "run.json"
    path.write_text("old")
    monkeypatch.setattr("json.dump", ended)
    run = prove_here(*QUICK, "--json", str(path))
    assert run.status == (130 if isinstance(error, KeyboardInterrupt) else 4)
    assert path.read_text() == "old"
    assert folder_is_clean(tmp_path, "run.json")


def test_the_model_is_not_overwritten_by_the_result(tmp_path: Path) -> None:
    model = {"vocab": 1, "depth": 1, "target": {"": [1], "0": [1]}, "draft": {"": [1]}}
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model))
    assert is_one_line(prove_here("--model", str(path), "--json", str(path)), 2)
    assert written(path) == model
