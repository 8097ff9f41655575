"""What may differ from request to request: processing and budgets, given as tensors, and what padding is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import rheo_gpu
import torch
from hypothesis import given
from hypothesis import strategies as st
from rheo_gpu.laws import process
from rheo_reference import Config, Processing, Tapes
from rheo_reference import laws as reference
from rheo_reference.tape import inverse_cdf

from tests.torch_models import (
    RULES,
    Group,
    assert_equal_steps,
    assert_same,
    config_of,
    decode,
    dyadic_models,
    how_of,
    logit_models,
    mixed_tapes,
    models_of,
    tape_of,
)

SEEDS = st.integers(0, 1 << 32)
LOGITS = st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0, -1.0, -3.5, -math.inf, 700.0, -800.0]), min_size=1, max_size=8)
FINITE = LOGITS.filter(lambda row: max(row) > -math.inf)
PROCESSINGS = st.builds(
    Processing,
    temperature=st.sampled_from([1.0, 0.0, 0.5, 2.0, 1e-308, 1e300]),
    top_k=st.sampled_from([None, 1, 2, 3, 9]),
    top_p=st.sampled_from([1.0, 0.35, 0.9, 1e-9, 0.5]),
    min_p=st.sampled_from([0.0, 0.1, 0.6, 1.0]),
)


# Laws


@given(FINITE, st.lists(PROCESSINGS, min_size=2, max_size=4))
def test_processing_is_that_of_the_numpy_decoder(logits: list[float], processings: list[Processing]) -> None:
    """Same order of the filters, same ties; as plain numbers one by one, and as tensors all at once."""
    batch = process(torch.tensor([logits] * len(processings)).double(), how_of(processings, [1] * len(processings)))
    for law, how in zip(batch, processings, strict=True):
        alone = process(torch.tensor([logits]).double(), how_of([how], [1]))[0]
        expected = reference.process(logits, how)
        for found in (law, alone):
            assert (found > 0).tolist() == (expected > 0).tolist()
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@given(FINITE, PROCESSINGS)
def test_processing_in_float32_is_that_of_the_numpy_decoder(logits: list[float], how: Processing) -> None:
    """Temperatures that float32 cannot hold included."""
    found = process(torch.tensor([logits]), how_of([how], [1]))[0]
    expected = reference.process(logits, how, "float32")
    assert (found > 0).tolist() == (expected > 0).tolist()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("weights", "how", "percent"),
    [
        # 50, 30, 20 become 62.5, 37.5 after top-k; without it top-p = 0.6 would not be reached by the first token.
        ([50.0, 30.0, 20.0], {"top_p": 0.6}, [62.5, 37.5, 0]),
        ([50.0, 30.0, 20.0], {"top_k": 2, "top_p": 0.6}, [100, 0, 0]),
        # Were min-p first, it would leave 4/7 and 3/7, and top-p then only the first.
        ([40.0, 30.0, 10.0, 10.0, 10.0], {"top_p": 0.5, "min_p": 0.5}, [400 / 7, 300 / 7, 0, 0, 0]),
        ([2.0, 4.0, 2.0, 2.0], {"top_k": 2}, [100 / 3, 200 / 3, 0, 0]),
        # A mass that is reached exactly: no further token is needed.
        ([1.0, 1.0, 1.0, 1.0], {"top_p": 0.5}, [50, 50, 0, 0]),
    ],
)
def test_the_order_of_the_filters(weights: list[float], how: dict[str, Any], percent: list[float]) -> None:
    rows = torch.tensor([weights]).double().log()
    for given_as in (how, {name: torch.tensor([value]) for name, value in how.items()}):
        assert process(rows, rheo_gpu.Processing(**given_as))[0] * 100 == pytest.approx(percent)


# Batches


def mixed_batch(verify: str, seed: int = 0, tapes: int = 1) -> list[Group]:
    """Eight requests with different models, processing and budgets. Each filter has a plain number."""
    rng = np.random.default_rng(seed)
    groups = []
    for i in range(8):
        how = [
            Processing(float(t), int(rng.integers(1, 8)), 0.2 + 0.8 * rng.random(), 0.3 * rng.random())
            for t in rng.choice([0.0, 0.5, 1.0, 1.7], size=2)
        ]
        config = Config(
            slots=4,
            head=1,
            depth=3,
            nodes=int(rng.integers(1, 15)),
            sparse=5,
            verify=verify,
            target=how[0],
            draft=how[1],
        )
        groups.append(Group(logit_models(seed + i, 7, 3), config, mixed_tapes(seed + i, config, tapes)))
    return groups


@pytest.mark.parametrize("verify", RULES)
def test_a_batch_of_one_is_a_row_of_a_batch(verify: str) -> None:
    """To the last bit of every tensor, though the batch has its settings as tensors and the one as plain numbers."""
    groups = mixed_batch(verify)
    step = decode(groups, nodes=15)
    for i, group in enumerate(groups):
        alone = one(group)
        assert_equal_steps(step, alone, slice(i, i + 1))
    with pytest.raises(AssertionError, match="differ"):
        assert_equal_steps(step, one(groups[0]), slice(1, 2))


def one(group: Group) -> rheo_gpu.Step:
    """A single request in a batch for trees of 15 nodes."""
    config = group.config
    return rheo_gpu.decode_step(
        *models_of([group], torch.float64),
        config_of(config, nodes=15),
        tape_of([group.tapes]),
        how_of([config.target], [1]),
        how_of([config.draft], [1]),
        torch.tensor([config.nodes]),
    )


@pytest.mark.parametrize("verify", RULES)
def test_the_order_of_the_requests_does_not_matter(verify: str) -> None:
    groups = mixed_batch(verify, 3)
    order = [5, 2, 7, 0, 1, 6, 4, 3]
    assert_equal_steps(decode(groups), decode([groups[i] for i in order]), torch.tensor(order))


@pytest.mark.parametrize("verify", RULES)
def test_mixed_requests_decode_as_the_numpy_decoder_does(verify: str) -> None:
    groups = mixed_batch(verify, 1)
    groups = [replace(g, tapes=Tapes.fill(np.random.default_rng(i), g.config, 100)) for i, g in enumerate(groups)]
    assert assert_same(groups, each=4, exact=False) == 800


@given(SEEDS, st.sampled_from(RULES))
def test_greedy_requests_take_the_greedy_path_whatever_the_tape(seed: int, verify: str) -> None:
    """They share a batch with requests that do not, and draft at any temperature."""
    models = logit_models(seed, 4, 3)
    shared: dict[str, Any] = {"slots": 3, "head": 1, "depth": 3, "sparse": None, "verify": verify}
    configs = [
        Config(**shared, nodes=6, target=Processing(0.0), draft=Processing()),
        Config(**shared, nodes=9, target=Processing(1.0, top_p=0.9), draft=Processing(0.0)),
        Config(**shared, nodes=9, target=Processing(0.0, top_k=2, min_p=0.5), draft=Processing(0.0)),
    ]
    step = decode([Group(models, config, mixed_tapes(seed, config, 20)) for config in configs])
    path, row = [], 0
    for _ in range(4):
        path.append(int(np.argmax(models.target[row])))
        row = row * 4 + 1 + path[-1]
    for i in (*range(20), *range(40, 60)):
        length = int(step.verified.lengths[i])
        assert length >= 1
        assert step.verified.tokens[i].tolist() == path[:length] + [-1] * (4 - length)


# Budgets and padding


@pytest.mark.parametrize("verify", RULES)
def test_budgets_prune_each_tree_as_the_numpy_decoder_would(verify: str) -> None:
    groups = []
    for nodes in (1, 2, 5, 8, 1000):
        config = Config(slots=3, head=1, depth=3, nodes=nodes, sparse=None, verify=verify, target=None, draft=None)
        groups.append(Group(dyadic_models(nodes, 3, 3), config, mixed_tapes(nodes, config, 50)))
    assert assert_same(groups, each=5) == 250


@pytest.mark.parametrize("verify", RULES)
def test_a_budget_of_none_leaves_the_root_alone(verify: str) -> None:
    """Then the string is one draw from the target, as in decoding without a draft."""
    config = Config(slots=3, head=1, depth=2, nodes=4, sparse=None, verify=verify, target=None, draft=None)
    group = Group(dyadic_models(0, 4, 2), config, mixed_tapes(0, config, 60))
    budgets = torch.arange(60) % 3
    step = rheo_gpu.decode_step(
        *models_of([group], torch.float64), config_of(config), tape_of([group.tapes]), None, None, budgets
    )
    assert step.trees.there.sum(1).tolist() == (1 + budgets).tolist()
    for i in range(0, 60, 3):
        drawn = inverse_cdf(np.asarray(group.models.target)[0], float(group.tapes.token_u[i, 0]))
        assert step.verified.tokens[i].tolist() == [drawn, -1, -1]
        assert not step.verified.coin_used[i].any()
        assert step.verified.token_used[i].tolist() == [True, False, False]


@given(SEEDS, st.sampled_from(RULES))
def test_padding_takes_no_part(seed: int, verify: str) -> None:
    rng = np.random.default_rng(seed)
    vocab, depth = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    config = Config(
        slots=int(rng.integers(1, 6)),
        head=0,
        depth=depth,
        nodes=12,
        sparse=None,
        verify=verify,
        target=None,
        draft=None,
    )
    group = Group(dyadic_models(seed, vocab, depth), config, mixed_tapes(seed, config, 30))
    budgets = torch.from_numpy(rng.integers(0, 13, size=30))
    step = rheo_gpu.decode_step(
        *models_of([group], torch.float64), config_of(config), tape_of([group.tapes]), None, None, budgets
    )
    trees, there = step.trees, step.trees.there
    nodes = torch.arange(there.shape[1])
    assert (there == (nodes < there.sum(1, keepdim=True))).all()
    assert (there.sum(1) <= 1 + budgets).all()
    # Parents and accepted nodes are nodes, and stand before their children.
    parents = trees.parents.clamp(min=0)
    assert there.gather(1, parents).all()
    assert ((trees.parents < nodes) & ((trees.parents >= 0) == (there & (nodes > 0)))).all()
    assert there.gather(1, step.verified.keep.clamp(min=0)).all()
    # Nobody attends to padding but itself; its position is one that a model has.
    mask = trees.ancestor_mask()
    assert (mask.diagonal(dim1=1, dim2=2)).all()
    others = mask & ~torch.eye(len(nodes), dtype=torch.bool)
    assert not (others & ~there[:, None, :]).any()
    assert not (others & ~there[:, :, None]).any()
    positions = trees.position_ids(torch.full((30,), 9))
    assert ((positions >= 8) & (positions <= 8 + depth)).all()
    for name, value in (("tokens", -1), ("slots", -1), ("kinds", 0), ("values", 0.0), ("paths", -1), ("expansion", -1)):
        assert (getattr(trees, name)[~there] == value).all()


def test_a_batch_may_be_empty() -> None:
    for verify in RULES:
        config = rheo_gpu.Config(slots=3, depth=2, nodes=5, sparse=3, verify=verify)
        step = rheo_gpu.decode_step(
            lambda trees: torch.zeros(*trees.tokens.shape, 6),
            lambda layer: torch.zeros(*layer.tokens.shape, 6),
            config,
            rheo_gpu.Tape.fill(config, 0),
            rheo_gpu.Processing(torch.ones(0), top_p=torch.ones(0)),
            rheo_gpu.Processing(),
        )
        assert step.verified.tokens.shape == (0, 3)
        assert step.trees.ancestor_mask().shape == (0, 6, 6)
