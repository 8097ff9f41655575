"""The rows of the models: their precision, and which of them are read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import rheo_gpu
import torch
from rheo_gpu import Layer, Processing, Step, Trees
from rheo_reference import Config
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.torch_models import (
    RULES,
    Group,
    assert_equal_steps,
    assert_same_strings,
    break_points,
    config_of,
    decode,
    dyadic_models,
    logit_models,
    mixed_tapes,
    models_of,
    tape_of,
)

VOCAB, DEPTH, BATCH = 5, 2, 64
HALF = (torch.float16, torch.bfloat16)
BAD_LOGITS = {"NaN": (2, math.nan), "+inf": (1, math.inf), "all -inf": (slice(None), -math.inf)}
BAD_LAWS = {"NaN": (2, math.nan), "negative": (0, -0.25), "too much": (3, 1.0), "nothing": (slice(None), 0.0)}


def group(verify: str, seed: int = 3, batch: int = BATCH) -> Group:
    config = Config(slots=3, head=1, depth=DEPTH, nodes=7, sparse=None, verify=verify, target=None, draft=None)
    models = dyadic_models(seed, VOCAB, DEPTH)
    return Group(models, config, mixed_tapes(seed, config, batch, break_points(models, config.head)))


def logits_group(verify: str, seed: int = 3, batch: int = BATCH) -> Group:
    config = Config(slots=3, head=1, depth=DEPTH, nodes=7, sparse=None, verify=verify)
    return Group(logit_models(seed, VOCAB, DEPTH), config, mixed_tapes(seed, config, batch))


# Precision


@pytest.mark.parametrize("dtype", [torch.float32, *HALF])
@pytest.mark.parametrize("verify", RULES)
def test_laws_that_a_precision_holds_exactly_decode_as_in_float64(verify: str, dtype: torch.dtype) -> None:
    step = decode([group(verify)], dtype)
    assert assert_same_strings([group(verify)], step) == BATCH
    assert_equal_steps(decode([group(verify)]), step)
    assert step.trees.values.dtype == torch.float64


@pytest.mark.parametrize("dtype", [torch.float32, *HALF])
@pytest.mark.parametrize("verify", RULES)
def test_logits_in_low_precision_emit_only_tokens_of_the_target(verify: str, dtype: torch.dtype) -> None:
    """Half of the tokens are banned, at every prefix others; the draft does not know. Tapes reach for the ends."""
    given = logits_group(verify, batch=400)
    rng = np.random.default_rng(0)
    target = np.asarray(given.models.target)
    target[rng.random(target.shape) < 0.5] = -math.inf
    target[:, 2] = np.where(np.isneginf(target).all(1), 0.0, target[:, 2])
    for how in (Processing(), Processing(torch.full((400,), 0.8), top_p=0.9), Processing(0.0)):
        step = rheo_gpu.decode_step(
            *models_of([given], dtype), config_of(given.config), tape_of([given.tapes]), how, Processing()
        )
        assert not step.verified.broken.any()
        for tokens, length in zip(step.verified.tokens.tolist(), step.verified.lengths.tolist(), strict=True):
            row = 0
            for token in tokens[:length]:
                assert target[row, token] > -math.inf
                row = row * VOCAB + 1 + token


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("how", [Processing(), Processing(0.7, top_k=3, min_p=0.1), Processing(torch.tensor([0.0]))])
def test_probabilities_of_logits_in_half_precision_are_those_of_float32(dtype: torch.dtype, how: Processing) -> None:
    logits = torch.from_numpy(np.random.default_rng(0).normal(size=(1, 50))).to(dtype)
    law = rheo_gpu.laws.process(logits, how)
    assert law.dtype == torch.float32
    assert torch.equal(law, rheo_gpu.laws.process(logits.float(), how))


@pytest.mark.parametrize("temperature", [1e-300, 1e-50, 1e39, 1e300])
def test_a_temperature_that_float32_cannot_hold_is_no_fault_of_the_row(temperature: float) -> None:
    given = logits_group("rheo", batch=8)
    np.asarray(given.models.target)[:, 0] = -math.inf
    how = Processing(temperature)
    for dtype in (torch.float32, torch.bfloat16):
        step = rheo_gpu.decode_step(
            *models_of([given], dtype), config_of(given.config), tape_of([given.tapes]), how, how
        )
        assert not (step.trees.broken | step.verified.broken).any()
        assert not (step.verified.tokens == 0).any()


# Which rows are read


def visited(step: Step) -> Tensor:
    """[R, 1 + N]: the nodes that a walk came to."""
    seen = torch.zeros_like(step.trees.there, dtype=torch.int64)
    return seen.scatter_add(1, step.verified.keep.clamp(min=0), torch.ones_like(step.verified.keep)) > 0


def parents(step: Step) -> Tensor:
    """[R, 1 + N]: the nodes with kept children."""
    has = torch.zeros_like(step.trees.there, dtype=torch.int64)
    index = step.trees.parents.clamp(min=0)
    return has.scatter_add(1, index, (step.trees.parents >= 0).long()) > 0


def poisoned(given: Group, rows: Callable[[Step], Tensor]) -> tuple[Step, Step, int]:
    """A step, the same step with rows of NaN at some nodes, and how many those are."""
    target, draft = models_of([given], torch.float64)
    config, tape = config_of(given.config), tape_of([given.tapes])
    step = rheo_gpu.decode_step(target, draft, config, tape, None, None)
    where = rows(step)

    def with_nan(trees: Trees) -> Tensor:
        return torch.where(where[..., None], math.nan, target(trees))

    return step, rheo_gpu.decode_step(with_nan, draft, config, tape, None, None), int(where.sum())


@pytest.mark.parametrize("verify", ["rheo", "rrsw", "match"])
def test_rows_of_nodes_that_are_not_visited_are_not_read(verify: str) -> None:
    step, again, count = poisoned(group(verify), lambda step: ~visited(step))
    assert count > BATCH
    assert_equal_steps(step, again)


def test_flow_reads_the_rows_of_kept_nodes_that_were_expanded_and_of_visited_ones() -> None:
    """The masses of all kept nodes take the laws of all their parents, visited or not; leaves and padding take none."""
    step, again, count = poisoned(group("flow"), lambda step: ~parents(step) & ~visited(step))
    assert count > BATCH
    assert_equal_steps(step, again)
    step, again, count = poisoned(group("flow"), lambda step: parents(step) & ~visited(step))
    assert count > 0
    with pytest.raises(AssertionError, match="differ"):
        assert_equal_steps(step, again)


@pytest.mark.parametrize("verify", RULES)
def test_a_visited_row_is_read(verify: str) -> None:
    _, again, count = poisoned(group(verify), visited)
    assert count >= BATCH
    assert again.verified.broken.all()


class Softmaxes(TorchDispatchMode):
    """The shapes that softmax is taken of."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if "softmax" in str(func):
            self.shapes.append(tuple(args[0].shape))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("how", [Processing(), Processing(0.7), Processing(torch.full((BATCH,), 0.7), top_k=3)])
@pytest.mark.parametrize("verify", RULES)
def test_one_row_for_each_request_and_level_is_normalised(verify: str, how: Processing) -> None:
    """FlowVerification needs all of them."""
    given = logits_group(verify)
    target, draft = models_of([given], torch.float64)
    config, tape = config_of(given.config), tape_of([given.tapes])
    trees = rheo_gpu.draft_trees(draft, config, tape, how)
    logits = target(trees)
    with Softmaxes() as softmaxes:
        rheo_gpu.verify(trees, logits, config, tape, how)
    shapes = [(BATCH, 8, VOCAB)] if verify == "flow" else [(BATCH, VOCAB)] * (DEPTH + 1)
    assert softmaxes.shapes == shapes


def test_draft_rows_of_nodes_that_are_not_there_are_not_looked_at() -> None:
    """The laws have fewer tokens than there are slots, so that layers have empty places."""
    config = Config(slots=4, head=1, depth=3, nodes=20, sparse=None, target=None, draft=None)
    given = Group(dyadic_models(5, 2, 3), config, mixed_tapes(5, config, BATCH))
    target, draft = models_of([given], torch.float64)
    places = 0

    def with_nan(layer: Layer) -> Tensor:
        nonlocal places
        places += int((~layer.there).sum())
        return torch.where(layer.there[..., None], draft(layer), math.nan)

    sound = decode([given])
    again = rheo_gpu.decode_step(target, with_nan, config_of(config), tape_of([given.tapes]), None, None)
    assert places > 0
    assert not again.trees.broken.any()
    assert_equal_steps(sound.verified, again.verified)
    for step in (sound, again):
        del vars(step.trees)["tail"]
    assert_equal_steps(sound.trees, again.trees)
