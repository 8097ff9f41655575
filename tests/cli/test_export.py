"""`rheo-prove export` and `rheo-prove storm`: what is written, where, and how bad input and limits end."""

from __future__ import annotations

import os
import sys
from fractions import Fraction
from pathlib import Path
from unittest import mock

import pytest

from rheo_proof.cli.storm import show
from rheo_proof.exact.families import family_model
from rheo_proof.report.console import plain_console
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, plain
from rheo_proof.theorems.chain import markov_chain
from rheo_proof.theorems.export import FORMATS
from rheo_proof.theorems.second_opinion import Counts, Difference, PolicyOpinion, StepOpinion
from rheo_proof.theorems.storm import Quotient
from tests.cli.program import ROOT, is_one_line, prove_here
from tests.exported import READERS

GOLDEN = ROOT / "tests" / "golden"
SMALL = ("--model", str(GOLDEN / "two.json"), "--slots", "1", "--head", "0", "--nodes", "1")
ASKED = {"step": (), "completed": ("--complete",), "policies": ("--policies",)}

BAD = {
    "--vocab 0": "vocab is 0",
    "--depth 0": "depth is 0",
    "--head 3": "head is 3, expected a whole number from 0 to slots = 2",
    "--nodes 0": "nodes is 0",
    "--format jani": "'jani' is not one of 'prism', 'drn'",
    "--family strange": "unknown family 'strange'",
    "--scheme strange": "unknown scheme 'strange'",
    "--fault rheo": "unknown fault 'rheo'",
    "--fault skip-residual --scheme rheo": "--fault and --scheme: choose one",
    "--scheme chain --slots 3": "chain always has slots = 1",
    "--scheme rheo --verify flow": "rheo always has verify = rheo",
    "--proxy-scale 1/2": "--proxy-scale is read by --proxy tail only",
    "--proxy tail --proxy-scale 0.5": "'0.5' is not a rational",
    "--model missing.json": "missing.json: cannot be read",
    "--model two.json --seed 1": "--seed and --model: choose one",
    "--model two.json --depth 2": "depth is 2, but the model has laws for depth 1 only",
    "--max-states 0": "max-states",
    "--peek": "--peek goes with --policies only",
    "--heads-first": "--heads-first goes with --policies only",
    "--policies --beam 2": "--beam: a policy does not read it",
    "--policies --scheme rrs": "rrs drafts in another way",
    "--policies --fault own-probability": "own-probability drafts in another way",
    "--output missing/x": "does not exist",
    "--output .": "is a directory",
    "--output two.json --model two.json": "is the model",
    "--output=": "--output is empty",
    "--scheme=": "--scheme is empty",
}


@pytest.mark.parametrize("name", ["step.prism", "step.drn", "completed.prism", "policies.prism", "policies.drn"])
def test_the_text_on_stdout_is_the_golden_one(name: str) -> None:
    stem, _, language = name.partition(".")
    run = prove_here("export", *SMALL, *ASKED[stem], "--format", language)
    assert (run.status, run.err) == (0, "")
    assert run.out == (GOLDEN / name).read_text("utf-8")


def test_a_file_is_written_whole_and_nothing_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "step.drn"
    path.write_text("old", encoding="utf-8")
    run = prove_here("export", *SMALL, "--format", "drn", "--output", str(path))
    assert run == (0, "", "")
    assert path.read_text("utf-8") == (GOLDEN / "step.drn").read_text("utf-8")
    assert os.listdir(tmp_path) == ["step.drn"]


@pytest.mark.parametrize("language", FORMATS)
@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ("", Parameters(slots=2, head=1, depth=2, nodes=4)),
        ("--verify flow --head 0 --nodes 3", Parameters(slots=2, head=0, depth=2, nodes=3, verify="flow")),
        ("--depth 1 --proxy tail --proxy-scale 1/2 --verify match", None),
    ],
)
def test_the_options_choose_what_is_exported(options: str, parameters: Parameters | None, language: str) -> None:
    run = prove_here("export", *options.split(), "--format", language)
    law = READERS[language](run.out).law()
    if parameters is None:
        assert len({len(string) for string in law}) == 2
    else:
        model = family_model("random", 0, 3, 2)
        assert law == dict(law_by_classes(plain(parameters), model).strings(3))


@pytest.mark.parametrize("options", BAD)
def test_bad_input_ends_with_one_line_and_status_2(options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN)
    before = sorted(os.listdir(GOLDEN))
    run = prove_here("export", *options.split())
    assert is_one_line(run, 2)
    assert BAD[options] in run.err
    assert sorted(os.listdir(GOLDEN)) == before


def test_options_of_the_main_program_do_not_go_with_export() -> None:
    run = prove_here("--vocab", "3", "export")
    assert is_one_line(run, 2)
    assert "does not go with 'export'" in run.err


def test_too_many_states_end_with_status_3_and_no_file(tmp_path: Path) -> None:
    model, scheme = family_model("random", 0, 3, 2), plain(Parameters(slots=2, head=1, depth=2, nodes=4))
    states = len(markov_chain(scheme, model).choices)
    path = tmp_path / "step.prism"
    run = prove_here("export", "--max-states", str(states - 1), "--output", str(path))
    assert is_one_line(run, 3)
    assert f"more than {states - 1} states" in run.err
    assert not path.exists()
    assert prove_here("export", "--max-states", str(states), "--output", str(path)).status == 0
    assert path.exists()


def test_storm_without_stormpy_is_one_line() -> None:
    with mock.patch.dict(sys.modules, {"stormpy": None}):
        run = prove_here("storm")
    assert is_one_line(run, 2)
    assert "pip install 'rheo-proof[storm]'" in run.err


def test_export_needs_no_stormpy() -> None:
    with mock.patch.dict(sys.modules, {"stormpy": None}):
        assert prove_here("export").status == 0


def opinion(differences: tuple[Difference, ...], storm_tv: Fraction) -> StepOpinion:
    process = markov_chain(plain(Parameters(slots=1, head=0, depth=1, nodes=1)), family_model("random", 0, 2, 1))
    counts = Counts(1, 1, 1, 1, 1, Quotient(1, 1), Quotient(1, 1))
    return StepOpinion(process, tuple(FORMATS), 5, differences, Fraction(0), storm_tv, counts)


def test_a_disagreement_is_shown_with_both_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = (Difference("drn", (0, 1), "1/3", "2/3"), Difference("drn", (1,), "1/4", "0"))
    step = opinion(wrong, Fraction(0))
    show(plain_console(), step)
    shown = capsys.readouterr().out
    assert "First difference (drn): 0,1 has 1/3, Storm finds 2/3." in shown
    assert "DIFFERENT: Storm does not find the same law." in shown
    show(plain_console(), PolicyOpinion(step.process, ("drn",), 5, wrong[1:], Fraction(0)))
    shown = capsys.readouterr().out
    assert "Storm was given the DRN only" in shown
    assert "DIFFERENT: Storm does not find the same extremes." in shown


def test_another_distance_is_a_disagreement() -> None:
    assert opinion((), Fraction(0)).agrees
    assert not opinion((), Fraction(1, 2)).agrees
    assert not opinion((Difference("drn", (0,), "0", "1"),), Fraction(0)).agrees
