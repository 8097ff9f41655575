"""Policies need laws only for prefixes that target or draft can produce; one that is really missing is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rheo_proof.exact.errors import InputError, LimitReached
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.files import read_model, write_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel, tabled
from rheo_proof.exact.number import ONE, ZERO
from rheo_proof.exact.step import StepLaw, target_probability
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems import induction
from rheo_proof.theorems.adversary import AGAINST, Adversary
from rheo_proof.theorems.exposing import exposed
from rheo_proof.theorems.induction import Events, bounds
from rheo_proof.theorems.strategy import attaining, checked, completing, starts_with

SIZES = Parameters(slots=2, depth=2, nodes=3)
SPARSE = ("zeros", "identical", "onehot")
"""Families with zeros, in which some prefixes cannot be produced."""


def reachable_only(model: ToyModel) -> ToyModel:
    """The same laws, and an error for any other prefix than a reachable one."""
    return read_model(write_model(model), model.name)


def test_some_families_have_prefixes_that_cannot_be_produced() -> None:
    for family in FAMILIES:
        cut = [len(write_model(family_model(family, seed, 3, 2))["target"]) < 13 for seed in range(3)]
        assert any(cut) == (family in SPARSE), family
    with pytest.raises(InputError, match=r"the target law of prefix '.*' is missing"):
        ask_everything(reachable_only(family_model("onehot", 0, 3, 2)))


def ask_everything(model: ToyModel) -> None:
    for v in Events(family_model("uniform", 0, model.vocab, model.depth), model.depth).strings:
        for length in range(len(v)):
            model.target(v[:length])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ["rheo", "flow", "match", "dx", "rrsw", "bottom-up", "chain-verification"])
def test_bounds_need_reachable_laws_only(name: str, family: str) -> None:
    for m in (0, 1):
        adversary = Adversary(name, SIZES, (m,))
        model = family_model(family, 1, 3, 2)
        full, cut = (bounds(adversary.policies(each), shorter=True) for each in (model, reachable_only(model)))
        assert cut == full


@pytest.mark.parametrize("family", SPARSE)
@pytest.mark.parametrize("name", [name for name, named in AGAINST.items() if not named.lossless])
def test_a_policy_that_exposes_a_rule_needs_reachable_laws_only(name: str, family: str) -> None:
    model = family_model(family, 0, 3, 2)
    full, cut = (exposed(Adversary(name, SIZES, (1,)), each) for each in (model, reachable_only(model)))
    assert (full is None) == (cut is None)
    if full is not None and cut is not None:
        assert replace(cut, model=model) == full


@pytest.mark.parametrize("family", SPARSE)
def test_strategies_for_every_string_need_reachable_laws_only(family: str) -> None:
    model = reachable_only(family_model(family, 0, 3, 2))
    policies = Adversary("rrsw", SIZES, (1,)).policies(model)
    extremes = bounds(policies, shorter=True)
    for v, high in zip(extremes.strings, extremes.high, strict=True):
        strategy = attaining(policies, v, upper=True)
        assert strategy.value == high
        assert starts_with(checked(policies, strategy, v), model, v) == high


# A draft token that the target never emits

HALF = Law.read(["1/2", "1/2", "0"])
FIRST = Law.read(["1", "0", "0"])


def drafted_only(*laws: Prefix) -> ToyModel:
    """The draft proposes token 2, the target never emits it; nothing follows token 1 in either."""
    q = Law.read(["1/2", "0", "1/2"])
    return tabled(3, 1, {(): FIRST, **dict.fromkeys(laws, HALF)}, {(): q}, "drafted")


def test_a_kept_draft_token_that_the_target_never_emits_needs_its_law() -> None:
    for name in ("rheo", "flow", "match"):
        assert bounds(Adversary(name, replace(SIZES, depth=1), (0,)).policies(drafted_only((0,), (2,)))).lossless
    data = write_model(drafted_only((0,), (2,)))
    assert set(data["target"]) == {"", "0", "2"}
    del data["target"]["2"]
    with pytest.raises(InputError, match="the target law of prefix '2' is missing"):
        read_model(data)


@pytest.mark.parametrize("missing", ["target", "draft"])
@pytest.mark.parametrize("prefix", ["", "0", "2"])
def test_a_law_that_is_really_missing_is_refused(missing: str, prefix: str) -> None:
    data: Any = write_model(family_model("random", 0, 3, 2))
    del data[missing][prefix]
    with pytest.raises(InputError, match=f"the {missing} law of prefix '{prefix}' is missing"):
        read_model(data)


def test_a_law_that_induction_needs_is_not_made_up() -> None:
    with pytest.raises(InputError, match="the target law of prefix '0' is missing"):
        bounds(Adversary("rheo", replace(SIZES, depth=1), (0,)).policies(drafted_only((2,))))


def test_an_output_that_neither_model_produces_is_wrong_and_needs_no_law() -> None:
    model = drafted_only((0,), (2,))
    law = StepLaw.of_strings({(0,): ONE / 2, (1,): ONE / 2})
    assert Events(model, 1).of(law) == (ONE / 4, ONE / 4, ZERO, ONE / 2, *[ZERO] * 5)
    assert [starts_with(law, model, v) for v in ((1,), (1, 0), (1, 1))] == [ONE / 2, ONE / 2, ZERO]
    assert [completing(model, (1,), v) for v in ((1, 0), (1, 1))] == [ONE, ZERO]
    stale = Adversary("stale-bonus", SIZES, (1,))
    assert bounds(stale.policies(reachable_only(family_model("onehot", 0, 3, 2)))).gap > 0


def test_probabilities_stop_at_the_first_zero_and_are_still_right() -> None:
    model = drafted_only((0,), (2,))
    assert [target_probability(model, v) for v in ((0, 1), (1, 0), (0, 2))] == [ONE / 2, ZERO, ZERO]
    assert [completing(model, (0,), v) for v in ((0, 1), (0, 2))] == [ONE / 2, ZERO]
    assert completing(model, (), (1, 1)) == ZERO
    law = StepLaw.of_strings({(0,): ONE / 4, (2, 1): ONE * 3 / 4})
    assert [starts_with(law, model, v) for v in ((0,), (0, 1), (1, 0), (2, 1), (2, 0))] == [
        ONE / 4,
        ONE / 8,
        ZERO,
        ONE * 3 / 4,
        ZERO,
    ]
    assert Events(model, 1).of(law) == (ONE / 8, ONE / 8, ZERO, ZERO, ZERO, ZERO, ZERO, ONE * 3 / 4, ZERO)


# Limits


def test_too_many_strings_are_said_before_they_are_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    policies = Adversary("rheo", SIZES, (1,)).policies(family_model("random", 0, 3, 2))
    monkeypatch.setattr(induction, "MOST_STRINGS", 27)
    assert bounds(policies).lossless
    monkeypatch.setattr(induction, "MOST_STRINGS", 26)
    with pytest.raises(LimitReached, match=r"3\^3 strings of D \+ 1 tokens are more than 26; a smaller --vocab or"):
        bounds(policies)
    asked: list[Prefix] = []

    def never(prefix: Prefix) -> Law:
        asked.append(prefix)
        raise AssertionError(prefix)

    with pytest.raises(LimitReached, match=r"1000\^11 strings"):
        Events(ToyModel(1000, 10, never, never), 10)
    assert asked == []


def test_the_clock_is_watched_while_the_strings_are_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", iter(range(1000)).__next__)
    with pytest.raises(LimitReached, match="out of time"):
        Events(family_model("uniform", 0, 3, 2), 2, limits=Limits(deadline=9))
    events = Events(family_model("uniform", 0, 3, 2), 2, limits=Limits(deadline=50))
    law = StepLaw.of_strings({(0,): ONE})
    for _ in range(8):
        events.of(law)
    with pytest.raises(LimitReached, match="out of time"):
        [events.of(law) for _ in range(42)]
