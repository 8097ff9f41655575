"""Arithmetic on a uniform number: the threshold that torch computes at a point has the probability of the point."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from rheo_proof.audit.errors import NotEnumerable
from rheo_proof.audit.torch_arithmetic import ARITHMETIC
from tests.audit.torch_programs import law_of

F = Fraction
HALF, TWO = torch.tensor(0.5, dtype=torch.float64), torch.tensor([2.0], dtype=torch.float64)
INCREASING = {
    "add": lambda u: u + 0.5,
    "add a tensor": lambda u: HALF + u,
    "add a multiple": lambda u: torch.add(HALF, u, alpha=2),
    "subtract": lambda u: u - HALF,
    "subtract a multiple": lambda u: torch.sub(u, HALF, alpha=3),
    "subtract in place": lambda u: u.clone().sub_(0.25),
    "multiply": lambda u: 3 * u,
    "multiply in place": lambda u: u.clone().mul_(TWO[0]),
    "into a place": lambda u: torch.mul(u, 2, out=torch.empty((), dtype=torch.float64)),
    "divide": lambda u: u / TWO[0],
    "negate twice": lambda u: u.neg().neg(),
    "absolute": lambda u: (u + 1).abs(),
    "power": lambda u: u**3,
    "square": lambda u: u.square(),
    "root": lambda u: u.sqrt(),
    "power of a number": lambda u: 2**u,
    "log": lambda u: u.log(),
    "log1p": lambda u: u.log1p(),
    "log2": lambda u: u.log2(),
    "log10": lambda u: u.log10(),
    "exp": lambda u: u.exp(),
    "exp2": lambda u: u.exp2(),
    "expm1": lambda u: u.expm1(),
    "sigmoid": lambda u: u.sigmoid(),
    "logit by hand": lambda u: -((1 / u) - 1).log(),
    "relu": lambda u: (u - 0.1).relu(),
    "clamp": lambda u: u.clamp(0.1, 0.9),
    "clamp below": lambda u: u.clamp_min(0.1),
    "clamp above": lambda u: u.clamp(max=HALF + 0.4),
    "maximum": lambda u: torch.maximum(u, HALF - 0.4),
    "minimum": lambda u: torch.minimum(HALF + 0.4, u),
    "mixed product": lambda u: torch.addcmul(HALF, u, TWO[0], value=0.5),
    "mixed quotient": lambda u: torch.addcdiv(HALF, u, TWO[0]),
    "between": lambda u: torch.lerp(HALF, u, 0.25),
    "numbers": lambda u: u.nan_to_num(),
    "sum": lambda u: torch.stack([u, HALF]).sum(),
    "mean": lambda u: torch.stack([u, HALF]).mean(),
    "running sum": lambda u: torch.stack([HALF, u]).cumsum(0)[1],
    "running product": lambda u: torch.stack([HALF, u, HALF]).cumprod(0)[2],
    "product": lambda u: torch.stack([HALF, u]).prod(),
    "gumbel": lambda u: -(-u.log()).log(),
}
DECREASING = {
    "negate": lambda u: -u,
    "from a number": lambda u: 1 - u,
    "reversed": lambda u: torch.rsub(u, 2, alpha=3),
    "reciprocal": lambda u: u.reciprocal(),
    "number over it": lambda u: 2 / u,
    "root below": lambda u: u.rsqrt(),
    "negative power": lambda u: u**-2.0,
    "power of a small number": lambda u: 0.5**u,
    "exponential": lambda u: -u.log(),
}
POINT = F(5, 16)
ROW = torch.tensor([0.25, 0.5, 0.5], dtype=torch.float64)


def threshold(function) -> float:
    """What torch makes of the point."""
    return function(torch.tensor(float(POINT), dtype=torch.float64)).item()


def below(function):
    bound = threshold(function)
    return law_of(lambda: function(torch.rand((), dtype=torch.float64)) < bound).get(True, F(0))


@pytest.mark.parametrize("name", INCREASING)
def test_an_increasing_function_keeps_the_point(name):
    assert abs(below(INCREASING[name]) - POINT) < 1e-12


@pytest.mark.parametrize("name", DECREASING)
def test_a_decreasing_function_turns_it_around(name):
    assert abs(below(DECREASING[name]) - (1 - POINT)) < 1e-12


def test_a_wrong_operation_is_seen(monkeypatch):
    monkeypatch.setitem(ARITHMETIC, "add", (("self",), lambda x: x))
    with pytest.raises(AssertionError):
        test_an_increasing_function_keeps_the_point("add")


WHOLE = {
    "floor": (lambda u: (u * 4).floor(), {0.0: F(1, 4), 1.0: F(1, 4), 2.0: F(1, 4), 3.0: F(1, 4)}),
    "ceiling": (lambda u: (u * 2).ceil(), {1.0: F(1, 2), 2.0: F(1, 2)}),
    "trunc": (lambda u: (u * 2).trunc(), {0.0: F(1, 2), 1.0: F(1, 2)}),
    "whole quotient": (lambda u: torch.div(u, 0.25, rounding_mode="floor"), {i / 1: F(1, 4) for i in range(4)}),
    "long": (lambda u: (u * 3 + 1).long(), {1: F(1, 3), 2: F(1, 3), 3: F(1, 3)}),
    "bool": (lambda u: (u - 0.5).clamp(min=0).bool(), {False: F(1, 2), True: F(1, 2)}),
    "sign": (lambda u: (u - 0.25).sign(), {-1.0: F(1, 4), 1.0: F(3, 4)}),
    "is infinite": (lambda u: u.log().isinf(), {False: F(1)}),
    "is finite": (lambda u: u.isfinite(), {True: F(1)}),
    "is a number": (lambda u: u.isnan(), {False: F(1)}),
    "place": (lambda u: torch.searchsorted(ROW, u), {0: F(1, 4), 1: F(1, 4), 3: F(1, 2)}),
    "bucket": (lambda u: torch.bucketize(u, torch.tensor([0.25, 0.75]).double()), {0: F(1, 4), 1: F(1, 2), 2: F(1, 4)}),
    "place of a number": (lambda u: torch.searchsorted(torch.stack([u, u + 1]), 0.25), {1: F(1, 4), 0: F(3, 4)}),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_integers_made_of_a_uniform_number(name):
    function, expected = WHOLE[name]
    law = law_of(lambda: function(torch.rand((), dtype=torch.float64)))
    assert law.keys() == expected.keys()
    assert all(abs(law[x] - expected[x]) < 1e-12 for x in expected)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda u: u[0] * u[1], "product of two"),
        (lambda u: u[0] + u[1], "sum of two"),
        (lambda u: u.cumprod(0)[1], "product of two"),
        (lambda u: (u - 0.5).abs()[0], "absolute value"),
        (lambda u: u.sin()[0], "sin"),
        (lambda u: u @ u, "dot"),
        (lambda u: u.std(), "std"),
    ],
)
def test_what_is_no_function_of_one_number_is_refused_when_it_is_looked_at(function, words):
    assert law_of(lambda: function(torch.rand(2)).numel()) == {1: F(1)}
    with pytest.raises(NotEnumerable, match=words):
        law_of(lambda: function(torch.rand(2)) < 0.5)
