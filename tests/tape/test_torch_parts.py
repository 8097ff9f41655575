"""The parts of the torch decoder, each beside what the NumPy decoder or a plain sort makes of the same numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rheo_gpu import Config as TorchConfig
from rheo_gpu import Processing
from rheo_gpu.laws import best, ordered
from rheo_gpu.slots import expand
from rheo_gpu.tape import added, inverse_cdf, put
from rheo_reference import Config, Models
from rheo_reference import laws as reference_laws
from rheo_reference.slots import cut
from rheo_reference.tape import inverse_cdf as reference_inverse_cdf
from torch import Tensor

from tests.torch_models import BELOW_1, RULES, Group, assert_same_steps, decode, mixed_tapes

SEEDS = st.integers(0, 1 << 32)


# The best tokens


def rows_with_ties(rng: np.random.Generator, count: int, vocab: int) -> Any:
    """All equal, a few values, ties around every cut, -inf, and rows without any."""
    values = rng.choice([-math.inf, -2.0, 0.0, 0.0, 1.0, 1.0, 3.5], size=(count, vocab))
    for row in values[::5]:
        row[:] = rng.choice([0.0, -math.inf, 7.0])
    values[1::5] = rng.normal(size=values[1::5].shape)
    for row in values[2::5]:
        row[rng.permutation(vocab)[: vocab // 2]] = 2.0
    return values


def assert_best(rows: Tensor, k: int, by: Callable[[Tensor, int], tuple[Tensor, Tensor]] = best) -> None:
    entries, tokens = by(rows, k)
    order = np.argsort(-rows.numpy(), axis=-1, kind="stable")[..., :k]
    assert tokens.tolist() == order.tolist()
    assert entries.tolist() == np.take_along_axis(rows.numpy(), order, -1).tolist()


@given(SEEDS, st.integers(1, 40), st.integers(1, 40), st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
def test_the_best_tokens_are_those_of_a_stable_sort(seed: int, vocab: int, k: int, dtype: torch.dtype) -> None:
    rows = torch.from_numpy(rows_with_ties(np.random.default_rng(seed), 10, vocab)).to(dtype).to(torch.float64)
    assert_best(rows.view(5, 2, vocab), min(k, vocab))
    assert_best(rows, min(k, vocab))


@pytest.mark.parametrize("vocab", [511, 512, 1000, 4099])
@pytest.mark.parametrize("k", [1, 2, 3, 31])
def test_the_best_tokens_of_long_rows(vocab: int, k: int) -> None:
    """A long row may be looked at in blocks: the best tokens sit in one of them, in all, at the ends, and in ties."""
    rng = np.random.default_rng([vocab, k])
    rows = rows_with_ties(rng, 10, vocab)
    clustered = rng.normal(size=(4, vocab))
    clustered[0, 32:64] += 100
    clustered[1, -k:] = 50.0
    clustered[2, ::32] = 50.0
    clustered[3, :] = np.where(np.arange(vocab) >= vocab - 1, 0.0, -math.inf)
    assert_best(torch.from_numpy(np.concatenate([rows, clustered])), k)


def test_the_best_tokens_of_rows_that_are_not_contiguous() -> None:
    rows = torch.from_numpy(rows_with_ties(np.random.default_rng(0), 12, 30))
    for view in (rows[:, 3:20], rows.T[:9].T, rows.view(3, 4, 30).transpose(0, 1)):
        entries, tokens = best(view, 4)
        again = best(view.contiguous(), 4)
        assert torch.equal(entries, again[0])
        assert torch.equal(tokens, again[1])


def test_ties_by_the_higher_token_id_are_noticed() -> None:
    def high_ids_first(rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
        entries, tokens = best(rows.flip(-1), k)
        return entries, rows.shape[-1] - 1 - tokens

    rows = torch.zeros(1, 4099)
    rows[0, 5::7] = 1.0
    assert_best(rows, 50)
    with pytest.raises(AssertionError):
        assert_best(rows, 50, high_ids_first)


@given(SEEDS, st.integers(1, 24), st.sampled_from([None, 1, 2, 5, 23, 24, 128]))
def test_a_cut_law_is_that_of_the_numpy_decoder(seed: int, vocab: int, sparse: int | None) -> None:
    """Given as a law, exactly; made of logits, but for the last bits of the softmax."""
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 1.0, 1.0, 2.0, 8.0], size=(4, vocab))
    weights[~weights.any(1), 0] = 1.0
    laws = weights / 2 ** np.ceil(np.log2(weights.sum(1, keepdims=True)))
    laws[:, -1] += 1 - laws.sum(1)
    tokens, q = ordered(torch.from_numpy(laws), None, sparse)
    with np.errstate(divide="ignore"):
        logits = np.log(weights)
    of_logits = ordered(torch.from_numpy(logits), Processing(0.7), sparse)
    sorting = ordered(torch.from_numpy(logits), Processing(0.7, top_k=vocab), sparse)
    for i, law in enumerate(laws):
        order, expected = cut(law, sparse)
        assert tokens[i, : len(order)].tolist() == order.tolist()
        assert q[i].tolist() == [*expected, *[0.0] * (q.shape[1] - len(expected))]
        processed = reference_laws.process(logits[i], reference_laws.Processing(0.7))
        order, expected = cut(processed, sparse)
        for some_tokens, some_q in (of_logits, sorting):
            assert some_tokens[i, : len(order)].tolist() == order.tolist()
            np.testing.assert_allclose(some_q[i, : len(order)], expected, rtol=1e-12)
            assert not some_q[i, len(order) :].any()


def test_min_p_keeps_a_token_that_is_exactly_likely_enough() -> None:
    tokens, q = ordered(torch.tensor([[0.0, 2.0, 1.0, 2.0]]), Processing(min_p=1.0), 3)
    assert tokens[0, :2].tolist() == [1, 3]
    assert q.tolist() == [[0.5, 0.5, 0.0]]


def test_the_mass_of_a_tail_is_at_most_1_even_where_its_sum_is_rounded_up() -> None:
    """Nine times 1/9 add up to more than 1; a proxy above 1 would lift a child over its parent."""
    q = torch.tensor([[[1e-300] + 9 * [1 / 9]]], dtype=torch.float64)
    assert added(q[..., 1:]) > 1
    config = TorchConfig(slots=2, head=1, depth=1, nodes=2, sparse=None, proxy="tail")
    slots, tail = expand(torch.arange(10).view(1, 1, 10), q, torch.zeros(1, 1, dtype=torch.float64), config)
    assert tail.z.tolist() == [[1.0]]
    assert slots.factors[0, 0, 1] == 1.0


def test_logits_of_one_probability_are_in_the_order_of_their_ids() -> None:
    """Two logits so close that a high temperature makes one number of them: the lower id is first, not the larger."""
    logits = torch.tensor([[0.0, 1.0, 1.0 + 2**-52, -3.0]]).double()
    tokens, q = ordered(logits, Processing(8.0), 3)
    assert q[0, 0] == q[0, 1]
    assert tokens.tolist() == [[1, 2, 0]]


# Draws and sums


def assert_draws(weights: Any, u: Any) -> None:
    found = inverse_cdf(torch.from_numpy(weights), torch.from_numpy(u)).tolist()
    assert found == [reference_inverse_cdf(row, float(v)) for row, v in zip(weights, u, strict=True)]


@given(SEEDS, st.sampled_from([1, 2, 3, 7, 16, 40]))
def test_a_draw_is_that_of_the_numpy_decoder(seed: int, size: int) -> None:
    """Zeros in front, behind and between; uniforms at cdf values, beside them, 0 and the largest below 1."""
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 0.0, 1.0, 3.0, 0.1], size=(60, size))
    weights[~weights.any(1), rng.integers(size)] = 0.5
    cdf = weights.cumsum(1)
    u = cdf[np.arange(60), rng.integers(size, size=60)] / cdf[:, -1]
    u = np.where(u < 1, u, rng.choice([0.0, BELOW_1]))
    assert_draws(weights, u)
    assert_draws(weights, np.nextafter(u, 0))
    assert_draws(weights, np.minimum(np.nextafter(u, 1), BELOW_1))
    assert_draws(weights * 1e-300, u)


@pytest.mark.parametrize("size", [511, 513, 1000, 1024, 3001])
def test_a_draw_from_a_long_row_is_that_of_the_numpy_decoder(size: int) -> None:
    """Weight in one place, at the ends, in a few places, everywhere."""
    rng = np.random.default_rng(size)
    weights = np.zeros((240, size))
    for i, row in enumerate(weights):
        count = (1, 2, 5, size // 2, size)[i % 5]
        row[rng.permutation(size)[:count]] = rng.integers(1, 64, size=count) / 64
    weights[::40, [0, -1]] = 0.5
    cdf = weights.cumsum(1)
    u = cdf[np.arange(240), rng.integers(size, size=240)] / cdf[:, -1]
    u = np.where(u < 1, u, rng.choice([0.0, BELOW_1], size=240))
    for uniforms in (u, np.nextafter(u, 0), np.minimum(np.nextafter(u, 1), BELOW_1), rng.random(240)):
        assert_draws(weights, uniforms)


def test_a_draw_that_takes_the_boundary_is_noticed() -> None:
    weights, u = np.array([[0.25, 0.0, 0.75]]), np.array([0.25])
    assert_draws(weights, u)
    with pytest.raises(AssertionError):
        assert inverse_cdf(torch.from_numpy(weights), torch.from_numpy(np.nextafter(u, 0))).tolist() == [2]


@given(SEEDS, st.integers(0, 40))
def test_sums_run_from_left_to_right(seed: int, terms: int) -> None:
    values = np.random.default_rng(seed).exponential(size=(3, terms)) ** 9
    assert added(torch.from_numpy(values)).tolist() == [sum(row.tolist(), 0.0) for row in values]


@given(SEEDS, st.integers(1, 6), st.integers(1, 6))
def test_put_writes_where_the_mask_says_and_nowhere_else(seed: int, vocab: int, count: int) -> None:
    """Places that are not written may name any token, also one that is written, and -1."""
    rng = np.random.default_rng(seed)
    count = min(count, vocab)
    rows, values = rng.random((8, vocab)), rng.random((8, count))
    tokens = np.array([rng.permutation(vocab)[:count] for _ in range(8)])
    mask = rng.random((8, count)) < rng.choice([0.0, 0.5, 1.0], size=(8, 1))
    tokens = np.where(mask, tokens, rng.integers(-1, vocab, size=(8, count)))
    expected = rows.copy()
    for i, j in np.argwhere(mask):
        expected[i, tokens[i, j]] = values[i, j]
    given_rows = torch.from_numpy(rows)
    found = put(given_rows, *map(torch.from_numpy, (tokens, values, mask)))
    assert found.tolist() == expected.tolist()
    assert given_rows.tolist() == rows.tolist()


# Long vocabularies


@pytest.mark.parametrize("verify", RULES)
def test_a_long_vocabulary_decodes_as_in_the_numpy_decoder(verify: str) -> None:
    """1501 tokens, laws of sixty-fourths; a beam, a sparse law and ties."""
    rng, vocab = np.random.default_rng(1), 1501
    pool = np.zeros((6, vocab))
    for row in pool:
        np.add.at(row, np.minimum(rng.geometric(0.05, size=64) - 1 + 500 * rng.integers(3), vocab - 1), 1 / 64)
    pool[1] = (pool[0] + pool[2]) / 2
    target = pool[rng.integers(6, size=1 + vocab)]
    target[0] = (pool[0] + pool[1]) / 2
    for sparse in (8, None):
        config = Config(slots=4, head=1, depth=1, nodes=4, sparse=sparse, verify=verify, target=None, draft=None)
        models = Models(target, pool[:1])
        group = Group(models, config, mixed_tapes(1, config, 30))
        assert assert_same_steps([group], decode([group]), 30) == 30
