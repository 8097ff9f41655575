"""The class enumerator: refining, merging, and what it refuses."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_proof.exact.chance import Chance, Token, Var
from rheo_proof.exact.classes import Belief, Beliefs, Classes, Weight, box, coarsest, explore, successors
from rheo_proof.exact.errors import InputError, LimitReached, SoundnessError
from rheo_proof.exact.families import family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import ONE, ZERO, Q, to_fraction
from rheo_proof.schemes.laws import class_law, draft_classes, law_by_classes, law_by_replay
from rheo_proof.schemes.scheme import Parameters, plain

LAWS = (Law.read(["1/2", "1/3", "1/6"]), Law.read(["1/4", "1/4", "1/2"]))
X, Y = ("X",), ("Y",)
SITE = ("draft", 0, 0)


class At(NamedTuple):
    """A state of the little programs below: how far, and the tokens drawn so far."""

    clock: int
    tokens: tuple[Token, ...] = ()

    @property
    def progress(self) -> tuple[int, ...]:
        return (self.clock,)

    def variables(self) -> Iterator[Var]:
        return (token for token in self.tokens if isinstance(token, Var))


class End(NamedTuple):
    """A final value."""

    value: object
    token: Token = 0

    def variables(self) -> Iterator[Var]:
        return iter([self.token] if isinstance(self.token, Var) else [])


Program = Callable[..., Any]


def explored(step: Program, limits: Limits | None = None) -> tuple[Classes, int]:
    return explore(step, {At(0): {(): Weight(ONE, 1)}}, End, limits or Limits())


def law_of(finals: Classes) -> dict[object, Fraction]:
    return {
        state.value: sum((to_fraction(weight.mass) for weight in known.values()), Fraction(0))
        for state, known in finals.items()
    }


# Exploring


def is_it_0(state: At, chance: Chance) -> At | End:
    """Draw X, ask whether it is 0, then end with X itself."""
    if state.clock == 0:
        return At(1, (chance.latent(LAWS[0], SITE, X),))
    return End(chance.find(state.tokens[0], [0]), state.tokens[0])


def test_a_token_is_split_only_where_it_is_asked_about() -> None:
    finals, walked = explored(is_it_0)
    assert finals == {
        End(0, Var(X)): {((X, Belief(LAWS[0], (0,), Q(1, 2))),): Weight(Q(1, 2), 1)},
        End(None, Var(X)): {((X, Belief(LAWS[0], (1, 2), Q(1, 2))),): Weight(Q(1, 2), 2)},
    }
    assert walked == 2


def forget(state: At, chance: Chance) -> At | End:
    """Look at X completely, then go on the same way whatever it is."""
    if state.clock == 0:
        return At(1, (chance.latent(LAWS[0], SITE, X),))
    if state.clock == 1:
        chance.value(state.tokens[0])
        return At(2, state.tokens)
    return End("done", state.tokens[0])


def test_values_whose_difference_does_not_matter_become_one_class_again() -> None:
    finals, walked = explored(forget)
    assert finals == {End("done", Var(X)): {((X, Belief(LAWS[0], (0, 1, 2), ONE)),): Weight(ONE, 3)}}
    assert walked == 3


def biased(state: At, chance: Chance) -> At | End:
    """As above, but X = 0 goes on in half of the cases only: then X no longer has its law."""
    if state.clock == 1 and chance.value(state.tokens[0]) == 0 and chance.coin(Q(1, 2), ("coin", 0, 1)):
        return End("stopped")
    return forget(state, chance)


def test_values_that_no_longer_have_their_law_stay_apart() -> None:
    finals, _ = explored(biased)
    assert law_of(finals) == {"stopped": Fraction(1, 4), "done": Fraction(3, 4)}
    assert finals[End("done", Var(X))] == {
        ((X, Belief(LAWS[0], (0,), Q(1, 2))),): Weight(Q(1, 4), 1),
        ((X, Belief(LAWS[0], (1, 2), Q(1, 2))),): Weight(Q(1, 2), 2),
    }


def test_a_token_that_can_only_be_one_is_known_at_once() -> None:
    assert explored(lambda state, chance: End(chance.latent(Law.read([0, 1]), SITE, X)))[0] == {
        End(1): {(): Weight(ONE, 1)}
    }


def test_looking_twice_answers_the_same() -> None:
    def step(state: At, chance: Chance) -> End:
        token = chance.latent(LAWS[0], SITE, X)
        first = chance.find(token, [0, 1])
        assert first in (0, 1, None)
        assert chance.find(token, [2]) == (2 if first is None else None)
        assert (chance.find(token, [0, 1]), chance.value(token)) == (first, 2 if first is None else first)
        return End(chance.value(token))

    assert law_of(explored(step)[0]) == {0: Fraction(1, 2), 1: Fraction(1, 3), 2: Fraction(1, 6)}


def test_every_outcome_of_a_step_has_its_probability() -> None:
    def step(state: At, chance: Chance) -> End:
        return End((chance.coin(Q(1, 4), ("coin", 0, 0)), chance.draw(LAWS[0], SITE)))

    program: Program = step
    outcomes = {reached.value: to_fraction(chance) for reached, _, chance, _ in successors(program, At(0), ())}
    heads = {True: Fraction(1, 4), False: Fraction(3, 4)}
    assert outcomes == {(side, x): heads[side] * to_fraction(LAWS[0][x]) for side in heads for x in range(3)}


def test_a_start_in_a_final_state_is_the_end() -> None:
    start: Classes = {End("done"): {(): Weight(Q(1, 2), 1)}}
    assert explore(lambda state, chance: End(""), start, End, Limits()) == (start, 0)
    assert sum((weight.mass for weight in start[End("done")].values()), ZERO) == Q(1, 2)


# What is refused


@pytest.mark.parametrize("clock", [0, -1])
def test_a_step_without_progress_is_refused(clock: int) -> None:
    with pytest.raises(SoundnessError, match="no progress"):
        explored(lambda state, chance: At(clock), Limits(classes=10))


def test_two_latent_tokens_of_one_name_are_refused() -> None:
    def step(state: At, chance: Chance) -> End:
        return End((chance.latent(LAWS[0], SITE, X), chance.latent(LAWS[1], SITE, X)))

    with pytest.raises(SoundnessError, match=r"two latent tokens named \('X',\)"):
        explored(step)


def test_a_name_of_a_token_that_is_still_referred_to_is_refused() -> None:
    def step(state: At, chance: Chance) -> At:
        return At(state.clock + 1, (*state.tokens, chance.latent(LAWS[0], SITE, X)))

    with pytest.raises(SoundnessError, match="two latent tokens named"):
        explored(step)


def test_a_name_may_be_used_again_once_its_token_is_forgotten() -> None:
    def step(state: At, chance: Chance) -> At | End:
        y = chance.latent(LAWS[0], SITE, X)
        return At(state.clock + 1) if state.clock < 2 else End("done", y)

    assert list(law_of(explored(step)[0]).values()) == [1]


@pytest.mark.parametrize("second", [ONE, Q(1, 2)], ids=["mass is made", "mass is lost"])
def test_a_program_that_is_not_a_function_of_its_answers_is_noticed(second: Q) -> None:
    runs = Counter[str]()

    def step(state: At, chance: Chance) -> End:
        """Toss a coin of another probability in the second run."""
        runs["started"] += 1
        return End(chance.coin(Q(1, 3) if runs["started"] == 1 else second, ("coin", 0, 1)))

    with pytest.raises(SoundnessError, match="probability was lost"):
        explored(step)
    assert runs["started"] == 2


def test_a_state_that_hides_a_latent_token_cannot_look_at_it_later() -> None:
    class Hiding(At):
        def variables(self) -> Iterator[Var]:
            return iter(())

    def step(state: At, chance: Chance) -> At | End:
        if state.clock == 0:
            return Hiding(1, (chance.latent(LAWS[0], SITE, X),))
        return End(chance.value(state.tokens[0]))

    with pytest.raises(KeyError):
        explored(step)


# Limits


def test_a_limit_on_classes_is_kept() -> None:
    drafting, model = Parameters(depth=2).drafting(), family_model("random", 0, 4, 2)
    needed = draft_classes(drafting, model).walked
    assert draft_classes(drafting, model, Limits(classes=needed)).walked == needed
    with pytest.raises(LimitReached, match=f"more than {needed - 1} classes"):
        draft_classes(drafting, model, Limits(classes=needed - 1))


def test_a_limit_is_shared_by_drafting_and_verification() -> None:
    scheme, model = plain(Parameters(depth=2)), family_model("random", 0, 4, 2)
    drafted = draft_classes(scheme.drafting, model)
    needed = drafted.walked + class_law(scheme.verifying, model, drafted)[1]
    law_by_classes(scheme, model, Limits(classes=needed))
    with pytest.raises(LimitReached):
        law_by_classes(scheme, model, Limits(classes=needed - 1))


def test_a_deadline_is_kept() -> None:
    model = family_model("random", 0, 3, 1)
    drafting = Parameters(depth=1).drafting()
    assert draft_classes(drafting, model, Limits(deadline=time.monotonic() + 3600)).count
    with pytest.raises(LimitReached, match="out of time"):
        draft_classes(drafting, model, Limits(deadline=time.monotonic() - 1))


@pytest.mark.parametrize("enumerate_", [law_by_classes, law_by_replay])
def test_a_model_that_is_not_deep_enough_is_refused(enumerate_: Callable[..., object]) -> None:
    with pytest.raises(InputError, match="random 0: depth 1 is less than the scheme's depth 2"):
        enumerate_(plain(Parameters(depth=2)), family_model("random", 0, 2, 1))


# Merging


Point = tuple[tuple[Law, int], ...]


def points(entries: dict[Beliefs, Weight]) -> dict[Point, tuple[Fraction, Fraction]]:
    """The same classes, token by token: mass and number of assignments of every value of the latent tokens."""
    spread: dict[Point, tuple[Fraction, Fraction]] = {}
    for known, weight in entries.items():
        for values in product(*(belief.among for _, belief in known)):
            mass, count = weight.mass, Fraction(weight.assignments, box(known))
            for x, (_, belief) in zip(values, known, strict=True):
                mass = mass * belief.law[x] / belief.mass
            point = tuple((belief.law, x) for x, (_, belief) in zip(values, known, strict=True))
            before = spread.get(point, (Fraction(0), Fraction(0)))
            spread[point] = (before[0] + to_fraction(mass), before[1] + count)
    return spread


@st.composite
def classes(draw: st.DrawFn) -> dict[Beliefs, Weight]:
    """Classes of one state with two latent tokens: many of equal density, some not, some overlapping."""

    def belief() -> Belief:
        law = LAWS[draw(st.sampled_from([0, 0, 1]))]
        among = tuple(sorted(draw(st.sets(st.integers(0, 2), min_size=1))))
        return Belief(law, among, law.mass(among))

    entries: dict[Beliefs, Weight] = {}
    for _ in range(draw(st.integers(0, 8))):
        known: Beliefs = ((X, belief()), (Y, belief()))
        density, copies = draw(st.sampled_from([ONE, ONE, ONE / 2])), draw(st.sampled_from([1, 1, 2]))
        mass = known[0][1].mass * known[1][1].mass
        entries[known] = Weight(density * mass, copies * box(known))
    return entries


@given(classes())
def test_joining_classes_never_changes_the_measure(entries: dict[Beliefs, Weight]) -> None:
    joined = coarsest(dict(entries))
    assert points(joined) == points(entries)
    assert len(joined) <= len(entries)
    for known, weight in joined.items():
        assert weight.assignments % box(known) == 0
        assert all(belief.mass == belief.law.mass(belief.among) for _, belief in known)


def known(*among: tuple[int, ...], law: Law = LAWS[0]) -> Beliefs:
    return tuple((name, Belief(law, part, law.mass(part))) for name, part in zip((X, Y), among, strict=False))


def test_classes_of_equal_density_are_joined_along_every_token() -> None:
    parts = [((0,), (0,)), ((1, 2), (0,)), ((0,), (1, 2)), ((1, 2), (1, 2))]
    squares = {known(a, b): Weight(LAWS[0].mass(a) * LAWS[0].mass(b), len(a) * len(b)) for a, b in parts}
    assert coarsest(squares) == {known((0, 1, 2), (0, 1, 2)): Weight(ONE, 9)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((known((0,)), Weight(Q(1, 2), 1)), (known((1,)), Weight(Q(1, 2), 1))),
        ((known((0,)), Weight(Q(1, 2), 1)), (known((1,)), Weight(Q(1, 3), 2))),
        ((known((0, 1)), Weight(Q(5, 6), 2)), (known((1, 2)), Weight(Q(1, 2), 2))),
        ((known((0,)), Weight(Q(1, 2), 1)), (known((1,), law=LAWS[1]), Weight(Q(1, 4), 1))),
        ((known((0,), (0,)), Weight(Q(1, 4), 1)), (known((1,), (1,)), Weight(Q(1, 9), 1))),
    ],
    ids=["another density", "another count", "overlapping", "another law", "two tokens differ"],
)
def test_other_classes_are_left_as_they_are(first: tuple[Beliefs, Weight], second: tuple[Beliefs, Weight]) -> None:
    assert coarsest(dict([first, second])) == dict([first, second])
