"""What is replaced of NumPy while an audit is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.random import BitGenerator, Generator, RandomState, mtrand

from rheo_proof.audit.numpy_arrays import RandomArray, gathered, has_cells
from rheo_proof.audit.numpy_bits import GUARDED_CLASSES, Guarded
from rheo_proof.audit.numpy_elementwise import ufunc_called
from rheo_proof.audit.numpy_functions import function_called
from rheo_proof.audit.numpy_generators import AuditGenerator, AuditState, default_rng, new_twins, standing_in, twins
from rheo_proof.audit.python_system import Refused
from rheo_proof.audit.replacing import Hidden, Swap
from rheo_proof.audit.scalars import Cell, Lazy
from rheo_proof.audit.streams import active

REAL = (Generator, RandomState, BitGenerator)


class ArrayOf(Hidden):
    """`np.array` or `np.asarray`: a sequence with random numbers in it becomes a `RandomArray`."""

    __slots__ = ("__name__", "copies", "original")

    def __init__(self, original: Callable[..., Any], copies: bool) -> None:
        self.original = original
        self.copies = copies
        self.__name__ = original.__name__

    def __call__(self, *args: Any, **named: Any) -> Any:
        if active() is None or not args or not has_cells(args[0]):
            return self.original(*args, **named)
        x, *more = args
        dtype = more[0] if more else named.get("dtype")
        if isinstance(x, RandomArray):
            copies = self.copies and named.get("copy", True)
            if self.__name__ == "ascontiguousarray" and not x.cells.flags.c_contiguous:
                copies = True
            x = x.copy() if copies else x
            return x if dtype is None else x.astype(dtype, copy=copies)
        return gathered(x, dtype)


def _array_of_lazy(self: Lazy, dtype: Any = None, copy: bool | None = None) -> Any:
    return np.asarray(self.settle(), dtype=dtype)


def _ufunc(self: Cell, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
    return ufunc_called(ufunc, method, *inputs, **named)


def _function(self: Cell, function: Any, types: Any, args: Any, named: Any) -> Any:
    return function_called(function, args, named)


HOOKS: tuple[tuple[type, str, Any], ...] = (
    (Cell, "__array_ufunc__", _ufunc),
    (Cell, "__array_function__", _function),
    (Lazy, "__array__", _array_of_lazy),
)
"""How NumPy asks a random number."""


def patch_cells() -> Callable[[], None]:
    """Give random numbers the methods that NumPy looks for; returns what takes them away."""
    for cls, name, function in HOOKS:
        setattr(cls, name, function)

    def restore() -> None:
        for cls, name, _ in HOOKS:
            delattr(cls, name)

    return restore


def swaps(living: Iterable[Any]) -> list[Swap]:
    """The stand-ins of NumPy's generators, classes and functions; `living` are the objects of the process."""
    new_twins()
    found = [Swap(x, _stand_in(x)) for x in living if isinstance(x, REAL) and not _ours(x)]
    classes = {Generator: AuditGenerator, RandomState: AuditState, **GUARDED_CLASSES}
    functions: dict[Any, Any] = {np.random.default_rng: default_rng}
    functions[mtrand.set_bit_generator] = Refused(mtrand.set_bit_generator, "")
    for name, copies in (("array", True), ("asarray", False), ("asanyarray", False), ("ascontiguousarray", False)):
        functions[getattr(np, name)] = ArrayOf(getattr(np, name), copies)
    return found + [Swap(old, new, in_globals=True) for old, new in {**classes, **functions}.items()]


def _ours(x: Any) -> bool:
    """Whether a generator belongs to the audit: a stand-in, or the real one inside of it."""
    return isinstance(x if isinstance(x, BitGenerator) else x._bit_generator, Guarded)


def _stand_in(real: Any) -> Any:
    if isinstance(real, BitGenerator):
        return twins().of(real)
    return standing_in(real)


__all__ = ["patch_cells", "standing_in", "swaps", "twins"]
