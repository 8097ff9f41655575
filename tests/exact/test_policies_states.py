"""The states of the adversary: what can be inserted, how many there are, and which of them a rule tells apart."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from rheo_proof.exact.errors import InputError, LimitReached
from rheo_proof.exact.families import family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import ZERO
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.schemes.verifying.flow import Flow
from rheo_proof.schemes.verifying.walk import Verifying
from rheo_proof.theorems.adversary import AGAINST, LOOKS, Adversary
from rheo_proof.theorems.induction import Bounds, bounds, layers
from rheo_proof.theorems.policies import Policies, Sees, State, canonical, slots_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "policies.md"


def against(name: str, size: tuple[int, int, int], *heads: int, **more: bool) -> Adversary:
    depth, slots, nodes = size
    return Adversary(name, Parameters(depth=depth, slots=slots, nodes=nodes), heads, **more)


@lru_cache
def on(adversary: Adversary, family: str, seed: int, vocab: int) -> Bounds:
    return bounds(adversary.policies(family_model(family, seed, vocab, adversary.parameters.depth)))


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
    assert f"| rheo | 3 | 3 | 3 | 6 | 0 | {kept_sets(3, 3, 6):,} |" in PAGE.read_text("utf-8")


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
