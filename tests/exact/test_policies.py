"""All predictable policies: who is lossless under all of them, who is not, and that the extremes are the extremes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.files import read_model
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ZERO, Q, to_fraction
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, Scheme
from rheo_proof.schemes.variations import DuplicateFills
from rheo_proof.schemes.verifying.bottom_up import BottomUp
from rheo_proof.schemes.verifying.rheo import Rheo
from rheo_proof.theorems.adversary import AGAINST, Adversary
from rheo_proof.theorems.induction import Bounds, Events, bounds, layers
from rheo_proof.theorems.policies import Action, Policies, State
from rheo_proof.theorems.strategy import starts_with
from tests.adversary import Game
from tests.strategies import models, written

CASES = Path(__file__).resolve().parents[1] / "cases"
LOSSLESS = ("rheo", "flow", "match", "chain-verification", "dx")
FAULTS = [name for name, named in AGAINST.items() if not named.lossless]
SIZES = ((2, 2, 2, 4), (3, 2, 2, 3), (3, 1, 3, 3))
"""V, D, K, N."""


def against(name: str, size: tuple[int, int, int], *heads: int, **more: bool) -> Adversary:
    depth, slots, nodes = size
    return Adversary(name, Parameters(depth=depth, slots=slots, nodes=nodes), heads, **more)


@lru_cache
def on(adversary: Adversary, family: str, seed: int, vocab: int) -> Bounds:
    return bounds(adversary.policies(family_model(family, seed, vocab, adversary.parameters.depth)))


def case(name: str) -> ToyModel:
    return read_model(json.loads((CASES / f"{name}.json").read_text("utf-8"))["model"])


# Verdicts


@pytest.mark.parametrize("name", LOSSLESS)
@pytest.mark.parametrize("family", ["random", "peaked", "ties", "zeros"])
def test_is_lossless_under_every_policy(name: str, family: str) -> None:
    for vocab, *size in SIZES:
        for m in range(size[1] + 1):
            found = on(against(name, (size[0], size[1], size[2]), m), family, 0, vocab)
            assert found.low == found.target == found.high
            assert found.states > 2


@pytest.mark.parametrize("family", FAMILIES)
def test_rrsw_is_lossless_if_heads_come_first(family: str) -> None:
    for m in range(4):
        assert on(against("rrsw", (2, 3, 4), m, heads_first=True), family, 0, 3).lossless


@given(st.data())
def test_is_lossless_under_every_policy_on_models_with_ties_and_zeros(data: st.DataObject) -> None:
    vocab, size = data.draw(st.sampled_from([(3, (2, 2, 3)), (2, (2, 2, 4)), (3, (1, 3, 3)), (4, (1, 3, 3))]))
    model = data.draw(models(vocab, size[0]))
    name = data.draw(st.sampled_from([*LOSSLESS, "rrsw"]))
    every = tuple(range(size[1] + 1))
    chosen = [(m,) for m in every] if name == "dx" else [every, *((m,) for m in every)]
    heads = data.draw(st.sampled_from(chosen))
    assert bounds(against(name, size, *heads, heads_first=name == "rrsw").policies(model)).lossless


def test_rrsw_is_refuted_at_three_tokens_and_one_layer_and_not_below() -> None:
    assert not on(against("rrsw", (1, 2, 2), 1), "random", 0, 3).lossless
    for family, m in product(FAMILIES, range(3)):
        assert on(against("rrsw", (2, 2, 4), m), family, 0, 2).lossless


def test_bottom_up_is_refuted_with_one_head_and_three_nodes() -> None:
    assert not on(against("bottom-up", (2, 2, 3), 1), "random", 0, 3).lossless


def test_bottom_up_without_heads_needs_three_slots_and_has_the_gap_that_another_program_found() -> None:
    model = case("bottom-up-refuted-1")
    assert bounds(against("bottom-up", (2, 2, 4), 0).policies(model)).lossless
    assert bounds(against("bottom-up", (2, 3, 4), 0).policies(model)).gap == Fraction(353, 68761)


class InOrder(Policies):
    """Policies that insert the fills of a node in the order of their slots."""

    def actions(self, state: State) -> Iterator[Action]:
        fills = [node.path for node in state.nodes if node.kind == "fill"]
        for action in super().actions(state):
            place = (*action.parent, action.slot)
            if action.kind != "fill" or all(path[:-1] != action.parent or path < place for path in fills):
                yield action


def test_bottom_up_without_heads_is_exposed_only_by_fills_out_of_order() -> None:
    drafting = Parameters(slots=3, head=0, depth=2, nodes=4).drafting()
    biased = 0
    for model in (case("bottom-up-refuted-1"), family_model("random", 0, 3, 2), family_model("swing", 0, 3, 2)):
        biased += not bounds(Policies(model, BottomUp(), [drafting], "tree")).lossless
        assert bounds(InOrder(model, BottomUp(), [drafting], "order")).lossless
    assert biased == 3


def test_flow_out_of_order_is_refuted_depth_first_at_two_tokens_layer_by_layer_at_three() -> None:
    assert not on(against("flow-depth-first", (2, 2, 4), 0), "random", 1, 2).lossless
    assert not on(against("flow-layers", (2, 2, 3), 1), "random", 0, 3).lossless


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_of_a_rule_is_refuted(name: str) -> None:
    heads_first = name == "resort-siblings"  # without it RRSw itself is biased
    found = on(against(name, (2, 2, 3), 1, heads_first=heads_first), "random", 0, 3)
    assert found.gap > 0


def test_the_list_of_faults_has_no_fault_of_values_or_ranks() -> None:
    assert {"flow-layers", "flow-depth-first", "bottom-up", "verify-full-q", "draw-full-q"} <= set(FAULTS)
    for name in ("own-probability", "tie-by-token", "low-proxy", "rrsw-tail-proxy", "drop-unlikely"):
        with pytest.raises(InputError, match=f"unknown rule '{name}'"):
            against(name, (1, 2, 2), 1)


# Controls: policies that are not predictable, and rules that do not care


def test_a_policy_that_looks_at_the_token_first_refutes_rheo_and_flow() -> None:
    for name, family, m in product(("rheo", "flow", "dx"), ("random", "near"), (0, 1)):
        found = on(against(name, (1, 2, 2), m, peek=True), family, 0, 3)
        assert found.gap > 0
        assert on(against(name, (1, 2, 2), m), family, 0, 3).lossless


def test_one_hot_verification_is_lossless_even_then() -> None:
    for family in FAMILIES:
        assert on(against("match", (2, 2, 3), 1, peek=True), family, 0, 3).lossless


def test_policies_that_choose_m_at_every_node_do_not_bias_and_expose_what_one_m_exposes() -> None:
    every = (0, 1, 2)
    for name in ("rheo", "flow", "match"):
        assert on(against(name, (2, 2, 3), *every), "random", 0, 3).lossless
    chosen = on(against("rrsw", (1, 2, 2), *every), "random", 0, 3)
    alone = [on(against("rrsw", (1, 2, 2), m), "random", 0, 3) for m in every]
    assert chosen.gap >= max(found.gap for found in alone) > 0
    assert chosen.states > max(found.states for found in alone)


def test_fills_that_repeat_the_sampled_token_do_not_bias_rheo() -> None:
    drafting = DuplicateFills(slots=3, head=0, depth=1, beam=3, nodes=3)
    policies = Policies(family_model("random", 0, 3, 1), Rheo(), [drafting], "tree")
    tokens = [[node.token for node in state.nodes] for states in layers(policies, Limits()) for state in states]
    assert any(len(set(found)) < len(found) for found in tokens)
    assert bounds(policies).lossless


# The extremes


@pytest.mark.parametrize(
    ("rule", "heads_first"), [("rrsw", False), ("rrsw", True), ("bottom-up", False), ("flow", False)]
)
@pytest.mark.parametrize("m", [0, 1])
def test_extremes_are_those_of_a_program_that_shares_nothing(rule: str, heads_first: bool, m: int) -> None:
    for family, seed in (("random", 0), ("zeros", 2)):
        model = family_model(family, seed, 3, 2)
        found = bounds(against(rule, (2, 2, 3), m, heads_first=heads_first).policies(model))
        scheme = {"slots": 2, "head": m, "depth": 2, "nodes": 3, "verify": rule}
        game = Game(written(model), scheme, heads_first)
        for v, low, high in list(zip(found.strings, found.low, found.high, strict=True))[::9]:
            assert game.extremes(v) == (to_fraction(low), to_fraction(high))


def test_that_program_imports_nothing_of_the_package() -> None:
    for name in ("adversary.py", "oracle.py"):
        source = (CASES.parent / name).read_text("utf-8")
        assert "import rheo_proof" not in source
        assert "from rheo_proof" not in source


def test_that_program_knows_the_order_of_reveals() -> None:
    model = family_model("random", 1, 2, 2)
    found = bounds(against("flow-depth-first", (2, 2, 4), 0).policies(model))
    scheme = {"slots": 2, "head": 0, "depth": 2, "nodes": 4, "verify": "flow", "fault": "flow-depth-first"}
    game = Game(written(model), scheme)
    spread = [(v, low, high) for v, low, high in zip(found.strings, found.low, found.high, strict=True) if low != high]
    assert spread
    for v, low, high in spread:
        assert game.extremes(v) == (to_fraction(low), to_fraction(high))


Plan = tuple[State, tuple[tuple[Q, "Plan"], ...]]


def plans(policies: Policies, state: State) -> Iterator[Plan]:
    """Every way to play on without tossing coins."""
    yield state, ()
    for action in policies.actions(state):
        after = policies.successors(state, action)
        masses = [mass for _, mass, _ in after]
        for then in product(*(list(plans(policies, reached)) for _, _, reached in after)):
            yield state, tuple(zip(masses, then, strict=True))


def probability(policies: Policies, plan: Plan, v: tuple[int, ...]) -> Q:
    state, then = plan
    if not then:
        return starts_with(policies.stop(state), policies.model, v)
    return sum((mass * probability(policies, below, v) for mass, below in then), ZERO)


@pytest.mark.parametrize(("name", "m", "size"), [("rrsw", 1, (1, 3, 3)), ("skip-residual", 1, (2, 2, 2))])
def test_extremes_are_attained_by_one_of_all_policies_written_out(
    name: str, m: int, size: tuple[int, int, int]
) -> None:
    policies = against(name, size, m, whole_order=True).policies(family_model("random", 0, 3, size[0]))
    found = bounds(policies)
    every = list(plans(policies, policies.start()))
    assert len(every) > 20
    for v, low, high in list(zip(found.strings, found.low, found.high, strict=True))[::4]:
        chances = [probability(policies, plan, v) for plan in every]
        assert (min(chances), max(chances)) == (low, high)


@pytest.mark.parametrize("name", ["bottom-up-refuted-0", "rrsw-tail-proxy-refuted-0"])
def test_rheosamplings_own_tree_is_one_of_the_policies(name: str) -> None:
    data = json.loads((CASES / f"{name}.json").read_text("utf-8"))
    parameters = Parameters(**{field: data["scheme"][field] for field in ("slots", "head", "depth", "nodes", "beam")})
    parameters = replace(parameters, proxy=data["scheme"].get("proxy", "paper"))
    model = case(name)
    size = (parameters.depth, parameters.slots, parameters.nodes)
    policies = against(data["scheme"]["verify"], size, parameters.head).policies(model)
    found = bounds(policies)
    masses = Events(model, parameters.depth).of(
        law_by_classes(Scheme(parameters.drafting(), policies.verifying), model)
    )
    assert masses != found.target
    for low, mass, high in zip(found.low, masses, found.high, strict=True):
        assert low <= mass <= high


def test_shorter_strings_have_extremes_of_their_own() -> None:
    policies = against("rrsw", (1, 2, 2), 1).policies(family_model("random", 0, 3, 1))
    found, full = bounds(policies, shorter=True), bounds(policies)
    assert found.strings[:4] == [(0,), (1,), (2,), (0, 0)]
    assert (found.low[3:], found.target[3:], found.high[3:]) == (full.low, full.target, full.high)
    assert found.high[0] == sum(full.high[:3], ZERO) > found.target[0]
    assert found.worst() == ((0,), True, Fraction(28, 55), Fraction(5, 11))


def test_the_gap_is_that_of_the_extreme_that_is_further_off() -> None:
    t = (Q(1, 2), Q(1, 2))
    low, high = (Q(1, 4), Q(1, 2)), (Q(1, 2), Q(2, 3))
    assert Bounds([(0,), (1,)], t, low, high, 1).gap == Fraction(1, 4)
    assert Bounds([(0,), (1,)], t, (Q(2, 5), Q(1, 2)), high, 1).gap == Fraction(1, 6)
    assert Bounds([(0,), (1,)], t, low, t, 1).gap == Fraction(1, 4)
    assert Bounds([(0,), (1,)], t, t, high, 1).gap == Fraction(1, 6)
    found = on(against("skip-residual", (1, 2, 2), 0), "random", 0, 3)
    assert found.gap == to_fraction(max(t - a for a, t in zip(found.low, found.target, strict=True)))
    assert found.gap > to_fraction(max(b - t for b, t in zip(found.high, found.target, strict=True))) > 0
