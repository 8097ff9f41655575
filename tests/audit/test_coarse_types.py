"""A random number in a type with a coarse grid has another law: it is refused wherever it would get one."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from rheo_proof.audit.errors import NotEnumerable
from tests.audit.sources import ONE_OF_FOUR, law, refused
from tests.audit.torch_programs import explored, law_of

HALF = np.ones(2, dtype=np.float16)
COARSE = [np.float16, np.longdouble]
OF_NUMPY = {
    "astype": lambda kind: np.random.rand(2).astype(kind)[0],
    "astype of one number": lambda kind: np.random.rand(2)[0].astype(kind),
    "np.array": lambda kind: np.array([np.random.rand()], dtype=kind)[0],
    "np.asarray": lambda kind: np.asarray(random.random(), dtype=kind),
    "an array times a number": lambda kind: (np.ones(2, kind) * random.random())[0],
    "a number times an array": lambda kind: (random.random() + np.zeros(2, kind))[0],
    "a number of NumPy": lambda kind: kind(0) + random.random(),
    "and one of NumPy": lambda kind: random.random() * kind(1),
    "minimum": lambda kind: np.minimum(random.random(), np.ones(2, kind))[0],
    "dtype": lambda kind: np.multiply(np.random.rand(2), 1, dtype=kind)[0],
    "dtype of a single one": lambda kind: np.multiply(random.random(), 1, dtype=kind),
    "sum": lambda kind: np.random.rand(1).sum(dtype=kind),
    "mean": lambda kind: np.mean(np.random.rand(1), dtype=kind),
    "where": lambda kind: np.where([True, False], random.random(), np.ones(2, kind))[0],
    "assignment": lambda kind: _put(np.zeros(2, kind), 0, random.random()),
    "assignment of an array": lambda kind: _put(np.zeros(2, kind), slice(2), np.random.rand(2)),
    "assignment among conditions": lambda kind: _put((np.random.rand(2) < 0.5).astype(kind), 0, random.random()),
    "in place": lambda kind: _times(np.ones(2, kind), np.random.rand(2)),
    "out": lambda kind: np.add(np.random.rand(2), 0, out=np.zeros(2, kind))[0],
    "stack": lambda kind: np.stack([np.random.rand(1), [0.5]], dtype=kind, casting="unsafe")[0, 0],
    "constructor": lambda kind: kind(random.random()),
}


def _put(array, index, value):
    array[index] = value
    return array[0]


def _times(array, by):
    array *= by
    return array[0]


@pytest.mark.parametrize("kind", COARSE)
@pytest.mark.parametrize("use", OF_NUMPY.values(), ids=OF_NUMPY)
def test_numpy_refuses_random_numbers_in_other_types(use, kind):
    assert "not enumerable" in refused(lambda: bool(use(kind) < 0.25))


def test_comparison_of_a_number_with_half_precision_is_refused():
    assert "coarse" in refused(lambda: bool(random.random() < np.float16(0.25)))
    assert "coarse" in refused(lambda: bool((random.random() < HALF / 4)[0]))


def test_complex_types_are_refused():
    assert "complex" in refused(lambda: bool((np.random.rand(2) * np.ones(2, np.complex64))[0] == 0))
    assert "complex" in refused(lambda: bool(random.random() * np.complex64(1) == 0))


FINE = {
    "single precision": lambda: np.random.rand(2).astype(np.float32)[0],
    "half beside double precision": lambda: (np.random.rand(2) * HALF)[0],
    "half beside an array of double precision": lambda: (np.float16(1) * np.random.rand(2))[0],
    "a condition in half precision": lambda: (np.random.rand(2) >= 0.25).astype(np.float16)[0],
    "whole numbers": lambda: (np.ones(2, dtype=np.int64) * random.random())[0],
}


@pytest.mark.parametrize("use", FINE.values(), ids=FINE)
def test_numpy_follows_what_keeps_the_law(use):
    assert law(lambda: bool(use() < 0.25)) == ONE_OF_FOUR


TYPES = [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.complex32, torch.complex64]
OF_TORCH = {
    "to": lambda kind: torch.rand(1).to(kind),
    "tensor": lambda kind: torch.tensor([torch.rand(1).item()], dtype=kind),
    "full": lambda kind: torch.full((1,), torch.rand(()).item(), dtype=kind),
    "fill": lambda kind: torch.zeros(1, dtype=kind).fill_(torch.rand(())),
    "assignment": lambda kind: _put(torch.zeros(2, dtype=kind), 0, torch.rand(())),
    "copy": lambda kind: torch.zeros(1, dtype=kind).copy_(torch.rand(1)),
    "cat": lambda kind: torch.cat([torch.zeros(1, dtype=kind), torch.rand(1).to(kind)]),
}


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("use", OF_TORCH.values(), ids=OF_TORCH)
def test_torch_refuses_random_numbers_in_other_types(use, kind):
    with pytest.raises(NotEnumerable, match="coarse"):
        explored(lambda: bool(use(kind).flatten()[0].real.float() < 0.25))


HALVES = [torch.float16, torch.bfloat16]
COMPUTED = {
    "a number times a tensor": lambda kind: torch.rand(()).item() * torch.ones(1, dtype=kind),
    "a tensor times a tensor": lambda kind: torch.rand(()) * torch.ones(1, dtype=kind),
    "comparison": lambda kind: torch.rand(()) < torch.ones(1, dtype=kind) / 4,
    "where": lambda kind: torch.where(torch.tensor([True]), torch.rand(()), torch.ones(1, dtype=kind)),
    "sum": lambda kind: torch.rand(1).sum(dtype=kind),
    "cumsum": lambda kind: torch.rand(1).cumsum(0, dtype=kind),
    "softmax": lambda kind: torch.rand(2).softmax(0, dtype=kind).argmax(),
    "draw": lambda kind: torch.rand(1, dtype=kind),
    "draw in place": lambda kind: torch.empty(1, dtype=kind).uniform_(),
    "exponential": lambda kind: torch.empty(1, dtype=kind).exponential_(),
}


@pytest.mark.parametrize("kind", HALVES, ids=str)
@pytest.mark.parametrize("use", COMPUTED.values(), ids=COMPUTED)
def test_torch_refuses_to_compute_in_half_precision(use, kind):
    with pytest.raises(NotEnumerable):
        explored(lambda: bool(use(kind).flatten()[0] < 0.25))


@pytest.mark.parametrize("kind", [torch.complex64, torch.complex128], ids=str)
def test_torch_refuses_complex_random_numbers(kind):
    with pytest.raises(NotEnumerable):
        explored(lambda: bool((torch.rand(1) * torch.ones(1, dtype=kind)).real[0] < 0.25))
    with pytest.raises(NotEnumerable):
        explored(lambda: bool(torch.rand(1, dtype=kind).real[0] < 0.25))


def test_torch_follows_double_precision_and_conditions_in_half_precision():
    assert law_of(lambda: torch.rand(1).double()[0] < 0.25) == ONE_OF_FOUR
    assert law_of(lambda: (torch.rand(1) >= 0.25).half()[0] < 0.25) == ONE_OF_FOUR
