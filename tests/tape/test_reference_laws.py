"""From logits to laws: the order of the filters, ties by token id, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rheo_reference import Processing
from rheo_reference.laws import Laws, best, check, process
from rheo_reference.slots import cut

LOGITS = st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0, -1.0, -3.5, -math.inf, 700.0, -800.0]), min_size=1, max_size=8)
FINITE = LOGITS.filter(lambda row: max(row) > -math.inf)


def law(weights: list[float], how: Processing) -> list[float]:
    """The processed law of logits that are logarithms of weights, in percent."""
    with np.errstate(divide="ignore"):
        return [round(100 * mass, 6) for mass in process(np.log(weights), how).tolist()]


# The four filters


def test_softmax_at_a_temperature() -> None:
    logits, temperature = [0.5, -1.0, 2.0], 0.7
    weights = [math.exp(x / temperature) for x in logits]
    assert process(logits, Processing(temperature)).tolist() == pytest.approx([w / sum(weights) for w in weights])


def test_temperature_0_takes_the_largest_logit_and_the_lowest_id_among_equals() -> None:
    assert process([1.0, 3.0, 3.0], Processing(temperature=0)).tolist() == [0, 1, 0]


def test_a_tiny_temperature_tends_to_temperature_0() -> None:
    assert process([1.0, 3.0, -math.inf], Processing(temperature=1e-308)).tolist() == [0, 1, 0]


def test_top_k_keeps_exactly_k_tokens_and_prefers_low_ids() -> None:
    assert law([2, 4, 2, 2], Processing(top_k=2)) == pytest.approx([100 / 3, 200 / 3, 0, 0], abs=1e-5)
    assert law([2, 4, 2, 2], Processing(top_k=9)) == [20, 40, 20, 20]


def test_top_p_keeps_the_fewest_tokens_that_reach_it() -> None:
    weights = [5.0, 1.0, 3.0, 1.0]
    assert law(weights, Processing(top_p=0.45)) == [100, 0, 0, 0]
    assert law(weights, Processing(top_p=0.55)) == [62.5, 0, 37.5, 0]
    assert law(weights, Processing(top_p=0.85)) == pytest.approx([500 / 9, 100 / 9, 300 / 9, 0], abs=1e-5)


def test_min_p_is_relative_to_the_most_likely_token() -> None:
    assert law([6.0, 2.0, 1.0, 1.0], Processing(min_p=0.3)) == [75, 25, 0, 0]


def test_top_k_comes_before_top_p() -> None:
    """50, 30, 20 become 62.5, 37.5 after top-k; without it, top_p = 0.6 would not be reached by the first token."""
    assert law([50.0, 30.0, 20.0], Processing(top_p=0.6)) == [62.5, 37.5, 0]
    assert law([50.0, 30.0, 20.0], Processing(top_k=2, top_p=0.6)) == [100, 0, 0]


def test_top_p_comes_before_min_p() -> None:
    """The order of transformers. Were min-p first, it would leave 4/7 and 3/7, and top-p then only the first."""
    assert law([40.0, 30.0, 10.0, 10.0, 10.0], Processing(top_p=0.5, min_p=0.5)) == pytest.approx(
        [400 / 7, 300 / 7, 0, 0, 0], abs=1e-5
    )


@given(FINITE, st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([None, 1, 3]), st.sampled_from([0.3, 0.9, 1.0]))
def test_a_processed_law_is_a_law_and_never_revives_a_banned_token(
    logits: list[float], temperature: float, top_k: int | None, top_p: float
) -> None:
    for dtype in ("float64", "float32"):
        found = process(logits, Processing(temperature, top_k, top_p, 0.1), dtype)
        assert found.dtype == np.float64
        assert check(found.astype(dtype)).sum() == pytest.approx(1)
        assert not found[np.isneginf(logits)].any()


# The order of section 2


@given(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.3]), min_size=1, max_size=9), st.integers(1, 10))
@example([0.0, 0.0, 0.0], 2)
@example([0.3, 0.3, 0.3], 2)
def test_best_is_the_order_by_probability_then_token_id(weights: list[float], k: int) -> None:
    wanted = sorted((x for x, w in enumerate(weights) if w > 0), key=lambda x: (-weights[x], x))[:k]
    assert best(np.array(weights), k).tolist() == wanted


def test_a_cut_law_is_renormalised_and_an_uncut_one_is_left_alone() -> None:
    order, q = cut(np.array([0.25, 0.125, 0.5, 0.125]), 2)
    assert (order.tolist(), q.tolist()) == ([2, 0], pytest.approx([2 / 3, 1 / 3]))
    order, q = cut(np.array([0.3, 0.0, 0.7]), 2)
    assert (order.tolist(), q.tolist()) == ([2, 0], [0.7, 0.3])


# What is refused


@pytest.mark.parametrize(
    ("logits", "why"),
    [
        ([0.0, math.nan], "a logit is NaN"),
        ([math.nan, math.inf], "a logit is NaN"),
        ([0.0, math.inf], r"a logit is \+inf"),
        ([-math.inf, -math.inf], "all logits are -inf"),
        ([], "expected one number for each token"),
        ([[0.0]], "expected one number for each token"),
    ],
)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_unusable_logits_are_refused(logits: Any, why: str, temperature: float) -> None:
    with pytest.raises(ValueError, match=why):
        process(logits, Processing(temperature))


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ([0.5, math.nan], "token 1 has probability nan"),
        ([0.0, 0.0], "all probabilities are 0"),
        ([1.5, -0.5], "token 1 has probability -0.5"),
        ([0.0, 1.0 + 1e-12], "token 1 has probability 1.0"),
        ([0.5, 0.25], "sum to 0.75, not to 1"),
        ([0.5, 0.5 + 1e-6], "not to 1"),
        ([], "expected one number"),
    ],
)
def test_a_row_that_is_no_law_is_refused(row: list[float], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check(row)


def test_a_float32_law_may_be_off_by_its_own_rounding() -> None:
    assert check(np.array([0.5, 0.5 + 1e-6], dtype=np.float32)).dtype == np.float64


def test_an_error_names_model_and_prefix_and_comes_only_for_rows_that_are_used() -> None:
    laws = Laws(lambda prefixes: [[0.0, 1.0], [math.nan, 0.0]], [(4,), (4, 1)], Processing(), "float64", "draft")
    assert laws[0] is laws[0]
    for read in (lambda: laws[1], lambda: list(laws)):
        with pytest.raises(ValueError, match=r"draft model after prefix \(4, 1\): a logit is NaN"):
            read()


@pytest.mark.parametrize("answer", [[0.5, 0.5], [[0.5, 0.5]], [[[0.5]], [[0.5]]]])
def test_a_model_has_to_answer_with_one_row_for_each_prefix(answer: Any) -> None:
    with pytest.raises(ValueError, match="the target model answered 2 prefixes"):
        Laws(lambda prefixes: answer, [(), (0,)], None, "float64", "target")


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", -1), ("temperature", math.nan), ("top_k", 0), ("top_k", True), ("top_p", 0), ("min_p", 1.5)],
)
def test_processing_out_of_range_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} is"):
        Processing(**{name: value})


@pytest.mark.parametrize("temperature", [1e-50, 1e39])
def test_float32_takes_temperatures_that_it_cannot_hold(temperature: float) -> None:
    law = process([1.0, 2.0, -np.inf], Processing(temperature=temperature), "float32")
    assert law[2] == 0
    assert law.sum() == 1


def test_float32_is_computed_in_float32() -> None:
    logits = [0.1, 0.2, 0.3]
    single, double = (process(logits, Processing(), dtype) for dtype in ("float32", "float64"))
    assert (single == single.astype(np.float32)).all()
    assert (single != double).any()
