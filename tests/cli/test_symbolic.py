"""`rheo-prove symbolic`: statements with their quantifiers, refutations with a region, exit status, JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest import mock

import pytest

from rheo_proof.exact.families import family_model
from rheo_proof.exact.files import read_model, write_model
from rheo_proof.exact.number import rational
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters
from tests.cli.program import is_one_line, prove_here, written

SMALL = ("--vocab", "2", "--slots", "1", "--nodes", "2", "--head", "0")


def test_rules_are_proved_and_the_quantifiers_are_said(tmp_path: Path) -> None:
    run = prove_here("symbolic", *SMALL, "--verify", "rheo", "--verify", "match", "--json", str(tmp_path / "all.json"))
    assert (run.status, run.err) == (0, "")
    assert "for all p and all t, V = 2, m = 0" in run.words
    assert "Proved, one node: rheo, match; for every target law p and every tail law t" in run.words
    assert "From one node to all trees: not computed here." in run.words
    assert run.out.splitlines()[-1] == "PROVED."
    content = written(tmp_path / "all.json")
    assert content["verdict"] == "proved"
    assert [(s["rule"], s["place"], s["verdict"]) for s in content["statements"]] == [
        (rule, place, "proved") for place in ("node", "tree") for rule in ("rheo", "match")
    ]
    assert all(s["assumed"] is None and s["points_checked"] > 0 for s in content["statements"])
    points = sum(s["points_checked"] for s in content["statements"])
    assert f"Run again with plain numbers at {points} points of proved regions" in run.words
    assert content["missing"] == []
    quantifiers = content["statements"][2]["quantifiers"]
    assert quantifiers == "for all p at every prefix; q of random 0, V = 2, D = 2, K = 1, N = 2, m = 0"


def test_flow_verification_is_proved_on_trees_of_three_tokens_and_two_layers(tmp_path: Path) -> None:
    sizes = ("--vocab", "3", "--head", "1", "--verify", "flow")
    run = prove_here("symbolic", *sizes, "--json", str(tmp_path / "flow.json"))
    assert (run.status, run.err) == (0, "")
    assert "Proved, whole tree: flow; for every target at every prefix" in run.words
    trees = [s for s in written(tmp_path / "flow.json")["statements"] if s["place"] == "tree"]
    assert [s["verdict"] for s in trees] == ["proved", "proved"]
    assert "V = 2, D = 2, K = 2, N = 4, m = 1" in trees[0]["quantifiers"]
    assert "V = 3, D = 2, K = 2, N = 3, m = 1" in trees[1]["quantifiers"]


def test_a_fault_is_refuted_with_a_region_and_a_point_that_the_exact_prover_confirms(tmp_path: Path) -> None:
    run = prove_here("symbolic", "--vocab", "4", "--fault", "verify-full-q", "--json", str(tmp_path / "fault.json"))
    assert (run.status, run.err) == (1, "")
    assert "Region: " in run.out
    assert "A rational point in it: " in run.out
    assert "The exact prover at that point (D = 1, K = 2, B = 2, N = 2, m = 1, verify rheo)" in run.out
    assert run.out.splitlines()[-1] == "REFUTED: biased."
    [statement] = written(tmp_path / "fault.json")["statements"]
    found = statement["refutation"]
    assert found["region"]
    model, named = read_model(found["model"]), FAULTS["verify-full-q"]
    base = Parameters(slots=2, head=1, depth=1, nodes=2)
    wrong = law_by_classes(named.build(named.fix(base)), model).first_wrong(model)
    assert wrong is not None
    assert found["counterexample"]["actual"] == str(wrong.actual)
    assert rational(found["value"]) == wrong.actual - wrong.expected
    assert (
        law_by_classes(named.build(named.fix(Parameters(slots=1, head=0, depth=1))), model).first_wrong(model) is None
    )


def test_a_fault_of_the_tree_is_refuted_on_a_tree() -> None:
    run = prove_here("symbolic", "--vocab", "3", "--fault", "own-probability")
    assert run.status == 1
    assert "own-probability one node" in run.words
    assert "own-probability whole tree" in run.words
    assert "own-probability is refuted" in run.out


def test_a_fault_that_makes_no_difference_is_not_called_proved() -> None:
    run = prove_here("symbolic", "--vocab", "2", "--fault", "own-probability", "--verify", "match", "--seed", "1")
    assert run.status == 3
    assert run.out.splitlines()[-1].startswith("NOT REFUTED:")


def test_a_head_without_a_statement_is_named(tmp_path: Path) -> None:
    sizes = ("--vocab", "4", "--slots", "2", "--nodes", "2", "--verify", "match")
    run = prove_here("symbolic", *sizes, "--head", "3", "--json", str(tmp_path / "found.json"))
    assert run.status == 0
    assert "No tree: m = 3 needs slots of at least 3." in run.out
    assert written(tmp_path / "found.json")["missing"] == ["No tree: m = 3 needs slots of at least 3."]
    small = prove_here("symbolic", "--vocab", "2", "--slots", "2", "--nodes", "2", "--verify", "match", "--head", "2")
    assert "No statement about one node: m = 2 needs V of at least 3." in small.out
    assert "No tree" not in small.out


def test_out_of_time_is_undecided() -> None:
    run = prove_here("symbolic", "--vocab", "6", "--verify", "rheo", "--timeout", "1")
    assert run.status == 3
    assert "Undecided, one node: rheo: out of time." in run.out
    assert run.out.splitlines()[-1] == "NOT DECIDED."


def test_trees_use_the_draft_laws_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(write_model(family_model("ties", 0, 2, 1))))
    run = prove_here("symbolic", *SMALL, "--verify", "rheo", "--model", str(path))
    assert run.status == 0
    assert "q of mine.json, V = 2, D = 1" in run.words


@pytest.mark.parametrize(
    "arguments",
    [
        ("--fault", "no-such-fault"),
        ("--fault", ""),
        ("--fault", "skip-residual", "--verify", "rheo", "--verify", "rrsw"),
        ("--fault", "resort-siblings", "--verify", "rheo"),
        ("--head", "9"),
        ("--model", "missing.json"),
        ("--json", "no-such-folder/out.json"),
    ],
)
def test_unusable_input_is_one_line(arguments: tuple[str, ...]) -> None:
    assert is_one_line(prove_here("symbolic", *arguments), 2)


@pytest.mark.parametrize("arguments", [("--vocab", "0"), ("--vocab", "7"), ("--verify", "bottom-up"), ("--depth", "0")])
def test_values_out_of_range_are_refused(arguments: tuple[str, ...]) -> None:
    assert prove_here("symbolic", *arguments).status == 2


def test_without_sympy_the_message_says_what_to_install() -> None:
    with mock.patch.dict(sys.modules, {"sympy": None}):
        run = prove_here("symbolic", *SMALL)
    assert is_one_line(run, 2)
    assert "pip install 'rheo-proof[symbolic]'" in run.err
