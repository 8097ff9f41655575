"""Which element is the largest, the order of a row, and where a number falls in a sorted row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from rheo_proof.audit import races
from rheo_proof.audit.arithmetic import apply
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.scalars import Cell, Discrete
from rheo_proof.audit.torch_call import Call, handles
from rheo_proof.audit.torch_pointwise import known
from rheo_proof.audit.torch_rows import Row, along, dims_of, first, is_mark, rows_of
from rheo_proof.audit.torch_store import AuditTensor, Store, build, is_continuous, items


def _rows(call: Call) -> tuple[AuditTensor, int, list[Row]]:
    """The operand, the dimension, and the rows along it."""
    t = call.tensor("self")
    rank = t.value.dim()
    named = call["dim"] not in (None, [], ())
    dim = dims_of(call, rank)[0] if rank and named else 0
    return t, dim, rows_of(t, [dim] if named else list(range(rank)))


def _random(row: Row) -> bool:
    """Whether something in a row is random; in other rows, ties are broken as torch breaks them."""
    return any(isinstance(x, Cell) for x in row)


def _continuous(row: Row) -> bool:
    return any(is_continuous(x) for x in row)


@handles("argmax")
def argmax(call: Call) -> Any:
    """The winner of each row, not decided."""
    return _winners(call, largest=True)


@handles("argmin")
def argmin(call: Call) -> Any:
    """The loser of each row, not decided."""
    return _winners(call, largest=False)


def _winners(call: Call, largest: bool) -> Any:
    _, _, rows = _rows(call)
    if not all(_continuous(row) or all(map(is_mark, row)) for row in rows) and call.settle():
        return NotImplemented
    _, _, rows = _rows(call)
    result = call.plain()

    def winner(row: Row, plain: int) -> Any:
        if not _random(row):
            return plain
        return races.argmax(row, largest) if _continuous(row) else first(row, largest)

    return build(call.table, [winner(*pair) for pair in zip(rows, result.flatten().tolist(), strict=True)], result)


def _extreme(call: Call, largest: bool) -> Any:
    """The largest or smallest of each row with its position, decided; of everything if no dimension is named."""
    if call.settle():
        return NotImplemented
    _, _, rows = _rows(call)
    places = [int(races.argmax(row, largest)) for row in rows]
    values = [row[i] for row, i in zip(rows, places, strict=True)]
    result = call.plain()
    if isinstance(result, torch.Tensor):
        return build(call.table, values, result)
    return [build(call.table, values, result[0]), build(call.table, places, result[1])]


@handles("max", "amax")
def maximum(call: Call) -> Any:
    """The largest of each row."""
    return NotImplemented if _several(call) else _extreme(call, largest=True)


@handles("min", "amin")
def minimum(call: Call) -> Any:
    """The smallest of each row."""
    return NotImplemented if _several(call) else _extreme(call, largest=False)


def _several(call: Call) -> bool:
    """Whether several dimensions are named, and not all of them."""
    dim = call["dim"]
    if isinstance(dim, (list, tuple)):
        return len(dim) > 1
    return False


@handles("topk")
def topk(call: Call) -> Any:
    """The k largest of each row, in order, decided."""
    if not call["sorted"]:
        return NotImplemented
    return _ordered(call, int(call["k"]), bool(call["largest"]))


@handles("sort")
def sort(call: Call) -> Any:
    """Each row in order, decided."""
    return _ordered(call, None, bool(call["descending"]))


@handles("argsort")
def argsort(call: Call) -> Any:
    """The order of each row, decided."""
    return NotImplemented if call.settle() else _ordered(call, None, bool(call["descending"]))


def _ordered(call: Call, k: int | None, largest: bool) -> Any:
    if call.settle():
        return NotImplemented
    t, dim, rows = _rows(call)
    result = call.plain()
    places = result if isinstance(result, torch.Tensor) else result[1]
    plain = rows_of(AuditTensor(places, Store(call.table, places)), [dim] if t.value.dim() else [])
    orders = [
        races.order(row, len(row) if k is None else k, largest) if _random(row) else order
        for row, order in zip(rows, plain, strict=True)
    ]
    if isinstance(result, torch.Tensor):
        return along(call.table, orders, dim, result)
    values = [[row[i] for i in order] for row, order in zip(rows, orders, strict=True)]
    return [along(call.table, values, dim, result[0]), along(call.table, orders, dim, result[1])]


@handles("_softmax", "_log_softmax", "softmax", "log_softmax")
def softmax(call: Call) -> Any:
    """The softmax of rows of noise, or its logarithm: only races look at it, and they see the same order."""
    if call.settle():
        return NotImplemented
    _, dim, rows = _rows(call)
    result = call.plain()
    if not all(_continuous(row) for row in rows):
        refuse(call.info.name, "some of its rows are random and some are not")
    return along(call.table, [races.softmax_row(row) for row in rows], dim, result)


@handles("searchsorted")
def searchsorted(call: Call) -> Any:
    """Where numbers fall in sorted rows, not decided: the bisection that torch does, question by question."""
    if call.settle():
        return NotImplemented
    if call["sorter"] is not None:
        return NotImplemented
    right = bool(call["right"]) or call["side"] == "right"
    return _located(call, call.tensor("sorted_sequence"), right)


@handles("bucketize")
def bucketize(call: Call) -> Any:
    """The same with one row of boundaries."""
    if call.settle():
        return NotImplemented
    return _located(call, call.tensor("boundaries"), bool(call["right"]))


def _located(call: Call, sorted_rows: AuditTensor, right: bool) -> AuditTensor:
    result = call.plain()
    given = call["self"]
    if not isinstance(given, torch.Tensor):
        given = torch.tensor(given, dtype=sorted_rows.value.dtype)
    numbers = call.as_audited(given)
    one_row = sorted_rows.value.dim() == 1
    rows = rows_of(sorted_rows, [sorted_rows.value.dim() - 1])
    wanted = items(numbers)
    each = len(wanted) if one_row else numbers.value.size(-1)
    places = [_place(rows[0 if one_row else i // each], x, right) for i, x in enumerate(wanted)]
    return build(call.table, places, result)


def _place(row: Row, x: Any, right: bool) -> Any:
    beyond: Callable[[Any], bool] = lambda y: known(apply("gt" if right else "ge", y, x))  # noqa: E731

    def bisect() -> int:
        low, high = 0, len(row)
        while low < high:
            middle = low + ((high - low) >> 1)
            if beyond(row[middle]):
                high = middle
            else:
                low = middle + 1
        return low

    if isinstance(x, Cell) or any(isinstance(y, Cell) for y in row):
        return Discrete(bisect, "a place in a sorted row")
    return bisect()
