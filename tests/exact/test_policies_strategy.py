"""The policy that exposes a rule: it does what it says, replay agrees, and a wrong one is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from rheo_proof.exact.errors import LimitReached, SoundnessError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import ZERO, Q, to_fraction
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.laws import law_by_replay
from rheo_proof.schemes.scheme import Parameters, Scheme
from rheo_proof.theorems.adversary import AGAINST, Adversary
from rheo_proof.theorems.exposing import Exposed, exposed, smallest
from rheo_proof.theorems.induction import bounds
from rheo_proof.theorems.policies import Policies, State
from rheo_proof.theorems.strategy import Followed, Strategy, attaining, checked, lines, starts_with

FAULTS = [name for name, named in AGAINST.items() if not named.lossless]


def against(name: str, size: tuple[int, int, int], *heads: int, **more: bool) -> Adversary:
    depth, slots, nodes = size
    return Adversary(name, Parameters(depth=depth, slots=slots, nodes=nodes), heads, **more)


def found(adversary: Adversary, family: str = "random", seed: int = 0, vocab: int = 3) -> Exposed:
    each = exposed(adversary, family_model(family, seed, vocab, adversary.parameters.depth))
    assert each is not None
    return each


def steps(strategy: Strategy) -> Iterator[Strategy]:
    yield strategy
    for _, then in strategy.then:
        yield from steps(then)


@pytest.mark.parametrize("name", [*FAULTS, "rrsw"])
def test_replay_under_the_strategy_is_biased_by_what_induction_says(name: str) -> None:
    each = found(against(name, (2, 2, 3), 1))
    policies = each.adversary.policies(each.model)
    law = law_by_replay(Scheme(Followed(each.strategy, policies.draftings), policies.verifying), each.model)
    assert to_fraction(starts_with(law, each.model, each.string)) == each.actual != each.expected
    assert law.first_wrong(each.model) is not None
    assert law.total_variation(each.model) == each.tv >= abs(each.actual - each.expected)
    assert all(len(step.state.nodes) <= 3 for step in steps(each.strategy))


def test_a_strategy_is_written_as_it_is_followed() -> None:
    each = found(against("rrsw", (1, 2, 2), 1))
    assert (each.string, str(each.expected), str(each.actual)) == ((0,), "5/11", "28/55")
    assert each.text == (
        "insert the sampled slot of the root:",
        "  if X = 1: stop",
        "  if X = 2:",
        "    insert the head 0 (slot 0) below the root",
        "    stop",
    )


def test_a_control_looks_before_it_inserts_and_says_so() -> None:
    each = found(against("rheo", (1, 1, 1), 0, peek=True))
    assert each.text[0] == "look at X, the sampled token of the root:"
    assert any("insert the sampled slot of the root, which was looked at" in line for line in each.text)
    assert each.tv > 0


def test_without_a_policy_that_shows_it_there_is_none() -> None:
    assert exposed(against("rheo", (2, 2, 3), 1), toy(2)) is None
    assert smallest([against("rheo", (1, 2, 2), 1)], 3) is None


@pytest.mark.parametrize("upper", [False, True])
def test_every_extreme_is_attained_in_replay(upper: bool) -> None:
    for name, m in (("rrsw", 1), ("bottom-up", 1), ("flow-layers", 1), ("flow", 0)):
        policies = against(name, (2, 2, 3), m).policies(family_model("peaked", 0, 3, 2))
        extremes = bounds(policies)
        for v, low, high in list(zip(extremes.strings, extremes.low, extremes.high, strict=True))[::7]:
            strategy = attaining(policies, v, upper)
            assert strategy.value == (high if upper else low)
            assert starts_with(checked(policies, strategy, v), policies.model, v) == strategy.value


def test_a_policy_that_may_choose_m_is_followed_too() -> None:
    each = found(against("bottom-up", (2, 2, 3), 0, 1, 2))
    assert each.actual != each.expected
    chosen = {step.action.slot for step in steps(each.strategy) if step.action and step.action.kind == "sampled"}
    assert chosen <= {0, 1}


def test_another_value_or_another_strategy_is_an_error() -> None:
    each = found(against("rrsw", (1, 2, 2), 1))
    policies = each.adversary.policies(each.model)
    with pytest.raises(SoundnessError, match="backward induction 5/11"):
        checked(policies, replace(each.strategy, value=each.strategy.value * 0 + policies.model.target(())[0]), (0,))
    stop = Strategy(policies.start(), None, each.strategy.value)
    with pytest.raises(SoundnessError, match="replay finds 5/11"):
        checked(policies, stop, (0,))


def test_stop_is_the_strategy_where_nothing_needs_to_be_inserted() -> None:
    policies = against("rheo", (2, 2, 3), 1).policies(toy(2))
    for v in ((0,), (1, 2), (2, 1, 0)):
        strategy = attaining(policies, v, upper=True)
        assert (strategy.size, lines(policies, strategy)) == (1, ["stop"])


Outcomes = set[tuple[Q, int]]


def outcomes(policies: Policies, state: State, v: Prefix) -> Outcomes:
    """The probability of v and the number of states, for every strategy from a state on."""
    found: Outcomes = {(starts_with(policies.stop(state), policies.model, v), 1)}
    for action in policies.actions(state):
        after = [(mass, outcomes(policies, reached, v)) for _, mass, reached in policies.successors(state, action)]
        for each in product(*(those for _, those in after)):
            value = sum((mass * then[0] for (mass, _), then in zip(after, each, strict=True)), ZERO)
            found.add((value, 1 + sum(size for _, size in each)))
    return found


@pytest.mark.parametrize("name", ["skip-residual", "rrsw"])
@pytest.mark.parametrize(("upper", "sign"), [(True, 1), (False, -1)])
def test_of_the_policies_that_attain_an_extreme_one_of_the_shortest_is_shown(name: str, upper: bool, sign: int) -> None:
    policies = against(name, (2, 2, 2), 1).policies(family_model("random", 0, 3, 2))
    several = 0
    for v in ((0,), (1,), (1, 0), (2, 1, 0)):
        every = outcomes(policies, policies.start(), v)
        best = max(sign * value for value, _ in every)
        sizes = [size for value, size in every if sign * value == best]
        strategy = attaining(policies, v, upper)
        assert (sign * strategy.value, strategy.size) == (best, min(sizes))
        assert strategy.size == len(list(steps(strategy)))
        several += len(sizes) > 1
    assert several > 0


# The smallest sizes

SMALLEST = {
    "rrsw": (3, 1, 2, 2),
    "bottom-up": (3, 2, 2, 3),
    "flow-depth-first": (2, 2, 2, 4),
    "flow-layers": (3, 2, 2, 3),
    "skip-residual": (2, 1, 1, 1),
    "second-token": (2, 2, 1, 2),
}
"""V, D, K, N."""


@pytest.mark.parametrize("name", SMALLEST)
def test_smallest_sizes_are_the_first_that_refute(name: str) -> None:
    sizes: list[tuple[int, int, int, int]] = []
    adversaries = [against(name, (2, 2, 4), m) for m in range(2)]
    each = smallest(adversaries, 3, told=sizes.append)
    assert each is not None
    p = each.adversary.parameters
    assert (each.model.vocab, p.depth, p.slots, p.nodes) == sizes[-1] == SMALLEST[name]
    assert sizes == sorted(sizes)


def test_nothing_smaller_refutes_bottom_up() -> None:
    for family, m in product(FAMILIES, range(2)):
        for vocab, size in ((2, (2, 2, 6)), (3, (1, 3, 3)), (3, (2, 2, 2))):
            model = family_model(family, 0, vocab, size[0])
            assert bounds(against("bottom-up", size, m).policies(model)).lossless


def test_a_model_of_ones_own_is_searched_alone() -> None:
    model = family_model("random", 0, 3, 2)
    each = smallest([against("rrsw", (2, 3, 4), m) for m in range(4)], 3, model)
    assert each is not None
    assert each.model is model
    assert each.adversary.parameters.nodes == 2


def test_a_limit_ends_the_search() -> None:
    with pytest.raises(LimitReached, match="more than 3 states"):
        smallest([against("rrsw", (2, 3, 4), 1)], 3, most=3)
