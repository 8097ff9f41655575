"""The toy models with known exact step laws, by both enumerators."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from rheo_proof.exact.files import read_model
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import rational
from rheo_proof.exact.step import StepLaw
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_classes, law_by_replay
from rheo_proof.schemes.scheme import Parameters, Scheme, plain

CASES = {path.stem: path for path in sorted((Path(__file__).parents[1] / "cases").glob("*.json"))}
FAULTY = [stem for stem in CASES if stem.startswith("fault-")]
ENUMERATORS = [law_by_classes, law_by_replay]

every_case = pytest.mark.parametrize("stem", CASES)
both = pytest.mark.parametrize("enumerate_", ENUMERATORS, ids=lambda function: function.__name__)


def load(stem: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(CASES[stem].read_text())
    return case


def parameters_of(case: dict[str, Any]) -> Parameters:
    raw: dict[str, Any] = dict(case["scheme"])
    for name in ("proxy_scale", "fill_scale"):
        raw[name] = rational(raw.get(name, "1"))
    return Parameters(variant=raw.pop("fault"), **raw)


def scheme_of(parameters: Parameters) -> Scheme:
    if parameters.variant is None:
        return plain(parameters)
    named = FAULTS[parameters.variant]
    return named.build(named.fix(parameters))


def emitted(law: StepLaw, model: ToyModel) -> dict[Prefix, Fraction]:
    return dict(law.strings(model.vocab))


def expected(case: dict[str, Any]) -> dict[Prefix, Fraction]:
    return {tuple(map(int, string.split(","))): Fraction(chance) for string, chance in case["law"].items()}


def test_there_are_at_least_46_cases() -> None:
    assert len(CASES) >= 46
    assert len(FAULTY) >= 14
    assert {load(stem)["scheme"]["verify"] for stem in CASES} >= {"rheo", "rrsw", "flow", "bottom-up"}


@both
@every_case
def test_the_step_law_of_a_case_is_reproduced(stem: str, enumerate_: Callable[[Scheme, ToyModel], StepLaw]) -> None:
    case = load(stem)
    model = read_model(case["model"], stem)
    law = enumerate_(scheme_of(parameters_of(case)), model)
    assert emitted(law, model) == expected(case)
    assert law.expected_tokens == Fraction(case["expected_tokens"])
    assert law.total_variation(model) == Fraction(case["tv"])
    assert (law.first_wrong(model) is None) == (Fraction(case["tv"]) == 0)


def test_some_cases_are_lossless_and_some_are_not() -> None:
    verdicts = [Fraction(load(stem)["tv"]) == 0 for stem in CASES]
    assert verdicts.count(True) >= 20
    assert verdicts.count(False) >= 14


@both
@pytest.mark.parametrize("stem", FAULTY)
def test_without_its_fault_a_case_has_another_law_and_is_lossless(
    stem: str, enumerate_: Callable[[Scheme, ToyModel], StepLaw]
) -> None:
    case = load(stem)
    model = read_model(case["model"], stem)
    law = enumerate_(plain(replace(parameters_of(case), variant=None)), model)
    assert emitted(law, model) != expected(case)
    assert law.first_wrong(model) is None


@both
@pytest.mark.parametrize("stem", [stem for stem in CASES if Fraction(load(stem)["tv"]) == 0])
def test_a_lossless_case_with_another_target_has_another_law(
    stem: str, enumerate_: Callable[[Scheme, ToyModel], StepLaw]
) -> None:
    case = load(stem)
    root = [Fraction(mass) for mass in case["model"]["target"][""]]
    case["model"]["target"][""] = [
        str(mass / 2 + Fraction(x == root.index(min(root)), 2)) for x, mass in enumerate(root)
    ]
    model = read_model(case["model"], stem)
    assert emitted(enumerate_(scheme_of(parameters_of(case)), model), model) != expected(case)
