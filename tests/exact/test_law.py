"""Laws and the four operations that every rule is made of."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.exact.law import Law, normalised, point, residual, total_variation, without
from rheo_proof.exact.number import ONE, ZERO, Q, rational, to_fraction
from tests.strategies import fractions, laws

THIRD = Q(1) / 3
small_laws = st.integers(1, 4).flatmap(laws)
pairs = st.integers(1, 4).flatmap(lambda vocab: st.tuples(laws(vocab), laws(vocab)))


def excess(p: Law, t: Law) -> list[Fraction]:
    """(p - t)+, in fractions."""
    return [max(a - b, Fraction(0)) for a, b in zip(fractions(p), fractions(t), strict=True)]


def test_a_law_knows_its_entries_its_support_and_its_mass() -> None:
    p = Law([ZERO, THIRD, 2 * THIRD])
    assert (list(p), len(p), p[2], p.support) == ([ZERO, THIRD, 2 * THIRD], 3, 2 * THIRD, (1, 2))
    assert [p.mass(tokens) for tokens in ((), (0,), (0, 1), (0, 1, 2))] == [ZERO, ZERO, THIRD, ONE]
    assert repr(p) == "Law(0, 1/3, 2/3)"


def test_laws_are_equal_by_value_and_meet_in_a_dict() -> None:
    p, q = Law.read(["1/2", "2/4"]), Law.read(["3/6", "1/2"])
    assert p == q
    assert len({p, q, point(0, 2)}) == 2
    assert p != point(0, 2)
    assert p != point(0, 1)
    assert p != (Q(1, 2), Q(1, 2))


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ([Q(1), Q(1)], "mass 2, not 1"),
        ([Q(1, 2)], "mass 1/2, not 1"),
        ([], "mass 0, not 1"),
        ([Q(2), Q(-1)], "negative entry -1"),
        ([1], "1 of type int"),
        ([0.5, 0.5], "0.5 of type float"),
        ([Q(1, 2), "1/2"], "'1/2' of type str"),
    ],
    ids=str,
)
def test_a_law_that_is_none_cannot_be_made(entries: list[Q], complaint: str) -> None:
    with pytest.raises(SoundnessError, match=complaint):
        Law(entries)


def test_a_rational_of_another_type_is_not_let_in() -> None:
    class Other(Fraction):
        """A rational, but not the type in use."""

    with pytest.raises(SoundnessError, match="of type Other"):
        Law([Other(1)])


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (["1/2", "1/3"], "here: sums to 5/6, expected exactly 1"),
        (["1/2", "1/2", "0"], "here: 3 entries, expected 2 (one for each token)"),
        (["1"], "here: 1 entries, expected 2 (one for each token)"),
        ([], "here: 0 entries, expected 2 (one for each token)"),
        (["3/2", "-1/2"], "here, token 1: -1/2 is negative"),
        (["1/2", 0.5], "here, token 1: 0.5 is a float"),
        (["half", "1/2"], "here, token 0: 'half' is not a rational"),
        (["1/0", "1/2"], "here, token 0: '1/0' has a zero denominator"),
        ([True, "0"], "here, token 0: True is not a number"),
        ("11", "here: '11' is not a list of rationals"),
        ({"0": "1"}, "is not a list of rationals"),
        (None, "here: None is not a list of rationals"),
    ],
    ids=str,
)
def test_a_bad_law_is_refused_with_its_place(values: object, complaint: str) -> None:
    with pytest.raises(InputError) as error:
        Law.read(values, "here", 2)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_an_empty_law_is_refused_when_no_length_is_known() -> None:
    with pytest.raises(InputError, match="here: empty"):
        Law.read([], "here")
    assert Law.read([1], "here") == point(0, 1)


@given(small_laws)
def test_what_is_read_is_what_was_written(p: Law) -> None:
    assert Law.read([str(mass) for mass in p]) == p
    assert p.support == tuple(x for x in range(len(p)) if p[x] > 0)
    assert p.mass(p.support) == ONE


@given(st.lists(st.fractions(0, 3), min_size=1, max_size=4))
def test_normalised_weights_are_proportional_to_the_weights(weights: list[Fraction]) -> None:
    assume(any(weights))
    p = normalised([rational(weight) for weight in weights])
    assert fractions(p) == [weight / sum(weights) for weight in weights]


def test_weights_that_are_all_0_are_refused() -> None:
    with pytest.raises(SoundnessError, match="an empty residual was reached"):
        normalised([ZERO, ZERO])


@given(pairs)
def test_the_residual_is_the_normalised_positive_part(pair: tuple[Law, Law]) -> None:
    p, t = pair
    assume(p != t)
    left = excess(p, t)
    assert fractions(residual(p, t)) == [mass / sum(left) for mass in left]


@given(small_laws)
def test_the_residual_of_equal_laws_must_not_be_reached(p: Law) -> None:
    with pytest.raises(SoundnessError, match="an empty residual was reached"):
        residual(p, Law(p.probs))


def test_laws_of_different_lengths_do_not_mix() -> None:
    for operation in (residual, total_variation):
        with pytest.raises(ValueError, match="zip"):
            operation(point(0, 2), point(0, 3))


@given(small_laws, st.data())
def test_deleting_tokens_conditions_on_the_others(p: Law, data: st.DataObject) -> None:
    tokens = tuple(data.draw(st.sets(st.sampled_from(range(len(p))))))
    rest = [Fraction(0) if x in tokens else mass for x, mass in enumerate(fractions(p))]
    if any(rest):
        assert fractions(without(p, tokens)) == [mass / sum(rest) for mass in rest]
    else:
        with pytest.raises(SoundnessError):
            without(p, tokens)


@given(pairs)
def test_total_variation_is_the_mass_of_the_positive_part(pair: tuple[Law, Law]) -> None:
    p, q = pair
    distance = to_fraction(total_variation(p, q))
    assert distance == sum(excess(p, q)) == sum(excess(q, p)) == to_fraction(total_variation(q, p))
    assert (distance == 0) == (p == q)
    assert distance <= 1


def test_total_variation_of_two_points_is_1_and_of_halves_is_a_half() -> None:
    assert total_variation(point(0, 2), point(1, 2)) == 1
    assert total_variation(Law.read(["1/2", "1/2"]), point(1, 2)) == Q(1, 2)


def test_a_point_has_one_token() -> None:
    assert list(point(1, 3)) == [ZERO, ONE, ZERO]
    with pytest.raises(SoundnessError, match="mass 0"):
        point(3, 3)
