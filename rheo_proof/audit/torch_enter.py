"""Tensors made of numbers, lists and arrays in which something is random: torch would read the elements in C."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from typing import Any

import torch

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.scalars import Cell, Discrete, Lazy, Question, Winner
from rheo_proof.audit.torch_reading import beneath, nested
from rheo_proof.audit.torch_session import Session
from rheo_proof.audit.torch_store import GRID, AuditTensor, build, is_coarse, is_continuous


def listed(x: Any) -> tuple[Any, Any] | None:
    """An array of random numbers as nested lists and its type; None for anything else."""
    arrays = sys.modules.get("rheo_proof.audit.numpy_arrays")
    if arrays is None or type(x) is not arrays.RandomArray:
        return None
    return x.cells.tolist(), getattr(torch, str(x.dtype))


def held(x: Any) -> bool:
    """Whether a tensor of the run or a cell is somewhere in nested lists."""
    if isinstance(x, (list, tuple)):
        return any(map(held, x))
    return isinstance(x, (Cell, AuditTensor)) or listed(x) is not None


def _flat(x: Any, shape: list[int], depth: int, found: list[Any], types: set[torch.dtype]) -> None:
    """Collect the numbers and cells of nested lists and tensors, their shape, and their types."""
    if isinstance(x, torch.Tensor):
        types.add(x.dtype)
        x, types = nested(x), set()
    else:
        array = listed(x)
        if array is not None:
            types.add(array[1])
            x, types = array[0], set()
    if not isinstance(x, (list, tuple)):
        types.add(_type_of(x))
        found.append(x)
        return
    if depth == len(shape):
        shape.append(len(x))
    elif shape[depth] != len(x):
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(x)})")
    for each in x:
        _flat(each, shape, depth + 1, found, types)


def _type_of(x: Any) -> torch.dtype:
    """The type that torch infers for a number or a cell."""
    if isinstance(x, Lazy) and not isinstance(x, (Question, Discrete, Winner)):
        x = x.settle()
    if isinstance(x, Question) or type(x) is bool:
        return torch.bool
    return torch.int64 if isinstance(x, (Discrete, Winner, int)) else torch.get_default_dtype()


def tensor_from(session: Session, data: Any, dtype: torch.dtype | None) -> AuditTensor:
    """A tensor of nested lists of numbers, cells and tensors."""
    shape: list[int] = []
    found: list[Any] = []
    types: set[torch.dtype] = set()
    _flat(data, shape, 0, found, types)
    with beneath():
        if dtype is None:
            dtype = reduce(torch.promote_types, types) if types else torch.get_default_dtype()
        if is_coarse(dtype) and any(map(is_continuous, found)):
            refuse(f"conversion of a random number to {dtype}", GRID)
        if not dtype.is_floating_point:
            found = [_whole(x, dtype) for x in found]
        return build(session.table, found, torch.empty(shape, dtype=dtype))


def _whole(x: Any, dtype: torch.dtype) -> Any:
    """An element of a tensor of integers or conditions."""
    if is_continuous(x):
        refuse("conversion of a random number to an integer")
    if dtype is torch.bool and isinstance(x, Lazy) and not isinstance(x, Question):
        return bool(x.settle())
    return x


def _made(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
    """`torch.tensor` and its like: torch would read the elements in C."""
    data = args[0] if args else kwargs.get("data")
    dtype = kwargs.get("dtype")
    if isinstance(data, AuditTensor) and func is not torch.tensor and dtype in (None, data.dtype):
        return data
    return tensor_from(session, data, dtype) if held(data) else func(*args, **kwargs)


def _made_like(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
    """`t.new_tensor(data)` and `t.new(data)`: of the type of `t`."""
    data = args[1] if len(args) > 1 else kwargs.get("data")
    if held(data):
        return tensor_from(session, data, kwargs.get("dtype") or args[0].dtype)
    return func(*args, **kwargs)


def _full(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
    """`torch.full` with a random number."""
    size = args[0] if args else kwargs.get("size")
    value = args[1] if len(args) > 1 else kwargs.get("fill_value")
    if not held(value):
        return func(*args, **kwargs)
    return tensor_from(session, value, kwargs.get("dtype")).expand(size).clone()


def _scalar(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
    """`torch.scalar_tensor`."""
    if not held(args):
        return func(*args, **kwargs)
    return tensor_from(session, args[0], kwargs.get("dtype") or torch.get_default_dtype())


ENTERING: dict[Any, Callable[[Session, Any, tuple[Any, ...], dict[str, Any]], Any]] = {
    torch.tensor: _made,
    torch.as_tensor: _made,
    torch.asarray: _made,
    torch.Tensor.new_tensor: _made_like,
    torch.Tensor.new: _made_like,
    torch.full: _full,
    torch.scalar_tensor: _scalar,
}
