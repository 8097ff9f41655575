"""Cheap refutations: accepting more than the optimum, or less than 1 where the draft is the target."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import Q
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.registry import REJECT_EVEN_IF_SAME
from rheo_proof.schemes.scheme import Parameters, Scheme, plain
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.theorems.bounds import kept_trees
from rheo_proof.theorems.levels import candidates
from rheo_proof.theorems.refutations import above_bound, above_optimum, accepts_all_if_same, below_one
from rheo_proof.theorems.zoo import EVERY

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


def same(law: Law, depth: int) -> ToyModel:
    """The model whose draft and target have this law everywhere."""
    return ToyModel(len(law), depth, lambda u: law, lambda u: law, f"{law!r} twice")


WEIGHTS = [weights for weights in product(range(3), repeat=3) if any(weights)]
GRID = sorted({tuple(normalised([Q(w) for w in weights])) for weights in WEIGHTS})
SAME = [
    *(same(Law(masses), 1) for masses in GRID),
    same(Law.read(["1/10", "3/5", "1/10", "1/5"]), 1),
    same(Law.read(["1/10", "7/10", "1/5"]), 2),
    family_model("identical", 0, 3, 2),
]
"""Draft and target are the same: all laws with weights up to 2 on three tokens, unlikely tokens, random laws."""


def settings(name: str, model: ToyModel) -> set[Parameters]:
    """Two children of each node, three on four tokens, m of them without a draw, and room for all nodes."""
    found = set()
    for slots, head in ((3, 0), (3, 2)) if model.vocab == 4 else ((2, 0), (2, 1)):
        fixed = EVERY[name].fix(Parameters(slots=slots, head=head, depth=model.depth, beam=slots))
        found.add(replace(fixed, nodes=sum(fixed.slots**level for level in range(1, model.depth + 1))))
    return found


def verdicts(name: str) -> Counter[tuple[bool, bool]]:
    """How often `below_one` (first) and the exact verdict (second) call a scheme biased on those models."""
    found = Counter[tuple[bool, bool]]()
    for model in SAME:
        for parameters in settings(name, model):
            assert accepts_all_if_same(parameters) == (parameters.verify not in REJECT_EVEN_IF_SAME)
            law = law_by_classes(EVERY[name].build(parameters), model)
            refuted = below_one(law.acceptance(model.depth), model) != ""
            found[refuted, law.first_wrong(model) is not None] += 1
    return found


def rule_of(name: str) -> str:
    return EVERY[name].fix(PARAMETERS).verify


MEANT = [name for name in EVERY if rule_of(name) not in REJECT_EVEN_IF_SAME]
CAUGHT = ["drop-unlikely", "skip-residual", "residual-of-q", "chain-drop-unlikely"]
"""Faults that reject where there is nothing to reject."""


@pytest.mark.parametrize("name", MEANT)
def test_a_rule_that_is_meant_is_called_biased_only_where_it_is(name: str) -> None:
    found = verdicts(name)
    assert found[True, False] == 0
    assert (found[True, True] > 0) == (name in CAUGHT)
    assert EVERY[name].lossless <= (set(found) == {(False, False)})


@pytest.mark.parametrize("name", sorted(set(EVERY) - set(MEANT)))
def test_a_rule_that_is_not_meant_accepts_less_somewhere(name: str) -> None:
    """And if it is lossless, the check would call it biased."""
    found = verdicts(name)
    assert found[True, False] + found[True, True] > 0
    assert EVERY[name].lossless <= (set(found) == {(False, False), (True, False)})


def test_every_rule_on_the_list_is_one_and_most_are_not_on_it() -> None:
    assert {rule_of(name) for name in EVERY} >= set(REJECT_EVEN_IF_SAME)
    assert len(MEANT) > 60
    assert set(CAUGHT) < set(MEANT)


PRUNED = [
    ("top-k", PARAMETERS),
    ("rheo", replace(PARAMETERS, head=2)),
    ("rheo", replace(PARAMETERS, sparse=2)),
    ("rheo", replace(PARAMETERS, beam=1)),
    ("flow", replace(PARAMETERS, nodes=3)),
    ("chain-verification", replace(PARAMETERS, nodes=2)),
    ("sequoia", replace(PARAMETERS, nodes=1)),
]


@pytest.mark.parametrize(("name", "parameters"), PRUNED)
def test_without_a_sampled_child_or_with_a_cut_a_lossless_scheme_may_accept_less(
    name: str, parameters: Parameters
) -> None:
    fixed = EVERY[name].fix(parameters)
    assert not accepts_all_if_same(fixed)
    laws = [(law_by_classes(EVERY[name].build(fixed), model), model) for model in SAME if model.depth == 2]
    assert all(law.first_wrong(model) is None for law, model in laws)
    assert any(below_one(law.acceptance(2), model) for law, model in laws)


def test_an_unknown_rule_is_not_meant() -> None:
    assert accepts_all_if_same(PARAMETERS)
    assert not accepts_all_if_same(replace(PARAMETERS, verify="anchor"))


def test_ratio_rules_accept_everything_on_four_tokens_too() -> None:
    for seed, (verify, head) in enumerate(product(("rheo", "rrsw", "flow"), (0, 1))):
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
