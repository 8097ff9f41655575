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

from rheo_proof.exact.errors import InputError, LimitReached
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.files import read_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ZERO, Q, to_fraction
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, Scheme
from rheo_proof.schemes.variations import DuplicateFills
from rheo_proof.schemes.verifying.bottom_up import BottomUp
from rheo_proof.schemes.verifying.flow import Flow
from rheo_proof.schemes.verifying.rheo import Rheo
from rheo_proof.schemes.verifying.walk import Verifying
from rheo_proof.theorems.adversary import AGAINST, LOOKS, Adversary
from rheo_proof.theorems.induction import Bounds, Events, bounds, layers
from rheo_proof.theorems.policies import Action, Policies, Sees, State, canonical, slots_of
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


# States


def kept_sets(vocab: int, depth: int, most: int) -> int:
    """The number of trees up to a size for m = 0 and K = V: below a node X and some of the others; a power series."""

    def times(a: list[int], b: list[int]) -> list[int]:
        return [sum(a[i] * b[n - i] for i in range(n + 1)) for n in range(most + 1)]

    series = [1] + [0] * most
    for _ in range(depth):
        branch = [0, *series[:-1]]
        power = branch
        below = [1] + [0] * most
        ways = 1
        for children in range(1, vocab + 1):
            below = [a + vocab * ways * b for a, b in zip(below, power, strict=True)]
            power = times(power, branch)
            ways = ways * (vocab - children) // children
        series = below
    return sum(series)


@pytest.mark.parametrize(("vocab", "depth", "nodes"), [(3, 2, 4), (3, 3, 4), (4, 2, 4), (2, 3, 5)])
def test_states_are_as_many_as_there_are_trees(vocab: int, depth: int, nodes: int) -> None:
    policies = against("match", (depth, vocab, nodes), 0).policies(family_model("uniform", 0, vocab, depth))
    assert sum(map(len, layers(policies, Limits()))) == kept_sets(vocab, depth, nodes)


def test_the_largest_count_of_the_page_is_that_of_the_formula() -> None:
    page = (CASES.parents[1] / "docs" / "policies.md").read_text("utf-8")
    assert f"| rheo | 3 | 3 | 3 | 6 | 0 | {kept_sets(3, 3, 6):,} |" in page


def test_what_can_be_inserted_is_below_nodes_that_are_in_and_within_the_sizes() -> None:
    policies = against("flow", (2, 3, 3), 1).policies(family_model("random", 0, 4, 2))
    for state in (state for states in layers(policies, Limits()) for state in states):
        paths = [node.path for node in state.nodes]
        assert len(set(paths)) == len(paths) <= 3
        for action in policies.actions(state):
            assert action.parent in ((), *paths)
            assert (*action.parent, action.slot) not in paths
            assert len(action.parent) < 2
            after = policies.successors(state, action)
            assert sum((mass for _, mass, _ in after), ZERO) == 1
            assert all(len(reached.nodes) == len(paths) + 1 for _, _, reached in after)
            if action.kind == "fill":
                assert (*action.parent, 1) in paths


def test_the_sampled_slot_has_the_tail_law_and_fills_skip_it() -> None:
    q = Law.read(["1/10", "4/10", "3/10", "2/10"])
    heads, drawn = slots_of(Parameters(slots=3, head=1).drafting(), q)
    assert [node.token for node in heads] == [1]
    assert {x: str(mass) for x, (mass, _) in drawn.items()} == {0: "1/6", 2: "1/2", 3: "1/3"}
    assert {x: [node.token for node in nodes] for x, (_, nodes) in drawn.items()} == {2: [2, 3], 3: [3, 2], 0: [0, 2]}
    assert all(nodes[0].law == Law.read(["1/6", "0", "1/2", "1/3"]) for _, nodes in drawn.values())


def test_no_head_comes_after_the_sampled_slot_if_heads_come_first() -> None:
    for heads_first in (False, True):
        adversary = against("rrsw", (1, 3, 3), 2, heads_first=heads_first, whole_order=True)
        states = [s for found in layers(adversary.policies(family_model("random", 0, 4, 1)), Limits()) for s in found]
        late = [state for state in states if head_after_sampled(state)]
        assert bool(late) == (not heads_first)


def head_after_sampled(state: State) -> bool:
    kinds = [node.kind for node in state.nodes]
    return "sampled" in kinds and "head" in kinds[kinds.index("sampled") :]


def test_too_many_states_or_a_model_that_is_too_shallow_are_said() -> None:
    policies = against("rheo", (2, 2, 3), 1).policies(toy(2))
    with pytest.raises(LimitReached, match="more than 5 states"):
        bounds(policies, most=5)
    with pytest.raises(InputError, match="depth 1 is less than the depth 2"):
        against("rheo", (2, 2, 3), 1).policies(toy(1))
    with pytest.raises(InputError, match="is told m"):
        against("dx", (2, 2, 3), 0, 1)


# What a rule looks at


def laws_by_class(policies: Policies, sees: Sees) -> dict[tuple[object, ...], set[tuple[object, ...]]]:
    """The step laws of all orders of insertion, by what they are merged to."""
    found: dict[tuple[object, ...], set[tuple[object, ...]]] = {}
    for state in (state for states in layers(policies, Limits()) for state in states):
        law = tuple(policies.stop(state).strings(policies.model.vocab))
        found.setdefault(canonical(state.nodes, sees), set()).add(law)
    return found


@lru_cache
def orders(name: str, m: int, size: tuple[int, int, int], sees: Sees) -> tuple[int, int]:
    """How many classes with several orders there are, and how many of all classes have several laws."""
    vocab = 4 if size[0] == 1 else 3
    model = family_model("random", 1, vocab, size[0])
    found = laws_by_class(against(name, size, m, whole_order=True).policies(model), sees)
    total = sum(map(len, layers(against(name, size, m, whole_order=True).policies(model), Limits())))
    return total - len(found), sum(len(laws) > 1 for laws in found.values())


@pytest.mark.parametrize("name", AGAINST)
@pytest.mark.parametrize(("m", "size"), [(0, (2, 3, 4)), (1, (2, 2, 4)), (2, (1, 4, 4))])
def test_orders_that_are_merged_have_the_same_law(name: str, m: int, size: tuple[int, int, int]) -> None:
    sees = against(name, size, m).sees
    assert sees != "order"
    merged, several = orders(name, m, size, sees)
    assert merged > 20
    assert several == 0


@pytest.mark.parametrize("name", ["flow", "dx", "flow-layers"])
def test_rules_that_look_at_the_order_of_reveals_are_noticed_when_it_is_dropped(name: str) -> None:
    assert orders(name, 1, (2, 2, 4), "tree")[1] > 0


class Unlisted(Flow):
    """A rule that nobody has said anything about."""


def test_a_rule_that_is_not_listed_is_taken_to_look_at_everything() -> None:
    assert LOOKS.get(Flow) == "reveals"
    assert LOOKS.get(Unlisted, "order") == "order"
    listed: list[type[Verifying]] = list(LOOKS)
    assert {type(against(name, (1, 2, 2), 1).policies(toy(1)).verifying) for name in AGAINST} == set(listed)


@pytest.mark.parametrize("name", ["flow", "rrsw", "bottom-up", "dx", "flow-layers"])
def test_extremes_are_the_same_when_nothing_is_merged(name: str) -> None:
    for family in ("random", "peaked"):
        merged = on(against(name, (2, 2, 3), 1), family, 0, 3)
        whole = on(against(name, (2, 2, 3), 1, whole_order=True), family, 0, 3)
        assert (merged.low, merged.high) == (whole.low, whole.high)
        assert merged.states < whole.states
