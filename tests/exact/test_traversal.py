"""Traversal Verification (arXiv 2505.12398): the leaf loop is weighted rejection in disguise; what breaks it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ZERO, Q
from rheo_proof.exact.step import target_probability
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.greedy import best_first
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.iid_paths import IidPaths
from rheo_proof.schemes.drafting.static import Static, full
from rheo_proof.schemes.drafting.without_replacement import WithoutReplacement
from rheo_proof.schemes.faulty_walking import TopAsDraws
from rheo_proof.schemes.faulty_weighted import TraversalByCreation, TraversalById
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Drafting, Scheme
from rheo_proof.schemes.verifying.block import Block
from rheo_proof.schemes.verifying.masses import Tuples
from rheo_proof.schemes.verifying.match import Match
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.schemes.verifying.traversal import Traversal
from rheo_proof.schemes.verifying.walk import Verifying
from rheo_proof.schemes.verifying.weighted_rejection import WeightedRejection
from tests.walking_zoo import agreed, lossless

THREE_BY_ONE = Static(((0,), (1,), (2,), (0, 0), (1, 0), (2, 0)), sampled=True)


def without(q: Law, k: int) -> Tuples:
    """What the weighted form is told of draws without replacement."""
    return WithoutReplacement(k, 1).tuples(q)


def accepted(drafting: Drafting, rule: Verifying, model: ToyModel) -> Fraction:
    return law_by_classes(Scheme(drafting, rule), model).expected_tokens - 1


NUMBERS: list[tuple[Drafting, str]] = [
    (WithoutReplacement(2, 2), "1253/720"),
    (WithoutReplacement(1, 2), "133/120"),
    (THREE_BY_ONE, "37/20"),
    (IidPaths(2, 2), "19261/14400"),
]


@pytest.mark.parametrize(("drafting", "count"), NUMBERS, ids=lambda one: str(one)[:40])
def test_traversal_accepts_the_known_number_of_tokens_on_the_toy(drafting: Drafting, count: str) -> None:
    law = agreed(drafting, Traversal(), toy(2))
    assert lossless(law, toy(2))
    assert law.expected_tokens - 1 == Fraction(count)


def test_traversal_of_three_merged_paths_is_lossless_and_has_its_number() -> None:
    law = law_by_classes(Scheme(IidPaths(3, 2), Traversal()), toy(2))
    assert lossless(law, toy(2))
    assert law.expected_tokens - 1 == Fraction(12840251, 8640000)


def test_traversal_accepts_more_than_top_down_rejection_on_the_toy() -> None:
    assert accepted(WithoutReplacement(2, 2), Rrs(), toy(2)) == Fraction(5983, 3600)
    assert accepted(IidPaths(2, 2), Rrs(), toy(2)) == Fraction(477781, 360000)


@pytest.mark.parametrize("drafting", [WithoutReplacement(2, 2), WithoutReplacement(3, 2), THREE_BY_ONE])
def test_traversal_has_the_law_of_weighted_rejection(drafting: Drafting) -> None:
    """The emitted strings are equally likely, not only as many tokens expected."""
    families = ("ties", "zeros") if drafting == WithoutReplacement(3, 2) else FAMILIES
    for model in (toy(2), *(family_model(family, 0, 3, 2) for family in families)):
        laws = [law_by_classes(Scheme(drafting, rule), model) for rule in (Traversal(), WeightedRejection(without))]
        assert dict(laws[0].strings(3)) == dict(laws[1].strings(3)), model


def test_traversal_of_a_chain_is_block_verification() -> None:
    for family in FAMILIES:
        model = family_model(family, 1, 3, 3)
        laws = [law_by_classes(Scheme(WithoutReplacement(1, 3), rule), model) for rule in (Traversal(), Block())]
        assert dict(laws[0].strings(3)) == dict(laws[1].strings(3)), model


def top(q: Law, k: int) -> Law:
    """q on its k best tokens, renormalised."""
    return normalised([mass if x in best_first(q)[:k] else ZERO for x, mass in enumerate(q)])


def test_random_order_of_a_deterministic_tree_gains_nothing_over_one_hot_verification() -> None:
    """The children are the top 2, drawn without replacement from q on them: as many tokens as have the tree's mass."""
    models = [toy(2), *(family_model(family, 2, 3, 2) for family in FAMILIES)]
    for model in models:
        cut = ToyModel(3, 2, model.target, lambda u, model=model: top(model.draft(u), 2), "top 2")  # type: ignore[misc]
        law = law_by_classes(Scheme(WithoutReplacement(2, 2), Traversal()), cut)
        assert lossless(law, cut)
        mass: Q = ZERO
        for x in cut.draft(()).support:
            mass += target_probability(cut, (x,))
            mass += sum((target_probability(cut, (x, y)) for y in cut.draft((x,)).support), ZERO)
        assert law.expected_tokens - 1 == mass == accepted(Static(full(2, 2)), Match(), cut)


def test_the_top_two_of_the_toy_have_231_200() -> None:
    assert accepted(Static(full(2, 2)), Match(), toy(2)) == Fraction(231, 200)


@pytest.mark.parametrize(
    ("drafting", "rule", "tv"),
    [
        (WithoutReplacement(2, 2), TraversalById(), "313/720"),
        (TopAsDraws(full(2, 2)), Traversal(), "563/1800"),
    ],
)
def test_siblings_in_another_order_than_drawn_are_refuted(drafting: Drafting, rule: Verifying, tv: str) -> None:
    law = agreed(drafting, rule, toy(2))
    assert not lossless(law, toy(2))
    assert law.total_variation(toy(2)) == Fraction(tv)


def test_leaves_by_age_are_refuted_once_three_paths_interleave() -> None:
    law = law_by_classes(Scheme(IidPaths(3, 2), TraversalByCreation()), toy(2))
    assert not lossless(law, toy(2))
    assert law.total_variation(toy(2)) == Fraction(1463, 120000)
    assert lossless(law_by_classes(Scheme(IidPaths(2, 2), TraversalByCreation()), toy(2)), toy(2))


def test_independent_draws_with_weights_accept_more_than_without() -> None:
    rule = WeightedRejection(lambda q, k: Iid(k, 1).tuples(q))
    law = law_by_classes(Scheme(Iid(2, 2), rule), toy(2))
    assert lossless(law, toy(2))
    assert law.expected_tokens - 1 == Fraction(10237, 7200)
    assert accepted(Iid(2, 2), Rrs(), toy(2)) == Fraction(48881, 36000)
