"""Optimal acceptance of one level: subset formula, maximal flow and POT agree; plans that accept more are refused."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from itertools import permutations

import pytest

from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.theorems.transport import (
    MOST_TOKENS,
    Plan,
    Tuples,
    accepted_by,
    by_linear_program,
    by_max_flow,
    by_subsets,
    optimal_plan,
    tolerance,
    within,
)

A, B, C = range(3)
P, TOY_Q = toy(1).target(()), toy(1).draft(())


def iid(q: Law, n: int) -> Tuples:
    return Iid(n, 1).tuples(q)


def without_replacement(q: Law, n: int) -> Tuples:
    tuples: Tuples = {}
    for t in permutations(q.support, min(n, len(q.support))):
        mass, left = ONE, ONE
        for x in t:
            mass, left = mass * q[x] / left, left - q[x]
        tuples[t] = mass
    return tuples


def greedy(q: Law, n: int) -> Tuples:
    """The n - 1 best tokens and one draw from the others."""
    order = sorted(q.support, key=lambda x: (-q[x], x))
    top, tail = tuple(order[: n - 1]), order[n - 1 :]
    return {(*top, x): q[x] / q.mass(tail) for x in tail} if tail else {top: ONE}


LAWS: dict[str, Callable[[Law, int], Tuples]] = {
    "iid": iid,
    "without replacement": without_replacement,
    "greedy": greedy,
}

TOY = [
    ("iid", 1, "3/5", (C,)),
    ("iid", 2, "21/25", (C,)),
    ("iid", 3, "971/1000", (A, C)),
    ("without replacement", 2, "139/140", (A, C)),
    ("without replacement", 3, "1", ()),
    ("greedy", 2, "19/20", (A, C)),
]


@pytest.mark.parametrize(("kind", "n", "acceptance", "inside"), TOY)
def test_optimum_of_the_toy_is_the_known_fraction(kind: str, n: int, acceptance: str, inside: tuple[int, ...]) -> None:
    tuples = LAWS[kind](TOY_Q, n)
    cut = by_subsets(P, tuples)
    assert (cut.acceptance, cut.inside) == (rational(acceptance), inside)
    assert cut.acceptance == ONE + P.mass(inside) - within(tuples, inside)
    assert by_max_flow(P, tuples)[0] == cut.acceptance
    low, high = by_linear_program(P, tuples)
    assert low <= cut.acceptance <= high


def test_the_written_plan_of_two_draws_is_feasible_and_optimal() -> None:
    entries = {
        ((A, A), A): "9/100",
        ((A, B), A): "1/50",
        ((A, B), B): "1/100",
        ((A, C), A): "9/50",
        ((B, A), A): "3/100",
        ((B, B), B): "1/100",
        ((B, C), B): "3/50",
        ((C, A), A): "9/50",
        ((C, B), B): "3/50",
        ((C, C), C): "1/5",
    }
    plan: Plan = {place: rational(mass) for place, mass in entries.items()}
    assert accepted_by(P, iid(TOY_Q, 2), plan) == rational("21/25")


def instance(seed: int) -> tuple[Law, Tuples]:
    rng = random.Random(f"transport/{seed}")
    model = family_model(rng.choice(list(FAMILIES)), seed, rng.randint(2, 4), 1)
    return model.target(()), LAWS[rng.choice(list(LAWS))](model.draft(()), rng.randint(1, 3))


def test_the_three_ways_agree_on_random_instances() -> None:
    optima = set()
    for seed in range(120):
        p, tuples = instance(seed)
        optimum, (value, plan) = by_subsets(p, tuples).acceptance, by_max_flow(p, tuples)
        assert value == accepted_by(p, tuples, plan) == optimum
        low, high = by_linear_program(p, tuples)
        assert low <= optimum <= high
        assert high - low <= tolerance(len(tuples), len(p))
        optima.add(optimum)
    assert len(optima - {ONE}) > 30


def test_no_tuple_is_worth_less_than_its_best_member_alone() -> None:
    for seed in range(40):
        p, tuples = instance(seed)
        single: Tuples = {}
        for t, mass in tuples.items():
            single[t[:1]] = single.get(t[:1], ZERO) + mass
        alone = by_subsets(p, single).acceptance
        assert alone == sum((min(p[x], mass) for (x,), mass in single.items()), ZERO)
        assert alone <= by_subsets(p, tuples).acceptance


def test_a_plan_read_as_a_verification_leaves_a_residual_that_is_a_law() -> None:
    tuples = iid(TOY_Q, 2)
    plan = optimal_plan(P, tuples)
    accepted = [sum((mass for (_, y), mass in plan.items() if y == x), ZERO) for x in range(3)]
    left = [p - m for p, m in zip(P, accepted, strict=True)]
    assert min(left) >= ZERO
    assert sum(left, ZERO) == ONE - by_subsets(P, tuples).acceptance


def test_candidates_of_no_mass_and_no_candidates_at_all() -> None:
    assert optimal_plan(P, {(): ONE}) == {}
    tuples = {(A,): ONE, (B,): ZERO, (): ZERO}
    assert optimal_plan(P, tuples) == {((A,), A): P[A]}
    low, high = by_linear_program(P, tuples)
    assert low <= P[A] <= high


# What must be refused


OVER = [
    ({((A, A), A): Q(1, 10)}, "from (0, 0), which is proposed with 9/100"),
    ({((A, A), B): Q(1, 100)}, "accepts 1 from (0, 0)"),
    ({((C, C), C): Q(1, 5), ((A, C), C): Q(1, 100)}, "token 2 with 21/100, the target allows 1/5"),
    ({((A, B), A): Q(-1, 100)}, "with -1/100"),
    ({((B, B, B), B): Q(1, 100)}, "proposed with 0"),
]


@pytest.mark.parametrize(("plan", "message"), OVER)
def test_a_plan_that_accepts_too_much_is_refused(plan: Plan, message: str) -> None:
    with pytest.raises(SoundnessError) as error:
        accepted_by(P, iid(TOY_Q, 2), plan)
    assert message in str(error.value)


def test_an_optimal_plan_with_any_entry_raised_is_refused() -> None:
    tuples = iid(TOY_Q, 2)
    plan = optimal_plan(P, tuples)
    refused = 0
    for place in plan:
        with pytest.raises(SoundnessError):
            accepted_by(P, tuples, {**plan, place: plan[place] + (ONE - by_subsets(P, tuples).acceptance)})
        refused += 1
    assert refused == len(plan) > 5


def test_a_wrong_answer_of_the_linear_program_would_be_outside_its_bounds() -> None:
    tuples = iid(TOY_Q, 2)
    low, high = by_linear_program(P, tuples)
    assert not low <= rational("19/25") <= high
    assert not low <= rational("21/25") + tolerance(len(tuples), 3) <= high


@pytest.mark.parametrize("tuples", [{(A,): Q(1, 2)}, {(3,): ONE}, {(A,): Q(3, 2), (B,): Q(-1, 2)}, {(A,): 1}])
@pytest.mark.parametrize("way", [by_subsets, by_max_flow, by_linear_program])
def test_candidates_without_a_law_are_refused(way: Callable[[Law, Tuples], object], tuples: Tuples) -> None:
    with pytest.raises(InputError, match="candidates"):
        way(P, tuples)


def test_subsets_of_many_tokens_are_refused_and_a_plan_is_still_found() -> None:
    many = MOST_TOKENS + 1
    law = Law([Q(1, many)] * many)
    tuples = iid(law, 1)
    with pytest.raises(InputError, match="too many subsets"):
        by_subsets(law, tuples)
    assert accepted_by(law, tuples, optimal_plan(law, tuples)) == ONE


@pytest.mark.parametrize(("module", "way"), [("networkx", by_max_flow), ("ot", by_linear_program)])
def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, module: str, way: Callable[[Law, Tuples], object]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=r"needs (networkx|POT); pip install 'rheo-proof\[transport\]'"):
        way(P, iid(TOY_Q, 2))
