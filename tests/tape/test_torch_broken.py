"""Rows that are no law: NaN, +inf, all logits banned, laws that do not sum to 1. They break their request alone."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import rheo_gpu
import torch
from rheo_gpu import Layer, Processing
from rheo_reference import Tapes
from torch import Tensor

from tests.tape.test_torch_rows import BATCH, DEPTH, VOCAB, group, logits_group, parents, visited
from tests.torch_models import RULES, Group, assert_equal_steps, config_of, models_of, tape_of

BAD_LOGITS = {"NaN": (2, math.nan), "+inf": (1, math.inf), "all -inf": (slice(None), -math.inf)}
BAD_LAWS = {
    "NaN": (2, math.nan),
    "negative, in sum 1": (slice(None), torch.tensor([1.25, -0.25, 0.0, 0.0, 0.0])),
    "too much": (3, 1.0),
    "nothing": (slice(None), 0.0),
}


def spoiled(rows: Tensor, token: Any, value: Any, where: Tensor) -> Tensor:
    bad = rows.clone()
    bad[..., token] = value
    return torch.where(where.view(where.shape + (1,) * (rows.dim() - where.dim())), bad, rows)


BAD = [("logits", *bad) for bad in BAD_LOGITS.values()] + [("laws", *bad) for bad in BAD_LAWS.values()]
BROKEN = torch.arange(BATCH) % 3 == 0


def given_as(kind: str, verify: str) -> tuple[Group, Processing | None]:
    return (group(verify), None) if kind == "laws" else (logits_group(verify), Processing())


@pytest.mark.parametrize(("kind", "token", "value"), BAD)
@pytest.mark.parametrize("verify", RULES)
def test_a_walk_stops_at_a_target_row_that_is_no_law(kind: str, token: Any, value: Any, verify: str) -> None:
    """At the root of every third request nothing is emitted; below it, what was accepted before."""
    given, how = given_as(kind, verify)
    target, draft = models_of([given], torch.float64)
    config, tape = config_of(given.config), tape_of([given.tapes])
    sound = rheo_gpu.decode_step(target, draft, config, tape, how, how)

    at_root = rheo_gpu.decode_step(
        lambda trees: spoiled(target(trees), token, value, BROKEN), draft, config, tape, how, how
    ).verified
    assert at_root.broken.tolist() == BROKEN.tolist()
    assert (at_root.tokens[BROKEN] == -1).all()
    assert (at_root.last[BROKEN] == -1).all()
    assert not at_root.lengths[BROKEN].any()
    assert not at_root.accepted[BROKEN].any()
    assert not at_root.coin_used[BROKEN].any()
    assert not at_root.token_used[BROKEN].any()
    assert_equal_steps(only(sound.verified, ~BROKEN), only(at_root, ~BROKEN))

    below = torch.arange(sound.trees.tokens.shape[1]) > 0
    deeper = rheo_gpu.decode_step(
        lambda trees: spoiled(target(trees), token, value, BROKEN[:, None] & below), draft, config, tape, how, how
    ).verified
    assert_equal_steps(only(sound.verified, ~BROKEN), only(deeper, ~BROKEN))
    stopped = BROKEN & deeper.broken
    assert stopped.any()
    assert (deeper.accepted[stopped] == 1).all()
    assert (deeper.lengths[stopped] == 1).all()
    assert (deeper.last[stopped] == -1).all()
    assert (
        deeper.tokens[stopped, 0] == sound.trees.tokens.gather(1, deeper.keep[:, 1:2].clamp(min=0))[stopped, 0]
    ).all()
    assert (deeper.tokens[stopped, 1:] == -1).all()


@pytest.mark.parametrize(("kind", "token", "value"), BAD)
@pytest.mark.parametrize("layer_of_it", range(DEPTH))
def test_nothing_is_drafted_below_a_draft_row_that_is_no_law(
    kind: str, token: Any, value: Any, layer_of_it: int
) -> None:
    given, how = given_as(kind, "rheo")
    target, draft = models_of([given], torch.float64)
    config, tape = config_of(given.config), tape_of([given.tapes])

    def bad(layer: Layer) -> Tensor:
        rows = draft(layer)
        return spoiled(rows, token, value, BROKEN) if layer.layer == layer_of_it else rows

    sound = rheo_gpu.decode_step(target, draft, config, tape, how, how)
    step = rheo_gpu.decode_step(target, bad, config, tape, how, how)
    assert step.trees.broken.tolist() == BROKEN.tolist()
    assert not step.verified.broken.any()
    assert (step.verified.lengths > 0).all()
    assert (step.trees.depths[BROKEN] <= layer_of_it).all()
    assert not step.trees.draft_used[BROKEN, layer_of_it].any()
    assert_equal_steps(only(sound.verified, ~BROKEN), only(step.verified, ~BROKEN))
    assert_equal_steps(only(sound.trees, ~BROKEN), only(step.trees, ~BROKEN))


@pytest.mark.parametrize("verify", RULES)
@pytest.mark.parametrize("temperature", [math.nan, math.inf, -math.inf])
def test_a_temperature_in_a_tensor_that_is_no_number_breaks_its_request_alone(verify: str, temperature: float) -> None:
    given = logits_group(verify)
    np.asarray(given.models.target)[:, 0] = np.asarray(given.models.draft)[:, 0] = -math.inf
    target, draft = models_of([given], torch.float64)
    config, tape = config_of(given.config), tape_of([given.tapes])
    sound = rheo_gpu.decode_step(target, draft, config, tape, Processing(), Processing())
    how = Processing(torch.where(BROKEN, temperature, 1.0).double())
    step = rheo_gpu.decode_step(target, draft, config, tape, how, how)
    assert step.trees.broken.tolist() == step.verified.broken.tolist() == BROKEN.tolist()
    assert (step.verified.tokens[BROKEN] == -1).all()
    assert_equal_steps(only(sound.verified, ~BROKEN), only(step.verified, ~BROKEN))


def only(answer: Any, where: Tensor) -> SimpleNamespace:
    """Some requests of an answer."""
    part = SimpleNamespace()
    for name, value in vars(answer).items():
        if isinstance(value, Tensor):
            setattr(part, name, value[where])
        elif hasattr(value, "__dict__"):
            setattr(part, name, only(value, where))
    return part


# FlowVerification, which reads rows beside its path


@pytest.mark.parametrize("kind", ["laws", "logits"])
def test_a_row_that_is_no_law_beside_the_path_of_flow_never_makes_a_token_that_the_target_forbids(kind: str) -> None:
    given, how = given_as(kind, "flow")
    target, draft = models_of([given], torch.float64)
    config, tape = config_of(given.config), tape_of([given.tapes])
    if kind == "logits":
        np.asarray(given.models.target)[:, ::2] = -math.inf
        target, draft = models_of([given], torch.float64)
    table = np.asarray(given.models.target)
    sound = rheo_gpu.decode_step(target, draft, config, tape, how, how)
    where = parents(sound) & ~visited(sound)
    assert where.any()
    step = rheo_gpu.decode_step(
        lambda trees: torch.where(where[..., None], math.nan, target(trees)), draft, config, tape, how, how
    )
    for tokens, length, broken in zip(
        step.verified.tokens.tolist(), step.verified.lengths.tolist(), step.verified.broken.tolist(), strict=True
    ):
        row = 0
        assert length or broken
        for token in tokens[:length]:
            assert table[row, token] > (0.0 if kind == "laws" else -math.inf)
            row = row * VOCAB + 1 + token


def test_what_is_wrong_with_a_row_beside_the_path_of_flow_does_not_matter() -> None:
    """NaN, +inf or all logits banned, in a plain softmax or in one with a temperature: the node has no child that could
    be accepted, the walk stops there if it comes there, and elsewhere the masses are what they are."""
    given = logits_group("flow")
    given = Group(given.models, given.config, Tapes.fill(np.random.default_rng(0), given.config, 200))
    target, draft = models_of([given], torch.float64)
    config, tape = config_of(given.config), tape_of([given.tapes])
    sound = rheo_gpu.decode_step(target, draft, config, tape, Processing(), Processing())
    where = parents(sound) & ~visited(sound)
    assert where.any()
    steps = []
    for token, value in BAD_LOGITS.values():
        for how in (Processing(), Processing(torch.ones(200).double())):
            steps.append(
                rheo_gpu.verify(sound.trees, spoiled(target(sound.trees), token, value, where), config, tape, how)
            )
    for other in steps[1:]:
        assert_equal_steps(steps[0], other)
