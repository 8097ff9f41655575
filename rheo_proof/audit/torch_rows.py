"""Reductions along a dimension, as operations on rows of elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import accumulate
from typing import Any

import torch

from rheo_proof.audit.arithmetic import apply
from rheo_proof.audit.scalars import Cell, Discrete, Question
from rheo_proof.audit.torch_call import Call, handles
from rheo_proof.audit.torch_move import cast
from rheo_proof.audit.torch_pointwise import known, truth, value_of
from rheo_proof.audit.torch_store import AuditTensor, build, is_continuous, items

Row = list[Any]


def dims_of(call: Call, rank: int) -> list[int]:
    """The dimensions that an operation works along; all of them if it names none."""
    dim = call["dim"]
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(rank))
    given = dim if isinstance(dim, (list, tuple)) else [dim]
    return [each % rank if rank else 0 for each in given]


def rows_of(t: AuditTensor, dims: Sequence[int]) -> list[Row]:
    """The rows of elements along some dimensions, in the order of the other dimensions."""
    rank = t.value.dim()
    if rank == 0:
        return [items(t)]
    kept = [d for d in range(rank) if d not in dims]
    order = [*kept, *dims]
    moved = AuditTensor(t.value.permute(order), t.store)
    length = math.prod(t.value.size(d) for d in dims)
    elements = items(moved)
    count = math.prod(t.value.size(d) for d in kept)
    return [elements[i * length : (i + 1) * length] for i in range(count)]


def along(table: Any, rows: Sequence[Row], dim: int, like: torch.Tensor) -> AuditTensor:
    """Rows of results along one dimension as a tensor of the shape of `like`."""
    if like.dim() == 0:
        return build(table, [x for row in rows for x in row], like)
    kept = [d for d in range(like.dim()) if d != dim]
    order = [*kept, dim]
    shape = [like.size(d) for d in order]
    flat = build(table, [x for row in rows for x in row], torch.empty(shape, dtype=like.dtype))
    back = [order.index(d) for d in range(like.dim())]
    return build(table, items(AuditTensor(flat.value.permute(back), flat.store)), like)


def _reduced(call: Call, action: Callable[[Row], Any]) -> AuditTensor:
    """One element for every row."""
    t = call.tensor("self")
    result = call.plain()
    elements = [action(row) for row in rows_of(t, dims_of(call, t.value.dim()))]
    return build(call.table, elements, result)


def _has_continuous(t: AuditTensor) -> bool:
    return any(is_continuous(x) for x in items(t))


def is_mark(x: Any) -> bool:
    """Whether an element is 0 or 1, whatever is decided later."""
    return isinstance(x, Question) or (not isinstance(x, Cell) and x in (0, 1))


def is_whole(x: Any) -> bool:
    """Whether an element is an integer, whatever is decided later."""
    return isinstance(x, Question | Discrete) or (not isinstance(x, Cell) and math.isfinite(x) and x == int(x))


def _all(row: Row) -> Any:
    marks = [truth(x) for x in row]
    random = [x for x in marks if isinstance(x, Cell)]
    if any(not isinstance(x, Cell) and not x for x in marks):
        return False
    return Question(lambda: all(known(x) for x in random), "all of several conditions") if random else True


def _any(row: Row) -> Any:
    marks = [truth(x) for x in row]
    random = [x for x in marks if isinstance(x, Cell)]
    if any(not isinstance(x, Cell) and x for x in marks):
        return True
    return Question(lambda: any(known(x) for x in random), "one of several conditions") if random else False


@handles("all", "_is_all_true")
def every(call: Call) -> Any:
    """Whether all of a row are true, not decided."""
    return _reduced(call, _all)


@handles("any", "_is_any_true")
def some(call: Call) -> Any:
    """Whether one of a row is true, not decided."""
    return _reduced(call, _any)


def _summed(row: Row) -> Any:
    random = [x for x in row if isinstance(x, Cell)]
    if not random:
        return sum(row)
    rest = sum(int(x) for x in row if not isinstance(x, Cell))
    return Discrete(lambda: rest + sum(int(value_of(x)) for x in random), "a count")


def _added(row: Row) -> Any:
    return reduce(partial(apply, "add"), row)


@handles("sum")
def total(call: Call) -> Any:
    """Counts are not decided; sums of continuous numbers are what arithmetic makes of them."""
    t = call.tensor("self")
    wanted = call.plain().dtype
    if all(is_whole(x) for x in items(t)) and wanted in (torch.int64, torch.float32, torch.float64):
        return _reduced(call, _summed)
    if not _has_continuous(t) or call.settle():
        return NotImplemented
    return _reduced(call, _added)


@handles("mean")
def mean(call: Call) -> Any:
    """The mean of a row of continuous numbers."""
    if call.settle():
        return NotImplemented
    return _reduced(call, lambda row: apply("div", _added(row), len(row)))


def _scanned(call: Call, prefixes: Callable[[Row], Row]) -> AuditTensor:
    """A row of results for every row."""
    result = call.plain()
    t = cast(call.tensor("self"), result.dtype, call.session)
    rank = t.value.dim()
    dim = dims_of(call, rank)[0] if rank else 0
    return along(call.table, [prefixes(row) for row in rows_of(t, [dim])], dim, result)


@handles("cumprod")
def products(call: Call) -> Any:
    """Running products of 0 and 1 are prefixes of conditions, not decided; of other numbers, arithmetic."""
    t = call.tensor("self")
    if all(is_mark(x) for x in items(t)):
        return _scanned(call, lambda row: [_as_mark(_all(row[: i + 1])) for i in range(len(row))])
    if call.settle():
        return NotImplemented
    return _scanned(call, lambda row: list(accumulate(row, partial(apply, "mul"))))


def _as_mark(x: Any) -> Any:
    return x if isinstance(x, Cell) else int(x)


def _multiplied(row: Row) -> Any:
    return reduce(partial(apply, "mul"), row)


@handles("prod")
def product(call: Call) -> Any:
    """The product of a row."""
    t = call.tensor("self")
    if all(is_mark(x) for x in items(t)):
        return _reduced(call, lambda row: _as_mark(_all(row)))
    return NotImplemented if call.settle() else _reduced(call, _multiplied)


@handles("cumsum")
def sums(call: Call) -> Any:
    """Running counts are not decided; running sums of continuous numbers are arithmetic."""
    t = call.tensor("self")
    wanted = call.plain().dtype
    if all(is_whole(x) for x in items(t)) and wanted in (torch.int64, torch.float32, torch.float64):
        return _scanned(call, lambda row: [_summed(row[: i + 1]) for i in range(len(row))])
    if call.settle():
        return NotImplemented
    return _scanned(call, lambda row: list(accumulate(row, partial(apply, "add"))))


@handles("count_nonzero")
def count(call: Call) -> Any:
    """How many of a row are not 0, not decided."""
    return _reduced(call, lambda row: _summed([truth(x) for x in row]))


def first(row: Row, wanted: bool) -> Any:
    """The position of the first mark of a kind, 0 if there is none; not decided."""
    for i, x in enumerate(row):
        if not isinstance(x, Cell):
            if bool(x) is wanted:
                return i if i == 0 else Discrete(lambda: _position(row, wanted), "first of several conditions")
        else:
            return Discrete(lambda: _position(row, wanted), "first of several conditions")
    return 0


def _position(row: Row, wanted: bool) -> int:
    return next((i for i, x in enumerate(row) if bool(value_of(x)) is wanted), 0)
