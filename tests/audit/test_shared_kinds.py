"""Draws from one state of a generator share their noise only if they make the same numbers of it; else: refused."""

from __future__ import annotations

from itertools import combinations
from random import Random

import numpy as np
import pytest
import torch

from rheo_proof.audit.errors import NotEnumerable
from tests.audit.sources import law
from tests.audit.torch_programs import explored, law_of

WEIGHTS = torch.ones(4)


def seeded():
    return torch.Generator().manual_seed(3)


def empty(kind=torch.float32, shape=(2,)):
    return torch.empty(shape, dtype=kind)


TORCH = {
    "uniform": lambda g: torch.rand(2, generator=g),
    "uniform, double": lambda g: torch.rand(2, generator=g, dtype=torch.float64),
    "uniform by columns": lambda g: empty(shape=(2, 3)).T.uniform_(generator=g).flatten(),
    "exponential": lambda g: empty().exponential_(generator=g),
    "exponential, double": lambda g: empty(torch.float64).exponential_(generator=g),
    "integers": lambda g: torch.randint(4, (2,), generator=g),
    "integers as floats": lambda g: torch.randint(4, (2,), generator=g, dtype=torch.float32),
    "tokens": lambda g: torch.multinomial(WEIGHTS, 1, generator=g),
    "tokens of double": lambda g: torch.multinomial(WEIGHTS.double(), 1, generator=g),
    "tokens with replacement": lambda g: torch.multinomial(WEIGHTS, 1, replacement=True, generator=g),
    "coins": lambda g: torch.bernoulli(WEIGHTS / 8, generator=g),
    "coins of double": lambda g: torch.bernoulli(WEIGHTS.double() / 8, generator=g),
    "coins of one kind": lambda g: torch.zeros(4).bernoulli_(0.125, generator=g),
    "order": lambda g: torch.randperm(4, generator=g),
}


@pytest.mark.parametrize(("one", "other"), list(combinations(TORCH, 2)))
def test_torch_refuses_different_draws_from_one_state(one, other):
    with pytest.raises(NotEnumerable) as refused:
        explored(lambda: (TORCH[one](seeded()), TORCH[other](seeded())) and True)
    assert refused.value.shared


@pytest.mark.parametrize("draw", [each for name, each in TORCH.items() if "order" not in name])
def test_torch_gives_equal_draws_from_one_state_again(draw):
    assert law_of(lambda: bool((draw(seeded())[0] < 0.25) == (draw(seeded())[0] < 0.25))) == {True: 1}


def test_torch_gives_more_of_the_same_noise():
    def equal():
        few, many = torch.rand(1, generator=seeded()), torch.rand(3, generator=seeded())
        u = torch.empty(2).uniform_(0, 2, generator=seeded())
        return bool(few[0] < 0.25) == bool(many[0] < 0.25) == bool(u[0] < 0.5)

    assert law_of(equal) == {True: 1}


def test_a_draw_of_nothing_shares_nothing():
    g = seeded()
    assert law_of(lambda: torch.rand(0, generator=g).numel() + bool(torch.multinomial(WEIGHTS[:1], 1) == 0)) == {1: 1}


def same_bits(kind):
    return getattr(np.random, kind)(np.random.MT19937(5))


GENERATORS = ("Generator", "RandomState")
BY_CLASS = {
    "exponential": lambda g: g.standard_exponential(),
    "gumbel": lambda g: g.gumbel(),
    "choice": lambda g: g.choice(4),
    "order": lambda g: g.permutation(4)[0],
    "counts": lambda g: g.multinomial(1, [0.5, 0.5])[0],
}


def shared(function):
    with pytest.raises(NotEnumerable) as refused:
        law(function)
    return refused.value.shared


@pytest.mark.parametrize("draw", BY_CLASS.values(), ids=BY_CLASS)
def test_numpy_refuses_draws_of_two_classes_of_generators(draw):
    assert shared(lambda: [draw(same_bits(kind)) for kind in GENERATORS] and True)


def test_uniforms_are_the_same_for_all_that_use_one_algorithm():
    def equal():
        u, v = (same_bits(kind).random() for kind in GENERATORS)
        return bool(u < 0.25) == bool(v < 0.25)

    assert law(equal) == {True: 1}


ORDERS = {
    "permutation": lambda g: g.permutation(4)[0],
    "permutation of an array": lambda g: g.permutation(np.arange(4))[0],
    "permuted": lambda g: g.permuted(np.arange(4))[0],
    "single": lambda g: g.random(dtype=np.float32),
    "double": lambda g: g.random(),
    "exponential": lambda g: g.standard_exponential(),
    "exponential, single": lambda g: g.standard_exponential(dtype=np.float32),
    "exponential by inversion": lambda g: g.standard_exponential(method="inv"),
    "integers": lambda g: g.integers(4),
    "small integers": lambda g: g.integers(4, dtype=np.int8),
}


@pytest.mark.parametrize(("one", "other"), list(combinations(ORDERS, 2)))
def test_numpy_refuses_different_draws_from_one_state(one, other):
    def both():
        return (ORDERS[one](np.random.default_rng(3)), ORDERS[other](np.random.default_rng(3))) and True

    assert shared(both)


PYTHON = {
    "random": lambda r: r.random(),
    "bits": lambda r: r.getrandbits(2),
    "below": lambda r: r.randrange(4),
    "choices": lambda r: r.choices(range(4))[0],
    "exponential": lambda r: r.expovariate(1.0),
}


@pytest.mark.parametrize(("one", "other"), list(combinations(PYTHON, 2)))
def test_python_refuses_different_draws_from_one_state(one, other):
    assert shared(lambda: (PYTHON[one](Random(3)), PYTHON[other](Random(3))) and True)
