"""Every fault is refuted from the command line, and the model that it prints as a counterexample is one."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rheo_proof.exact.errors import LimitReached
from rheo_proof.exact.files import read_model
from rheo_proof.exact.number import rational
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_replay
from rheo_proof.schemes.registry import ALL
from rheo_proof.schemes.scheme import Parameters
from tests.cli.program import Run, cells, prove, prove_here, settled, written
from tests.completion import filled, first_wrong
from tests.oracle import total_variation

SLOW = {
    "shared-coin": ("--head", "0"),
    "flow-depth-first": ("--head", "1"),
    "flow-layers": ("--head", "0"),
    "rrsw-tail-proxy": ("--head", "1"),
}
"""Faults whose smallest counterexample is found sooner when only its m is tried."""

SIZES = re.compile(
    r"V = (?P<vocab>\d+), D = (?P<depth>\d+), K = (?P<slots>\d+)(?:, B = (?P<beam>\d+))?(?:, N = (?P<nodes>\d+))?"
    r"(?:, S = (?P<sparse>\d+))?(?:, proxy (?P<proxy>\w+) x (?P<proxy_scale>[^\s,]+))?"
    r"(?:, fill x (?P<fill_scale>[^\s,]+))?"
    r"(?:, m = (?P<head>\d+))?"
)
WRONG = re.compile(r"The output starts with (\S+) with probability (\S+).*?; the target gives (\S+?)(?: \(\S+\))?\.")


class Shown(NamedTuple):
    """A counterexample as it is printed."""

    name: str
    parameters: Parameters
    model: dict[str, Any]
    wrong: tuple[tuple[int, ...], Fraction, Fraction]
    tv: Fraction


def counterexample(out: str) -> Shown:
    """Read the one counterexample off an output."""
    [name] = re.findall(r"Smallest counterexample found to (\S+)", out)
    part = out.partition("Smallest counterexample")[2]
    sizes = SIZES.search(part)
    wrong = WRONG.search(" ".join(part.split()))
    tv = re.search(r"Total variation distance of the completed output: (\S+)", part)
    assert sizes
    assert wrong
    assert tv
    numbers = ("depth", "slots", "beam", "nodes", "head")
    given: dict[str, Any] = {key: int(sizes[key]) for key in numbers if sizes[key]}
    given |= {key: rational(sizes[key]) for key in ("proxy_scale", "fill_scale") if sizes[key]}
    given |= {"proxy": sizes["proxy"]} if sizes["proxy"] else {}
    laws = table_of_laws(part)
    model = {
        "vocab": int(sizes["vocab"]),
        "depth": int(sizes["depth"]),
        "target": {prefix: target.split() for prefix, target, _ in laws},
        "draft": {prefix: draft.split() for prefix, _, draft in laws if draft},
    }
    string = tuple(map(int, wrong[1].split(",")))
    return Shown(
        name,
        ALL[name].fix(Parameters(**given)),
        model,
        (string, Fraction(wrong[3]), Fraction(wrong[2])),
        Fraction(tv[1]),
    )


def table_of_laws(part: str) -> list[tuple[str, str, str]]:
    """Prefix, target law and draft law of every row."""
    rows = part.partition("target p")[2].splitlines()[2:]
    end = next(number for number, row in enumerate(rows) if not row.strip())
    split = [[*cells(row), ""][:3] for row in rows[:end]]
    return [("" if row[0] == "(root)" else row[0], row[1], row[2]) for row in split]


def confirm(shown: Shown) -> None:
    """Enumerate all paths on the printed model, and complete the step law by brute force: as printed."""
    scheme = ALL[shown.name].build(shown.parameters)
    model = read_model(shown.model)
    law = dict(law_by_replay(scheme, model).strings(model.vocab))
    assert sum(law.values()) == 1
    assert first_wrong(filled(shown.model), law) == shown.wrong
    assert total_variation(filled(shown.model), law) == shown.tv
    assert shown.tv > 0


def is_refuted(run: Run) -> bool:
    return run.status == 1 and run.err == "" and run.out.splitlines()[-1] == "REFUTED: biased."


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_refuted_with_a_counterexample_that_is_one(name: str) -> None:
    run = prove_here("--fault", name, "--vocab", "3", "--instances", "2", *SLOW.get(name, ()))
    assert is_refuted(run)
    shown = counterexample(run.out)
    assert shown.name == name
    assert shown.model["vocab"] <= 3
    confirm(shown)


def test_a_printed_counterexample_with_another_number_is_none() -> None:
    shown = counterexample(prove_here("--fault", "skip-residual", "--vocab", "2", "--instances", "1").out)
    confirm(shown)
    for altered in (shown._replace(tv=shown.tv / 2), shown._replace(name="rheo")):
        with pytest.raises(AssertionError):
            confirm(altered)


def test_own_probability_is_refuted_with_the_default_options_and_twice_alike(tmp_path: Path) -> None:
    first, second = (prove(tmp_path, "--fault", "own-probability", PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert is_refuted(first)
    assert "own-probability is biased, first on random 0 at m = 0: wrong at" in first.words
    assert settled(first.out) == settled(second.out)
    confirm(counterexample(first.out))


def test_the_leaf_first_rule_is_refuted_with_the_default_options(tmp_path: Path) -> None:
    """By the models of the battery. The search at all m, which takes longest of all, is that of `test_gallery.py`."""
    assert is_refuted(prove(tmp_path, "--verify", "bottom-up", "--no-shrink"))


def test_the_counterexample_to_the_leaf_first_rule_is_one() -> None:
    run = prove_here("--verify", "bottom-up", "--vocab", "3", "--instances", "2", "--head", "1")
    assert is_refuted(run)
    assert counterexample(run.out).name == "bottom-up"
    confirm(counterexample(run.out))


def test_a_refutation_names_the_first_wrong_model_and_its_distance(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    sizes = ("--vocab", "3", "--depth", "2", "--instances", "4", "--no-shrink")
    run = prove_here("--fault", "verify-full-q", *sizes, "--json", str(path))
    assert is_refuted(run)
    assert "Smallest counterexample" not in run.out
    content = written(path)
    assert content["verdict"] == "biased"
    first = next(i for i in content["instances"] if i["verdict"] == "biased")
    wrong = first["counterexample"]
    assert (
        f"verify-full-q is biased, first on {first['family']} {first['seed']} at m = {first['scheme']['head']}: "
        f"wrong at {wrong['string']}, expected {wrong['expected']}, actual {wrong['actual']}, TV {first['tv']}"
    ) in run.words


def test_a_fault_that_no_model_asked_for_shows_is_still_refuted() -> None:
    """The draft is certain, so nothing is wrong on these models; the search finds one on which something is."""
    run = prove_here("--fault", "own-probability", "--vocab", "3", "--family", "onehot", "--instances", "3")
    assert "Decided: 12 lossless, 0 biased" in run.words
    assert is_refuted(run)
    confirm(counterexample(run.out))


def test_a_search_that_runs_out_of_time_leaves_the_refutation_and_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_time(*_: object) -> None:
        raise LimitReached("out of time")

    monkeypatch.setattr("rheo_proof.cli.program.smallest", out_of_time)
    run = prove_here("--fault", "skip-residual", "--vocab", "3", "--instances", "2")
    assert is_refuted(run)
    assert "Smallest counterexample" not in run.out
    assert "Note: the search for the smallest counterexample to skip-residual ended: out of time." in run.words


def test_a_fault_that_no_model_of_these_sizes_shows_is_not_proved_but_undecided() -> None:
    run = prove_here("--fault", "flow-layers", "--vocab", "2", "--depth", "2", "--instances", "2")
    assert run.status == 3
    assert "NOT REFUTED" in run.words
    assert "PROVED" not in run.words
    assert "Note: no counterexample to flow-layers was found" in run.words


def test_rrsw_with_the_tail_proxy_is_never_called_proved() -> None:
    few = ("--verify", "rrsw", "--proxy", "tail", "--family", "uniform", "--instances", "1", "--vocab", "2")
    run = prove_here(*few, "--head", "0", "--no-shrink")
    assert run.status == 3
    assert "NOT REFUTED" in run.words
    assert is_refuted(prove_here("--scheme", "rrsw", "--proxy", "tail", "--vocab", "3", "--depth", "2"))
