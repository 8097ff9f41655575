"""Rules that change the law on purpose: what exactly is lost, by both enumerators."""

from __future__ import annotations

from fractions import Fraction

import pytest

from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law, total_variation
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational, to_fraction
from rheo_proof.exact.step import target_probability
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.chain import Chain
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.spechub import SpecHub as SpecHubDrafting
from rheo_proof.schemes.drafting.static import Static, full
from rheo_proof.schemes.verifying.eagle_posterior import EaglePosterior
from rheo_proof.schemes.verifying.leviathan import Leviathan
from rheo_proof.schemes.verifying.match import Match
from rheo_proof.schemes.verifying.relaxed import Relaxed
from rheo_proof.schemes.verifying.sglang_thresholds import SglangThresholds
from rheo_proof.schemes.verifying.spechub import SpecHub
from rheo_proof.schemes.verifying.static_mixing import StaticMixing
from rheo_proof.schemes.verifying.typical import DELTA, EPS, Entropy, Listed, SampledMatch, Typical
from tests.walking_zoo import PAIRS, Given, agreed, first_token, lossless, pair

C_THEN_A = Static(((0,), (1,)))  # the best two tokens of the toy's root: c, then a
every_pair = pytest.mark.parametrize(("family", "seed"), PAIRS)


def fractions(*written: str) -> list[Fraction]:
    return [Fraction(x) for x in written]


@pytest.mark.parametrize(
    ("acc", "single", "law", "accepted", "tv"),
    [
        ("4/5", "1", ("5/8", "1/8", "1/4"), "7/8", "7/40"),
        ("1/2", "1", ("3/5", "0", "2/5"), "1", "3/10"),
        ("1", "1/2", ("4/5", "0", "1/5"), "1", "3/10"),
        ("1", "1", ("1/2", "3/10", "1/5"), "7/10", "0"),
    ],
)
def test_thresholds_on_the_toy(acc: str, single: str, law: tuple[str, ...], accepted: str, tv: str) -> None:
    got = agreed(C_THEN_A, SglangThresholds(rational(acc), rational(single)), toy(1))
    assert first_token(got, toy(1)) == fractions(*law)
    assert got.acceptance(1) == fractions(accepted)
    assert got.total_variation(toy(1)) == Fraction(tv)


@pytest.mark.parametrize("family", FAMILIES)
def test_thresholds_of_one_are_one_hot_verification_on_distinct_siblings(family: str) -> None:
    model = family_model(family, 2, 3, 2)
    laws = [agreed(Static(full(2, 2)), rule, model) for rule in (SglangThresholds(), Match(), EaglePosterior())]
    assert len({tuple(sorted(law.strings(3))) for law in laws}) == 1
    assert lossless(laws[0], model)


def test_a_repeated_sibling_is_accepted_surely_instead_of_with_one_half() -> None:
    twice = Given((0, 0), (None, None))
    assert agreed(twice, SglangThresholds(), toy(1)).acceptance(1) == [1]
    assert agreed(twice, Match(), toy(1)).acceptance(1) == [Fraction(1, 2)]
    assert not lossless(agreed(twice, SglangThresholds(), toy(1)), toy(1))
    assert lossless(agreed(twice, EaglePosterior(), toy(1)), toy(1))


@every_pair
@pytest.mark.parametrize("acc", ["9/10", "3/5", "1/4"])
def test_what_the_threshold_of_the_sum_loses(family: str, seed: int, acc: str) -> None:
    p, q, model = pair(family, seed)
    tree, t = Static(full(2, 1)), rational(acc)
    x = sorted(q.support, key=lambda token: (-q[token], token))[:2]
    running = [sum((p[y] for y in x[:j]), ZERO) for j in range(len(x) + 1)]
    capped = [min(ONE, total / t) for total in running]
    law = [ZERO] * 3
    for y in range(3):
        if y in x:
            law[y] = capped[x.index(y) + 1] - capped[x.index(y)]
        elif running[-1] < 1:
            law[y] = p[y] * (1 - capped[-1]) / (1 - running[-1])
    got = agreed(tree, SglangThresholds(acc=t), model)
    assert first_token(got, model) == [to_fraction(mass) for mass in law]
    assert got.total_variation(model) == to_fraction(total_variation(p, Law(law)))
    if running[-1] <= t:
        assert got.total_variation(model) == to_fraction(capped[-1] - running[-1])


@every_pair
@pytest.mark.parametrize("single", ["3/4", "2/5"])
def test_the_first_child_above_the_single_threshold_takes_all_remaining_mass(
    family: str, seed: int, single: str
) -> None:
    p, q, model = pair(family, seed)
    running, lost = ZERO, ZERO
    for x in sorted(q.support, key=lambda token: (-q[token], token))[:2]:
        running += p[x]
        if p[x] >= rational(single):
            lost = ONE - running
            break
    got = agreed(Static(full(2, 1)), SglangThresholds(single=rational(single)), model)
    assert got.total_variation(model) == to_fraction(lost)


@pytest.mark.parametrize(
    ("rows", "law", "tv"),
    [
        ((2,), ("2/5", "6/25", "9/25"), "4/25"),
        ((2, 0), ("3/5", "3/25", "7/25"), "9/50"),
        ((0, 0), ("7/8", "3/40", "1/20"), "3/8"),
    ],
)
def test_rows_that_match_samples_on_the_toy(rows: tuple[int, ...], law: tuple[str, ...], tv: str) -> None:
    tree = Given(rows, (None,) * len(rows))
    got = agreed(tree, SampledMatch(), toy(1))
    assert first_token(got, toy(1)) == fractions(*law)
    assert got.total_variation(toy(1)) == Fraction(tv)
    assert lossless(agreed(tree, Match(), toy(1)), toy(1))


def test_a_child_shared_by_two_rows_is_tried_twice() -> None:
    fork = Static(((1,), (1, 0), (1, 1)))  # a, and below it two tokens: two rows
    law = agreed(fork, SampledMatch(), toy(2))
    assert law.acceptance(1) == fractions("3/4")
    assert first_token(law, toy(2)) == fractions("7/8", "3/40", "1/20")


def test_medusas_threshold_at_the_root_of_the_toy_is_nine_hundredths_and_every_token_passes() -> None:
    p = toy(1).target(())
    # exp(-H)^10 = product of p(y)^(10 p(y)), so delta exp(-H) is above eps iff this holds:
    assert DELTA**10 * rational("1/2") ** 5 * rational("3/10") ** 3 * rational("1/5") ** 2 > EPS**10
    assert all(Entropy()(p, (), x) for x in range(3))


@pytest.mark.parametrize(
    ("law", "passing"),
    [
        (["9/100", "1/10", "81/100"], [1, 2]),  # at the threshold eps itself a token does not pass
        (["1/20"] * 20, list(range(20))),  # exp(-H) = 1/20, so the threshold is 3/200
        (["1/100", "99/100"], [1]),
        (["0", "1"], [1]),
    ],
)
def test_the_entropy_threshold_is_decided_exactly(law: list[str], passing: list[int]) -> None:
    p = Law.read(law)
    assert [x for x in range(len(p)) if Entropy()(p, (), x)] == passing


def test_the_entropy_threshold_of_a_uniform_law_is_delta_over_its_size() -> None:
    p = Law.read(["1/4"] * 4)
    wide = rational("10")
    assert Entropy(eps=wide, delta=rational("99/100"))(p, (), 0)
    assert not Entropy(eps=wide, delta=ONE)(p, (), 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_typical_acceptance_emits_one_string_and_loses_all_other_mass(family: str) -> None:
    model = family_model(family, 1, 3, 2)
    for accepts in (Entropy(), Listed(frozenset()), Listed(frozenset({(0,), (1,), (1, 2)}))):
        law = agreed(Static(full(2, 2)), Typical(accepts), model)
        ((string, mass),) = law.strings(3)
        assert mass == 1
        assert law.total_variation(model) == to_fraction(ONE - target_probability(model, string))


def test_the_longest_typical_row_wins_and_of_equal_ones_the_likelier() -> None:
    everything = Typical(lambda p, prefix, x: True)
    assert dict(agreed(C_THEN_A, everything, toy(1)).strings(3)) == {(0, 1): 1}
    listed = Typical(Listed(frozenset({(2,), (2, 1), (0,)})))
    tree = Static(((0,), (1,), (0, 0), (0, 1)))
    assert dict(agreed(tree, listed, toy(2)).strings(3)) == {(2, 1, 0): 1}


@pytest.mark.parametrize("family", FAMILIES)
def test_relaxed_acceptance_of_the_best_token_alone_is_greedy_decoding(family: str) -> None:
    model = family_model(family, 3, 3, 2)
    law = agreed(Static(full(2, 2)), Relaxed(1, ZERO), model)
    ((string, _),) = law.strings(3)
    for length, x in enumerate(string):
        p = model.target(string[:length])
        assert x == min(range(3), key=lambda y: (-p[y], y))
    assert law.total_variation(model) == to_fraction(ONE - target_probability(model, string))


@pytest.mark.parametrize(
    ("top", "delta", "law"),
    [
        (2, "1/5", ("9/10", "1/10", "0")),  # a and b are kept, c is not among the best two and becomes a
        (2, "1/10", ("1", "0", "0")),
        (3, "1/5", ("9/10", "1/10", "0")),
        (3, "3/10", ("3/10", "1/10", "3/5")),
    ],
)
def test_relaxed_acceptance_of_a_sampled_token_on_the_toy(top: int, delta: str, law: tuple[str, ...]) -> None:
    got = agreed(Chain(1), Relaxed(top, rational(delta)), toy(1))
    assert first_token(got, toy(1)) == fractions(*law)
    assert not lossless(got, toy(1))


@pytest.mark.parametrize(("shortcut", "tv"), [("1", "0"), ("1/5", "0"), ("199/1000", "4/5"), ("0", "4/5")])
def test_the_shortcut_of_spechub_loses_all_but_the_hub_where_it_is_taken(shortcut: str, tv: str) -> None:
    law = agreed(SpecHubDrafting(1), SpecHub(rational(shortcut)), toy(1))
    assert law.total_variation(toy(1)) == Fraction(tv)


def test_the_shortcut_of_the_source_loses_less_than_a_thousandth() -> None:
    p, q = Law.read(["9991/10000", "9/10000"]), Law.read(["3/4", "1/4"])
    model = ToyModel(2, 1, lambda u: p, lambda u: q)
    law = agreed(SpecHubDrafting(1), SpecHub(rational("999/1000")), model)
    assert law.total_variation(model) == Fraction(9, 10000)
    assert lossless(agreed(SpecHubDrafting(1), SpecHub(), model), model)


@every_pair
@pytest.mark.parametrize("w", ["0", "1/4", "2/3", "1"])
def test_static_mixing_is_off_by_its_weight_times_the_distance_of_draft_and_target(
    family: str, seed: int, w: str
) -> None:
    p, q, model = pair(family, seed)
    weight = rational(w)
    law = agreed(Chain(1), StaticMixing(weight), model)
    distance = total_variation(p, q)
    assert law.total_variation(model) == to_fraction(weight * distance)
    assert law.acceptance(1) == [to_fraction(ONE - (ONE - weight) * distance)]
    assert lossless(law, model) == (weight * distance == 0)


@every_pair
def test_static_mixing_with_several_drafts_has_the_mixture_as_its_law(family: str, seed: int) -> None:
    p, q, model = pair(family, seed)
    third = rational("1/3")
    mixed = [to_fraction((1 - third) * a + third * b) for a, b in zip(p, q, strict=True)]
    assert first_token(agreed(Iid(3, 1), StaticMixing(third), model), model) == mixed


@pytest.mark.parametrize("family", FAMILIES)
def test_static_mixing_of_weight_zero_is_the_test_of_a_chain(family: str) -> None:
    model = family_model(family, 4, 3, 2)
    laws = [agreed(Chain(2), rule, model) for rule in (StaticMixing(Q(0)), Leviathan())]
    assert dict(laws[0].strings(3)) == dict(laws[1].strings(3))
