"""Arrays of random numbers do what NumPy's arrays do, look at no more than that needs, and never give a float away."""

from __future__ import annotations

import array
import copy
import ctypes
import fractions
import math
import pickle
import statistics
import struct
from fractions import Fraction

import numpy as np
import pytest

from rheo_proof.audit.exploring import Raised, explore
from rheo_proof.audit.patches import patched
from tests.audit.sources import FAIR, ONE_OF_FOUR, halves, law, refused

F = Fraction
R = np.array([0.5, 0.5])


def runs(function):
    def program(run):
        with patched(run, function):
            return function()

    return explore(program).runs


def coins():
    return np.random.rand(2) < R


TWO_COINS = {0: F(1, 4), 1: F(1, 2), 2: F(1, 4)}
MASKS = {
    "sum": lambda m: m.sum(),
    "np.sum": lambda m: np.sum(m),
    "astype": lambda m: m.astype(int).sum(),
    "astype float": lambda m: m.astype(np.float32).sum(),
    "times 1": lambda m: (m * 1).sum(),
    "cumsum": lambda m: np.cumsum(m)[-1],
    "count_nonzero": lambda m: np.count_nonzero(m),
    "nonzero": lambda m: len(np.nonzero(m)[0]),
    "flatnonzero": lambda m: np.flatnonzero(m).size,
    "where with one argument": lambda m: np.where(m)[0].size,
    "where": lambda m: np.where(m, 1, 0).sum(),
    "index": lambda m: np.ones(2)[m].sum(),
    "index twice": lambda m: np.arange(2)[~m].size * -1 + 2,
    "index of a list": lambda m: sum([0, 1][x] for x in m),
    "assignment": lambda m: _assigned(np.zeros(2), m),
    "in place": lambda m: _added(np.zeros(2, dtype=int), m),
    "in place, logical": lambda m: _and(np.ones(2, dtype=bool), m),
    "logical": lambda m: (np.logical_not(m) | ~(m & True)).size - np.sum(np.logical_or(~m, False)),
    "dot": lambda m: np.dot(m, np.ones(2)),
    "matmul": lambda m: m @ np.ones(2),
    "loop": lambda m: sum(1 for x in m if x),
    "items": lambda m: m[0].item() + m[1].item(),
    "tolist": lambda m: m.tolist().count(True),
    "np.array": lambda m: np.array([m[0], m[1]]).sum(),
    "np.asarray": lambda m: np.asarray([bool(x) for x in m]).sum(),
    "stack": lambda m: np.stack([m, m]).sum(axis=0).sum() // 2,
    "concatenate": lambda m: np.concatenate([m, [False]]).sum(),
    "reshape": lambda m: m.reshape(1, 2).sum(axis=1)[0],
    "mean": lambda m: m.mean() * 2,
    "unique": lambda m: 2 if np.unique(m).tolist() == [True] else 1 if len(np.unique(m)) == 2 else 0,
    "bincount": lambda m: np.bincount(m.astype(np.int64), minlength=2)[1],
    "add.at": lambda m: _at(np.zeros(2), m),
    "int": lambda m: int(m[0]) + int(m[1]),
    "numbers of NumPy": lambda m: m[0].astype(int) + m[1].astype(float),
    "copy": lambda m: copy.deepcopy(m).sum(),
    "view of a column": lambda m: m[:, None].T.ravel().sum(),
    "contains": lambda m: int(True in m) + int(m.all()),
}


def _assigned(a, m):
    a[m] = 1
    return a.sum()


def _added(a, m):
    a += m
    return a.sum()


def _and(a, m):
    a &= m
    return a.sum()


def _at(a, m):
    np.add.at(a, [0, 0], m)
    return a[0]


@pytest.mark.parametrize("use", MASKS.values(), ids=MASKS)
def test_masks_are_decided_as_they_are_used(use):
    assert law(lambda: int(use(coins()))) == TWO_COINS


LAZY = {
    "all": (lambda m: m.all(), 3),
    "np.all": (lambda m: np.all(m), 3),
    "any": (lambda m: m.any(), 3),
    "prod": (lambda m: np.prod(m), 3),
    "cumprod": (lambda m: int(np.cumprod(m).sum()), 3),
    "cumprod of integers": (lambda m: m.astype(int).cumprod().sum(), 4),
    "argmax": (lambda m: m.argmax(), 3),
    "argmin": (lambda m: np.argmin(m), 3),
    "min": (lambda m: m.min(), 3),
    "max": (lambda m: np.max(m), 3),
    "one of them": (lambda m: bool(m[1]), 2),
    "and": (lambda m: bool(m[0] & m[1]), 4),
    "logical and": (lambda m: bool(np.logical_and(m[0], m[1])), 3),
    "none": (lambda m: m.shape[0], 1),
    "length": (lambda m: len(m), 1),
    "alike": (lambda m: np.zeros_like(m).sum() + np.ndim(m) + np.size(m), 1),
    "no difference": (lambda m: int(np.where(m, 1, 1).sum()), 1),
}


@pytest.mark.parametrize(("use", "count"), LAZY.values(), ids=LAZY)
def test_nothing_is_decided_that_makes_no_difference(use, count):
    assert runs(lambda: use(coins())) == count


UNIFORM = {
    "scaled": lambda u: (u * 4)[0] < 1,
    "array on the left": lambda u: (np.array([0.25, 0.0]) > u)[0],
    "number of NumPy on the left": lambda u: np.float32(0.25) > u[0],
    "subtracted": lambda u: (1.0 - u)[0] > 0.75,
    "quotient": lambda u: (u / np.array([4.0, 1.0]))[0] < 0.0625,
    "maximum": lambda u: np.maximum(u, 0.125)[0] < 0.25,
    "clip": lambda u: np.clip(u, 1e-3, 0.5)[0] < 0.25,
    "clip method": lambda u: u.clip(0.125, None)[0] < 0.25,
    "square root": lambda u: np.sqrt(u)[0] < 0.5,
    "square": lambda u: (u**2)[0] < 0.0625,
    "np.square": lambda u: np.square(u)[0] < 0.0625,
    "where": lambda u: np.where([True, False], u, 9.0)[0] < 0.25,
    "take": lambda u: np.take(u, [1, 0])[1] < 0.25,
    "take_along_axis": lambda u: np.take_along_axis(u, np.array([0]), 0)[0] < 0.25,
    "fancy index": lambda u: u[np.array([1, 0])][1] < 0.25,
    "roll": lambda u: np.roll(u, 1)[1] < 0.25,
    "split": lambda u: np.split(u, 2)[0][0] < 0.25,
    "rows": lambda u: u[None, :].repeat(3, axis=0)[2, 0] < 0.25,
    "stack of numbers": lambda u: np.stack([u[0], u[1]])[0] < 0.25,
    "array of numbers": lambda u: np.array([u[0], 0.5])[0] < 0.25,
    "array of numbers with a dtype": lambda u: np.array([u[0], 0.5], dtype=np.float32)[0] < 0.25,
    "astype": lambda u: u.astype(np.float32)[0] < 0.25,
    "to objects": lambda u: np.asarray(u, dtype=object)[0] < 0.25,
    "isfinite": lambda u: bool(np.isfinite(u[0])) and not np.isnan(u).any() and u[0] < 0.25,
    "in place": lambda u: _doubled(u)[0] < 0.5,
    "row of a table": lambda u: u.reshape(2, 1)[0][0] < 0.25,
    "copied number": lambda u: copy.deepcopy(u[0]) < 0.25,
    "number of NumPy": lambda u: u[0].astype(np.float32).reshape(1)[0] < 0.25,
    "item": lambda u: u[0].item() < 0.25,
    "written into": lambda u: _written(u) < 0.25,
    "append": lambda u: np.append(u, 1.0)[0] < 0.25,
    "equal to a number": lambda u: not (u == 0.0).any() and u[0] < 0.25,
    "minimum of one": lambda u: u[:1].min() < 0.25,
    "map": lambda u: [x < 0.25 for x in u].index(u[0] < 0.25) == 0 and u[0] < 0.25,
}


def _doubled(u):
    u *= 2
    return u


def _written(u):
    row = u[:1]
    u[0] = 1.0 - u[0]
    return 1.0 - row[0]


@pytest.mark.parametrize("use", UNIFORM.values(), ids=UNIFORM)
def test_uniforms_keep_their_value_through_arrays(use):
    assert law(lambda: bool(use(np.random.rand(2)))) == ONE_OF_FOUR


def test_one_number_read_twice_is_one_number():
    def same():
        u = np.random.rand(2)
        return bool(u[0] < 0.5) == bool(u.copy()[0] < 0.5) == bool(np.stack([u, u])[1, 0] * 2 < 1)

    assert law(same) == {True: 1}


def test_what_is_written_into_an_array_has_its_dtype():
    def written():
        u, mask = np.random.rand(2), np.random.rand(2) < 0.5
        mask[0] = u[0]
        counts = mask.astype(int)
        counts[1] = 2.75
        u[1] = 1
        return bool(mask[0]), int(counts[1]), float(u[1])

    assert law(written) == {(True, 2, 1.0): 1}


def test_a_race_by_rows():
    def rows():
        noise = np.random.exponential(size=(2, 2))
        return tuple(np.argmax([[0.5, 0.5], [0.75, 0.25]] / noise, axis=1).tolist())

    assert law(rows) == {(0, 0): F(3, 8), (1, 0): F(3, 8), (0, 1): F(1, 8), (1, 1): F(1, 8)}


def test_top_k_keeps_the_order_that_numpy_would_give():
    noise = np.array([0.5, 0.25, 0.25])

    def best():
        return tuple(np.argpartition(-noise / np.random.exponential(size=3), 1)[:2].tolist())

    found = law(best)
    assert {frozenset(pair): sum(p for q, p in found.items() if set(q) == set(pair)) for pair in found} == {
        frozenset({0, 1}): F(1, 2) * F(1, 2) + F(1, 4) * F(2, 3),
        frozenset({0, 2}): F(1, 2) * F(1, 2) + F(1, 4) * F(2, 3),
        frozenset({1, 2}): 2 * F(1, 4) * F(1, 3),
    }


def test_sorted_noise_is_the_same_noise():
    def sorts():
        u = np.random.rand(2)
        low, high = np.sort(u)
        return bool(low < high), bool(u.argmin() == 0), bool(u[0] < u[1])

    assert law(sorts) == halves((True, True, True), (True, False, False))


LEAKS = {
    "float": lambda u: float(u[0]) + u[1],
    "assignment to floats": lambda u: np.zeros(2).__setitem__(0, u[0]),
    "assignment of a slice": lambda u: np.zeros(2).__setitem__(slice(None), u),
    "fill": lambda u: np.zeros(2).fill(u[0]),
    "put": lambda u: np.zeros(2).put(0, u[0]),
    "copyto": lambda u: np.copyto(np.zeros(2), u),
    "copyto of a random array": lambda u: np.copyto(u, np.zeros(2)),
    "in place": lambda u: np.zeros(2).__iadd__(u),
    "out=": lambda u: np.add(u, 1, out=np.zeros(2)),
    "out= of a function": lambda u: np.cumsum(u, out=np.zeros(2)),
    "where=": lambda u: np.log(u, where=[True, False]),
    "full": lambda u: np.full(2, u[0]).astype(float),
    "fromiter": lambda u: np.fromiter(u, float),
    "np.float64": lambda u: np.float64(u[0]),
    "np.float32": lambda u: np.float32(u[0]),
    "as an index": lambda u: np.zeros(2)[u],
    "dot": lambda u: np.dot(u, u),
    "matmul": lambda u: u @ np.ones((2, 2)),
    "sum": lambda u: u.sum() < 1,
    "sum in Python": lambda u: sum(u) < 1,
    "product": lambda u: np.prod(u) < 0.5,
    "cumprod": lambda u: np.cumprod(u)[1] < 0.5,
    "mean": lambda u: u.mean() > 0.5,
    "norm": lambda u: np.linalg.norm(u),
    "round": lambda u: np.round(u, 2),
    "histogram": lambda u: np.histogram(u),
    "interpolation": lambda u: np.interp(u, [0, 1], [0, 1]),
    "tobytes": lambda u: u.tobytes(),
    "view of bits": lambda u: u.view(np.int64),
    "nan_to_num": lambda u: np.nan_to_num(u),
    "isclose": lambda u: np.isclose(u, 0.5),
    "sine": lambda u: np.sin(u),
    "remainder": lambda u: u % 0.5,
    "divmod": lambda u: divmod(u[0], 0.5),
    "formatted by NumPy": lambda u: np.array2string(u),
    "struct": lambda u: struct.pack("d", u[0]),
    "array": lambda u: array.array("d", u.tolist()),
    "ctypes": lambda u: ctypes.c_double(u[0]),
    "fraction": lambda u: fractions.Fraction(u[0]),
    "ratio": lambda u: u[0].as_integer_ratio(),
    "hex": lambda u: u[0].hex(),
    "statistics": lambda u: statistics.mean(u.tolist()),
    "math.sin": lambda u: math.sin(u[0]),
    "math.fsum": lambda u: math.fsum(u),
    "math.frexp": lambda u: math.frexp(u[0]),
    "hash": lambda u: hash(u[0]),
    "key": lambda u: {u[0]: 1},
    "round in Python": lambda u: round(u[0], 2),
    "complex": lambda u: complex(u[0]),
    "pickle": lambda u: pickle.dumps(u[0]),
    "pickle of an array": lambda u: pickle.dumps(u),
    "weights": lambda u: np.random.choice(2, p=u),
    "scale": lambda u: np.random.exponential(u[0]),
    "vectorize": lambda u: np.vectorize(lambda x: x * 2)(u),
    "frompyfunc": lambda u: np.frompyfunc(lambda x: x * 2, 1, 1)(u),
    "apply_along_axis": lambda u: np.apply_along_axis(sum, 0, u),
    "bytes": lambda u: bytes(u),
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_a_random_number_that_would_become_a_float_ends_the_audit(leak):
    assert "not enumerable" in refused(lambda: bool(leak(np.random.rand(2))))


def test_a_leak_that_the_code_swallows_ends_the_audit_all_the_same():
    def swallows():
        noise = np.zeros(2)
        try:
            noise[0] = np.random.rand()
        except BaseException:
            return 0
        return 1

    assert "float()" in refused(swallows)


@pytest.mark.parametrize("words", [lambda u: f"{u[0]:.3f}", lambda u: f"{u[0]!r}", str, repr])
def test_words_about_random_numbers_are_refused(words):
    assert "text of" in refused(lambda: words(np.random.rand(2)))


def test_random_numbers_pass_for_what_they_stand_for():
    def looks():
        u = np.random.rand(2)
        m = u < 0.5
        kinds = (
            isinstance(u, np.ndarray),
            isinstance(u[0], float),
            u.dtype.name,
            m.dtype.name,
            u.shape,
            u.ndim,
            u.size,
        )
        return (*kinds, np.zeros_like(u).dtype.name, u[0].dtype.name, u[0].shape)

    assert law(looks) == {(True, True, "float64", "bool", (2,), 1, 2, "float64", "float64", ()): 1}


def test_an_error_of_the_code_is_an_outcome():
    assert law(lambda: np.random.rand(2)[5]) == {
        Raised("IndexError", "index 5 is out of bounds for axis 0 with size 2"): 1
    }
    assert set(law(lambda: np.random.rand(2).no_such_thing)) == {
        Raised("AttributeError", "'numpy.ndarray' object has no attribute 'no_such_thing'")
    }


def test_numbers_at_the_end_of_their_range():
    def accepts():
        return bool(np.random.rand() <= np.float64(0.0))

    assert law(accepts) == {False: 1}
    assert set(law(accepts, boundary=True)) == {False, True}
    assert law(lambda: bool(coins()[0])) == FAIR
