"""`rheo-prove compare --sweep`: tables, JSON and pictures of exact means, and what it says when it cannot."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from rheo_proof.exact.families import family_model
from rheo_proof.report.console import decimal
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems import sweep
from rheo_proof.theorems.zoo import EVERY
from tests.cli.program import prove_here, written

SWEEP = ("--models", "3", "--vocab", "3", "--slots", "2", "--nodes", "3")


@pytest.mark.parametrize("kind", sweep.SWEEPS)
def test_a_sweep_is_a_table_json_and_a_picture_of_the_same_means(kind: str, tmp_path: Path) -> None:
    target, picture = tmp_path / "s.json", tmp_path / "s.svg"
    sizes = SWEEP[:-2] if kind == "nodes" else SWEEP
    run = prove_here("compare", "--sweep", kind, *sizes, "--json", str(target), "--plot", str(picture))
    assert (run.status, run.err) == (0, "")
    content = written(target)
    for label, values in content["curves"].items():
        assert " ".join([label, *(decimal(Fraction(value)) for value in values)]) in run.words
        assert f">{label}</text>" in picture.read_text("utf-8")
        assert len(values) == len(content["points"]) >= 3
    assert len(content["curves"]) >= 7
    assert f"{content['count']} models (seeds 0 to 2)" in run.words


def test_a_point_of_a_sweep_is_the_mean_over_its_models(tmp_path: Path) -> None:
    target = tmp_path / "s.json"
    prove_here("compare", "--sweep", "m", *SWEEP, "--seed", "5", "--family", "near", "--json", str(target))
    named, total = EVERY["flow"], Fraction(0)
    for seed in (5, 6, 7):
        model = family_model("near", seed, 3, 2)
        scheme = named.build(named.fix(Parameters(slots=2, head=1, depth=2, nodes=3)))
        total += law_by_classes(scheme, model).expected_tokens
    assert written(target)["curves"]["flow"][1] == str(total / 3)


def test_a_biased_curve_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = EVERY["skip-residual"]
    monkeypatch.setitem(EVERY, "match", type(wrong)("match", wrong.line, wrong.fix, wrong.build, True))
    run = prove_here("compare", "--sweep", "m", *SWEEP)
    assert run.status == 4
    assert "match is biased on" in run.err


def test_a_sweep_out_of_time_is_not_decided() -> None:
    run = prove_here("compare", "--sweep", "m", "--vocab", "9", "--depth", "3", "--nodes", "25", "--timeout", "1")
    assert run.status == 3
    assert re.fullmatch(r"NOT DECIDED: .*out of time\.", run.out.splitlines()[0])
    assert run.out.splitlines()[1].startswith("To decide more: a larger --timeout; or a smaller ")


def test_a_sweep_gives_up_after_so_many_classes_and_writes_nothing(tmp_path: Path) -> None:
    files = ("--json", str(tmp_path / "s.json"), "--plot", str(tmp_path / "s.svg"))
    run = prove_here("compare", "--sweep", "m", *SWEEP, "--max-classes", "3", *files)
    assert run.status == 3
    first, second = run.out.splitlines()
    assert re.fullmatch(r"NOT DECIDED: \S+ on random 0, point 0 of the sweep: more than 3 classes\.", first)
    assert second == "To decide more: a larger --max-classes; or a smaller --vocab, --depth or --slots."
    assert list(tmp_path.iterdir()) == []


def test_the_limit_of_a_sweep_is_for_one_curve_on_one_model_and_enough_changes_nothing() -> None:
    """All curves on all models together need far more classes than this."""
    enough = prove_here("compare", "--sweep", "m", *SWEEP, "--max-classes", "200")
    assert enough == prove_here("compare", "--sweep", "m", *SWEEP)
    assert enough.status == 0
