"""Tensors of which some elements are random numbers.

An `AuditTensor` has no storage that C code could read. It holds a real tensor, `value`, and beside the storage of that
a buffer of cell numbers of the same layout: 0 where the element is what `value` says, k where it is cell k of the run.
Because the numbers belong to the storage, views and in-place writes alias as the values do. Where a cell stands,
`value` holds poison: nothing may depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.scalars import Cell, Lazy, Opaque

OUTSIDE = "a tensor from outside of the run"
ARRAY = "a tensor that shares its memory with an array"
GRID = "its grid is coarse"
REINTERPRETED = "a tensor that is seen as another type of number"

poison: dict[str, Any] = {"float": float("nan"), "whole": 113, "bool": True}
"""What stands in `value` under a cell. The tests change it, and nothing else may change."""


def poison_of(dtype: torch.dtype) -> Any:
    """The poison of a type of number."""
    if dtype.is_floating_point or dtype.is_complex:
        return poison["float"]
    return poison["bool" if dtype is torch.bool else "whole"]


def is_coarse(dtype: torch.dtype) -> bool:
    """Whether a random number loses its law in this type: every one with a fraction but `float32` and `float64`."""
    return (dtype.is_floating_point or dtype.is_complex) and dtype not in (torch.float32, torch.float64)


class Table:
    """The cells of one run by number, from 1."""

    def __init__(self) -> None:
        self.cells: list[Any] = [None]

    def number(self, cell: Cell) -> int:
        """A new number for a cell."""
        self.cells.append(cell)
        return len(self.cells) - 1


class Store:
    """The cell numbers of one storage; `fixed` says why no random number may be written into it, if so.

    A `frozen` storage may not be written at all: an array of random numbers was made of it, which would not change.
    """

    __slots__ = ("fixed", "frozen", "ids", "size", "table")

    def __init__(self, table: Table, value: torch.Tensor, fixed: str = "") -> None:
        self.table = table
        self.ids: torch.Tensor | None = None
        self.size = value.untyped_storage().nbytes() // value.element_size()
        self.fixed = fixed
        self.frozen = False

    def view(self, value: torch.Tensor) -> torch.Tensor:
        """The cell numbers under a view of the storage; the buffer is made if there is none."""
        if self.ids is None:
            self.ids = torch.zeros(self.size, dtype=torch.int64)
        return torch.as_strided(self.ids, value.size(), value.stride(), value.storage_offset())


class AuditTensor(torch.Tensor):
    """A tensor of the run; see the module."""

    value: torch.Tensor
    store: Store

    __torch_function__: Any = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, value: torch.Tensor, store: Store) -> AuditTensor:
        self: AuditTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            value.size(),
            strides=value.stride(),
            storage_offset=value.storage_offset(),
            dtype=value.dtype,
            device=value.device,
        )
        self.value = value
        self.store = store
        return self

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        refuse(str(func), "a tensor of an audit was used where the audit does not see it")


def fresh(table: Table, value: torch.Tensor, ids: torch.Tensor | None = None) -> AuditTensor:
    """A tensor over a storage of its own, perhaps with cells."""
    result = AuditTensor(value, Store(table, value))
    if ids is not None and bool(ids.any()):
        result.store.view(value).copy_(ids)
    return result


def ids_of(t: AuditTensor) -> torch.Tensor | None:
    """The cell numbers of a tensor, of its shape; None if nothing in it is random."""
    if t.store.ids is None:
        return None
    ids = t.store.view(t.value)
    return ids if bool(ids.any()) else None


def ids_or_zeros(t: AuditTensor) -> torch.Tensor:
    """The cell numbers of a tensor, laid out in memory as its values are."""
    ids = ids_of(t)
    if ids is not None:
        return ids
    value = t.value
    return torch.zeros(t.store.size, dtype=torch.int64).as_strided(value.size(), value.stride(), value.storage_offset())


def items(t: AuditTensor) -> list[Any]:
    """The elements in order: numbers, and cells that are not decided."""
    values: list[Any] = t.value.flatten().tolist()
    ids = ids_of(t)
    if ids is None:
        return values
    cells = t.store.table.cells
    return [cells[k] if k else v for k, v in zip(ids.flatten().tolist(), values, strict=True)]


def is_continuous(cell: Any) -> bool:
    """Whether it is a cell that cannot be settled."""
    return isinstance(cell, Cell) and not isinstance(cell, Lazy)


def build(table: Table, elements: Sequence[Any], like: torch.Tensor) -> AuditTensor:
    """A tensor of these numbers and cells, of the shape, type and memory layout of `like`, whose content is lost.

    Refuses continuous random numbers in a type with a coarse grid, unless nobody may look at them anyway.
    """
    dtype = like.dtype
    if is_coarse(dtype) and any(is_continuous(x) and not isinstance(x, Opaque) for x in elements):
        refuse(f"a random number as {dtype}", GRID)
    filler = poison_of(dtype)
    values: list[Any] = []
    ids: list[int] = []
    for element in elements:
        if isinstance(element, Lazy) and element.settled:
            element = element.settle()
        if isinstance(element, Cell):
            values.append(filler)
            ids.append(table.number(element))
        else:
            values.append(element if type(element) in (int, float, bool) else float(element))
            ids.append(0)
    numbers = numbers_as(values, dtype)
    if not like.is_contiguous():
        like.copy_(numbers.reshape(like.size()))
        return fresh(table, like, torch.tensor(ids).reshape(like.size()) if any(ids) else None)
    result = fresh(table, numbers.reshape(like.size()))
    if any(ids):
        result.store.ids = torch.tensor(ids)
    return result


def numbers_as(numbers: list[Any], dtype: torch.dtype) -> torch.Tensor:
    """Python numbers as a tensor, each rounded once."""
    return torch.tensor(numbers, dtype=dtype)


def settle(t: AuditTensor) -> bool:
    """Decide every lazy cell of a tensor, in order, and write the values down; whether nothing random is left."""
    ids = ids_of(t)
    if ids is None:
        return True
    flat = ids.flatten().tolist()
    cells = t.store.table.cells
    places: list[int] = []
    values: list[Any] = []
    done = True
    for place, k in enumerate(flat):
        if not k:
            continue
        cell = cells[k]
        if isinstance(cell, Lazy):
            values.append(cell.settle())
            places.append(place)
        else:
            done = False
    if places:
        value, size = t.value, t.store.size
        offsets = torch.arange(size).as_strided(value.size(), value.stride(), value.storage_offset()).flatten()[places]
        numbers = [v if type(v) in (int, float, bool) else float(v) for v in values]
        torch.as_strided(value, (size,), (1,), 0)[offsets] = numbers_as(numbers, value.dtype)
        torch.as_strided(ids, (size,), (1,), 0)[offsets] = 0
        if done and len(flat) == size and value.is_contiguous():
            t.store.ids = None
    return done


def write(target: AuditTensor, source: AuditTensor, operation: str) -> None:
    """Copy a tensor of the same type into another, cells and all; what is lazy is decided if cells may not go there."""
    if target.store.fixed and not settle(source):
        refuse(operation, f"a random number goes into {target.store.fixed}")
    try:
        target.value.copy_(source.value)
    except RuntimeError as error:
        error.__dict__["of_torch"] = True
        raise
    ids = ids_of(source)
    if ids is not None:
        target.store.view(target.value).copy_(ids)
    elif target.store.ids is not None:
        target.store.view(target.value).zero_()
