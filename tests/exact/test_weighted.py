"""Masses and plans (arXiv 2310.15141, 2502.18779, 2605.04543): numbers, optimality, and masses that must be refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.greedy import Greedy
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.without_replacement import WithoutReplacement
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, Scheme
from rheo_proof.schemes.verifying.masses import Masses, PlanMaker, TupleLaw, Tuples, rejection_masses, rest_of
from rheo_proof.schemes.verifying.optimal_transport import OptimalTransport
from rheo_proof.schemes.verifying.plans import shortest_path_plan
from rheo_proof.schemes.verifying.univer_style import ScaledGreedy, UniverStyle
from rheo_proof.schemes.verifying.weighted import Weighted
from rheo_proof.schemes.verifying.weighted_rejection import WeightedRejection
from rheo_proof.schemes.zoo_weighted import OneLevel, planned, told
from rheo_proof.theorems.transport import by_subsets, optimal_plan
from tests.walking_zoo import PAIRS, agreed, best_acceptance, lossless, pair

DRAFTS: list[OneLevel] = [Iid(2, 2), WithoutReplacement(2, 2), Greedy(2, 2)]
TOY_P, TOY_Q = toy(1).target(()), toy(1).draft(())

with_every_draft = pytest.mark.parametrize("drafting", DRAFTS, ids=lambda one: type(one).__name__)


def letters(masses: Masses) -> dict[str, str]:
    return {"".join("abc"[x] for x in (*t, y)): str(mass) for (t, y), mass in masses.items()}


def test_the_plan_of_two_independent_drafts_is_the_one_of_the_design() -> None:
    assert letters(shortest_path_plan(TOY_P, Iid(2, 1).tuples(TOY_Q))) == {
        "aaa": "9/100",
        "aba": "1/50",
        "abb": "1/100",
        "aca": "9/50",
        "baa": "3/100",
        "bbb": "1/100",
        "bcb": "3/50",
        "caa": "9/50",
        "cbb": "3/50",
        "ccc": "1/5",
    }


@pytest.mark.parametrize(("family", "seed"), PAIRS)
def test_a_shortest_path_plan_is_feasible_and_optimal(family: str, seed: int) -> None:
    """Three independent computations of the optimum: augmenting paths, all subsets, and a flow by networkx."""
    p, q, _ = pair(family, seed)
    for tuples in (
        Iid(2, 1).tuples(q),
        WithoutReplacement(3, 1).tuples(q),
        Greedy(2, 1).tuples(q),
        Iid(3, 1).tuples(q),
    ):
        plan = shortest_path_plan(p, tuples)
        accepted = sum(plan.values(), ZERO)
        assert sum(rest_of(p.probs, tuples, plan), ZERO) == ONE - accepted
        assert accepted == best_acceptance(p, tuples) == by_subsets(p, tuples).acceptance
        assert accepted == sum(optimal_plan(p, tuples).values(), ZERO)


@pytest.mark.parametrize("plan", [shortest_path_plan, optimal_plan])
@pytest.mark.parametrize(
    ("drafting", "count"),
    [
        (Iid(2, 1), "21/25"),
        (Iid(3, 1), "971/1000"),
        (WithoutReplacement(2, 1), "139/140"),
        (WithoutReplacement(3, 1), "1"),
        (Greedy(2, 1), "19/20"),
    ],
)
def test_one_level_accepts_the_optimum(plan: PlanMaker, drafting: OneLevel, count: str) -> None:
    for rule in (OptimalTransport(plan, told(drafting)), UniverStyle(plan, told(drafting))):
        law = agreed(drafting, rule, toy(1))
        assert lossless(law, toy(1))
        assert law.expected_tokens - 1 == Fraction(count)


@pytest.mark.parametrize("plan", [shortest_path_plan, optimal_plan])
@with_every_draft
def test_verification_by_a_plan_is_lossless_whatever_optimal_plan_it_is(plan: PlanMaker, drafting: OneLevel) -> None:
    for family in FAMILIES:
        model = family_model(family, 4, 3, 2)
        for rule in (OptimalTransport(plan, told(drafting)), UniverStyle(plan, told(drafting))):
            assert lossless(law_by_classes(Scheme(drafting, rule), model), model), family


def halved(p: Law, tuples: Tuples) -> Masses:
    """A feasible plan that is not optimal."""
    return {key: mass / 2 for key, mass in shortest_path_plan(p, tuples).items()}


@with_every_draft
def test_verification_by_a_plan_needs_no_optimal_plan_to_be_lossless(drafting: OneLevel) -> None:
    for rule in (OptimalTransport(halved, told(drafting)), UniverStyle(halved, told(drafting))):
        law = law_by_classes(Scheme(drafting, rule), toy(2))
        assert lossless(law, toy(2))


SCALED: list[tuple[OneLevel, PlanMaker, str, str]] = [
    (Greedy(2, 2), shortest_path_plan, "277/150", "559/300"),
    (Greedy(2, 2), optimal_plan, "277/150", "559/300"),
    (WithoutReplacement(2, 2), shortest_path_plan, "2057/1050", "139/70"),
    (Iid(2, 2), shortest_path_plan, "57487/36000", "2963/1800"),
]


@pytest.mark.parametrize(("drafting", "plan", "top_down", "scaled"), SCALED)
def test_scaled_plans_accept_more_than_top_down_ones(
    drafting: OneLevel, plan: PlanMaker, top_down: str, scaled: str
) -> None:
    counts = []
    for rule in (OptimalTransport(plan, told(drafting)), UniverStyle(plan, told(drafting))):
        law = agreed(drafting, rule, toy(2))
        assert lossless(law, toy(2))
        counts.append(law.expected_tokens - 1)
    assert counts == [Fraction(top_down), Fraction(scaled)]


def reversed_plan(p: Law, tuples: Tuples) -> Masses:
    """The shortest path plan after renaming tokens in the opposite order."""

    def turned(tokens: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(len(p) - 1 - x for x in tokens)

    plan = shortest_path_plan(Law(reversed(p.probs)), {turned(t): mass for t, mass in tuples.items()})
    return {(turned(t), len(p) - 1 - y): mass for (t, y), mass in plan.items()}


def test_which_optimal_plan_is_used_changes_what_a_deeper_tree_accepts() -> None:
    """So a number for two levels has to say for which plan it is."""
    drafting = WithoutReplacement(2, 2)
    tuples = drafting.tuples(TOY_Q)
    assert sum(reversed_plan(TOY_P, tuples).values(), ZERO) == rational("139/140")
    law = law_by_classes(Scheme(drafting, UniverStyle(reversed_plan, told(drafting))), toy(2))
    assert lossless(law, toy(2))
    assert law.expected_tokens - 1 != Fraction(139, 70)


def test_scaled_plans_stay_below_the_bound_for_all_verifications() -> None:
    """E[tau] <= sum over non-root nodes of min(P(x), Pr[x in the tree]) = 279/140."""
    drafting = WithoutReplacement(2, 2)

    def among(q: Law, x: int) -> Q:
        return sum((mass for t, mass in drafting.tuples(q).items() if x in t), ZERO)

    bound = ZERO
    for x in range(3):
        first = among(toy(2).draft(()), x)
        bound += min(toy(2).target(())[x], first)
        for y in range(3):
            both = toy(2).target(())[x] * toy(2).target((x,))[y]
            bound += min(both, first * among(toy(2).draft((x,)), y))
    assert bound == rational("279/140") > rational("139/70")


def test_the_closed_form_for_greedy_drafts_is_optimal_and_lossless() -> None:
    drafting = Greedy(2, 2)
    for family in FAMILIES:
        model = family_model(family, 6, 3, 2)
        law = law_by_classes(Scheme(drafting, ScaledGreedy(told(drafting))), model)
        assert lossless(law, model), family
        p, tuples = model.target(()), drafting.tuples(model.draft(()))
        assert sum(ScaledGreedy(told(drafting)).masses(p.probs, tuples).values(), ZERO) == best_acceptance(p, tuples)
    assert lossless(agreed(drafting, ScaledGreedy(told(drafting)), toy(2)), toy(2))


def test_masses_of_rejection_are_those_of_the_chain_for_one_child() -> None:
    scaled = tuple(mass / 2 for mass in TOY_P)
    masses = rejection_masses(scaled, Iid(1, 1).tuples(TOY_Q))
    assert masses == {((x,), x): min(TOY_Q[x], scaled[x]) for x in range(3)}


def test_other_plan_makers_make_the_same_schemes_under_other_names() -> None:
    for named in planned(optimal_plan, "-flow"):
        assert named.name.endswith("-flow")
        scheme = named.build(named.fix(Parameters(slots=2, depth=1)))
        assert lossless(law_by_classes(scheme, toy(1)), toy(1))


INFEASIBLE: list[tuple[Masses, str]] = [
    ({((0,), 1): ONE / 8}, "token 1 of the drafted tuple"),
    ({((0,), 0): -ONE / 8}, "has the mass -1/8"),
    ({((2,), 2): ONE / 8}, "drafted tuple"),
    ({((0,), 0): ONE / 2}, "more than its probability 1/4"),
    ({((1,), 1): ONE / 2}, "token 1 has 1/4 more than its scaled target probability 1/4"),
]


@pytest.mark.parametrize(("masses", "message"), INFEASIBLE)
def test_masses_that_are_not_feasible_are_refused(masses: Masses, message: str) -> None:
    tuples: Tuples = {(0,): ONE / 4, (1,): 3 * ONE / 4}
    with pytest.raises(SoundnessError, match=message):
        rest_of((ONE / 2, ONE / 4), tuples, masses)


def test_a_law_of_tuples_that_is_no_law_is_refused() -> None:
    with pytest.raises(SoundnessError, match="mass 1/2, not 1"):
        rest_of((ONE, ZERO), {(0,): ONE / 2}, {})


def test_a_rule_notices_children_that_its_law_of_tuples_excludes() -> None:
    rules: list[tuple[TupleLaw, str]] = [
        (told(WithoutReplacement(2, 2)), "probability 0"),
        (told(Iid(3, 2)), "probability 0"),
    ]
    for tuples, message in rules:
        for rule in (WeightedRejection(tuples), OptimalTransport(shortest_path_plan, tuples)):
            with pytest.raises(SoundnessError, match=message):
                law_by_classes(Scheme(Iid(2, 1), rule), toy(1))


def uniform(q: Law, k: int) -> Tuples:
    """A false law of tuples: as if tokens were drawn uniformly."""
    return Iid(k, 1).tuples(Law(ONE / len(q) for _ in q))


@pytest.mark.parametrize("make", [WeightedRejection, lambda t: OptimalTransport(shortest_path_plan, t)])
def test_a_rule_that_is_told_a_wrong_law_of_tuples_is_refuted(make: type[WeightedRejection]) -> None:
    law = agreed(Iid(2, 1), make(uniform), toy(1))
    assert not lossless(law, toy(1))


class LastFirst(Weighted):
    """Tries the child of the largest token first: the order depends on the tokens, but D is that of the list."""

    def masses(self, scaled: tuple[Q, ...], tuples: Tuples) -> Masses:
        return {(t[::-1], y): mass for (t, y), mass in rejection_masses(scaled, tuples).items()}


def test_masses_for_another_order_than_that_of_the_list_are_infeasible() -> None:
    with pytest.raises(SoundnessError):
        law_by_classes(Scheme(WithoutReplacement(2, 1), LastFirst(told(WithoutReplacement(2, 1)))), toy(1))
