"""Cheap refutations: accepting more than the optimum, or less than 1 where the draft is the target."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, Scheme, plain
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.theorems.bounds import kept_trees
from rheo_proof.theorems.levels import candidates
from rheo_proof.theorems.refutations import above_bound, above_optimum, below_one

PARAMETERS = Parameters(slots=2, head=1, depth=2, beam=2, nodes=6)


def first_level(scheme: Scheme, seed: int, family: str) -> Fraction:
    return law_by_classes(scheme, family_model(family, seed, 3, 1)).acceptance(1)[0]


def over(scheme: Scheme) -> list[str]:
    """The reasons that the first level gives, over a few models."""
    drafting = scheme.drafting
    assert isinstance(drafting, Rheo)
    reasons = []
    for seed, family in enumerate(FAMILIES):
        model = family_model(family, seed, 3, 1)
        tuples = candidates(drafting, model.draft(()))
        reasons.append(above_optimum(first_level(scheme, seed, family), model.target(()), tuples))
    return [reason for reason in reasons if reason]


@pytest.mark.parametrize("verify", ["rheo", "rrsw", "match", "flow"])
@pytest.mark.parametrize("head", [0, 1, 2])
def test_a_lossless_rule_is_never_above_the_optimum(verify: str, head: int) -> None:
    assert over(plain(replace(PARAMETERS, depth=1, head=head, verify=verify))) == []


def test_a_rule_with_the_residual_of_another_law_is_above_the_optimum() -> None:
    fault = FAULTS["draw-full-q"]
    [reason, *_] = over(fault.build(fault.fix(replace(PARAMETERS, depth=1, variant=fault.name))))
    assert "more than the optimum" in reason


def test_the_reason_names_the_set_and_both_probabilities() -> None:
    reason = above_optimum(Fraction(1), toy(1).target(()), Iid(2, 1).tuples(toy(1).draft(())))
    assert (
        reason == "accepts 1, more than the optimum 21/25: all candidates are in (2,) with 9/25, the target is with 1/5"
    )
    assert above_optimum(Fraction(21, 25), toy(1).target(()), Iid(2, 1).tuples(toy(1).draft(()))) == ""


def test_a_whole_tree_is_refuted_by_its_number_of_accepted_tokens() -> None:
    trees = kept_trees(PARAMETERS.drafting(), toy(2))
    honest = law_by_classes(plain(PARAMETERS), toy(2)).expected_tokens - 1
    assert above_bound(honest, trees, toy(2)) == ""
    assert "more than the bound" in above_bound(Fraction(2), trees, toy(2))
    trees = kept_trees(Iid(2, 1), toy(1))
    assert "more than the bound 21/25 of the linear program" in above_bound(Fraction(22, 25), trees, toy(1))


@pytest.mark.parametrize("verify", ["rheo", "rrsw", "flow"])
@pytest.mark.parametrize("head", [0, 1])
def test_a_ratio_rule_accepts_everything_when_the_draft_is_the_target(verify: str, head: int) -> None:
    for seed in range(6):
        model = family_model("identical", seed, 4, 2)
        law = law_by_classes(plain(replace(PARAMETERS, head=head, verify=verify)), model)
        assert below_one(law.acceptance(2), model) == ""
        assert below_one(law_by_classes(Scheme(Iid(2, 2), Rrs()), model).acceptance(2), model) == ""


@pytest.mark.parametrize("name", ["skip-residual", "residual-of-q"])
def test_a_wrong_residual_shows_when_the_draft_is_the_target(name: str) -> None:
    fault = FAULTS[name]
    scheme = fault.build(fault.fix(replace(PARAMETERS, variant=name)))
    models = [family_model("identical", seed, 4, 2) for seed in range(6)]
    reasons = [below_one(law_by_classes(scheme, model).acceptance(2), model) for model in models]
    assert any("although draft and target are the same" in reason for reason in reasons)


def test_a_rule_that_looks_at_no_ratio_is_not_meant() -> None:
    model = family_model("identical", 0, 4, 2)
    law = law_by_classes(plain(replace(PARAMETERS, verify="match")), model)
    assert law.total_variation(model) == 0
    assert below_one(law.acceptance(2), model)


def test_other_models_are_refused() -> None:
    with pytest.raises(InputError, match="differ at"):
        below_one([Fraction(1)], toy(1))
    assert below_one({2: Fraction(1, 2)}, family_model("identical", 0, 3, 2)).startswith("accepts level 2 with 1/2")
