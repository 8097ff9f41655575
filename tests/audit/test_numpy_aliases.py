"""Which arrays of random numbers share their memory: as NumPy has it, or nobody may write there."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.audit.sources import law, refused

QUARTER, EIGHTH = Fraction(1, 4), Fraction(1, 8)


def doubled(other):
    """Whether a uniform is below 1/8, after what `other` makes of the array has been doubled in place."""

    def below() -> bool:
        u = np.random.rand(2, 2)
        other_array = other(u)
        other_array *= 2
        return bool(u[0, 0] < 0.25)

    return below


COPIES = {
    "copy": lambda u: u.copy(),
    "flatten": lambda u: u.flatten(),
    "flatten by columns": lambda u: u.flatten("F"),
    "ravel of columns": lambda u: u.T.ravel(),
    "astype": lambda u: u.astype(np.float64),
    "np.array": lambda u: np.array(u),
    "np.array of a type": lambda u: np.array(u, dtype=np.float64),
    "contiguous columns": lambda u: np.ascontiguousarray(u.T),
    "a list of indices": lambda u: u[[0, 1]],
    "repeat": lambda u: u.repeat(1),
}
VIEWS = {
    "itself": lambda u: u,
    "ravel": lambda u: u.ravel(),
    "reshape": lambda u: u.reshape(4),
    "columns": lambda u: u.T,
    "np.asarray": lambda u: np.asarray(u, None),
    "contiguous": lambda u: np.ascontiguousarray(u),
    "np.array without a copy": lambda u: np.array(u, copy=None),
    "slice": lambda u: u[:1],
    "new axis": lambda u: u[None],
}
UNCERTAIN = {
    "astype": lambda u: u.astype(np.float64, copy=False),
    "astype with positions": lambda u: u.astype(np.float64, "K", "unsafe", True, False),
    "astype of another type": lambda u: u.astype(np.float32, copy=False),
    "np.asarray of a type": lambda u: np.asarray(u, dtype=np.float64),
}


@pytest.mark.parametrize("other", COPIES.values(), ids=COPIES)
def test_a_copy_changes_nothing(other):
    assert law(doubled(other))[True] == QUARTER


@pytest.mark.parametrize("other", VIEWS.values(), ids=VIEWS)
def test_a_view_changes_its_array(other):
    assert law(doubled(other))[True] == EIGHTH


@pytest.mark.parametrize("other", UNCERTAIN.values(), ids=UNCERTAIN)
def test_what_may_be_a_view_is_read_only(other):
    assert "another array" in refused(doubled(other))
    assert law(lambda: bool(other(np.random.rand(2, 2))[0, 0] < 0.25))[True] == QUARTER


HIDDEN = {
    "put": lambda m: m.put([0], False),
    "partition": lambda m: m.partition(0),
    "view": lambda m: m.view(),
    "data": lambda m: m.data,
    "real": lambda m: m.real,
}


@pytest.mark.parametrize("use", HIDDEN.values(), ids=HIDDEN)
def test_memory_of_conditions_is_refused(use):
    """On a copy with everything decided, these would leave the array as it was."""
    assert "memory of the array" in refused(lambda: use(np.random.rand(2) < 0.5) is None)
