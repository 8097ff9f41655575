"""The zoo on the command line: proved, refuted, or lossy by design, at sizes that are small unless said otherwise."""

from __future__ import annotations

import re
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
    sizes = ("--depth", "3", "--slots", "2", "--vocab", "3", "--instances", "10", "--head", "1")
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
        ("--scheme", "spechub", "--slots", "3"),
        ("--scheme", "spechub", "--slots", "1"),
        ("--scheme", "rrs", "--head", "0"),
        ("--scheme", "rrs", "--nodes", "8"),
        ("--scheme", "rrs", "--sparse", "2"),
        ("--scheme", "rrs", "--fill-scale", "1"),
        ("--scheme", "rrs", "--scheme", "kseq", "--beam", "2"),
        ("--scheme", "dx", "--verify", "flow"),
    ],
    ids=" ".join,
)
def test_a_parameter_that_a_scheme_does_not_read_is_refused(arguments: tuple[str, ...]) -> None:
    run = prove_here(*arguments)
    assert is_one_line(run, 2), run


def test_a_parameter_that_is_not_read_is_refused_in_plain_words() -> None:
    for arguments, words in {
        ("rrs", "--sparse", "2"): "rrs does not cut the draft law; leave out --sparse",
        ("rrs", "--nodes", "5"): "rrs keeps every node that it drafts; leave out --nodes",
        ("rrs", "--verify", "rheo"): "rrs has a rule of its own; leave out --verify",
        ("rrs", "--proxy-scale", "1/2"): "rrs does not read proxy_scale; leave out --proxy-scale",
        ("spechub", "--slots", "3"): "spechub always has slots = 2; leave out --slots",
    }.items():
        assert prove_here("--scheme", *arguments).err == f"rheo-prove: {words}\n"


def test_what_only_some_of_the_schemes_read_is_noted() -> None:
    run = prove_here("--scheme", "spechub", "--scheme", "rheo", "--head", "1", "--slots", "3", *FEW)
    assert run.status == 0
    assert "Note: spechub always has slots = 2; --slots 3 is for the others." in run.words
    assert "Note: spechub does not read head; --head 1 is for the others." in run.words
    assert "D = 2, K = 2 (spechub); D = 2, K = 3, B = 3, N = 8 (rheo), m = 1 (rheo); exact rationals" in run.words


def test_what_a_scheme_does_not_read_is_not_stated(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    run = prove_here("--scheme", "spechub", *FEW, "--json", str(path))
    assert "V = 3, D = 2, K = 2; exact rationals" in run.words
    assert "m = " not in run.words
    assert "N = " not in run.words
    assert {row["m"] for row in tables(run.out)["spechub"]} == {"-"}
    scheme = written(path)["scheme"]
    assert {name for name, value in scheme.items() if value is not None} == {"slots", "depth", "verify"}
    assert "N = 8" in prove_here("--scheme", "eagle", *FEW).words
    assert "N = 8, m = 1; exact" in prove_here("--scheme", "dx", "--head", "1", *FEW).words


def test_a_counterexample_states_only_what_the_fault_reads() -> None:
    run = prove_here("--fault", "gbv-clipped", "--instances", "1")
    line = run.out.partition("Smallest counterexample found to gbv-clipped")[2].splitlines()[1]
    assert re.fullmatch(r"V = \d+, D = \d+, K = \d+ *", line)
    [refuted] = [line for line in run.out.splitlines() if line.startswith("gbv-clipped is biased")] or [""]
    assert " m = " not in refuted


@pytest.mark.parametrize("name", ["rrs", "ot-iid", "univer-without"])
def test_a_scheme_with_too_many_classes_is_not_decided_unless_told_to_go_on(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is a smaller one here, to save time; without one these sizes would take hours."""
    monkeypatch.setattr("rheo_proof.cli.request.CLASSES", 500)
    sizes = ("--vocab", "5", "--depth", "3", "--instances", "1")
    run = prove_here("--scheme", name, *sizes)
    assert run.status == 3
    assert run.out.splitlines()[-1] == "NOT DECIDED."
    assert "Undecided because: more than 500 classes." in run.words
    assert "To decide more: a larger --max-classes; or a smaller --vocab, --depth or --slots." in run.words


def test_the_limit_of_the_user_is_the_one_that_holds_and_others_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheo_proof.cli.request.CLASSES", 5)
    assert prove_here("--scheme", "rrs", *FEW).status == 3
    assert prove_here("--scheme", "rrs", *FEW, "--max-classes", "5000").status == 0
    assert prove_here("--scheme", "rheo", "--vocab", "3", "--depth", "2", *FEW).status == 0
