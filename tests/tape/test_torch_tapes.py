"""The torch decoder on the tapes of the NumPy decoder: the same strings, trees, accepted nodes and uniforms read.

Strings are compared with `simulate`, which another test holds to `decode_step`; whole steps with `decode_step` itself.
Dyadic laws are exact in float64, so every tape must agree, above all those on which a decision flips. Softmax differs
by a last bit between NumPy and torch, so models of logits are compared on tapes from a generator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rheo_reference import Config, Models, Processing, Tapes

from tests.tape.test_reference_batch import float_models
from tests.torch_models import (
    BELOW_1,
    PAIRS,
    RULES,
    Group,
    assert_same,
    assert_same_steps,
    assert_same_strings,
    break_points,
    decode,
    dyadic_models,
    logit_models,
    mixed_tapes,
    reference_step,
)

SEEDS = st.integers(0, 1 << 32)
ALL = 1000
"""More nodes than any tree here has candidates."""


@st.composite
def sizes(draw: st.DrawFn, depth: int, slots: int) -> dict[str, Any]:
    verify, proxy = draw(st.sampled_from(PAIRS))
    K = draw(st.integers(1, slots))
    scales = st.sampled_from([1.0, 0.5, 0.75, 0.125])
    return {
        "slots": K,
        "head": draw(st.integers(0, K)),
        "depth": depth,
        "beam": draw(st.sampled_from([None, 1, 2, 3, 20])),
        "sparse": draw(st.sampled_from([None, None, 1, 2, 3, 128])),
        "proxy": proxy,
        "proxy_scale": draw(scales),
        "fill_scale": draw(scales),
        "verify": verify,
    }


BUDGETS = st.lists(st.integers(1, 12) | st.just(ALL), min_size=1, max_size=3)
PROCESSINGS = st.builds(
    Processing,
    temperature=st.sampled_from([1.0, 0.5, 2.0, 0.0, 0.7]),
    top_k=st.sampled_from([None, None, 1, 2, 3]),
    top_p=st.sampled_from([1.0, 1.0, 0.3, 0.8]),
    min_p=st.sampled_from([0.0, 0.0, 0.2, 0.5]),
)


@st.composite
def dyadic_batches(draw: st.DrawFn, tapes: int) -> list[Group]:
    """One to three models in one batch, and tapes of which half lie where a decision flips, or beside it."""
    vocab, depth = draw(st.sampled_from([3, 2, 4, 1, 5])), draw(st.sampled_from([2, 1, 3]))
    shared, seed = draw(sizes(depth, 4)), draw(SEEDS)
    groups, budgets = [], draw(BUDGETS)
    for i, nodes in enumerate(budgets):
        config = Config(**shared, nodes=nodes, target=None, draft=None)
        models = dyadic_models(seed + i, vocab, depth)
        points = break_points(models, config.head)
        groups.append(Group(models, config, mixed_tapes(seed + i, config, tapes // len(budgets), points)))
    return groups


def test_dyadic_models_agree_on_every_tape() -> None:
    compared = 0

    @given(dyadic_batches(600))
    def agree(groups: list[Group]) -> None:
        nonlocal compared
        compared += assert_same(groups, each=2)

    agree()
    assert compared >= 50_000


@st.composite
def logit_batches(draw: st.DrawFn, tapes: int) -> list[Group]:
    """One to three models in one batch, each with its own processing; up to 30 tokens."""
    vocab, depth, slots = draw(st.sampled_from([(5, 2, 4), (3, 3, 4), (2, 4, 3), (13, 2, 6), (30, 1, 12), (1, 2, 2)]))
    shared, seed = draw(sizes(depth, slots)), draw(SEEDS)
    groups, budgets = [], draw(BUDGETS)
    for i, nodes in enumerate(budgets):
        config = Config(**shared, nodes=nodes, target=draw(PROCESSINGS), draft=draw(PROCESSINGS))
        random = Tapes.fill(np.random.default_rng(seed + i), config, tapes // len(budgets))
        groups.append(Group(logit_models(seed + i, vocab, depth), config, random))
    return groups


def test_models_of_logits_agree_on_random_tapes() -> None:
    compared = 0

    @given(logit_batches(600))
    def agree(groups: list[Group]) -> None:
        nonlocal compared
        compared += assert_same(groups, each=2, exact=False)

    agree()
    assert compared >= 50_000


@given(st.data(), SEEDS, st.sampled_from([(3, 3), (4, 2), (2, 4), (13, 2), (30, 1)]))
def test_laws_of_floats_agree_on_random_tapes(data: st.DataObject, seed: int, shape: tuple[int, int]) -> None:
    """Sharp laws, tails down to 1e-300, near-ties. On the tapes where a decision flips these do not always agree: from
    eight summands on, NumPy adds a law up in another order, and the last bit decides."""
    vocab, depth = shape
    rng = np.random.default_rng(seed)
    config = Config(**data.draw(sizes(depth, 6)), nodes=data.draw(st.integers(1, 20)), target=None, draft=None)
    group = Group(float_models(rng, vocab, depth), config, Tapes.fill(rng, config, 60))
    assert assert_same([group], each=1) == 60


@pytest.mark.parametrize(("verify", "proxy"), PAIRS)
@pytest.mark.parametrize("head", range(4))
def test_the_stated_size(verify: str, proxy: str, head: int) -> None:
    """V = 5, D = 3, K = B = 3, N = 8, for every m and every rule."""
    config = Config(
        slots=3, head=head, depth=3, nodes=8, sparse=None, proxy=proxy, verify=verify, target=None, draft=None
    )
    models = dyadic_models(10 + head, 5, 3)
    tapes = mixed_tapes(head, config, 800, break_points(models, head))
    assert assert_same([Group(models, config, tapes)], each=4) == 800


EDGES: dict[str, tuple[int, dict[str, Any]]] = {
    "one token": (1, {"slots": 2, "head": 1}),
    "two tokens": (2, {"slots": 2, "head": 1}),
    "more slots than tokens": (3, {"slots": 6, "head": 1}),
    "more heads than tokens": (3, {"slots": 6, "head": 5}),
    "heads alone": (3, {"slots": 3, "head": 3}),
    "one slot": (3, {"slots": 1, "head": 0}),
    "one node": (3, {"slots": 3, "head": 1, "nodes": 1}),
    "all candidates": (3, {"slots": 3, "head": 1, "nodes": ALL}),
    "a beam beyond the layer": (3, {"slots": 2, "head": 1, "beam": 50}),
    "a beam of one": (3, {"slots": 3, "head": 1, "beam": 1}),
    "one layer": (3, {"slots": 3, "head": 1, "depth": 1}),
    "fewer tokens than heads": (4, {"slots": 4, "head": 3, "sparse": 2}),
    "one token kept": (4, {"slots": 3, "head": 0, "sparse": 1}),
    "as many tokens as are kept": (4, {"slots": 3, "head": 1, "sparse": 4}),
}


@pytest.mark.parametrize("edge", EDGES)
def test_edge_cases(edge: str) -> None:
    vocab, shared = EDGES[edge]
    for verify, proxy in PAIRS:
        others = {"depth": 2, "nodes": 7, "sparse": None, "verify": verify, "proxy": proxy} | shared
        config = Config(**others, target=None, draft=None)
        models = [dyadic_models(seed, vocab, config.depth) for seed in range(2)]
        tapes = [mixed_tapes(7, config, 60, break_points(model, config.head)) for model in models]
        groups = [Group(model, config, tape) for model, tape in zip(models, tapes, strict=True)]
        assert assert_same(groups, each=1) == 120


@pytest.mark.parametrize("verify", RULES)
@pytest.mark.parametrize("head", [0, 1, 2])
def test_deep_trees_with_all_candidates(verify: str, head: int) -> None:
    """In FlowVerification the mass of every node is then that of a subtree with sampled slots of its own."""
    for beam in (3, 50):
        config = Config(slots=3, head=head, depth=4, beam=beam, nodes=ALL, sparse=None, verify=verify)
        logits = logit_models(20 + head, 3, 4, scale=0.5)
        group = Group(logits, config, Tapes.fill(np.random.default_rng(head), config, 150))
        assert assert_same([group], each=3, exact=False) == 150
        laws = Config(**{**vars(config), "target": None, "draft": None})
        dyadic = dyadic_models(2 + head, 3, 4)
        group = Group(dyadic, laws, mixed_tapes(head, laws, 150, break_points(dyadic, head)))
        assert assert_same([group], each=3) == 150


@pytest.mark.parametrize("verify", RULES)
def test_values_that_have_become_0_are_values_still(verify: str) -> None:
    """A second level of tokens of probability 2**-600 underflows: its nodes are kept last, by their creation index."""
    config = Config(slots=3, head=1, depth=2, nodes=ALL, sparse=None, verify=verify, target=None, draft=None)
    law = [2.0**-600, 1.0, 2.0**-600]
    models = Models(np.array([[0.25, 0.5, 0.25]] * 13), np.array([law] * 4))
    group = Group(models, config, mixed_tapes(0, config, 50))
    step = decode([group])
    assert (step.trees.there.all(1) & (step.trees.values == 0).any(1)).all()
    assert assert_same_steps([group], step, 20) == 20
    assert assert_same_strings([group], step) == 50


@pytest.mark.parametrize("verify", RULES)
def test_a_tail_that_is_nearly_nothing_keeps_its_quotients(verify: str) -> None:
    """z = 2**-1049 and p(x) = 2**-40: their product underflows, and z p(x) / q(x) = 2**-39 does not."""
    config = Config(slots=2, head=1, depth=1, nodes=2, sparse=None, verify=verify, target=None, draft=None)
    models = flat(3, [2.0**-40, 1 - 2.0**-39, 2.0**-40], [2.0**-1050, 1.0, 2.0**-1050])
    tapes = Tapes.fill(np.random.default_rng(0), config, 8)
    tapes.coin_u[:] = np.array([0.0, 2.0**-40, np.nextafter(2.0**-39, 0), 2.0**-39] * 2)[:, None, None]
    tapes.coin_u[:, :, 0] = BELOW_1
    tapes.token_u[:4, 0], tapes.token_u[4:, 0] = 0.0, 2.0**-41
    group = Group(models, config, tapes)
    step = decode([group])
    assert assert_same_steps([group], step, 8) == assert_same_strings([group], step) == 8
    if verify == "rheo":
        assert step.verified.token_used[:, 0].tolist() == [False, False, False, True] * 2


@pytest.mark.parametrize("verify", RULES)
def test_a_tape_for_larger_sizes_is_read_where_a_small_one_is(verify: str) -> None:
    config = Config(slots=3, head=1, depth=2, nodes=6, sparse=None, verify=verify, target=None, draft=None)
    larger = Tapes.fill(np.random.default_rng(0), Config(slots=3, depth=4, beam=7), 100)
    assert assert_same([Group(dyadic_models(0, 4, 2), config, larger)], each=5) == 100


# Tapes on which one decision flips


def flat(vocab: int, target: list[float], draft: list[float]) -> Models:
    return Models(np.array([target] * (1 + vocab)), np.array([draft]))


@pytest.mark.parametrize(
    ("verify", "head", "site", "point", "below", "at"),
    [
        # q = (1/2, 1/2), p = (1/4, 3/4): X = 0 is accepted with probability 1/2; the residual is all on 1.
        ("rheo", 0, "coin 1", 0.5, 0, 1),
        # One coin for all heads: head 0 below p(0).
        ("rrsw", 1, "coin 0", 0.25, 0, 1),
        ("match", 0, "token", 0.25, 0, 1),
        # After X = 0 the masses are 1/2 for token 0 and 1/2 for token 1.
        ("flow", 0, "token", 0.5, 0, 1),
    ],
)
def test_a_decision_flips_exactly_where_it_should(
    verify: str, head: int, site: str, point: float, below: int, at: int
) -> None:
    config = Config(
        slots=2, head=head, depth=1, nodes=1 if head == 0 else 2, sparse=None, verify=verify, target=None, draft=None
    )
    uniforms = [float(np.nextafter(point, 0)), point, float(np.nextafter(point, 1)), 0.0, BELOW_1]
    tapes = Tapes(np.zeros((5, 1, 2)), np.zeros((5, 1, 2)), np.zeros((5, 2)))
    if site == "token":
        tapes.token_u[:, 0] = uniforms
    else:
        tapes.coin_u[:, 0, int(site[-1])] = uniforms
    group = Group(flat(2, [0.25, 0.75], [0.5, 0.5]), config, tapes)
    step = decode([group])
    assert step.verified.tokens[:, 0].tolist() == [below, at, at, below, at]
    assert assert_same_strings([group], step) == assert_same_steps([group], step, 5) == 5


def test_a_sampled_token_changes_exactly_at_the_cdf_of_its_tail() -> None:
    """q = (1/2, 1/4, 1/4), m = 1: the tail is (1/2, 1/2) on tokens 1 and 2."""
    config = Config(slots=2, head=1, depth=1, nodes=2, sparse=None, target=None, draft=None)
    tapes = Tapes(np.zeros((3, 1, 2)), np.zeros((3, 1, 2)), np.zeros((3, 2)))
    tapes.draft_u[:, 0, 0] = [float(np.nextafter(0.5, 0)), 0.5, BELOW_1]
    group = Group(flat(3, [0.25, 0.25, 0.5], [0.5, 0.25, 0.25]), config, tapes)
    step = decode([group])
    assert step.trees.tokens[:, 1:].sort(dim=1).values.tolist() == [[0, 1], [0, 2], [0, 2]]
    assert assert_same_steps([group], step, 3) == 3


# The comparison itself


def small(verify: str = "rheo") -> Group:
    config = Config(slots=3, head=1, depth=2, nodes=5, sparse=None, verify=verify, target=None, draft=None)
    return Group(dyadic_models(3, 4, 2), config, mixed_tapes(3, config, 20))


TREES = ("tokens", "parents", "depths", "kinds", "slots", "values", "paths", "expansion", "children", "slot_tokens")


@pytest.mark.parametrize("field", [*TREES, "owner", "draft_used"])
def test_a_tree_that_differs_in_one_field_is_noticed(field: str) -> None:
    changed(small(), "trees", field)


@pytest.mark.parametrize("field", ["tokens", "lengths", "accepted", "last", "keep", "coin_used", "token_used"])
def test_a_walk_that_differs_in_one_field_is_noticed(field: str) -> None:
    changed(small(), "verified", field)


def changed(group: Group, part: str, field: str) -> None:
    """Shift all entries of a field."""
    step = decode([group])
    value = getattr(getattr(step, part), field)
    if value.dtype.is_floating_point:
        value += 2**-40
    else:
        value[:] = ~value if value.dtype == torch.bool else value + 1
    assert len(reference_step(group, 0).tree) > 1
    with pytest.raises(AssertionError):
        assert_same_steps([group], step, 1)


def test_a_step_that_calls_a_sound_model_broken_is_noticed() -> None:
    step = decode([small()])
    step.verified.broken[3] = True
    with pytest.raises(AssertionError, match="broken"):
        assert_same_strings([small()], step)


def test_a_string_that_differs_is_noticed() -> None:
    step = decode([small()])
    step.verified.tokens[17, 0] = (step.verified.tokens[17, 0] + 1) % 4
    with pytest.raises(AssertionError, match="request 17"):
        assert_same_strings([small()], step)
