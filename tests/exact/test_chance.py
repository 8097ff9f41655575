"""Chance and its readings of one path: latent tokens, exact dice, tapes, scripts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_proof.exact.chance import Chance, Replay, Sample, Site, Tape, Var
from rheo_proof.exact.classes import Refining
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law, point
from rheo_proof.exact.number import ONE, ZERO, Q, rational, to_fraction
from rheo_proof.exact.replay import replay
from tests.strategies import fractions, laws

HERE: Site = ("token", 0, 0)
EPSILON = Q(1, 10**40)
HALVES = Law.read(["1/2", "1/2"])
MIXED = Law.read(["0", "1/3", "0", "1/2", "1/6"])

small_laws = st.integers(1, 4).flatmap(laws)


# Latent tokens


@pytest.mark.parametrize("other", [0, 1, "X", None, ("X",)], ids=repr)
def test_a_latent_token_compared_with_anything_else_raises(other: object) -> None:
    token = Var(("X",))
    comparisons: list[Callable[[], bool]] = [
        lambda: token == other,
        lambda: other == token,
        lambda: token != other,
        lambda: token in [other],
    ]
    for compare in comparisons:
        with pytest.raises(TypeError, match=r"latent token \('X',\) compared with"):
            compare()


def test_a_latent_token_is_no_condition() -> None:
    with pytest.raises(TypeError, match=r"latent token \('X',\) used as a condition"):
        bool(Var(("X",)))


def test_a_latent_token_equals_itself_and_its_namesake_only() -> None:
    assert Var(("X", 0)) == Var(("X", 0))
    assert hash(Var(("X", 0))) == hash(Var(("X", 0)))
    assert Var(("X", 0)) != Var(("X", 1))
    assert repr(Var(("X", 0))) == "Var('X', 0)"


def test_a_latent_token_is_not_let_into_a_reading_of_one_path() -> None:
    for chance in (Replay(), Tape({}), Sample(random.Random(0))):
        with pytest.raises(SoundnessError, match="belongs to another reading"):
            chance.value(Var(("X",)))


def readings() -> list[Chance]:
    return [Replay(), Tape({HERE: ZERO}), Sample(random.Random(0)), Refining({}, (), [])]


@pytest.mark.parametrize("a", [Q(-1, 2), Q(3, 2), 1, True, 0.5, "1/2"], ids=repr)
def test_a_coin_has_an_exact_probability(a: Q) -> None:
    for chance in readings():
        with pytest.raises(SoundnessError, match="a coin of probability"):
            chance.coin(a, HERE)


@pytest.mark.parametrize("chance", readings(), ids=lambda chance: type(chance).__name__)
def test_a_certain_coin_is_what_it_must_be(chance: Chance) -> None:
    assert chance.coin(ONE, HERE) is True
    assert chance.coin(ZERO, HERE) is False


def test_find_compares_and_value_looks() -> None:
    chance = Tape({HERE: Q(1, 2)})
    token = chance.latent(HALVES, HERE, ("X",))
    assert chance.value(token) == 1
    assert [chance.find(token, among) for among in ([0, 1], [1], [0], [])] == [1, 1, None, None]


# Exact dice


class Ticket(random.Random):
    """A generator that always rolls the same number."""

    def __init__(self, ticket: int) -> None:
        super().__init__(0)
        self.ticket = ticket
        self.sides: list[int] = []

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        """The ticket; how many there are is noted."""
        self.sides.append(start)
        return self.ticket


def law_of_dice(weights: Sequence[tuple[int, Q]]) -> dict[int, Fraction]:
    """The exact law of one pick: roll every side once."""
    sides = lcm(*(int(mass.denominator) for _, mass in weights))
    rolls: Counter[int] = Counter()
    for ticket in range(sides):
        generator = Ticket(ticket)
        rolls[Sample(generator).pick(weights, HERE)] += 1
        assert generator.sides == [sides]
    return {outcome: Fraction(count, sides) for outcome, count in rolls.items()}


@given(small_laws)
def test_exact_dice_have_the_law_exactly(law: Law) -> None:
    weights = [(x, law[x]) for x in law.support]
    assert law_of_dice(weights) == {x: mass for x, mass in enumerate(fractions(law)) if mass}


def test_exact_dice_are_exact_where_floats_are_not() -> None:
    weights = [(0, Q(1, 3)), (1, Q(1, 7)), (2, Q(11, 21))]
    assert law_of_dice(weights) == {0: Fraction(7, 21), 1: Fraction(3, 21), 2: Fraction(11, 21)}


def test_dice_for_weights_that_are_no_law_are_noticed() -> None:
    with pytest.raises(SoundnessError, match="do not sum to 1"):
        Sample(Ticket(5)).pick([(0, Q(1, 2)), (1, Q(1, 6))], HERE)


def test_dice_draw_and_toss_through_pick() -> None:
    assert [Sample(Ticket(ticket)).draw(MIXED, HERE) for ticket in range(6)] == [1, 1, 3, 3, 3, 4]
    assert [Sample(Ticket(ticket)).coin(Q(2, 3), HERE) for ticket in range(3)] == [True, True, False]


# Tapes


def on_tape(u: Q, law: Law, order: Sequence[int] | None = None) -> int:
    chance = Tape({HERE: u})
    token = chance.value(chance.latent(law, HERE, ("X",), order))
    assert chance.used == [HERE]
    return token


@pytest.mark.parametrize(
    ("u", "token"),
    [("0", 1), ("1/3", 3), ("5/6", 4)],
)
def test_at_a_boundary_of_the_cdf_the_next_token_is_drawn(u: str, token: int) -> None:
    at, before = rational(u), rational(u) - EPSILON
    assert on_tape(at, MIXED) == token
    assert u == "0" or on_tape(before, MIXED) == {3: 1, 4: 3}[token]
    assert on_tape(ONE - EPSILON, MIXED) == 4


@given(small_laws, st.fractions(0, 1).filter(lambda u: u < 1), st.randoms(use_true_random=False))
def test_a_token_is_drawn_iff_the_uniform_lies_in_its_stretch(law: Law, u: Fraction, shuffler: random.Random) -> None:
    """Also in an order of its own; never a token of probability 0."""
    order = list(range(len(law)))
    shuffler.shuffle(order)
    token = on_tape(rational(u), law, order)
    below = sum((fractions(law)[x] for x in order[: order.index(token)]), Fraction(0))
    assert below <= u < below + fractions(law)[token]


def test_the_order_of_a_draw_decides_which_token_a_uniform_means() -> None:
    assert on_tape(ZERO, MIXED) == 1
    assert on_tape(ZERO, MIXED, [4, 3, 2, 1, 0]) == 4
    assert on_tape(ZERO, MIXED, [0, 2, 3, 1, 4]) == 3


@pytest.mark.parametrize(("u", "heads"), [("0", True), ("1/3", True), ("2/3", False), ("5/6", False)])
def test_a_coin_is_true_iff_the_uniform_is_below(u: str, heads: bool) -> None:
    assert Tape({HERE: rational(u)}).coin(Q(2, 3), HERE) is heads
    assert Tape({HERE: Q(2, 3) - EPSILON}).coin(Q(2, 3), HERE) is True


@pytest.mark.parametrize("u", [ONE, Q(-1, 5), Q(3, 2)], ids=str)
def test_a_uniform_outside_of_the_interval_is_refused(u: Q) -> None:
    with pytest.raises(SoundnessError, match=r"outside \[0, 1\)"):
        on_tape(u, HALVES)


def test_an_order_that_leaves_out_a_token_is_noticed() -> None:
    with pytest.raises(SoundnessError, match="do not sum to 1"):
        on_tape(Q(5, 6), MIXED, [1, 3])


def test_a_tape_is_read_at_the_site_of_the_request() -> None:
    chance = Tape({HERE: ZERO, ("token", 1, 0): Q(1, 2), ("coin", 0, 1): Q(1, 4)})
    assert chance.draw(HALVES, ("token", 1, 0)) == 1
    assert chance.coin(Q(1, 4), ("coin", 0, 1)) is False
    assert chance.used == [("token", 1, 0), ("coin", 0, 1)]
    with pytest.raises(KeyError):
        chance.draw(HALVES, ("draft", 0, 0))


# Scripts


def two_draws(chance: Chance) -> tuple[int, bool, int]:
    first = chance.draw(MIXED, HERE)
    heads = chance.coin(Q(1, 4) if first == 3 else ONE, ("coin", 0, 1))
    return first, heads, chance.draw(HALVES if heads else point(0, 2), HERE)


def test_a_script_is_followed_and_weighed() -> None:
    chance = Replay([1, 1])
    assert two_draws(chance) == (3, False, 0)
    assert (chance.taken, chance.options, chance.weight) == ([1, 1, 0], [3, 2, 1], Q(3, 8))


def test_without_a_script_the_first_outcomes_are_taken() -> None:
    chance = Replay()
    assert two_draws(chance) == (1, True, 0)
    assert (chance.taken, chance.options, chance.weight) == ([0, 0, 0], [3, 1, 2], Q(1, 6))


def test_replay_of_a_program_worked_out_by_hand() -> None:
    paths: list[int] = []
    law = replay(two_draws, paths.append)
    assert {value: to_fraction(mass) for value, mass in law.items()} == {
        (1, True, 0): Fraction(1, 6),
        (1, True, 1): Fraction(1, 6),
        (3, True, 0): Fraction(1, 16),
        (3, True, 1): Fraction(1, 16),
        (3, False, 0): Fraction(3, 8),
        (4, True, 0): Fraction(1, 12),
        (4, True, 1): Fraction(1, 12),
    }
    assert paths == list(range(1, 8))


def test_replay_adds_up_the_paths_that_end_alike() -> None:
    sums = replay(lambda chance: sum(chance.coin(Q(1, 3), ("coin", level, 1)) for level in range(3)))
    assert [to_fraction(sums[heads]) for heads in range(4)] == [Fraction(n, 27) for n in (8, 12, 6, 1)]


def test_replay_of_a_program_without_chance_is_one_path() -> None:
    assert replay(lambda chance: "done") == {"done": ONE}


def test_replay_can_be_stopped() -> None:
    class Enough(Exception):
        pass

    def stop(paths: int) -> None:
        if paths == 3:
            raise Enough

    with pytest.raises(Enough):
        replay(two_draws, stop)


def test_replay_notices_a_program_that_is_not_a_function_of_its_draws() -> None:
    runs = Counter[str]()

    def forgetful(chance: Chance) -> bool:
        """Tosses its coin in the first run only."""
        runs["started"] += 1
        return runs["started"] == 1 and chance.coin(Q(1, 2), HERE)

    with pytest.raises(SoundnessError, match="total probability 3/2"):
        replay(forgetful)
