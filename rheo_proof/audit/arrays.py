"""Arguments as torch tensors, NumPy arrays or lists, and what is in an array, without deciding anything random.

In an audit, tensors are made by the torch layer and may hold random cells; without one (`audited=False`) they are
ordinary, as compiled code needs them.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any, TypeAlias

from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.scalars import Cell, Lazy

Nested: TypeAlias = Any
"""A number, a cell, or a list of them, nested to any depth."""

KINDS = ("torch", "numpy", "list")


class Arrays:
    """Makes the arrays of one kind. Raises `AuditError` for a kind that is not known or not installed."""

    def __init__(self, kind: str = "torch", audited: bool = True) -> None:
        if kind not in KINDS:
            raise AuditError(f"arrays {kind!r}: expected one of {', '.join(KINDS)}")
        self.kind = kind
        self.audited = audited
        self._library: Any = None if kind == "list" else needed(kind)

    def make(self, nested: Nested, dtype: str) -> Any:
        """An array of a type: `float32`, `float64` or `int64`. A single number stays one in lists."""
        if self.kind == "list":
            return copied(nested)
        random = any(isinstance(x, Cell) for x in flat(nested))
        if self.kind == "torch":
            kind = getattr(self._library, dtype)
            if self.audited:
                return _layer("torch_run").tensor_of(nested, kind)
            return self._library.tensor(nested, dtype=kind)
        if random:
            return _layer("numpy_arrays").gathered(nested, self._library.dtype(dtype))
        return self._library.array(nested, dtype=dtype)

    def generator(self, seed: int) -> Any:
        """A generator of the library, seeded. Each run makes a new one, so its noise is the same in none of them."""
        if self.kind == "torch":
            return self._library.Generator().manual_seed(seed)
        if self.kind == "numpy":
            return self._library.random.default_rng(seed)
        return importlib.import_module("random").Random(seed)

    def cells(self, value: Any) -> Nested:
        """What an array holds, as nested lists of numbers and cells."""
        return cells_of(value)


def copied(nested: Nested) -> Nested:
    """The same in new lists: what a function writes into its lists must not reach ours."""
    return [copied(x) for x in nested] if isinstance(nested, list) else nested


def needed(library: str) -> Any:
    """A library by name. Raises `AuditError` where it is not installed."""
    try:
        return importlib.import_module(library)
    except ImportError:
        raise AuditError(f"arrays {library!r}: {library} is not installed") from None


def _layer(name: str) -> Any:
    return importlib.import_module(f"rheo_proof.audit.{name}")


def cells_of(value: Any) -> Nested:
    """The contents of a tensor, an array, a list or a number."""
    if isinstance(value, Cell) or value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [cells_of(x) for x in value]
    origin = type(value).__module__.partition(".")[0]
    if origin == "torch" or any(base.__module__.partition(".")[0] == "torch" for base in type(value).__mro__):
        return _layer("torch_run").cells_of(value)
    if hasattr(value, "tolist"):
        return cells_of(value.tolist())
    return value


def flat(nested: Nested) -> Iterator[Any]:
    """All numbers and cells, in order.

    >>> list(flat([[1, 2], [3]])), list(flat(7))
    ([1, 2, 3], [7])
    """
    if isinstance(nested, list):
        for part in nested:
            yield from flat(part)
    else:
        yield nested


def shape(nested: Nested) -> tuple[int, ...]:
    """The lengths of nested lists, by the first element of each level.

    >>> shape([[1, 2], [3, 4], [5, 6]]), shape(7)
    ((3, 2), ())
    """
    if not isinstance(nested, list):
        return ()
    return (len(nested), *(shape(nested[0]) if nested else ()))


def same(before: Any, after: Any) -> bool:
    """Whether one number or cell is still what it was; a cell that has been decided since is its value.

    >>> same(0.5, 0.5), same(float("nan"), float("nan")), same(1, 2)
    (True, True, False)
    """
    if before is after:
        return True
    if isinstance(before, Cell):
        if not isinstance(before, Lazy) or not before.settled or isinstance(after, Cell):
            return False
        before = before.settle()
    if isinstance(after, Cell):
        return False
    numbers = isinstance(before, (bool, int, float)) and isinstance(after, (bool, int, float))
    if numbers and math.isnan(before) and math.isnan(after):
        return True
    return bool(before == after)


def unchanged(before: Nested, after: Nested) -> bool:
    """Whether an array still holds what it held, in the same shape."""
    first, second = list(flat(before)), list(flat(after))
    return shape(before) == shape(after) and len(first) == len(second) and all(map(same, first, second))
