"""Greedy multi-path block verification (arXiv 2602.16961): its numbers, the law of the selected path, broken orders."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.chain import Chain
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.iid_paths import IidPaths
from rheo_proof.schemes.faulty_weighted import GbvClipped, GbvClippedInOrder, GbvFirstMaximum
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.schemes.verifying.block import Block
from rheo_proof.schemes.verifying.gbv import Gbv, rank, skewed
from tests.walking_zoo import agreed, best_acceptance, lossless


@pytest.mark.parametrize(
    ("paths", "length", "count"),
    [(1, 1, "3/5"), (2, 1, "21/25"), (3, 1, "971/1000"), (1, 2, "133/120"), (2, 2, "22379/14400"), (1, 3, "2949/2000")],
)
def test_gbv_accepts_the_known_number_of_tokens_on_the_toy(paths: int, length: int, count: str) -> None:
    law = agreed(IidPaths(paths, length), Gbv(), toy(length))
    assert lossless(law, toy(length))
    assert law.expected_tokens - 1 == Fraction(count)


@pytest.mark.parametrize(
    ("paths", "expected"), [(2, "9/20 19/100 9/25"), (3, "513/1000 271/1000 27/125"), (1, "3/10 1/10 3/5")]
)
def test_the_skewed_law_of_the_first_token_is_that_of_the_paper(paths: int, expected: str) -> None:
    p, q = toy(1).target(()), toy(1).draft(())
    order = sorted(range(3), key=lambda x: rank(p, q, x))
    assert order == [2, 0, 1]
    assert list(skewed(q, order, ZERO, ONE, paths)) == [rational(mass) for mass in expected.split()]


def test_one_path_is_block_verification() -> None:
    for family in FAMILIES:
        model = family_model(family, 0, 3, 3)
        laws = [law_by_classes(scheme, model) for scheme in (Scheme(IidPaths(1, 3), Gbv()), Scheme(Chain(3), Block()))]
        assert dict(laws[0].strings(3)) == dict(laws[1].strings(3)), model


def selected(model: ToyModel, paths: int, length: int) -> dict[Prefix, Q]:
    """The law of the maximal path by brute force over all lists of paths."""

    def key(x: Prefix) -> list[object]:
        return [rank(model.target(x[:i]), model.draft(x[:i]), y) for i, y in enumerate(x)]

    law: dict[Prefix, Q] = {}
    strings = list(product(range(model.vocab), repeat=length))
    mass = dict.fromkeys(strings, ONE)
    for x in strings:
        for i, y in enumerate(x):
            mass[x] *= model.draft(x[:i])[y]
    for drawn in product([x for x in strings if mass[x]], repeat=paths):
        best = max(drawn, key=key)
        product_ = ONE
        for x in drawn:
            product_ *= mass[x]
        law[best] = law.get(best, ZERO) + product_
    return law


def test_the_skewed_laws_multiply_to_the_law_of_the_selected_path() -> None:
    for model in (toy(2), *(family_model(family, 3, 3, 2) for family in FAMILIES)):
        for best, probability in selected(model, 2, 2).items():
            before, mass, chance = ZERO, ONE, ONE
            for i, y in enumerate(best):
                p, q = model.target(best[:i]), model.draft(best[:i])
                order = sorted(range(3), key=lambda x, p=p, q=q: rank(p, q, x))  # type: ignore[misc]
                chance *= skewed(q, order, before, mass, 2)[y]
                before += mass * q.mass(order[: order.index(y)])
                mass *= q[y]
            assert chance == probability, (model, best)


def test_one_level_of_gbv_is_at_most_optimal_transport_and_sometimes_less() -> None:
    below = 0
    for family in FAMILIES:
        for seed in range(8):
            model = family_model(family, seed, 3, 1)
            law = law_by_classes(Scheme(IidPaths(2, 1), Gbv()), model)
            optimum = best_acceptance(model.target(()), Iid(2, 1).tuples(model.draft(())))
            assert law.expected_tokens - 1 <= optimum
            below += law.expected_tokens - 1 < optimum
    assert below >= 10


def test_gbv_on_the_toy_attains_the_optimum_of_one_level() -> None:
    for paths in (1, 2, 3):
        optimum = best_acceptance(toy(1).target(()), Iid(paths, 1).tuples(toy(1).draft(())))
        assert law_by_classes(Scheme(IidPaths(paths, 1), Gbv()), toy(1)).expected_tokens - 1 == optimum


@pytest.mark.parametrize(("rule", "tv"), [(GbvFirstMaximum(), "1/25"), (GbvClipped(), "1143/18400")])
def test_a_selection_with_another_order_of_ties_is_refuted(rule: Gbv, tv: str) -> None:
    law = agreed(IidPaths(2, 2), rule, toy(2))
    assert not lossless(law, toy(2))
    assert law.total_variation(toy(2)) == Fraction(tv)


def test_the_first_maximum_is_right_where_no_two_ratios_are_equal() -> None:
    assert lossless(law_by_classes(Scheme(IidPaths(2, 1), GbvFirstMaximum()), toy(1)), toy(1))


def test_clipped_ratios_are_harmless_where_selection_and_skewed_law_share_the_order() -> None:
    assert lossless(agreed(IidPaths(2, 2), GbvClippedInOrder(), toy(2)), toy(2))
    for family in FAMILIES:
        model = family_model(family, 5, 3, 2)
        assert lossless(law_by_classes(Scheme(IidPaths(2, 2), GbvClippedInOrder()), model), model)
