"""The zoo on the command line: proved, refuted, or lossy by design, at sizes that are small unless said otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheo_proof.schemes.registry import CONTROLS, LOSSY, ON_RHEO_TREES, ZOO
from rheo_proof.theorems.zoo import PLANNED
from tests.cli.program import is_one_line, prove_here, tables, written
from tests.cli.test_refuting import confirm, counterexample

FEW = ("--instances", "4")


@pytest.mark.parametrize("name", [*ZOO, *PLANNED])
def test_a_scheme_of_the_zoo_is_proved_and_replay_agrees(name: str) -> None:
    run = prove_here("--scheme", name, *FEW, *(("--head", "1") if name in ON_RHEO_TREES else ()))
    assert (run.status, run.err) == (0, "")
    assert run.out.splitlines()[-1] == "PROVED: lossless."
    assert list(tables(run.out)) == [name]
    assert len(tables(run.out)[name]) == 1
    assert "finds the same laws on 2 small models." in run.words


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_is_refuted_with_a_counterexample_that_is_one(name: str) -> None:
    run = prove_here("--fault", name, "--instances", "1")
    assert (run.status, run.err) == (1, "")
    assert run.out.splitlines()[-1] == "REFUTED: biased."
    shown = counterexample(run.out)
    assert shown.name == name
    confirm(shown)


@pytest.mark.parametrize("name", LOSSY)
def test_a_lossy_rule_is_lossy_by_design_with_its_exact_distance(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    run = prove_here("--scheme", name, "--instances", "6", "--json", str(path))
    assert (run.status, run.err) == (1, "")
    assert run.out.splitlines()[-1].startswith("LOSSY BY DESIGN: ")
    content = written(path)
    assert content["verdict"] == "lossy by design"
    assert {instance["verdict"] for instance in content["instances"]} <= {"lossless", "lossy by design"}
    lossy = [instance for instance in content["instances"] if instance["verdict"] == "lossy by design"]
    assert "models lossless lossy largest TV" in run.words
    assert lossy
    assert all(instance["tv"] != "0" for instance in lossy)
    assert f"0 biased, {len(lossy)} lossy by design" in run.words


def test_a_lossy_rule_beside_a_biased_one_does_not_hide_it() -> None:
    sizes = ("--depth", "3", "--slots", "2", "--vocab", "3", "--instances", "10")
    run = prove_here("--scheme", "sglang-acc", "--scheme", "bottom-up", *sizes)
    assert run.status == 1
    assert run.out.splitlines()[-1] == "REFUTED: biased."
    assert "lossy by design" in run.words


def test_sizes_are_small_for_the_zoo_and_a_note_says_so() -> None:
    run = prove_here("--scheme", "rrs", *FEW)
    assert "V = 3, D = 2, K = 2" in run.words
    assert "Note: sizes that were not given are small, for a scheme of the zoo is asked for" in run.words
    given = prove_here("--scheme", "rrs", *FEW, "--vocab", "2", "--depth", "1", "--slots", "3")
    assert "V = 2, D = 1, K = 3" in given.words
    assert "sizes that were not given" not in given.words
    assert "sizes that were not given" not in prove_here("--scheme", "chain", *FEW).words


def test_a_model_of_ones_own_keeps_its_size() -> None:
    run = prove_here("--scheme", "rsd-c", "--model", "examples/model.json")
    assert run.status == 0
    assert "V = 3, D = 1, K = 2" in run.words


@pytest.mark.parametrize(
    "arguments",
    [
        ("--scheme", "leviathan", "--head", "1"),
        ("--scheme", "rrs", "--verify", "rrsw"),
        ("--scheme", "rrs", "--nodes", "5"),
        ("--scheme", "bv", "--slots", "2"),
        ("--scheme", "gbv-clipped"),
        ("--fault", "relaxed"),
        ("--fault", "traversal-by-creation", "--slots", "2"),
    ],
    ids=" ".join,
)
def test_a_parameter_that_a_scheme_does_not_read_is_refused(arguments: tuple[str, ...]) -> None:
    run = prove_here(*arguments)
    assert is_one_line(run, 2), run
