"""What `assert_law_equal` refuses: unusable counts, laws, samplers and methods, and everything that is not a number."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.asserts import METHODS, assert_law_equal
from rheo_proof.stats.cells import Counts, read_counts, read_law
from rheo_proof.stats.ledger import current, separate_ledger
from rheo_proof.stats.plan import plan_draws
from rheo_proof.stats.sampling import batch_sizes, draw
from rheo_proof.stats.verdict import LawMismatch
from tests.power.samplers import EPS, LAW, RIGHT, SURE


@pytest.mark.parametrize(
    "counts",
    [
        [],
        [1, 2],
        [[1, 2, 3, 4, 5]],
        [[1, 2], [3], 4, 5, 6],
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
        lambda generator, n: [[0]] * n,
        lambda generator, n: [{0}] * n,
        lambda generator, n: deque([[0], [0, 1]]),
        lambda generator, n: [0] * n,
    ],
    ids=range(18),
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


@pytest.mark.parametrize("name", [5, 0, b"x", ("x",)], ids=repr)
def test_a_name_that_is_not_a_string_is_refused(name: Any) -> None:
    with pytest.raises(InputError, match="name"):
        assert_law_equal(RIGHT, LAW, eps=EPS, name=name)


# Positions and names

BACKWARDS = {1: "1/3", 0: "2/3"}


def tosses(shape: Callable[[Any], Any], zeros: int) -> Callable[[Any, int], Any]:
    """Token ids, so many zeros in three."""
    return lambda generator, n: shape((generator.integers(3, size=n) >= zeros).astype(np.int64))


@pytest.mark.parametrize("zeros", [1, 2])
@pytest.mark.parametrize("shape", [np.asarray, np.bincount], ids=["ids", "counts"])
def test_an_array_is_refused_where_ids_and_positions_differ(shape: Any, zeros: int) -> None:
    """Read as positions, the wrong sampler (one zero in three) has the law and the right one does not."""
    with pytest.raises(InputError, match=r"two ways.*list of cells" if shape is np.asarray else "two ways.*mapping"):
        assert_law_equal(tosses(shape, zeros), BACKWARDS, eps="0.1")


def test_a_list_is_read_as_names_there() -> None:
    assert not assert_law_equal(tosses(np.ndarray.tolist, 2), BACKWARDS, eps="0.1").rejected
    with pytest.raises(LawMismatch):
        assert_law_equal(tosses(np.ndarray.tolist, 1), BACKWARDS, eps="0.1", beta=SURE)


@pytest.mark.parametrize(
    "law", [BACKWARDS, {1: "1/3", 2: "2/3"}, {"a": "1/3", 0: "2/3"}, {1.0: "1/3", 0.0: "2/3"}], ids=str
)
def test_counts_in_an_array_are_refused_where_they_can_be_read_in_two_ways(law: Any) -> None:
    with pytest.raises(InputError, match="two ways"):
        read_counts([1, 2], read_law(law))
    assert read_counts(dict.fromkeys(law, 2), read_law(law)) == Counts((2, 2))


@pytest.mark.parametrize(
    "law", [["1/3", "2/3"], {0: "1/3", 1: "2/3"}, {np.int64(0): "1/3", np.int64(1): "2/3"}], ids=str
)
def test_positions_and_names_that_are_the_same_are_read_alike(law: Any) -> None:
    target = read_law(law)
    assert draw(lambda _, n: np.array([0, 1, 1]), None, 3, target) == Counts((1, 2))
    assert draw(lambda _, n: [0, 1, 1], None, 3, target) == Counts((1, 2))


def test_a_list_of_integers_is_refused_where_no_cell_is_a_number() -> None:
    with pytest.raises(InputError, match="no cell of the law is a number"):
        draw(lambda _, n: [0, 1, 1], None, 3, read_law({"a": "1/3", "b": "2/3"}))
    assert draw(lambda _, n: np.array([0, 1, 1]), None, 3, read_law({"a": "1/3", "b": "2/3"})) == Counts((1, 2))


# Cells


class Scalar:
    """Like a tensor of no dimension: equal ones are told apart."""

    def item(self) -> int:
        return 1


class Arrayed:
    def __array__(self) -> Any:
        return np.array(1)


@pytest.mark.parametrize("make", [Scalar, Arrayed, lambda: (0, (Scalar(),)), lambda: frozenset([Arrayed()])])
def test_cells_that_are_compared_by_identity_are_refused(make: Any) -> None:
    with pytest.raises(InputError, match="plain numbers or strings"):
        read_law({make(): 1})
    with pytest.raises(InputError, match="plain numbers or strings"):
        read_counts({make(): 1}, read_law({0: 1}))
    with pytest.raises(InputError, match="plain numbers or strings"):
        draw(lambda _, n: [make() for _ in range(n)], None, 10, read_law({(0,): 1}))
    with pytest.raises(InputError, match="nan"):
        read_law({float("nan"): 1})


def test_torch_scalars_in_tuples_are_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match="Tensor"):
        draw(lambda _, n: [tuple(row) for row in torch.zeros(n, 2, dtype=torch.int64)], None, 9, read_law({(0, 0): 1}))


def test_numpy_integers_in_cells_become_integers() -> None:
    target = read_law({(np.int64(0), np.int32(1)): "1/2", np.str_("a"): "1/2"})
    assert target.cells == ((0, 1), "a")
    assert type(target.cells[0][0]) is type(target.cells[0][1]) is int  # type: ignore[index]
    returned = list(map(tuple, np.array([[0, 1], [0, 1]])))
    assert draw(lambda _, n: returned, None, 2, target) == Counts((2, 0))


# Batches


@pytest.mark.parametrize("growing", [True, False])
@pytest.mark.parametrize("cells", [1, 2, 3, 999, 1000, 1001, 1250])
def test_batches_add_up_and_are_never_as_large_as_the_number_of_cells(cells: int, growing: bool) -> None:
    for total in (1, 2, 3, 999, 1000, 1001, 1002, 2000, 2001, 2250, 5000, 12_345):
        sizes = list(batch_sizes(total, cells, growing))
        assert sum(sizes) == total
        assert min(sizes) >= 1
        assert cells not in sizes or (cells == total == 1)
