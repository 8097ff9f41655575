"""The brute-force oracle against the toy models with known exact answers."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import VERIFICATIONS, expected_tokens, step_law, total_variation

CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.json"))
FAULTY = [path for path in CASES if path.stem.startswith("fault-")]


def load(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(path.read_text())
    return case


def load_named(stem: str) -> dict[str, Any]:
    return load(next(path for path in CASES if path.stem == stem))


def expected_law(case: dict[str, Any]) -> dict[tuple[int, ...], Fraction]:
    return {tuple(map(int, string.split(","))): Fraction(chance) for string, chance in case["law"].items()}


def test_there_are_cases() -> None:
    assert CASES


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_reproduces_case(path: Path) -> None:
    case = load(path)
    law = step_law(case["model"], case["scheme"])
    assert law == expected_law(case)
    assert sum(law.values()) == 1
    assert total_variation(case["model"], law) == Fraction(case["tv"])
    assert expected_tokens(law) == Fraction(case["expected_tokens"])


@pytest.mark.parametrize(
    ("stem", "change"),
    [
        ("lossless-07", {"fault": "own-probability"}),
        ("lossless-07", {"fault": "tail-probability"}),
        ("lossless-07", {"fault": "low-proxy"}),
        ("lossless-07", {"fault": "verify-full-q"}),
        ("lossless-07", {"fault": "draw-full-q"}),
        ("flow-below-rheo", {"fault": "flow-layers"}),
    ],
    ids=lambda value: value["fault"] if isinstance(value, dict) else value,
)
def test_twin_with_a_fault_is_refuted(stem: str, change: dict[str, Any]) -> None:
    """The comparison above has teeth: with a fault the law is another one, and it is not lossless."""
    case = load_named(stem)
    assert Fraction(case["tv"]) == 0
    law = step_law(case["model"], case["scheme"] | change)
    assert law != expected_law(case)
    assert sum(law.values()) == 1
    assert total_variation(case["model"], law) > 0


@pytest.mark.parametrize("path", FAULTY, ids=[path.stem for path in FAULTY])
def test_faulty_case_without_its_fault_is_another_and_lossless(path: Path) -> None:
    case = load(path)
    law = step_law(case["model"], case["scheme"] | {"fault": None})
    assert law != expected_law(case)
    assert total_variation(case["model"], law) == 0


@pytest.mark.parametrize("scale", ["1", "1/2", "1/9"])
def test_scaled_tail_proxy_is_lossless(scale: str) -> None:
    case = load_named("tail-proxy-0")
    law = step_law(case["model"], case["scheme"] | {"proxy_scale": scale, "fill_scale": "1/3"})
    assert total_variation(case["model"], law) == 0


@pytest.mark.parametrize(
    "change", [{"verify": "rrsw"}, {"verify": "match"}, {"head": 0}, {"nodes": 3}, {"slots": 2}], ids=str
)
def test_twin_with_another_option_has_another_law_but_stays_lossless(change: dict[str, Any]) -> None:
    case = load_named("lossless-07")
    law = step_law(case["model"], case["scheme"] | change)
    assert law != expected_law(case)
    assert total_variation(case["model"], law) == 0


def test_one_edited_probability_is_noticed() -> None:
    case = load_named("lossless-00")
    case["model"]["target"][""] = ["1/7", "2/7", "4/7"]
    assert step_law(case["model"], case["scheme"]) != expected_law(case)


def test_one_level_by_hand() -> None:
    """One sampled slot on two tokens: X = 0 is accepted with 2/3, X = 1 always; the residual is token 1."""
    model = {
        "vocab": 2,
        "depth": 1,
        "target": {"": ["1/3", "2/3"], "0": ["1/5", "4/5"], "1": [1, 0]},
        "draft": {"": ["1/2", "1/2"]},
    }
    law = step_law(model, {"slots": 1, "head": 0, "depth": 1, "nodes": 1})
    assert law == {
        (0, 0): Fraction(1, 15),
        (0, 1): Fraction(4, 15),
        (1, 0): Fraction(1, 2),
        (1,): Fraction(1, 6),
    }
    assert expected_tokens(law) == Fraction(11, 6)
    assert total_variation(model, law) == 0
    assert total_variation(model, {(0,): Fraction(1)}) == Fraction(2, 3)


@pytest.mark.parametrize("verify", VERIFICATIONS)
@pytest.mark.parametrize("head", [0, 1, 2])
def test_order_one_equals_the_unrolled_model(verify: str, head: int) -> None:
    third = "1/3"
    laws = {
        "target": {"": ["1/2", third, "1/6"], "0": [0, "1/4", "3/4"], "1": ["2/3", 0, third], "2": [0, 1, 0]},
        "draft": {"": ["1/6", third, "1/2"], "0": [third] * 3, "1": [0, "3/4", "1/4"], "2": [1, 0, 0]},
    }
    short = {"vocab": 3, "depth": 2, "order": 1, **laws}
    prefixes = ["", *(f"{a}" for a in range(3)), *(f"{a},{b}" for a in range(3) for b in range(3))]
    long = {
        "vocab": 3,
        "depth": 2,
        **{name: {key: law[key[-1:]] for key in prefixes} for name, law in laws.items()},
    }
    scheme = {"slots": 2, "head": head, "depth": 2, "nodes": 4, "verify": verify}
    law = step_law(short, scheme)
    assert law == step_law(long, scheme)
    assert total_variation(short, law) == 0


@pytest.mark.parametrize("verify", VERIFICATIONS)
def test_single_token_vocabulary(verify: str) -> None:
    model = {"vocab": 1, "depth": 2, "order": 1, "target": {"": [1], "0": [1]}, "draft": {"": [1], "0": [1]}}
    scheme = {"slots": 2, "head": 0, "depth": 2, "nodes": 9, "verify": verify}
    assert step_law(model, scheme) == {(0, 0, 0): 1}


@pytest.mark.parametrize("law", [["1/2", "1/3"], ["3/2", "-1/2"], ["1"], [0.5, 0.5]], ids=str)
def test_bad_law_is_an_error(law: list[Any]) -> None:
    target = {"": law, "0": [1, 0], "1": [1, 0]}
    model = {"vocab": 2, "depth": 1, "target": target, "draft": {"": [1, 0]}}
    with pytest.raises(ValueError, match="target law at"):
        step_law(model, {"slots": 1, "head": 0, "depth": 1, "nodes": 1})


def test_unknown_fault_is_an_error() -> None:
    case = load_named("lossless-00")
    with pytest.raises(ValueError, match="unknown name"):
        step_law(case["model"], case["scheme"] | {"fault": "low_proxy"})
