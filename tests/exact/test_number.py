"""Exact numbers, and the border at which everything else is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.number import NUMBER_TYPE, ONE, ZERO, Q, rational, to_fraction

ROOT = Path(__file__).resolve().parents[2]


class LikeAnArrayScalar:
    """What an array library hands out: a number to look at, a float inside."""

    def __float__(self) -> float:
        return float("0.25")

    def __repr__(self) -> str:
        return "float32(0.25)"


@pytest.mark.parametrize(
    ("value", "numerator", "denominator"),
    [
        ("3/10", 3, 10),
        ("6/20", 3, 10),
        (" 3/10\n", 3, 10),
        ("+3/10", 3, 10),
        ("-3/10", -3, 10),
        ("0", 0, 1),
        ("0/7", 0, 1),
        ("007", 7, 1),
        (12, 12, 1),
        (Fraction(3, 10), 3, 10),
        (Q(3, 10), 3, 10),
    ],
    ids=repr,
)
def test_integers_rationals_and_strings_are_read_exactly(value: object, numerator: int, denominator: int) -> None:
    number = rational(value)
    assert type(number) is Q
    assert (number.numerator, number.denominator) == (numerator, denominator)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (0.3, 'is a float; write a rational such as "3/10"'),
        (1.0, "is a float"),
        (float("nan"), "is a float"),
        (float("inf"), "is a float"),
        (LikeAnArrayScalar(), "is a float"),
        (Decimal("0.3"), "is a float"),
        (True, "is not a number"),
        (False, "is not a number"),
        (None, "is not a number"),
        ([1], "is not a number"),
        (1j, "is not a number"),
        ("0.3", "is not a rational"),
        ("1e3", "is not a rational"),
        ("third", "is not a rational"),
        ("", "is not a rational"),
        ("1/", "is not a rational"),
        ("/2", "is not a rational"),
        ("1/-2", "is not a rational"),
        ("1 / 2", "is not a rational"),
        ("1/2/3", "is not a rational"),
        ("1_000", "is not a rational"),
        ("\N{ARABIC-INDIC DIGIT ONE}", "is not a rational"),
        ("1/0", "has a zero denominator"),
        ("0/00", "has a zero denominator"),
    ],
    ids=repr,
)
def test_anything_else_is_refused_with_its_place(value: object, complaint: str) -> None:
    with pytest.raises(InputError) as error:
        rational(value, "target '0,1', token 2")
    message = str(error.value)
    assert message.startswith("target '0,1', token 2: ")
    assert complaint in message
    assert "\n" not in message


@given(st.fractions())
def test_a_fraction_survives_the_way_in_and_out(value: Fraction) -> None:
    for way_in in (value, str(value), rational(value)):
        back = to_fraction(rational(way_in))
        assert type(back) is Fraction
        assert back == value


@given(st.fractions(), st.fractions())
def test_arithmetic_and_hashes_are_those_of_fractions(a: Fraction, b: Fraction) -> None:
    """A law must not depend on the number type, and equal numbers of both types must meet in a dict."""
    x, y = rational(a), rational(b)
    assert [to_fraction(value) for value in (x + y, x - y, x * y, abs(x))] == [a + b, a - b, a * b, abs(a)]
    assert not b or to_fraction(x / y) == a / b
    assert (x < y, x == y, bool(x)) == (a < b, a == b, bool(a))
    assert hash(x) == hash(a)
    assert str(x) == str(a)


def test_zero_and_one_are_of_the_type_in_use() -> None:
    assert (type(ZERO), type(ONE)) == (Q, Q)
    assert [str(ZERO), str(ONE)] == ["0", "1"]


CHOSEN = "from rheo_proof.exact.number import NUMBER_TYPE, rational; print(NUMBER_TYPE, rational('6/4'))"


WITHOUT_GMPY2 = "import sys; sys.modules['gmpy2'] = None; " + CHOSEN


def chosen(wanted: str, program: str = CHOSEN) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RHEO_NUMBER": wanted, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("wanted", "name"), [("gmpy2", "gmpy2.mpq"), ("", "gmpy2.mpq"), ("fraction", "fractions.Fraction")]
)
def test_the_environment_chooses_the_type(wanted: str, name: str) -> None:
    assert chosen(wanted).stdout == f"{name} 3/2\n"


def test_fractions_stand_in_where_gmpy2_is_missing() -> None:
    assert chosen("", WITHOUT_GMPY2).stdout == "fractions.Fraction 3/2\n"


@pytest.mark.parametrize(
    ("wanted", "program", "complaint"),
    [
        ("decimal", CHOSEN, "RHEO_NUMBER is 'decimal': expected 'gmpy2' or 'fraction'"),
        ("gmpy2", WITHOUT_GMPY2, "RHEO_NUMBER is 'gmpy2', but gmpy2 is not installed"),
    ],
)
def test_a_type_that_cannot_be_had_is_refused(wanted: str, program: str, complaint: str) -> None:
    run = chosen(wanted, program)
    assert run.returncode != 0
    assert complaint in run.stderr


def test_this_run_uses_the_type_it_was_told_to() -> None:
    expected = {"gmpy2": "gmpy2.mpq", "fraction": "fractions.Fraction"}
    wanted = os.environ.get("RHEO_NUMBER", "")
    assert NUMBER_TYPE in ([expected[wanted]] if wanted else expected.values())


@pytest.fixture
def digits_read() -> Iterator[int]:
    """The most digits that Python reads, set to its default whatever the environment says."""
    before, default = sys.get_int_max_str_digits(), sys.int_info.default_max_str_digits
    sys.set_int_max_str_digits(default)
    yield default
    sys.set_int_max_str_digits(before)


def test_a_number_with_more_digits_than_python_reads_is_refused_in_one_line(digits_read: int) -> None:
    with pytest.raises(InputError, match=r"p\(0\): a number is too long"):
        rational("1/" + "2" * (digits_read + 1), "p(0)")
