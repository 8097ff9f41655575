"""A toy model of the user's own: what is read, with which parameters it is decided, and what comes out."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import ROOT, prove, prove_here, strings_shown, tables, written

CASES = sorted((ROOT / "tests" / "cases").glob("*.json"))
HALF = ["1/2", "1/2"]
ONE_LEVEL: dict[str, Any] = {
    "vocab": 2,
    "depth": 1,
    "target": {"": ["1/3", "2/3"], "0": ["1/5", "4/5"], "1": [1, 0]},
    "draft": {"": HALF},
}
"""One sampled slot on two tokens: X = 0 is accepted with 2/3, X = 1 always; the residual is token 1."""
ORDER_ONE: dict[str, Any] = {
    "vocab": 3,
    "depth": 4,
    "order": 1,
    "target": {"": ["1/2", "1/3", "1/6"], "0": [0, "1/4", "3/4"], "1": ["2/3", 0, "1/3"], "2": [0, 1, 0]},
    "draft": {"": ["1/6", "1/3", "1/2"], "0": ["1/3"] * 3, "1": [0, "3/4", "1/4"], "2": [1, 0, 0]},
}


def saved(folder: Path, model: Any, name: str = "model.json") -> str:
    path = folder / name
    path.write_text(json.dumps(model), "utf-8")
    return str(path)


def options(scheme: dict[str, Any]) -> list[str]:
    """The options that say what a case of `tests/cases` says."""
    plain = ("slots", "head", "depth", "beam", "nodes", "sparse", "proxy", "proxy_scale", "fill_scale")
    given = [f"--{name.replace('_', '-')}={scheme[name]}" for name in plain if scheme.get(name) is not None]
    if scheme.get("fault"):
        return [*given, f"--fault={scheme['fault']}", "--no-shrink"]
    return [*given, f"--verify={scheme.get('verify', 'rheo')}", "--no-shrink"]


def test_there_are_cases_of_every_kind() -> None:
    kinds = ("bottom-up", "fault", "flow", "lossless", "rrsw-tail-proxy", "tail-proxy", "ties")
    assert [kind for kind in kinds if not any(path.stem.startswith(kind) for path in CASES)] == []


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_a_case_is_accepted_as_it_is_and_decided_as_it_says(path: Path, tmp_path: Path) -> None:
    """The law in the case was computed by another program; `tests/cases/README.md` and `tests/exact` say more."""
    case = written(path)
    target = tmp_path / "run.json"
    run = prove_here("--model", str(path), *options(case["scheme"]), "--json", str(target))
    assert run.err == ""
    assert run.status == (0 if case["tv"] == "0" else 1)
    [instance] = written(target)["instances"]
    assert (instance["tv"], instance["expected_tokens"]) == (case["tv"], case["expected_tokens"])
    assert instance["law"] == case["law"]


def test_a_model_of_ones_own_is_proved_for_all_rules_and_m(tmp_path: Path) -> None:
    run = prove(tmp_path, "--model", saved(tmp_path, ONE_LEVEL))
    assert (run.status, run.err) == (0, "")
    assert run.out.splitlines()[-1] == "PROVED: lossless."
    assert {name: [row["models"] for row in rows] for name, rows in tables(run.out).items()} == {
        rule: ["1"] * 4 for rule in ("rheo", "rrsw", "flow")
    }
    assert "1 model (model.json), V = 2, D = 1" in run.words


def test_the_law_of_one_level_is_the_one_worked_out_by_hand(tmp_path: Path) -> None:
    chosen = ("--slots", "1", "--head", "0", "--verify", "rheo")
    run = prove_here("--model", saved(tmp_path, ONE_LEVEL), *chosen)
    shown = {string: Fraction(printed.split()[0]) for string, printed in strings_shown(run.out).items()}
    assert shown == {"0,0": Fraction(1, 15), "0,1": Fraction(4, 15), "1,0": Fraction(1, 2), "1": Fraction(1, 6)}
    assert "expected tokens 11/6 (1.8333)" in run.words


def test_a_model_with_order_1_is_decided_to_its_own_depth(tmp_path: Path) -> None:
    run = prove_here("--model", saved(tmp_path, ORDER_ONE))
    assert (run.status, run.err) == (0, "")
    assert "V = 3, D = 4" in run.words


def test_a_smaller_depth_than_the_model_has_can_be_asked_for(tmp_path: Path) -> None:
    run = prove_here("--model", saved(tmp_path, ORDER_ONE), "--depth", "2", "--vocab", "3")
    assert run.status == 0
    assert "V = 3, D = 2" in run.words


def test_order_1_gives_the_law_of_the_same_model_written_out(tmp_path: Path) -> None:
    prefixes = [""]
    for _ in range(ORDER_ONE["depth"]):
        prefixes += [f"{u},{x}".strip(",") for u in prefixes for x in range(3)]
    long = {key: ORDER_ONE[key] for key in ("vocab", "depth")} | {
        "target": {u: ORDER_ONE["target"][u[-1:]] for u in prefixes if len(u) < 2 * ORDER_ONE["depth"]},
        "draft": {u: ORDER_ONE["draft"][u[-1:]] for u in prefixes if len(u) < 2 * ORDER_ONE["depth"] - 2},
    }
    laws = []
    for number, model in enumerate((ORDER_ONE, long)):
        target = tmp_path / f"run{number}.json"
        run = prove_here("--model", saved(tmp_path, model), "--json", str(target), "--head", "1")
        assert run.status == 0, run.err
        laws.append([instance["law"] for instance in written(target)["instances"]])
    assert laws[0] == laws[1]
    assert all(laws[0])


def test_a_scheme_that_is_biased_on_the_model_is_refuted_there(tmp_path: Path) -> None:
    run = prove_here("--model", saved(tmp_path, ONE_LEVEL), "--fault", "skip-residual", "--head", "0")
    assert run.status == 1
    assert "skip-residual is biased, first on model.json at m = 0: wrong at 0" in run.words
    assert run.out.splitlines()[-1] == "REFUTED: biased."


def test_a_file_with_a_model_and_a_scheme_gives_the_model_and_a_note(tmp_path: Path) -> None:
    both = {"model": ONE_LEVEL, "scheme": {"slots": 99}, "law": None}
    run = prove_here("--model", saved(tmp_path, both))
    assert run.status == 0
    assert "K = 3" in run.words
    assert "Note: the file names a scheme, too; it was not used" in run.words


def test_a_model_written_by_the_program_is_read_back_to_the_same_law(tmp_path: Path) -> None:
    sizes = ("--slots", "2", "--nodes", "4", "--head", "1", "--verify", "flow")
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    battery = ("--vocab", "3", "--depth", "2", "--instances", "10")
    assert prove_here(*battery, *sizes, "--json", str(first)).status == 0
    instances = written(first)["instances"]
    assert len(instances) == 10
    for instance in instances:
        again = prove_here("--model", saved(tmp_path, instance["model"]), *sizes, "--json", str(second))
        assert again.status == 0, again.err
        [read_back] = written(second)["instances"]
        assert (read_back["law"], read_back["model"]) == (instance["law"], instance["model"])
