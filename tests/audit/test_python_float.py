"""`float(...)` and `math` keep a random number random; all else about floats is as ever."""

from __future__ import annotations

import builtins
import dis
import math
import random
from math import exp, log

import numpy as np
import pytest

from rheo_proof.audit import python_float
from tests.audit.sources import ONE_OF_FOUR, law, refused

KINDS = {float: "a float", int: "an integer"}


def as_a_float():
    return float(random.random()) < 0.25


def in_a_comprehension():
    return [float(u) < 0.25 for u in [random.random()]] == [True]


def in_a_nested_function():
    def inner(u):
        return float(u) < 0.25

    return inner(random.random())


class Sampler:
    def __init__(self):
        self.calls = 0

    def draw(self):
        self.calls += 1
        return float(np.random.rand(1)) < 0.25

    @staticmethod
    def draw_statically():
        return float(np.float32(1) * random.random()) < 0.25


FLOATS = {
    "call": as_a_float,
    "comprehension": in_a_comprehension,
    "nested function": in_a_nested_function,
    "method": Sampler().draw,
    "static method": Sampler.draw_statically,
    "lambda": lambda: float(float(random.random())) < 0.25,
    "generator": lambda: next(float(u) for u in [random.random()]) < 0.25,
    "logarithm": lambda: math.log(random.random()) < math.log(0.25),
    "logarithm by name": lambda: log(random.random()) < log(0.25),
    "logarithm to a base": lambda: math.log(random.random(), 2) < -2,
    "log2": lambda: math.log2(random.random()) < -2,
    "log10": lambda: math.log10(random.random()) < math.log10(0.25),
    "log1p": lambda: math.log1p(-random.random()) < math.log1p(-0.75),
    "exponential": lambda: exp(random.random()) < exp(0.25),
    "square root": lambda: math.sqrt(random.random()) < 0.5,
    "power": lambda: math.pow(random.random(), 2) < 0.0625,
    "floor": lambda: math.floor(random.random() * 4) == 0,
    "ceiling": lambda: math.ceil(random.random() * 4) == 1,
    "of an array": lambda: math.log(np.random.rand(1)) < math.log(0.25),
    "isnan": lambda: not math.isnan(random.random()) and math.isfinite(random.random()) and as_a_float(),
    "isinf": lambda: not math.isinf(-math.log(random.random())) and as_a_float(),
    "Gumbel": lambda: -math.log(-math.log(random.random())) < -math.log(-math.log(0.25)),
    "type": lambda: isinstance(random.random(), float) and KINDS[float] == "a float" and as_a_float(),
    "dtype": lambda: np.zeros(1, dtype=float).dtype == np.float64 and float is float and as_a_float(),
}


@pytest.mark.parametrize("draw", FLOATS.values(), ids=FLOATS)
def test_float_and_math_keep_a_random_number(draw):
    found = law(lambda: bool(draw()))
    assert all(abs(found[outcome] - mass) < 1e-15 for outcome, mass in ONE_OF_FOUR.items())


def test_float_and_math_of_what_is_decided_are_numbers():
    def numbers():
        coin = random.random() < 0.5
        return type(float(coin)).__name__, float(coin), math.exp(coin) > 1, float("0.5"), 0.0, math.log(2)

    assert set(law(numbers)) == {("float", x, bool(x), 0.5, 0.0, math.log(2)) for x in (0.0, 1.0)}


@pytest.mark.parametrize(
    "draw",
    [
        lambda: list(map(float, [random.random()])),
        lambda: builtins.float(random.random()),
        lambda: math.sin(random.random()),
        lambda: math.fsum([random.random()]),
        lambda: math.isclose(random.random(), 0.5),
        lambda: round(random.random()),
        lambda: random.random().hex(),
        lambda: random.random() * random.random() < 0.5,
        lambda: float(random.random() + random.random()) < 0.5,
        lambda: math.log(random.random() - random.random()),
    ],
)
def test_what_needs_the_value_of_a_random_number_is_refused(draw):
    assert "test_python_float.py:" in refused(lambda: bool(draw()))


def long_function(x):
    """More names than fit into one byte."""
    names = "".join(f"v{i}.a{i};" for i in range(300))
    exec(f"def f(x):\n    if 0: {names}\n    return float(x)", scope := {})
    exec(f"def g(x):\n    y = float(x)\n    if 0: {names}\n    return float(y)", scope)
    return scope["f"], scope["g"]


def test_functions_with_many_names_are_rewritten_or_left_alone():
    marked = object()
    for function, done in zip(long_function(0), (True, False), strict=True):
        code = python_float.rewritten(function.__code__)
        assert (code is not function.__code__) is done
    namespace = {python_float.NAME: lambda x: marked}
    function, _ = long_function(0)
    assert type(function)(python_float.rewritten(function.__code__), namespace)(1) is marked


def test_only_calls_of_float_are_rewritten():
    text = "def uses(x):\n    return float(x), isinstance(x, float), map(float, [x]), float.fromhex, float"
    exec(text, scope := {})
    code = scope["uses"].__code__
    before, after = (list(dis.get_instructions(each)) for each in (code, python_float.rewritten(code)))
    changed = [(a.argval, b.argval) for a, b in zip(before, after, strict=True) if a.argval != b.argval]
    assert changed == [("float", python_float.NAME)]
