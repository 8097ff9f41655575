"""The step law and its criterion, against brute force over the completed strings."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel, key, tabled
from rheo_proof.exact.number import ONE, ZERO, Q, rational, to_fraction
from rheo_proof.exact.step import Lump, StepLaw, Wrong, target_probability
from tests import oracle
from tests.strategies import models, prefixes, written

Strings = dict[Prefix, Q]

P = {(): Law.read(["1/3", "2/3"]), (0,): Law.read(["1/5", "4/5"]), (1,): Law.read([1, 0])}
HALVES = Law.read(["1/2", "1/2"])


def small_model(depth: int = 1) -> ToyModel:
    """V = 2: the laws P, and uniform ones below them."""
    laws = {u: P.get(u, HALVES) for u in prefixes(2, depth)}
    return tabled(2, depth, laws, laws)


def step(**strings: str) -> StepLaw:
    """A law written as `s01="1/2"`: the string 0, 1 with probability a half."""
    return StepLaw.of_strings({tuple(map(int, name[1:])): rational(mass) for name, mass in strings.items()})


def prefix_probability(model: ToyModel, law: Mapping[Prefix, Q], string: Prefix) -> Q:
    """Pr[the completed output starts with `string`], term by term."""
    total = ZERO
    for emitted, mass in law.items():
        if emitted[: len(string)] == string:
            total += mass
        elif string[: len(emitted)] == emitted:
            for length in range(len(emitted), len(string)):
                mass = mass * model.target(string[:length])[string[length]]
            total += mass
    return total


def first_wrong(model: ToyModel, law: Mapping[Prefix, Q]) -> Wrong | None:
    """The first string, shorter ones first, that starts the completed output too often or too rarely."""
    for string in prefixes(model.vocab, model.depth + 1):
        expected, actual = target_probability(model, string), prefix_probability(model, law, string)
        if expected != actual:
            return Wrong(string, to_fraction(expected), to_fraction(actual))
    return None


@st.composite
def stopped(draw: st.DrawFn) -> tuple[ToyModel, Strings]:
    """A lossless law: draw from the target, stop after each token with a probability of its own."""
    vocab, depth = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    model, seed = draw(models(vocab, depth)), draw(st.integers(0, 999))
    law: Strings = {}
    going: Strings = {(): ONE}
    for length in range(depth + 1):
        going = {(*u, x): mass * model.target(u)[x] for u, mass in going.items() for x in range(vocab)}
        for string in going:
            stop = random.Random(f"{seed}/{key(string)}").choice([ZERO, ONE / 2, ONE / 3, ONE])
            law[string] = going[string] * (ONE if length == depth else stop)
            going[string] -= law[string]
    return model, {string: mass for string, mass in law.items() if mass}


@st.composite
def shifted(draw: st.DrawFn) -> tuple[ToyModel, Strings]:
    """The same with some mass moved from one string to another, which may or may not matter."""
    model, law = draw(stopped())
    strings = list(prefixes(model.vocab, model.depth + 1))[1:]
    for _ in range(draw(st.integers(1, 2))):
        source, goal = draw(st.sampled_from(list(law))), draw(st.sampled_from(strings))
        moved = law[source] * draw(st.sampled_from([ONE, ONE / 2]))
        law[source] -= moved
        law[goal] = law.get(goal, ZERO) + moved
        law = {string: mass for string, mass in law.items() if mass}
    return model, law


def check(model: ToyModel, law: Strings, step_law: StepLaw) -> None:
    """Distance, criterion, first wrong string, lengths: all by brute force."""
    exact = {string: to_fraction(mass) for string, mass in law.items()}
    distance = oracle.total_variation(written(model), exact)
    assert dict(step_law.strings(model.vocab)) == exact
    assert step_law.total_variation(model) == distance
    assert step_law.first_wrong(model) == first_wrong(model, law)
    assert (step_law.first_wrong(model) is None) == (distance == 0)
    assert step_law.expected_tokens == oracle.expected_tokens(exact)
    assert step_law.acceptance(model.depth) == [
        sum((mass for string, mass in exact.items() if len(string) > level), Fraction(0))
        for level in range(1, model.depth + 1)
    ]


@given(stopped())
def test_a_law_stopped_at_random_is_lossless(example: tuple[ToyModel, Strings]) -> None:
    model, law = example
    check(model, law, StepLaw.of_strings(law))
    assert StepLaw.of_strings(law).first_wrong(model) is None


@given(shifted())
def test_the_criterion_and_the_distance_agree_with_brute_force(example: tuple[ToyModel, Strings]) -> None:
    model, law = example
    check(model, law, StepLaw.of_strings(law))


@given(stopped() | shifted(), st.randoms(use_true_random=False))
def test_lumps_of_a_law_say_the_same_as_its_strings(example: tuple[ToyModel, Strings], chooser: random.Random) -> None:
    """As much as possible of every row is said as a share of the target law, on one or two sets of tokens."""
    model, law = example
    lumps: dict[Prefix, list[Lump]] = {}
    for u in {string[:-1] for string in law}:
        p = model.target(u)
        row = {y: law.get((*u, y), ZERO) for y in range(model.vocab)}
        share = min(row[y] / p[y] for y in p.support)
        cut = chooser.randrange(len(p.support))
        group = [Lump(p, part, share) for part in (p.support[:cut], p.support[cut:]) if part and share]
        single = [(y, row[y] - share * p[y]) for y in row]
        lumps[u] = group + [Lump(None, (y,), mass) for y, mass in single if mass]
    check(model, law, StepLaw(lumps))


def test_the_shifted_laws_are_sometimes_lossless_and_mostly_not() -> None:
    seen: set[bool] = set()

    @given(shifted())
    def look(example: tuple[ToyModel, Strings]) -> None:
        seen.add(first_wrong(*example) is None)

    look()
    assert seen == {True, False}


# By hand


def test_a_lossless_law_by_hand() -> None:
    law = step(s00="1/15", s01="4/15", s10="1/2", s1="1/6")
    assert law.first_wrong(small_model()) is None
    assert law.total_variation(small_model()) == 0
    assert (law.expected_tokens, law.acceptance(1)) == (Fraction(11, 6), [Fraction(5, 6)])


def test_a_law_that_is_exact_on_the_first_token_only_is_wrong_at_the_second() -> None:
    law = step(s00="4/15", s01="1/15", s1="2/3")
    assert [sum(mass for string, mass in law.strings(2) if string[0] == x) for x in (0, 1)] == list(P[()])
    assert law.first_wrong(small_model()) == Wrong((0, 0), Fraction(1, 15), Fraction(4, 15))
    assert law.total_variation(small_model()) == Fraction(1, 5)


def test_a_law_that_is_wrong_at_once() -> None:
    law = step(s0="1")
    assert law.first_wrong(small_model()) == Wrong((0,), Fraction(1, 3), Fraction(1))
    assert law.total_variation(small_model()) == Fraction(2, 3)


def test_a_string_that_the_target_never_says_is_wrong() -> None:
    law = step(s0="1/3", s10="1/3", s11="1/3")
    assert law.first_wrong(small_model()) == Wrong((1, 0), Fraction(2, 3), Fraction(1, 3))
    assert law.total_variation(small_model()) == Fraction(1, 3)


def test_the_probability_of_a_wrong_string_counts_the_strings_that_ended_before() -> None:
    """Half of what starts with 0 ends there and is completed; the other half goes on with 0, always."""
    law = step(s0="1/6", s00="1/6", s1="2/3")
    assert law.first_wrong(small_model(2)) == Wrong(
        (0, 0), Fraction(1, 15), Fraction(1, 6) + Fraction(1, 6) * Fraction(1, 5)
    )
    assert law.total_variation(small_model(2)) == Fraction(2, 15)


def test_where_everything_ends_with_a_draw_from_the_target_nothing_is_wrong() -> None:
    whole = StepLaw({(): [Lump(P[()], (0, 1), ONE)]})
    assert whole.first_wrong(small_model()) is None
    assert whole.total_variation(small_model()) == 0
    part = StepLaw({(): [Lump(P[()], (0,), Q(3))]})
    assert part.first_wrong(small_model()) == Wrong((0,), Fraction(1, 3), Fraction(1))
    other = StepLaw({(): [Lump(HALVES, (0, 1), ONE)]})
    assert other.total_variation(small_model()) == Fraction(1, 6)


def test_a_lump_has_the_mass_of_its_tokens() -> None:
    assert Lump(P[()], (1,), Q(1, 2)).mass == Q(1, 3)
    assert Lump(None, (1,), Q(1, 2)).mass == Q(1, 2)
    assert [
        Lump(law, among, ONE).whole(P[()]) for law, among in ((P[()], (0, 1)), (P[()], (1,)), (HALVES, (0, 1)))
    ] == [
        True,
        False,
        False,
    ]
    assert not Lump(None, (1,), ONE).whole(P[()])


@pytest.mark.parametrize("mass", ["1/2", "2"])
def test_a_step_law_has_mass_1(mass: str) -> None:
    with pytest.raises(SoundnessError, match=f"a step law has mass {mass}"):
        step(s0=mass)


def test_strings_come_by_accepted_prefix_and_none_has_probability_0() -> None:
    law = step(s11="1/4", s1="1/2", s00="0", s01="1/4")
    assert list(law.strings(2)) == [((1,), Fraction(1, 2)), ((0, 1), Fraction(1, 4)), ((1, 1), Fraction(1, 4))]
    assert law.emission((0,), 2) == [ZERO, Q(1, 4)]
    assert law.emission((1, 1), 2) == [ZERO, ZERO]


def test_acceptance_is_how_often_so_many_draft_tokens_are_accepted() -> None:
    law = step(s0="1/2", s10="1/3", s111="1/6")
    assert law.acceptance(3) == [Fraction(1, 2), Fraction(1, 6), Fraction(0)]
    assert law.expected_tokens == 1 + sum(law.acceptance(3))


def test_the_target_probability_is_the_product_along_the_string() -> None:
    assert [target_probability(small_model(), u) for u in ((), (0,), (0, 1), (1, 1))] == [ONE, Q(1, 3), Q(4, 15), ZERO]


def test_acceptance_can_be_asked_for_fewer_levels_than_are_accepted() -> None:
    assert StepLaw.of_strings({(0, 0, 0): ONE}).acceptance(1) == [Fraction(1)]
