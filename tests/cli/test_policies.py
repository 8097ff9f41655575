"""`rheo-prove policies`: verdicts, strategies, JSON, limits, and what it says when it cannot."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from rheo_proof.exact.files import read_model
from rheo_proof.exact.model import ToyModel
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems import adversary as adversaries
from rheo_proof.theorems.adversary import Adversary
from rheo_proof.theorems.induction import bounds
from rheo_proof.theorems.instances import Source
from tests.cli.program import Run, is_one_line, prove, prove_here, tables, written

SIZES = ("--vocab", "3", "--depth", "2", "--nodes", "4")
SMALL = ("policies", "--slots", "2", "--nodes", "3")
FEW = (*SMALL, "--instances", "2")


def test_rheo_flow_and_match_are_proved_at_four_nodes_by_default() -> None:
    run = prove_here("policies", *SIZES, "--instances", "3")
    assert (run.status, run.err) == (0, "")
    shown = tables(run.out)
    assert list(shown) == ["rheo", "flow", "match"]
    for rows in shown.values():
        assert [row["m"] for row in rows] == ["0", "1", "2", "3"]
        assert all((row["lossless"], row["biased"], row["largest gap"]) == ("3", "0", "0") for row in rows)
    assert "statement 'all predictable policies' for 3 models (random, near, peaked)," in run.words
    assert (
        "V = 3, D = 2, K = 3, N = 4, m = 0, 1, 2, 3: every predictable policy with the same m at every node, up to N"
        in run.words
    )
    assert run.out.endswith("PROVED: lossless under all of these policies.\n")


def test_rrsw_is_proved_with_heads_first_and_refuted_without() -> None:
    run = prove_here("policies", *SIZES, "--verify", "rrsw", "--heads-first", "--instances", "3")
    assert run.status == 0
    assert "every predictable policy that inserts no head of a node after its sampled slot" in run.words
    run = prove_here("policies", *SIZES, "--verify", "rrsw", "--instances", "1")
    assert run.status == 1
    assert "A policy that exposes rrsw, at the smallest sizes found V = 3, D = 1, K = 2, N = 2, m = 1" in run.words
    assert "insert the sampled slot of the root: if X = " in run.words
    assert "replay of this one finds the same" in run.words


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("flow-depth-first", ("--vocab", "2", "--head", "0", "--nodes", "4")),
        ("flow-layers", ("--head", "1")),
        ("bottom-up", ("--head", "1")),
        ("skip-residual", ()),
        ("verify-full-q", ("--head", "any")),
    ],
)
def test_faults_are_refuted(name: str, more: tuple[str, ...]) -> None:
    run = prove_here(*SMALL, "--verify", name, *more, "--no-shrink")
    assert run.status == 1
    assert f"A policy that exposes {name}, on the model where it was refuted" in run.words
    assert "stop" in run.out


def test_a_policy_that_peeks_refutes_rheo_and_does_not_touch_match() -> None:
    run = prove_here(*FEW, "--verify", "rheo", "--peek")
    assert run.status == 1
    assert "look at X, the sampled token of the root:" in run.words
    assert "(a control, not predictable)" in run.words
    assert prove_here(*FEW, "--verify", "match", "--peek").status == 0


def test_dx_and_chain_verification_are_proved() -> None:
    run = prove_here(*FEW, "--verify", "dx", "--verify", "chain-verification")
    assert run.status == 0
    assert list(tables(run.out)) == ["dx", "chain-verification"]


def test_whole_order_has_more_states_and_the_same_verdict() -> None:
    merged, whole = (prove_here(*FEW, "--verify", "flow", *more) for more in ((), ("--whole-order",)))
    assert (merged.status, whole.status) == (0, 0)
    for row, other in zip(tables(merged.out)["flow"], tables(whole.out)["flow"], strict=True):
        assert int(row["states"].replace(",", "")) <= int(other["states"].replace(",", ""))
        assert (row["a state has"], other["a state has"]) == ("order of sampled slots", "whole order")


@pytest.mark.parametrize(
    ("heads", "says", "left"),
    [
        (("1",), "m = 1: every predictable policy with the same m at every node, up to N nodes,", True),
        (("any",), "m = any: every predictable policy that chooses m at every node, up to N nodes,", False),
        (
            ("any", "0"),
            "m = any, 0: every predictable policy with the same m at every node, or one that chooses m at every node,",
            False,
        ),
    ],
)
def test_the_last_lines_say_who_chooses_m(heads: tuple[str, ...], says: str, left: bool) -> None:
    options = [part for head in heads for part in ("--head", head)]
    run = prove_here(*SMALL, "--instances", "1", "--depth", "1", "--verify", "rheo", *options)
    assert run.status == 0
    assert says in run.words
    assert (
        "Not covered: other models and sizes; another m at another node (--head any); policies" in run.words
    ) == left


# What cannot be said


def test_a_rule_that_is_known_to_be_biased_and_is_not_here_is_not_proved() -> None:
    for more in (("--verify", "bottom-up", "--depth", "1"), ("--verify", "rrsw", "--vocab", "2")):
        run = prove_here(*FEW, *more)
        assert run.status == 3
        assert "NOT REFUTED: no policy shows it here" in run.out


def test_on_a_model_of_ones_own_it_is() -> None:
    run = prove_here("policies", "--model", "examples/model.json", "--slots", "2", "--verify", "bottom-up")
    assert run.status == 0
    assert "for 1 model (model.json), V = 3, D = 1, K = 2" in run.words


def test_too_many_states_leave_it_undecided() -> None:
    run = prove_here(*FEW, "--verify", "rheo", "--max-states", "10")
    assert run.status == 3
    assert "Undecided because: more than 10 states." in run.words
    assert run.out.endswith("NOT DECIDED.\n")


def test_a_timeout_leaves_it_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", iter(range(10**6)).__next__)
    run = prove_here(*FEW, "--verify", "rheo", "--timeout", "5")
    assert run.status == 3
    assert "Undecided because: out of time." in run.words


def test_out_of_time_no_further_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[int] = []
    load = Source.load

    def counted(source: Source) -> ToyModel:
        loaded.append(source.seed)
        return load(source)

    monkeypatch.setattr(Source, "load", counted)
    monkeypatch.setattr("time.monotonic", iter(range(10**6)).__next__)
    run = prove_here(*SMALL, "--instances", "4", "--verify", "rheo", "--verify", "flow", "--timeout", "20")
    assert run.status == 3
    assert "of 24 (rule, m, model)." in run.words
    assert len(loaded) == 1


def test_too_many_strings_leave_it_undecided_and_say_what_helps() -> None:
    run = prove_here("policies", "--vocab", "6", "--depth", "9", "--verify", "rheo", "--instances", "1")
    assert (run.status, run.err) == (3, "")
    assert "Undecided because: 6^10 strings of D + 1 tokens are more than 200000; a smaller --vocab or" in run.words
    assert run.out.endswith("NOT DECIDED.\n")


def test_a_model_without_laws_for_what_cannot_be_produced_is_decided(tmp_path: Path) -> None:
    laws = {"": ["1/2", "1/2", "0"], "0": ["1", "0", "0"], "1": ["1/2", "1/2", "0"]}
    path = tmp_path / "unr.json"
    path.write_text(json.dumps({"vocab": 3, "depth": 1, "target": laws, "draft": {"": ["2/3", "1/3", "0"]}}))
    run = prove_here("policies", "--model", str(path), "--verify", "rheo", "--verify", "rrsw", "--heads-first")
    assert (run.status, run.err) == (0, "")
    run = prove_here("policies", "--model", str(path), "--verify", "skip-residual", "--head", "0")
    assert (run.status, run.err) == (1, "")
    del laws["1"]
    path.write_text(json.dumps({"vocab": 3, "depth": 1, "target": laws, "draft": {"": ["2/3", "1/3", "0"]}}))
    run = prove_here("policies", "--model", str(path), "--verify", "rheo")
    assert is_one_line(run, 2)
    assert "the target law of prefix '1' is missing" in run.err


def test_a_search_that_runs_out_of_time_keeps_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheo_proof.cli.policies.smallest", ended)
    run = prove_here(*FEW, "--verify", "rrsw", "--head", "1")
    assert run.status == 1
    assert "Note: the search for a policy that exposes rrsw ended: out of time." in run.words


def ended(*arguments: object) -> None:
    from rheo_proof.exact.errors import LimitReached

    raise LimitReached("out of time")


def test_a_verdict_that_the_search_contradicts_is_never_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(adversaries.LOOKS, adversaries.Flow, "tree")  # type: ignore[index]
    run = prove_here(*FEW, "--verify", "flow", "--no-shrink")
    assert run.status == 4
    assert "replay finds" in run.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--verify", "no-such-rule"),
        ("--verify", "own-probability"),
        ("--verify", "rrsw-tail-proxy"),
        ("--verify", "dx", "--head", "any"),
        ("--head", "4"),
        ("--head", "-1"),
        ("--head", "some"),
        ("--vocab", "0"),
        ("--depth", "0"),
        ("--slots", "0"),
        ("--nodes", "0"),
        ("--sparse", "0"),
        ("--instances", "0"),
        ("--max-states", "0"),
        ("--timeout", "0"),
        ("--family", "no-such-family"),
        ("--model", "no-such-file.json"),
        ("--model", ""),
        ("--model", "examples/model.json", "--seed", "1"),
        ("--model", "examples/model.json", "--depth", "2"),
        ("--json", ""),
        ("--json", "no/such/folder/p.json"),
        ("surplus",),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_status_2(arguments: tuple[str, ...]) -> None:
    run = prove_here("policies", *arguments)
    assert is_one_line(run, 2), run


# JSON


@pytest.fixture(scope="module")
def refuted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Any]:
    path = tmp_path_factory.mktemp("policies") / "p.json"
    run = prove_here(*FEW, "--verify", "rrsw", "--verify", "rheo", "--head", "1", "--json", str(path))
    return run, written(path)


def test_json_has_the_bounds_of_every_string(refuted: tuple[Run, Any]) -> None:
    run, content = refuted
    assert (run.status, content["verdict"], content["statement"]) == (1, "biased", "all predictable policies")
    assert [result["verdict"] for result in content["results"]] == ["biased", "biased", "lossless", "lossless"]
    for result in content["results"]:
        triples = [list(map(Fraction, triple)) for triple in result["target_low_high"].values()]
        assert len(triples) == 27
        gap = max(max(target - low, high - target) for target, low, high in triples)
        assert str(gap) == result["gap"]
        assert (gap == 0) == (result["verdict"] == "lossless")


def test_json_has_the_strategy_and_the_model_that_it_exposes(refuted: tuple[Run, Any]) -> None:
    run, content = refuted
    [each] = content["exposed"]
    sizes = {name: each["adversary"][name] for name in ("depth", "slots", "nodes")}
    policies = Adversary("rrsw", Parameters(**sizes), (each["adversary"]["head"],)).policies(read_model(each["model"]))
    found = bounds(policies, shorter=True)
    extreme = dict(zip(found.strings, found.high if each["extreme"] == "largest" else found.low, strict=True))
    assert str(extreme[tuple(map(int, each["string"].split(",")))]) == each["actual"] != each["expected"]
    assert (each["strategy"]["do"], each["strategy"]["parent"], each["strategy"]["slot"]) == ("sampled", [], 1)
    assert {then["do"] for then in each["strategy"]["then"].values()} == {"stop", "head"}
    assert all(line in run.out for line in each["words"])


def test_a_process_of_its_own_prints_the_same(tmp_path: Path) -> None:
    arguments = (*FEW, "--verify", "rrsw", "--head", "1", "--json", "p.json")
    one = prove(tmp_path, *arguments)
    assert one.status == 1
    assert one.err == ""
    assert written(tmp_path / "p.json")["verdict"] == "biased"
