"""NumPy's functions on random numbers.

Functions that only move elements work on cells as they are. Reductions and searches look at as little as they need, in
order. Every other function gets real arrays, after everything random in its arguments has been decided; numbers that
are continuous are refused there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.numpy_arrays import RandomArray, concrete, has_cells, meeting, objects, result, takes
from rheo_proof.audit.numpy_elementwise import elementwise, stored
from rheo_proof.audit.numpy_reductions import REDUCTIONS
from rheo_proof.audit.scalars import Cell, Opaque, Scalar

MOVES = {
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "copy", "diag", "diagonal", "expand_dims", "flip",
    "fliplr", "flipud", "moveaxis", "ravel", "repeat", "reshape", "roll", "rollaxis", "rot90", "split", "array_split",
    "squeeze", "swapaxes", "take", "take_along_axis", "tile", "transpose", "delete", "hsplit", "vsplit", "compress",
}  # fmt: skip
"""Functions that move the elements of their first argument."""

JOINS = {"concatenate", "stack", "hstack", "vstack", "column_stack", "dstack"}
"""Functions that join the arrays of their first argument."""

IN_PLACE = {"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"}
"""Functions that write into their first argument."""


def function_called(function: Any, args: Sequence[Any], named: dict[str, Any]) -> Any:
    """`__array_function__` of everything random."""
    name = function.__name__
    out = named.pop("out", None)
    if name in FUNCTIONS:
        try:
            takes(FUNCTIONS[name]).bind(*args, **named)
        except TypeError:
            refuse(f"numpy.{name} with these arguments")
        return stored(FUNCTIONS[name](*args, **named), out)
    if name in MOVES:
        return stored(_wrapped(function(objects(args[0]), *map(concrete, args[1:]), **_plain(named))), out)
    if name in JOINS:
        return stored(_wrapped(function([objects(x) for x in args[0]], *map(concrete, args[1:]), **_plain(named))), out)
    if isinstance(out, RandomArray) or (name in IN_PLACE and isinstance(args[0], RandomArray)):
        refuse(f"numpy.{name} into an array of random numbers")
    if any(_continuous(x) for x in (*args, *named.values())):
        refuse(f"numpy.{name} of random numbers")
    more = {} if out is None else {"out": out}
    return function(*map(concrete, args), **_plain(named), **more)


def _plain(named: dict[str, Any]) -> dict[str, Any]:
    return {key: concrete(value) for key, value in named.items()}


def _wrapped(found: Any) -> Any:
    if isinstance(found, (list, tuple)):
        return [_wrapped(each) for each in found]
    return RandomArray(found) if isinstance(found, ndarray) and has_random(found) else result(found)


def has_random(cells: Any) -> bool:
    """Whether an object array has a cell in it."""
    return any(isinstance(x, Cell) for x in cells.flat)


def _continuous(x: Any) -> bool:
    if isinstance(x, RandomArray):
        return any(isinstance(cell, (Scalar, Opaque)) for cell in x.cells.flat)
    if type(x) in (list, tuple):
        return any(map(_continuous, x))
    return isinstance(x, (Scalar, Opaque))


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`np.where`; a condition that makes no difference is not looked at."""
    if x is None and y is None:
        return np.where(concrete(condition))

    def pick(c: Any, a: Any, b: Any) -> Any:
        if a is b or not (isinstance(a, Cell) or isinstance(b, Cell) or a != b):
            return a
        return a if c else b

    meeting(x, y)
    dtype = None if has_cells(x) or has_cells(y) else np.result_type(x, y)
    return result(elementwise(pick, condition, x, y), dtype)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """`np.searchsorted`: each comparison that the search needs, no other."""
    if sorter is not None:
        refuse("searchsorted with sorter= on random numbers")
    steps = list(objects(a))
    if any(not isinstance(x, Cell) and x != x for x in steps):
        refuse("searchsorted of a random number in an array with NaN")
    search = bisect_left if side == "left" else bisect_right
    return result(elementwise(lambda x: np.int64(search(steps, x)), v))


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """`np.digitize` with rising bins."""
    edges = np.asarray(concrete(bins))
    if np.any(np.diff(edges) < 0):
        refuse("digitize with falling bins")
    return searchsorted(edges, x, side="left" if right else "right")


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """`np.clip`."""
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if low is not None:
        a = np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def alike(function: Callable[..., Any]) -> Callable[..., Any]:
    """`np.zeros_like` and the like: of the array that the random numbers stand for."""

    def made(a: Any, *args: Any, **named: Any) -> Any:
        shown = a.dtype if isinstance(a, RandomArray) else None
        return function(np.empty(objects(a).shape, dtype=shown), *map(concrete, args), **_plain(named))

    return made


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """`np.append`."""
    parts = [np.ravel(arr), np.ravel(values)] if axis is None else [arr, values]
    return np.concatenate(parts, axis=axis or 0)


def mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """`np.mean`."""
    total = FUNCTIONS["sum"](a, axis=axis, dtype=dtype, keepdims=keepdims)
    return total / (objects(a).size if axis is None else objects(a).shape[axis])


def reduced(ufunc: Any, method: str, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, **named: Any) -> Any:
    """`ufunc.reduce` and `ufunc.accumulate`."""
    name = {
        "add": "sum",
        "multiply": "prod",
        "maximum": "max",
        "minimum": "min",
        "logical_and": "all",
        "logical_or": "any",
    }
    accumulated = {"add": "cumsum", "multiply": "cumprod"}
    table = name if method == "reduce" else accumulated
    if ufunc.__name__ not in table or set(named) - {"keepdims"}:
        refuse(f"numpy.{ufunc.__name__}.{method} of random numbers")
    found = FUNCTIONS[table[ufunc.__name__]](a, axis=axis, dtype=dtype, **named)
    return stored(found, out[0] if isinstance(out, tuple) else out)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **REDUCTIONS,
    "mean": mean,
    "where": where,
    "searchsorted": searchsorted,
    "digitize": digitize,
    "clip": clip,
    "append": append,
    "ndim": lambda a: objects(a).ndim,
    "shape": lambda a: objects(a).shape,
    "size": lambda a, axis=None: objects(a).size if axis is None else objects(a).shape[axis],
    **{name: alike(getattr(np, name)) for name in ("zeros_like", "ones_like", "empty_like", "full_like")},
}

_SAME = ("sum", "prod", "cumsum", "cumprod", "all", "any", "max", "min", "argmax", "argmin", "argsort", "argpartition")
METHODS: dict[str, Callable[..., Any]] = {
    **{name: FUNCTIONS[name] for name in (*_SAME, "mean", "searchsorted", "clip")},
    **{name: getattr(np, name) for name in ("repeat", "squeeze", "swapaxes", "take", "ravel", "diagonal")},
    "flatten": lambda a, order="C": np.ravel(a, order=order).copy(),
}
"""Methods of arrays that are functions on them."""
