"""What torch's arithmetic does to one element, in terms of the operations on random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rheo_proof.audit.arithmetic import apply
from rheo_proof.audit.constants import logarithm
from rheo_proof.audit.scalars import Cell, Discrete, Opaque, Question
from rheo_proof.exact.number import Q


def _sum(x: Any, y: Any, alpha: Any) -> Any:
    return apply("add", x, y if alpha in (None, 1) else apply("mul", y, alpha))


def _difference(x: Any, y: Any, alpha: Any) -> Any:
    return apply("sub", x, y if alpha in (None, 1) else apply("mul", y, alpha))


def _quotient(x: Any, y: Any, rounding: Any) -> Any:
    quotient = apply("div", x, y)
    return quotient if rounding is None else _whole(rounding, quotient)


def _whole(how: str, x: Any) -> Any:
    """An integer near a number, not decided."""
    return Discrete(lambda: int(apply(how, x)), f"{how} of a random number")


def _sign(x: Any) -> Any:
    return Discrete(lambda: bool(apply("gt", x, 0)) - bool(apply("lt", x, 0)), "sign of a random number")


def _lerp(x: Any, y: Any, weight: Any) -> Any:
    return apply("add", x, apply("mul", apply("sub", y, x), weight))


def _infinite(x: Any) -> Any:
    if isinstance(x, Opaque):
        return x
    return Question(lambda: bool(apply("eq", x, math.inf)) or bool(apply("eq", x, -math.inf)), "is infinite")


def _sigmoid(x: Any) -> Any:
    return apply("reciprocal", apply("add", apply("exp", apply("neg", x)), 1))


def _next(x: Any, to: Any) -> Any:
    """x itself: one float further is nothing to a number that is exact, but at the ends of its range."""
    if isinstance(x, Opaque):
        return x
    if isinstance(x, Cell) and not isinstance(to, Cell):
        return x
    return Opaque(None, "nextafter", "towards a random number")


def _same(x: Any, *_: Any) -> Any:
    return x


ARITHMETIC: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "add": (("self", "other", "alpha"), _sum),
    "sub": (("self", "other", "alpha"), _difference),
    "rsub": (("self", "other", "alpha"), lambda x, y, alpha: _difference(y, x, alpha)),
    "mul": (("self", "other"), lambda x, y: apply("mul", x, y)),
    "div": (("self", "other", "rounding_mode"), _quotient),
    "floor_divide": (("self", "other"), lambda x, y: _quotient(x, y, "floor")),
    "pow": (("self", "exponent"), lambda x, y: apply("pow", x, y)),
    "square": (("self",), lambda x: apply("pow", x, 2)),
    "nextafter": (("self", "other"), _next),
    "neg": (("self",), lambda x: apply("neg", x)),
    "abs": (("self",), lambda x: apply("abs", x)),
    "reciprocal": (("self",), lambda x: apply("reciprocal", x)),
    "log": (("self",), lambda x: apply("log", x)),
    "log1p": (("self",), lambda x: apply("log1p", x)),
    "log2": (("self",), lambda x: apply("div", apply("log", x), logarithm(Q(2)))),
    "log10": (("self",), lambda x: apply("div", apply("log", x), logarithm(Q(10)))),
    "exp2": (("self",), lambda x: apply("exp", apply("mul", x, logarithm(Q(2))))),
    "exp": (("self",), lambda x: apply("exp", x)),
    "expm1": (("self",), lambda x: apply("sub", apply("exp", x), 1)),
    "sqrt": (("self",), lambda x: apply("sqrt", x)),
    "rsqrt": (("self",), lambda x: apply("reciprocal", apply("sqrt", x))),
    "sigmoid": (("self",), _sigmoid),
    "relu": (("self",), lambda x: apply("clamp", x, 0, None)),
    "floor": (("self",), lambda x: _whole("floor", x)),
    "ceil": (("self",), lambda x: _whole("ceil", x)),
    "trunc": (("self",), lambda x: _whole("trunc", x)),
    "sign": (("self",), _sign),
    "sgn": (("self",), _sign),
    "lerp": (("self", "end", "weight"), _lerp),
    "clamp": (("self", "min", "max"), lambda x, low, high: apply("clamp", x, low, high)),
    "clamp_min": (("self", "min"), lambda x, low: apply("clamp", x, low, None)),
    "clamp_max": (("self", "max"), lambda x, high: apply("clamp", x, None, high)),
    "maximum": (("self", "other"), lambda x, y: apply("maximum", x, y)),
    "minimum": (("self", "other"), lambda x, y: apply("minimum", x, y)),
    "addcmul": (
        ("self", "tensor1", "tensor2", "value"),
        lambda x, y, z, c: apply("add", x, apply("mul", apply("mul", y, z), c)),
    ),
    "addcdiv": (
        ("self", "tensor1", "tensor2", "value"),
        lambda x, y, z, c: apply("add", x, apply("mul", apply("div", y, z), c)),
    ),
    "isnan": (("self",), lambda x: x if isinstance(x, Opaque) else False),
    "isinf": (("self",), _infinite),
    "nan_to_num": (("self", "nan", "posinf", "neginf"), _same),
}
"""Operations on continuous numbers: the arguments that count, and what is done to one element of each."""
