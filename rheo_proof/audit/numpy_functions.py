"""NumPy's functions on random numbers.

Functions that only move elements work on cells as they are. Reductions and searches look at as little as they need, in
order. Every other function gets real arrays, after everything random in its arguments has been decided; numbers that
are continuous are refused there.
"""

from __future__ import annotations

import inspect
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from rheo_proof.audit import races
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.numpy_arrays import RandomArray, boxed, concrete, has_cells, number, objects, result
from rheo_proof.audit.numpy_elementwise import element, elementwise, stored
from rheo_proof.audit.scalars import Cell, Opaque, Question, Scalar

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
            inspect.signature(FUNCTIONS[name]).bind(*args, **named)
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


Lane = list[Any]


def _lanes(a: Any, axis: Any) -> tuple[list[Lane], tuple[int, ...]]:
    """The sequences along an axis, or all elements as one; and the shape of what is left."""
    cells = objects(a)
    if axis is None:
        return [list(cells.flat)], ()
    if isinstance(axis, tuple):
        if len(axis) != cells.ndim:
            refuse("a reduction along several axes of random numbers")
        return [list(cells.flat)], ()
    moved = np.moveaxis(cells, axis, -1)
    return [list(lane) for lane in moved.reshape(-1, moved.shape[-1])], moved.shape[:-1]


def _reduction(function: Callable[[Lane], Any]) -> Callable[..., Any]:
    """A reduction along an axis."""

    def reduction(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        lanes, shape = _lanes(a, axis)
        found = boxed(map(function, lanes), shape)
        if keepdims:
            ndim = objects(a).ndim
            found = (
                found.reshape((1,) * ndim) if axis is None or isinstance(axis, tuple) else np.expand_dims(found, axis)
            )
        return result(found, dtype)

    return reduction


def _along(function: Callable[[Lane], Lane]) -> Callable[..., Any]:
    """A function from a sequence to a sequence of the same length, along an axis."""

    def mapped(a: Any, axis: Any = None, dtype: Any = None) -> Any:
        lanes, shape = _lanes(a, axis)
        found = boxed((x for lane in lanes for x in function(lane)), (*shape, len(lanes[0]) if lanes else 0))
        return result(found if axis is None else np.moveaxis(found, -1, axis), dtype)

    return mapped


def _fold(ufunc: Any, empty: Any) -> Callable[[Lane], Any]:
    def fold(lane: Lane) -> Any:
        total = empty
        for x in lane:
            total = element(ufunc, total, number(x))
        return total

    return fold


def _accumulate(ufunc: Any, stop: Any = None) -> Callable[[Lane], Lane]:
    """Partial results; after `stop`, nothing lazy is looked at any more."""

    def accumulate(lane: Lane) -> Lane:
        partial: Lane = []
        for x in lane:
            if partial and not isinstance(partial[-1], Cell) and partial[-1] == stop and isinstance(x, Question):
                partial.append(partial[-1])
                continue
            value = number(x)
            value = int(value) if isinstance(value, np.bool_) else value
            partial.append(element(ufunc, partial[-1], value) if partial else value)
        return partial

    return accumulate


def _best(largest: bool) -> Callable[[Lane], int]:
    """argmax or argmin: the winner of a race, or the first best one."""

    def best(lane: Lane) -> int:
        if any(isinstance(x, (Scalar, Opaque)) for x in lane):
            return int(races.argmax(lane, largest))
        if all(isinstance(x, (Question, bool, np.bool_)) for x in lane):
            return next((i for i, x in enumerate(lane) if bool(x) is largest), 0)
        values = [number(x) for x in lane]
        return int(np.argmax(values) if largest else np.argmin(values))

    return best


def _extreme(largest: bool) -> Callable[[Lane], Any]:
    best = _best(largest)
    return lambda lane: number(lane[best(lane)])


def _ranks(lane: Lane) -> list[Any]:
    """Numbers in the order of the cells, decided now."""
    if not any(isinstance(x, (Scalar, Opaque)) for x in lane):
        return [number(x) for x in lane]
    ranks = [0] * len(lane)
    for rank, i in enumerate(races.order(lane, len(lane), largest=False)):
        ranks[i] = rank
    return ranks


def _sorting(name: str) -> Callable[..., Any]:
    """argsort and argpartition of the ranks: NumPy's own algorithm, which sees nothing else of the numbers."""

    def sorting(a: Any, *args: Any, axis: Any = -1, **named: Any) -> Any:
        if name == "argsort" and args:
            axis, args = args[0], args[1:]
        lanes, shape = _lanes(a, axis)
        rows = np.array([_ranks(lane) for lane in lanes]).reshape(*shape, -1)
        found = getattr(np, name)(rows, *args, axis=-1, **named)
        return found if axis is None else np.moveaxis(found, -1, axis)

    return sorting


def _sorted(name: str) -> Callable[..., Any]:
    def values(a: Any, *args: Any, axis: Any = -1, **named: Any) -> Any:
        if axis is None:
            a, axis = RandomArray(objects(a).ravel()), -1
        return np.take_along_axis(a, FUNCTIONS["arg" + name](a, *args, axis=axis, **named), axis=axis)

    return values


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`np.where`; a condition that makes no difference is not looked at."""
    if x is None and y is None:
        return np.where(concrete(condition))

    def pick(c: Any, a: Any, b: Any) -> Any:
        if a is b or not (isinstance(a, Cell) or isinstance(b, Cell) or a != b):
            return a
        return a if c else b

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
    total = FUNCTIONS["sum"](a, axis=axis, keepdims=keepdims)
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
    "sum": _reduction(_fold(np.add, 0)),
    "prod": _reduction(lambda lane: _accumulate(np.multiply, stop=0)(lane)[-1] if lane else 1),
    "cumsum": _along(_accumulate(np.add)),
    "cumprod": _along(_accumulate(np.multiply, stop=0)),
    "all": _reduction(lambda lane: np.bool_(all(bool(x) for x in lane))),
    "any": _reduction(lambda lane: np.bool_(any(bool(x) for x in lane))),
    "max": _reduction(_extreme(True)),
    "amax": _reduction(_extreme(True)),
    "min": _reduction(_extreme(False)),
    "amin": _reduction(_extreme(False)),
    "argmax": _reduction(_best(True)),
    "argmin": _reduction(_best(False)),
    "argsort": _sorting("argsort"),
    "argpartition": _sorting("argpartition"),
    "sort": _sorted("sort"),
    "partition": _sorted("partition"),
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
    "flatten": np.ravel,
}
"""Methods of arrays that are functions on them."""
