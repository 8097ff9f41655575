"""`Trees.first`: the best n nodes of drafted trees are the trees of the budget n."""

from __future__ import annotations

from dataclasses import replace

import pytest
import rheo_gpu
import torch
from hypothesis import given
from hypothesis import strategies as st
from rheo_reference import Config

from tests.torch_models import Group, assert_equal_steps, config_of, dyadic_models, mixed_tapes, models_of, tape_of

SEEDS = st.integers(0, 1 << 32)


def drafted(seed: int, config: Config, batch: int = 12) -> tuple[Group, rheo_gpu.Trees]:
    """Laws of sixteenths, so that values tie; some prefixes have a draft law of fewer tokens than slots."""
    group = Group(dyadic_models(seed, 4, config.depth), config, mixed_tapes(seed, config, batch))
    return group, of_budgets(group, None)


def of_budgets(group: Group, budgets: torch.Tensor | None) -> rheo_gpu.Trees:
    draft = models_of([group], torch.float64)[1]
    return rheo_gpu.draft_trees(draft, config_of(group.config), tape_of([group.tapes]), None, budgets)


@given(SEEDS, st.integers(0, 3), st.sampled_from([3, 12, 40]))
def test_the_first_nodes_are_the_tree_of_that_budget(seed: int, head: int, nodes: int) -> None:
    config = Config(slots=3, head=head, depth=3, nodes=nodes, sparse=None, proxy="tail", target=None, draft=None)
    group, trees = drafted(seed, config)
    for n in (0, 1, 2, 7, nodes, nodes + 5):
        assert_equal_steps(of_budgets(group, torch.full((12,), n)), trees.first(n))
    budgets = torch.arange(12) % (nodes + 2)
    assert_equal_steps(of_budgets(group, budgets), trees.first(budgets))


def test_the_first_of_the_first_are_the_fewer() -> None:
    config = Config(slots=3, head=1, depth=3, nodes=12, sparse=None, target=None, draft=None)
    trees = drafted(3, config)[1]
    assert_equal_steps(trees.first(9).first(4), trees.first(4))
    assert_equal_steps(trees.first(4).first(9), trees.first(4))


@pytest.mark.parametrize("name", ["children", "owner", "expansion", "paths"])
def test_a_field_that_is_not_cut_is_seen(name: str) -> None:
    config = Config(slots=3, head=1, depth=3, nodes=12, sparse=None, target=None, draft=None)
    group, trees = drafted(5, config)
    faulty = replace(trees.first(4), **{name: getattr(trees, name)})
    with pytest.raises(AssertionError, match=f"{name} differ"):
        assert_equal_steps(of_budgets(group, torch.full((12,), 4)), faulty)
