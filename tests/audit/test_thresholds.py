"""Thresholds on functions of a uniform say the same about u as evaluating the function does."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_proof.audit.arithmetic import apply
from rheo_proof.audit.constants import constant
from rheo_proof.audit.exploring import Run, explore
from rheo_proof.audit.scalars import Cell, Opaque, Scalar
from rheo_proof.audit.steps import Cut, applied, threshold_of, value_range
from rheo_proof.exact.number import ONE, ZERO, Q

small = st.fractions(-3, 3, max_denominator=8)
exact_operations = st.one_of(
    st.tuples(st.sampled_from(["add", "sub", "mul", "div", "maximum", "minimum"]), small),
    st.tuples(st.sampled_from(["neg", "reciprocal", "abs"])),
    st.tuples(st.just("clamp"), small, small),
)
"""Operations whose results are rational, so that evaluation is an exact oracle."""


def built(run: Run, operations: list[tuple[object, ...]]) -> Cell | object:
    """The operations, one after the other, on a uniform."""
    value: object = run.uniform()
    for name, *constants in operations:
        value = apply(str(name), value, *constants)
    return value


def evaluated(operations: list[tuple[object, ...]], u: Fraction) -> Fraction:
    """The same on a number, in plain Fractions."""
    for name, *constants in operations:
        c = constants[0] if constants else None
        match name:
            case "add":
                u = u + c
            case "sub":
                u = u - c
            case "mul":
                u = u * c
            case "div":
                u = u / c
            case "neg":
                u = -u
            case "abs":
                u = abs(u)
            case "reciprocal":
                u = 1 / u
            case "maximum":
                u = max(u, c)
            case "minimum":
                u = min(u, c)
            case "clamp":
                u = min(max(u, constants[0]), constants[1])
    return u


@given(st.lists(exact_operations, max_size=5), small, st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]), st.data())
def test_a_comparison_agrees_with_evaluation_at_every_point(operations, t, relation, data):
    found = []

    def program(run: Run) -> None:
        value = built(run, operations)
        found.append(value)

    explore(program)
    value = found[0]
    if not isinstance(value, Cell):
        return
    u = data.draw(st.fractions(Fraction(1, 97), Fraction(96, 97), max_denominator=97))
    try:
        at_u = evaluated(operations, u)
    except ZeroDivisionError:
        return
    if isinstance(value, Opaque):
        return
    law = explore(lambda run: (bool(apply(relation, built(run, operations), t)), len(run.taken))).law
    # The answer as a function of u is read back from the law: a threshold event is an interval at one end.
    truth = {"lt": at_u < t, "le": at_u <= t, "gt": at_u > t, "ge": at_u >= t, "eq": at_u == t, "ne": at_u != t}[
        relation
    ]
    cut = threshold_of(value.steps, constant(t), closed=relation in ("le", "gt"))
    if relation in ("eq", "ne"):
        assert sum(law.values(), ZERO) == ONE
        return
    if isinstance(cut, bool):
        assert (cut is (relation in ("lt", "le"))) is truth or at_u == t
        assert len(law) == 1
    else:
        assert isinstance(cut, Cut)
        says = ((u < cut.threshold) is cut.below) is (relation in ("lt", "le"))
        assert says is truth or u == cut.threshold
        assert sum(mass for (answer, _), mass in law.items() if answer) == measure(operations, relation, t)


def measure(operations: list[tuple[object, ...]], relation: str, t: Fraction) -> Q:
    """The measure of { u : f(u) relation t }, from the two half-lines that one threshold makes, found by bisection."""
    compare = {
        "lt": lambda x: x < t,
        "le": lambda x: x <= t,
        "gt": lambda x: x > t,
        "ge": lambda x: x >= t,
    }[relation]
    low, high = Fraction(1, 10**12 + 39), 1 - Fraction(1, 10**12 + 39)
    at_low = compare(evaluated(operations, low))
    assert at_low is not compare(evaluated(operations, high))
    for _ in range(110):
        middle = (low + high) / 2
        if compare(evaluated(operations, middle)) is at_low:
            low = middle
        else:
            high = middle
    # A break point has a small denominator; the bisection is finer than the distance of any two of them.
    edge = ((low + high) / 2).limit_denominator(10**9)
    return Q(edge.numerator, edge.denominator) if at_low else ONE - Q(edge.numerator, edge.denominator)


@pytest.mark.parametrize(
    ("name", "event", "probability"),
    [
        ("log", lambda u: u.log() < -1.0, math.exp(-1)),
        ("log of a scaled uniform", lambda u: (u * 0.5).log() + 0.25 < -1.0, min(1, 2 * math.exp(-1.25))),
        ("log1p", lambda u: (-u).log1p() > -1.0, 1 - math.exp(-1)),
        ("exp", lambda u: u.exp() < 2.0, math.log(2)),
        ("sqrt", lambda u: u.sqrt() < 0.5, 0.25),
        ("square", lambda u: u**2 < 0.25, 0.5),
        ("power of a constant", lambda u: 2.0**u < 1.5, math.log2(1.5)),
        ("Gumbel", lambda u: -((-(u.log())).log()) > 1.0, 1 - math.exp(-math.exp(-1))),
        ("reciprocal", lambda u: 1 / u > 4, 0.25),
        ("reflected", lambda u: operator.gt(0.25, 1 - u), 0.25),
        ("chained division", lambda u: 1 / (3 / (u + 1)) <= 0.5, 0.5),
    ],
)
def test_thresholds_through_transcendental_functions(name, event, probability):
    law = explore(lambda run: bool(event(run.uniform()))).law
    assert abs(float(law.get(True, ZERO)) - probability) < 1e-14, name


def test_a_uniform_stays_refined_for_later_comparisons():
    def program(run: Run) -> tuple[bool, ...]:
        u = run.uniform()
        return tuple(bool(u < t) for t in (0.5, 0.25, 0.75, 0.5))

    law = explore(program).law
    assert law == {
        (True, True, True, True): Q(1, 4),
        (True, False, True, True): Q(1, 4),
        (False, False, True, False): Q(1, 4),
        (False, False, False, False): Q(1, 4),
    }


def test_clamping_makes_an_atom_that_equality_sees():
    assert explore(lambda run: bool(run.uniform().clamp(0.25, None) == 0.25)).law == {True: Q(1, 4), False: Q(3, 4)}
    assert explore(lambda run: bool(run.uniform().clamp(None, 0.25) != 0.25)).law == {True: Q(1, 4), False: Q(3, 4)}
    assert explore(lambda run: bool(run.uniform() == 0.25)).law == {False: ONE}


def test_nan_compares_as_a_float_does():
    assert explore(
        lambda run: [bool(run.uniform() < math.nan), bool(run.uniform() != math.nan)] == [False, True]
    ).law == {True: ONE}


def test_the_integer_part_of_a_scaled_uniform_is_uniform():
    assert explore(lambda run: int(run.uniform() * 3)).law == {k: Q(1, 3) for k in range(3)}
    assert explore(lambda run: math.floor(run.uniform() * 4 - 2)).law == {k: Q(1, 4) for k in range(-2, 2)}
    assert explore(lambda run: math.ceil(run.uniform() * 2)).law == {1: Q(1, 2), 2: Q(1, 2)}


def test_ranges_are_those_of_the_function():
    steps = (("log",), ("affine", -ONE, ZERO), ("inv",))
    assert value_range(steps) == (ZERO, math.inf)
    assert applied(steps, ZERO) == ZERO


def test_infinite_constants_behave_as_floats_do():
    def program(run: Run) -> tuple[object, ...]:
        u = run.uniform()
        return (
            bool(u + math.inf == math.inf),
            bool(u < math.inf),
            bool(-math.inf < u),
            bool(u * math.inf > 5),
            u * 0 == 0,
        )

    assert explore(program).law == {(True, True, True, True, True): ONE}


def test_what_was_drawn_is_a_float_to_isinstance_and_no_float_to_c():
    def program(run: Run) -> tuple[bool, bool]:
        u = run.uniform()
        return isinstance(u, float), type(u) is Scalar

    assert explore(program).law == {(True, True): ONE}
