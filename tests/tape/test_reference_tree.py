"""The draft tree of the NumPy decoder: invariants, the arrays for tree attention, EAGLE's tree, and token ids."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rheo_reference import Config, Step, Tapes, Tree, decode_step
from rheo_reference.flow import Masses
from rheo_reference.laws import Laws, Prefix
from rheo_reference.slots import expand
from rheo_reference.verify import residual

from tests.tape.test_reference_verify import config_for, edge_tape, float_models

SEEDS = st.integers(0, 1 << 32)


def random_laws(seed: int, vocab: int, side: str, tokens: Sequence[int] | None = None) -> Callable[..., Any]:
    """Laws without ties. With `tokens`, the same model after token x has been renamed tokens[x]."""
    names = range(vocab) if tokens is None else tokens

    def row(prefix: Prefix) -> Any:
        old = [list(names).index(x) for x in prefix]
        weights = np.random.default_rng([seed, len(side), len(old), *old]).exponential(size=vocab) ** 2
        renamed = np.zeros(vocab)
        renamed[list(names)] = weights / weights.sum()
        return renamed

    return lambda prefixes: [row(prefix) for prefix in prefixes]


def step_of(config: Config, seed: int, vocab: int, tokens: Sequence[int] | None = None) -> Step:
    tape = Tapes.fill(np.random.default_rng(seed), config)[0]
    models = [random_laws(seed, vocab, side, tokens) for side in ("target", "draft")]
    return decode_step(models[0], models[1], (), config, tape)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Tree, Config]:
    target, draft = draw(float_models())
    config = config_for(draw)
    tape = edge_tape(config, random.Random(draw(SEEDS)), [0.0])
    return decode_step(target, draft, (), config, tape).tree, config


# Invariants


@given(trees())
def test_a_kept_tree_has_its_invariants(drawn: tuple[Tree, Config]) -> None:
    tree, config = drawn
    assert 1 <= len(tree) - 1 <= config.nodes
    assert tree.depths.max() <= config.depth
    assert (tree.parents[0], tree.depths[0], tree.tokens[0], tree.kinds[0], tree.values[0]) == (-1, 0, -1, "root", 1)
    assert (np.diff(tree.values) <= 0).all()
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        assert 0 <= parent < node
        assert tree.depths[node] == tree.depths[parent] + 1
        assert tree.values[node] <= tree.values[parent]
        assert tree.kinds[node] in ("head", "sampled", "fill")
        assert (tree.tails[node] is not None) == (tree.kinds[node] == "sampled")
        assert tree.child(parent, tree.tokens[node]) == node


@given(trees())
def test_siblings_are_distinct_in_slot_order_head_sampled_fill(drawn: tuple[Tree, Config]) -> None:
    tree, config = drawn
    for node in range(len(tree)):
        children = tree.children(node)
        assert len({int(tree.tokens[child]) for child in children}) == len(children) <= config.slots
        slots = [int(tree.slots[child]) for child in children]
        assert slots == sorted(set(slots))
        kinds = [kind for kind, _ in groupby(tree.kinds[child] for child in children)]
        assert kinds == [kind for kind in ("head", "sampled", "fill") if kind in kinds]
        sampled = [child for child in children if tree.kinds[child] == "sampled"]
        assert sampled == [child for child in [tree.sampled_child(node)] if child is not None]
        if "sampled" in kinds and "fill" in kinds:
            assert all(sampled[0] < child for child in children if tree.kinds[child] == "fill")
    assert tree.child(0, -7) is None


@given(trees())
def test_the_arrays_for_tree_attention_say_the_same_as_the_parents(drawn: tuple[Tree, Config]) -> None:
    tree, _ = drawn
    above = [{0}]
    for node in range(1, len(tree)):
        above.append(above[tree.parents[node]] | {node})
    mask = tree.ancestor_mask()
    assert [set(np.flatnonzero(row).tolist()) for row in mask] == above
    assert tree.position_ids(10).tolist() == [8 + len(nodes) for nodes in above]
    paths = tree.paths()
    assert len(set(paths)) == len(paths)
    assert paths == [tuple(int(tree.tokens[node]) for node in sorted(nodes - {0})) for nodes in above]
    rows = [[node for node in row if node >= 0] for row in tree.retrieve_paths().tolist()]
    leaves = sorted(set(range(len(tree))) - set(tree.parents.tolist()))
    assert rows == [sorted(above[leaf]) for leaf in leaves]
    assert tree.retrieve_paths().shape == (len(leaves), tree.depths.max() + 1)


@given(float_models(), st.data())
def test_factors_do_not_depend_on_the_sampled_token(models: tuple[Any, Any], data: st.DataObject) -> None:
    """Not the head's, nor the proxy; no fill is above the proxy, nor anything above 1."""
    config = config_for(data.draw)
    expansion = expand(np.array(models[1]([()])[0]), config)
    if expansion.tail is None:
        assert {slot.kind for slot in expansion.slots(None)} <= {"head"}
        return
    m = len(expansion.head)
    for x in expansion.tail.tokens:
        factors = [slot.factor for slot in expansion.slots(int(x))]
        assert factors[: m + 1] == [*(slot.factor for slot in expansion.head), expansion.proxy]
        assert max(factors[m:]) == expansion.proxy <= 1
        assert factors[m + 1 :] == sorted(factors[m + 1 :], reverse=True)
        assert len(factors) == min(config.slots, m + len(expansion.tail.tokens))


# The tree of the specification, by hand


def test_the_tree_by_hand_ranks_as_in_the_specification() -> None:
    q = [3 / 5, 3 / 10, 1 / 10]
    for nodes in range(1, 7):
        config = Config(slots=2, head=1, depth=2, nodes=nodes, target=None, draft=None)
        tape = Tapes.fill(np.random.default_rng(0), config)[0]
        tree = decode_step(lambda us: [q] * len(us), lambda us: [q] * len(us), (), config, tape).tree
        ranked = [
            ("head", 0, 3 / 5),
            ("sampled", 0, 2 / 5),
            ("head", 1, 9 / 25),
            ("sampled", 1, 6 / 25),
            ("head", 2, 6 / 25),
            ("sampled", 2, 4 / 25),
        ]
        found = zip(tree.kinds[1:], tree.parents[1:].tolist(), tree.values[1:].tolist(), strict=True)
        assert list(found) == [(kind, parent, pytest.approx(value)) for kind, parent, value in ranked[:nodes]]


@pytest.mark.parametrize(
    ("head", "options", "proxy"),
    [
        (0, {}, 1.0),
        (1, {}, 0.5),
        (2, {}, 0.25),
        (0, {"proxy": "tail", "proxy_scale": 0.5}, 0.5),
        (1, {"proxy": "tail"}, 0.5),
        (1, {"proxy": "tail", "proxy_scale": 0.1}, 0.25),
        (2, {"proxy": "tail"}, 0.25),
    ],
)
def test_proxies_of_a_law_of_dyadic_numbers(head: int, options: dict[str, Any], proxy: float) -> None:
    config = Config(slots=3, head=head, fill_scale=0.5, **options)
    expansion = expand(np.array([0.125, 0.5, 0.125, 0.25]), config)
    assert expansion.proxy == proxy
    assert expansion.tail is not None
    slots = list(expansion.slots(int(expansion.tail.tokens[-1])))
    order, q = [1, 3, 0, 2], {1: 0.5, 3: 0.25, 0: 0.125}
    fills = [(x, "fill", q[x] / 2) for x in order[head:2]]
    assert slots == [*((x, "head", q[x]) for x in order[:head]), (2, "sampled", proxy), *fills]


# EAGLE


def eagle_paths(draft: Any, depth: int, top_k: int, total_tokens: int) -> set[Prefix]:
    """The tree of EAGLE-2/3 as their code grows it, from sums of log-probabilities."""

    def children(prefix: Prefix, score: float) -> list[tuple[float, Prefix]]:
        logs = np.log(draft([prefix])[0])
        return [(score + logs[x], (*prefix, int(x))) for x in np.argsort(-logs)[:top_k]]

    layer = children((), 0.0)
    scored = list(layer)
    for _ in range(depth):
        fresh = [child for score, prefix in layer for child in children(prefix, score)]
        scored += fresh
        layer = sorted(fresh, reverse=True)[:top_k]
    return {prefix for _, prefix in sorted(scored, reverse=True)[: total_tokens - 1]}


@given(SEEDS, st.integers(0, 3), st.integers(1, 4), st.integers(2, 20))
def test_the_mapped_parameters_give_the_tree_of_eagle(seed: int, depth: int, top_k: int, total_tokens: int) -> None:
    config = Config.from_eagle(depth, top_k, total_tokens, head=top_k, verify="match", target=None, draft=None)
    assert (config.depth, config.slots, config.width, config.nodes) == (depth + 1, top_k, top_k, total_tokens - 1)
    step = step_of(config, seed, 6)
    assert set(step.tree.paths()[1:]) == eagle_paths(random_laws(seed, 6, "draft"), depth, top_k, total_tokens)
    assert "sampled" not in step.tree.kinds
    assert all(what == "token" for what, _, _ in step.used)


def test_the_defaults_of_eagle_are_the_defaults_here_but_for_the_root() -> None:
    config = Config.from_eagle()
    assert (config.depth, config.slots, config.width, config.nodes) == (8, 10, 10, 59)


# Names of tokens do not matter where nothing ties


@given(SEEDS, st.permutations(range(6)), st.integers(0, 3), st.sampled_from([None, 4]))
def test_renaming_the_tokens_renames_the_tree(seed: int, tokens: Sequence[int], head: int, sparse: int | None) -> None:
    config = Config(slots=3, head=head, depth=3, nodes=8, sparse=sparse, verify="flow", target=None, draft=None)
    plain, renamed = step_of(config, seed, 6).tree, step_of(config, seed, 6, tokens).tree
    assert renamed.paths() == [tuple(tokens[x] for x in path) for path in plain.paths()]
    assert renamed.kinds == plain.kinds
    for name in ("parents", "depths", "slots", "values"):
        assert getattr(renamed, name).tolist() == getattr(plain, name).tolist()


@given(SEEDS, st.permutations(range(6)), st.integers(0, 2))
def test_renaming_the_tokens_renames_what_verification_draws_from(seed: int, tokens: Sequence[int], head: int) -> None:
    config = Config(slots=3, head=head, depth=3, nodes=8, sparse=None, verify="flow", target=None, draft=None)
    weights = []
    for names in (range(6), tokens):
        tree = step_of(config, seed, 6, names).tree
        p = Laws(random_laws(seed, 6, "target", names), tree.paths(), None, "float64", "target")
        masses = Masses(tree, p)
        for node in range(1, len(tree)):
            masses.insert(node)
        full = masses.full()
        rows = [masses.weights(node, full) for node in range(len(tree))]
        rows += [residual(p[tree.parents[i]], 1.0, tail) for i, tail in enumerate(tree.tails) if tail]
        weights.append([row[list(names)].tolist() for row in rows])
    assert weights[0] == weights[1]


def test_a_wrong_name_is_noticed() -> None:
    """The twin: with the target's tokens renamed and not the draft's, the weights differ."""
    config = Config(slots=3, head=1, depth=2, nodes=8, target=None, draft=None)
    tree = step_of(config, 1, 6).tree
    tail = next(tail for tail in tree.tails if tail)
    rows = [np.array(random_laws(1, 6, "target", names)([()])[0]) for names in (range(6), [1, 0, 3, 2, 5, 4])]
    assert residual(rows[0], 1.0, tail).tolist() != residual(rows[1], 1.0, tail)[[1, 0, 3, 2, 5, 4]].tolist()
