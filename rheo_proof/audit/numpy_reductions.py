"""Reductions, running totals, races and sorting of random numbers along an axis.

Each looks at as little as it needs, in order: `all` stops at the first False, `argmax` decides the winner alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rheo_proof.audit import races
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.numpy_arrays import RandomArray, boxed, number, objects, result
from rheo_proof.audit.numpy_elementwise import element
from rheo_proof.audit.scalars import Cell, Opaque, Question, Scalar

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
        return np.take_along_axis(a, REDUCTIONS["arg" + name](a, *args, axis=axis, **named), axis=axis)

    return values


REDUCTIONS: dict[str, Callable[..., Any]] = {
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
}
