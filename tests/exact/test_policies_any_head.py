"""Policies that choose m at every node: what they can insert, and that they can choose another m at another node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rheo_proof.exact.families import family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, ZERO
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.schemes.tree import Node, Tree
from rheo_proof.schemes.verifying.rheo import Rheo
from rheo_proof.schemes.verifying.walk import Walk
from rheo_proof.theorems.induction import bounds, layers
from rheo_proof.theorems.policies import Policies
from rheo_proof.theorems.strategy import Strategy, attaining, checked
from tests.adversary import choosing_m
from tests.strategies import written

SIZES = {"slots": 2, "depth": 2, "nodes": 3}


def choosing(model: ToyModel, rule: Rheo, *heads: int) -> Policies:
    return Policies(model, rule, [Parameters(**SIZES, head=m).drafting() for m in heads])


def sampled_at(nodes: tuple[Node, ...]) -> set[int]:
    """The values of m that were chosen."""
    return {node.path[-1] for node in nodes if node.kind == "sampled"}


class MixedM(Rheo):
    """RheoVerification, but where two nodes differ in m the first token is always 0."""

    def start(self, model: ToyModel, tree: Tree) -> Walk:
        """At the root, there with another law than p."""
        walk = super().start(model, tree)
        if len(sampled_at(tree.nodes)) < 2:
            return walk
        return Walk((), Law(ZERO if x else ONE for x in range(model.vocab)), ())


@pytest.mark.parametrize(("family", "seed"), [("random", 0), ("zeros", 1), ("onehot", 1)])
def test_histories_are_those_of_a_program_that_shares_nothing(family: str, seed: int) -> None:
    model = family_model(family, seed, 3, 2)
    states = (state for found in layers(choosing(model, Rheo(), 0, 1, 2), Limits()) for state in found)
    histories = [tuple((node.path, node.token, node.kind) for node in state.nodes) for state in states]
    expected = choosing_m(written(model), {**SIZES, "verify": "rheo"})
    assert len(histories) == len(set(histories))
    assert set(histories) == expected


def test_a_small_m_at_one_node_and_a_larger_one_at_another_can_be_chosen_in_either_order() -> None:
    model = family_model("random", 0, 3, 2)
    orders = set()
    for states in layers(choosing(model, Rheo(), 0, 1, 2), Limits()):
        for state in states:
            sampled = [node.path for node in state.nodes if node.kind == "sampled"]
            orders.add(tuple((len(path), path[-1]) for path in sampled))
    assert {((1, 0), (2, 1)), ((1, 1), (2, 0)), ((2, 1), (1, 1)), ((2, 0), (1, 1))} <= orders


def test_before_anything_is_inserted_every_m_is_offered() -> None:
    policies = choosing(family_model("random", 0, 3, 2), Rheo(), 0, 1, 2)
    assert [(action.kind, action.slot) for action in policies.actions(policies.start())] == [
        ("head", 0),
        ("head", 1),
        ("sampled", 0),
        ("sampled", 1),
    ]


def test_a_rule_that_is_wrong_only_where_m_differs_is_exposed_only_by_policies_that_choose_m() -> None:
    model = family_model("random", 0, 3, 2)
    for m in range(3):
        assert bounds(choosing(model, MixedM(), m)).lossless
    policies = choosing(model, MixedM(), 0, 1, 2)
    found = bounds(policies, shorter=True)
    assert not found.lossless
    assert bounds(choosing(model, Rheo(), 0, 1, 2)).lossless
    v, upper, actual, expected = found.worst()
    strategy = attaining(policies, v, upper)
    assert checked(policies, strategy, v).total_variation(model) >= abs(actual - expected) > 0
    assert any(len(sampled_at(step.state.nodes)) == 2 for step in steps(strategy))


def steps(strategy: Strategy) -> Iterator[Strategy]:
    yield strategy
    for _, then in strategy.then:
        yield from steps(then)
