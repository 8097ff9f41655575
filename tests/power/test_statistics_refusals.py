"""What `assert_law_equal` refuses: unusable counts, laws, samplers and methods, and everything that is not a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.asserts import METHODS, assert_law_equal
from rheo_proof.stats.ledger import current, separate_ledger
from rheo_proof.stats.plan import plan_draws
from rheo_proof.stats.sampling import batch_sizes
from tests.power.samplers import EPS, LAW, RIGHT


@pytest.mark.parametrize(
    "counts",
    [
        [],
        [1, 2],
        [[1, 2, 3, 4, 5]],
        [0, 0, 0, 0, 0],
        [1, -1, 1, 1, 0],
        [1.0, 2.0, 3.0, 4.0, 0.0],
        [float("nan")] * 5,
        np.array([1.5, 2, 3, 4, 0]),
        np.array([np.nan] * 5),
        [True, True, True, True, False],
        ["1", "2", "3", "4", "5"],
        "12345",
        None,
        7,
        {},
        {(0,): -1},
        {(0,): 0.5},
        {(0,): float("nan")},
        {(0,): None},
    ],
    ids=repr,
)
def test_unusable_counts_are_refused(counts: object) -> None:
    before = current().total
    with pytest.raises(InputError):
        assert_law_equal(counts, LAW, eps=EPS)
    assert current().total == before


@pytest.mark.parametrize(
    "law",
    [[], {}, ["1/2"], ["1/2", "3/4"], ["3/2", "-1/2"], [0.5, 0.5], ["x"], "1", None, 3, {"a": float("nan"), "b": 1}],
    ids=repr,
)
def test_an_unusable_law_is_refused(law: Any) -> None:
    with pytest.raises(InputError):
        assert_law_equal(RIGHT, law, eps=EPS)


@pytest.mark.parametrize(
    "draws",
    [
        lambda generator, n: generator.random(n),
        lambda generator, n: np.full(n, np.nan),
        lambda generator, n: generator.integers(4, size=n + 1),
        lambda generator, n: generator.integers(4, size=n - 1),
        lambda generator, n: generator.integers(4, size=(n, 2)),
        lambda generator, n: np.full(n, 5),
        lambda generator, n: np.full(n, -1),
        lambda generator, n: [n, 0, 0, 0, 1],
        lambda generator, n: np.array([n, 0, 0, 0, 1]),
        lambda generator, n: {(0,): n - 1},
        lambda generator, n: {(0,): n - 0.5},
        lambda generator, n: [(0,)] * (n - 1),
        lambda generator, n: None,
        lambda generator, n: 3,
    ],
    ids=range(14),
)
@pytest.mark.parametrize("method", METHODS)
def test_a_sampler_that_returns_something_else_is_refused(draws: Any, method: str) -> None:
    with separate_ledger(), pytest.raises(InputError):
        assert_law_equal(draws, LAW, eps="0.2", method=method)


def test_fewer_counts_than_planned_are_refused_with_the_number_that_is_needed() -> None:
    planned = plan_draws(LAW, EPS).draws
    short = {(0,): planned // 2, (1, 0): planned // 4, (1, 1): planned // 8, (2,): planned // 16}
    with pytest.raises(InputError, match=f"{planned:,}"):
        assert_law_equal(short, LAW, eps=EPS)


@pytest.mark.parametrize("method", ["sequential", "two-stage", "chi-square"])
def test_a_method_that_does_not_fit_is_refused(method: str) -> None:
    with pytest.raises(InputError, match="method"):
        assert_law_equal([10**6] * 5, LAW, eps=EPS, method=method)


def test_a_p_value_that_is_not_a_number_never_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheo_proof.stats.goodness.empirical_tv", lambda *_: float("nan"))
    for method in METHODS:
        with separate_ledger(), pytest.raises(InputError, match="nan"):
            assert_law_equal(RIGHT, LAW, eps=EPS, method=method)


# Batches


@pytest.mark.parametrize("growing", [True, False])
@pytest.mark.parametrize("cells", [1, 2, 3, 999, 1000, 1001, 1250])
def test_batches_add_up_and_are_never_as_large_as_the_number_of_cells(cells: int, growing: bool) -> None:
    for total in (1, 2, 3, 999, 1000, 1001, 1002, 2000, 2001, 2250, 5000, 12_345):
        sizes = list(batch_sizes(total, cells, growing))
        assert sum(sizes) == total
        assert min(sizes) >= 1
        assert cells not in sizes or (cells == total == 1)
