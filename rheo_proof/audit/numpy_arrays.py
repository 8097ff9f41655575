"""Arrays of random numbers: what NumPy code holds in an audit where it expects an array of floats, ints or bools.

A `RandomArray` has the shape and dtype of the array that it stands for, and cells or numbers as elements. It is no
`ndarray` that C code could read: NumPy hands ufuncs and functions over to it, and whoever asks for a real array gets
one once everything in it has been decided, or is refused.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.lib.mixins import NDArrayOperatorsMixin

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.exploring import in_a_run
from rheo_proof.audit.scalars import Cell, Lazy, Opaque, Question, Scalar
from rheo_proof.exact.number import Q

FLOAT = np.dtype(np.float64)
_plain_array = np.array


MEMORY = {
    "base", "byteswap", "ctypes", "data", "getfield", "imag", "partition", "put", "real", "resize", "setfield",
    "setflags", "view",
}  # fmt: skip
"""What a copy with everything decided cannot do in the place of an array."""


@cache
def takes(function: Callable[..., Any]) -> inspect.Signature:
    """What a function can be called with."""
    return inspect.signature(function)


def is_coarse(dtype: Any) -> bool:
    """Whether a random number loses its law in this type: every one with a fraction but `float32` and `float64`."""
    return dtype.kind in "fc" and not (dtype.kind == "f" and dtype.itemsize in (4, 8))


def fitting(cells: Any, dtype: Any) -> None:
    """Refuses continuous random numbers, one or an object array of them, in a type with a coarse grid."""
    if dtype is None or not is_coarse(np.dtype(dtype)):
        return
    if any(isinstance(x, Scalar) for x in (cells.flat if isinstance(cells, ndarray) else [cells])):
        refuse(f"a random number as {np.dtype(dtype)}", "its grid is coarse")


def meeting(*operands: Any) -> None:
    """Refuses operands of which NumPy would make a type with a coarse grid, if one is a continuous random number.

    A single number counts as one of Python, which takes the type of what it meets.
    """
    types = [x.dtype for x in operands if isinstance(x, (RandomArray, ndarray, np.generic))]
    if any(map(is_coarse, types)):
        for x in operands:
            fitting(objects(x), np.result_type(*types))


def boxed(values: Iterable[Any], shape: Sequence[int]) -> Any:
    """An object array of these elements, as they are."""
    items = list(values)
    box = np.empty(len(items), dtype=object)
    for i, value in enumerate(items):
        box[i] = value
    return box.reshape(tuple(shape))


def objects(x: Any) -> Any:
    """Anything array-like as an object array of cells and numbers; nothing is decided."""
    if isinstance(x, RandomArray):
        return x.cells
    if isinstance(x, Cell):
        return boxed([x], ())
    if type(x) in (list, tuple) and has_cells(x):
        return gathered(x).cells
    return np.asarray(x).astype(object)


def has_cells(x: Any) -> bool:
    """Whether something random is in it."""
    if isinstance(x, (RandomArray, Cell)):
        return True
    return type(x) in (list, tuple) and any(map(has_cells, x))


def number(value: Any) -> Any:
    """A lazy number decided, an exact one as a float; other cells and numbers as they are."""
    if isinstance(value, Lazy):
        settled = value.settle()
        return np.bool_(settled) if isinstance(value, Question) else np.int64(settled)
    return float(value) if isinstance(value, Q) else value


def result(cells: Any, dtype: Any = None) -> Any:
    """What an operation returns: a cell or number, a `RandomArray`, or a plain array if nothing in it is random."""
    if not isinstance(cells, ndarray):
        fitting(cells, dtype)
        return cells if isinstance(cells, Cell) else number(cells)
    if cells.ndim == 0:
        return result(cells.item(), dtype if isinstance(cells.item(), Scalar) else None)
    if any(isinstance(x, Cell) for x in cells.flat):
        return RandomArray(cells, dtype)
    values = [number(x) for x in cells.flat]
    return _plain_array(values, dtype=dtype if dtype is not None or values else FLOAT).reshape(cells.shape)


def gathered(nested: Any, dtype: Any = None) -> RandomArray:
    """Nested sequences with random numbers in them as one array."""
    leaves: list[Any] = []

    def stand_in(x: Any) -> Any:
        if isinstance(x, RandomArray):
            return stand_in(x.tolist())
        if isinstance(x, ndarray):
            return stand_in(x.tolist())
        if isinstance(x, (list, tuple)):
            return [stand_in(each) for each in x]
        leaves.append(x)
        return (False if isinstance(x, Question) else 0 if isinstance(x, Lazy) else 0.5) if isinstance(x, Cell) else x

    shape = _plain_array(stand_in(nested))
    found = RandomArray(boxed(leaves, shape.shape), shape.dtype)
    return found if dtype is None else found.astype(dtype)


def alone(cell: Cell) -> RandomArray:
    """One random number as an array of no axes."""
    return RandomArray(boxed([cell], ()))


class RandomArray(NDArrayOperatorsMixin):
    """An array of cells and numbers, in the place of an array of `dtype`."""

    def __init__(self, cells: Any, dtype: Any = None) -> None:
        fitting(cells, dtype)
        self.cells = cells
        self.dtype = np.dtype(dtype) if dtype is not None else _nominal(cells)

    @classmethod
    def of(cls, values: Iterable[Any], shape: Sequence[int], dtype: Any = None) -> RandomArray:
        """From elements in order."""
        return cls(boxed(values, shape), dtype)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Code asks `isinstance(x, np.ndarray)`."""
        return ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """As of the array."""
        return tuple(self.cells.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self.cells.size)

    @property
    def T(self) -> Any:  # noqa: N802
        """Transposed view."""
        return RandomArray(self.cells.T, self.dtype)

    @property
    def flat(self) -> Iterator[Any]:
        """The elements in order."""
        return iter(self.cells.flat)

    def plain(self, operation: str) -> Any:
        """The real array, everything decided now. Refuses numbers that are continuous."""
        values = []
        for cell in self.cells.flat:
            if isinstance(cell, Opaque):
                cell.look()
            if isinstance(cell, Scalar):
                refuse(operation, "a random number was asked for its value")
            values.append(number(cell))
        return _plain_array(values, dtype=self.dtype).reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if dtype is not None and np.dtype(dtype) == np.dtype(object):
            return self.cells.copy()
        plain = self.plain("conversion of random numbers to an array")
        return plain if dtype is None else plain.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        from rheo_proof.audit.numpy_elementwise import ufunc_called

        return ufunc_called(ufunc, method, *inputs, **named)

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        from rheo_proof.audit.numpy_functions import function_called

        return function_called(function, args, named)

    def __getitem__(self, index: Any) -> Any:
        found = self.cells[concrete(index)]
        return RandomArray(found, self.dtype) if isinstance(found, ndarray) else _element(found, self.dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not self.cells.flags.writeable:
            refuse("an operation in place", "whether another array of random numbers would change with it is not known")
        if has_cells(value):
            value = RandomArray(objects(value)).astype(self.dtype)
        self.cells[concrete(index)] = objects(np.asarray(value, dtype=self.dtype))

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return any(bool(cell == value) for cell in self.cells.flat)

    def item(self, *index: int) -> Any:
        """One element: a cell, or a Python number."""
        found = self.cells.item(*index)
        return found.item() if isinstance(found, np.generic) else found

    def tolist(self) -> Any:
        """Nested lists of cells and numbers."""
        return self.cells.tolist()

    def __bool__(self) -> bool:
        return bool(self.item() if self.size == 1 else self.plain("truth value of an array"))

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return operator.index(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __reduce_ex__(self, protocol: Any) -> Any:
        refuse("pickle of random numbers")

    def __bytes__(self) -> bytes:
        return bytes(self.plain("bytes of random numbers").tobytes())

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(self.plain("memory of random numbers"))

    def __repr__(self) -> str:
        return repr(self.plain("the text of random numbers")) if in_a_run() else f"<random numbers, {self.shape}>"

    def __copy__(self) -> RandomArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> RandomArray:
        return self.copy()

    def copy(self, order: str = "C") -> RandomArray:
        """A copy; the cells are the same random numbers."""
        return RandomArray(self.cells.copy(), self.dtype)

    def astype(self, dtype: Any, *args: Any, **named: Any) -> Any:
        """As of the array; to integers and bools everything is decided now.

        Where it may be the array itself, neither can be written any more: the type is not known that well.
        """
        from rheo_proof.audit.numpy_elementwise import converted

        copied = args[3] if len(args) > 3 else named.get("copy", True)
        wanted = np.dtype(dtype)
        if copied or wanted.kind != self.dtype.kind:
            return converted(self, wanted)
        self.cells.setflags(write=False)
        return RandomArray(self.cells, wanted)

    def fill(self, value: Any) -> None:
        """As of the array."""
        self[...] = value

    def reshape(self, *shape: Any, **named: Any) -> RandomArray:
        """A view where the array would give one."""
        return RandomArray(self.cells.reshape(*shape, **named), self.dtype)

    def transpose(self, *axes: Any) -> RandomArray:
        """Transposed view."""
        return RandomArray(self.cells.transpose(*axes), self.dtype)

    def sort(self, axis: int = -1, **named: Any) -> None:
        """In place."""
        self[...] = np.sort(self, axis=axis)

    def __getattr__(self, name: str) -> Any:
        """Methods that NumPy also has as functions, else what a real array has, everything decided."""
        if name.startswith("__") or not hasattr(ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        from rheo_proof.audit.numpy_functions import METHODS

        if name in METHODS:
            return lambda *args, **named: METHODS[name](self, *args, **named)
        if name in MEMORY:
            refuse(f"{name} of random numbers", "it shows or changes the memory of the array")
        return getattr(self.plain(f"{name} of random numbers"), name)


def concrete(x: Any) -> Any:
    """An index, or another argument that must be a plain one: everything in it decided now."""
    if isinstance(x, tuple):
        return tuple(map(concrete, x))
    if type(x) is list:
        return [concrete(each) for each in x]
    if isinstance(x, RandomArray):
        return x.plain("random numbers as an index or argument")
    if isinstance(x, Opaque):
        x.look()
    if isinstance(x, Scalar):
        refuse("a random number as an index or argument")
    return number(x) if isinstance(x, Lazy) else x


def _element(value: Any, dtype: Any) -> Any:
    return value if isinstance(value, Cell) else dtype.type(value)


def _nominal(cells: Any) -> Any:
    """The dtype of the array that these cells stand for."""
    kinds = {
        FLOAT
        if isinstance(x, (Scalar, Opaque, Q, float))
        else np.dtype(np.bool_)
        if isinstance(x, (Question, bool, np.bool_))
        else np.dtype(np.int64)
        for x in cells.flat
    }
    return np.result_type(*kinds) if kinds else FLOAT
