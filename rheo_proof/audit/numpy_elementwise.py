"""NumPy's ufuncs on random numbers, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rheo_proof.audit.arithmetic import apply
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.numpy_arrays import RandomArray, boxed, concrete, meeting, number, objects, result
from rheo_proof.audit.scalars import Cell, Lazy, Opaque, Question, Scalar
from rheo_proof.exact.number import Q

OPERATIONS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "power": "pow",
    "float_power": "pow",
    "negative": "neg",
    "absolute": "abs",
    "fabs": "abs",
    "reciprocal": "reciprocal",
    "log": "log",
    "log1p": "log1p",
    "exp": "exp",
    "sqrt": "sqrt",
    "maximum": "maximum",
    "fmax": "maximum",
    "minimum": "minimum",
    "fmin": "minimum",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "ne",
    "clip": "clamp",
}
"""Ufuncs that are one operation of `arithmetic.apply`."""


def _both(x: Any, y: Any) -> Any:
    return Question(lambda: bool(x) and bool(y), "and")


def _either(x: Any, y: Any) -> Any:
    return Question(lambda: bool(x) or bool(y), "or")


def _infinite(x: Any) -> Any:
    return Question(lambda: bool(apply("eq", x, math.inf)) or bool(apply("eq", x, -math.inf)), "infinite")


COMPOSED: dict[str, Callable[..., Any]] = {
    "positive": lambda x: x,
    "square": lambda x: apply("pow", x, 2),
    "log2": lambda x: apply("div", apply("log", x), math.log(2)),
    "log10": lambda x: apply("div", apply("log", x), math.log(10)),
    "exp2": lambda x: apply("exp", apply("mul", x, math.log(2))),
    "floor_divide": lambda x, y: apply("floor", apply("div", x, y)),
    "isnan": lambda x: False,
    "isinf": _infinite,
    "isfinite": lambda x: ~_infinite(x),
    "logical_not": lambda x: apply("eq", x, 0),
    "logical_and": _both,
    "logical_or": _either,
}
"""Ufuncs of continuous random numbers that are made of several operations."""

LOGICAL: dict[str, Callable[..., Any]] = {
    "logical_and": _both,
    "bitwise_and": _both,
    "logical_or": _either,
    "bitwise_or": _either,
    "logical_not": lambda x: ~x,
    "invert": lambda x: ~x,
}
"""Ufuncs of lazy truth values, which stay lazy."""

WHOLE = {"floor", "ceil", "trunc", "floor_divide"}


def element(ufunc: Any, *operands: Any) -> Any:
    """A ufunc of single cells and numbers."""
    name = ufunc.__name__
    if name in LOGICAL and all(isinstance(x, (Question, bool, np.bool_)) for x in operands):
        if any(isinstance(x, Question) for x in operands):
            return LOGICAL[name](*operands)
        return ufunc(*operands)
    operands = tuple(number(x) for x in operands)
    if not any(isinstance(x, Cell) for x in operands):
        return ufunc(*operands)
    if name in OPERATIONS:
        found = apply(OPERATIONS[name], *operands)
    elif name in COMPOSED:
        for x in operands:
            if isinstance(x, Opaque):
                x.look()
        found = COMPOSED[name](*operands)
    else:
        refuse(f"numpy.{name} of a random number")
    return float(found) if isinstance(found, Q) or name in WHOLE else found


def elementwise(function: Callable[..., Any], *inputs: Any) -> Any:
    """A function of elements on arrays that are broadcast against each other, as an object array."""
    arrays = np.broadcast_arrays(*map(objects, inputs))
    return boxed((function(*each) for each in zip(*(a.flat for a in arrays), strict=True)), arrays[0].shape)


def ufunc_called(ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
    """`__array_ufunc__` of everything random."""
    if method == "reduce" or method == "accumulate":
        from rheo_proof.audit.numpy_functions import reduced

        return reduced(ufunc, method, *inputs, **named)
    out = named.pop("out", (None,))
    if method == "at" and isinstance(inputs[0], RandomArray):
        refuse(f"numpy.{ufunc.__name__}.at on random numbers", "an operation in place")
    if method != "__call__" or ufunc.nout != 1 or ufunc.signature is not None:
        if any(x is not None for x in out):
            refuse(f"numpy.{ufunc.__name__} with out= and random numbers")
        return getattr(ufunc, method)(*map(concrete, inputs), **{k: concrete(v) for k, v in named.items()})
    if named.pop("where", True) is not True:
        refuse(f"numpy.{ufunc.__name__} with where= on random numbers")
    dtype = named.pop("dtype", None)
    meeting(*inputs)
    cells = elementwise(lambda *each: element(ufunc, *each), *inputs)
    return stored(result(cells, dtype), out[0])


def stored(found: Any, out: Any) -> Any:
    """A result, put into `out` if there is one."""
    if out is None:
        return found
    if isinstance(out, RandomArray) or not isinstance(found, (Cell, RandomArray)):
        out[...] = found
        return out
    if any(not isinstance(x, Lazy) for x in objects(found).flat if isinstance(x, Cell)):
        refuse("an operation in place", "a plain array cannot hold random numbers")
    out[...] = concrete(found)
    return out


def converted(array: Any, dtype: Any) -> Any:
    """`astype`."""
    if dtype.kind not in "fbiuO":
        refuse(f"conversion of random numbers to {dtype}")
    if dtype.kind == "f":
        return result(elementwise(number, array), dtype)
    if dtype.kind == "b":
        return result(elementwise(lambda x: apply("ne", x, 0) if isinstance(x, Scalar) else x, array), dtype)
    if dtype.kind in "iu":
        return np.array([int(x) for x in array.cells.flat], dtype=dtype).reshape(array.shape)
    return array.cells.copy()
