"""Operations that move elements about: they run twice, on the values and on the cell numbers. Nothing is decided."""

from __future__ import annotations

from typing import Any

import torch

from rheo_proof.audit.arithmetic import apply
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.scalars import Cell, Discrete, Lazy, Question, Winner
from rheo_proof.audit.torch_call import Call, handles, unwrap
from rheo_proof.audit.torch_session import Session
from rheo_proof.audit.torch_store import (
    GRID,
    AuditTensor,
    build,
    fresh,
    ids_of,
    ids_or_zeros,
    is_coarse,
    is_continuous,
    items,
)

DATA: dict[str, tuple[str, ...]] = {
    "clone": ("self",),
    "lift_fresh_copy": ("self",),
    "detach_copy": ("self",),
    "cat": ("tensors",),
    "stack": ("tensors",),
    "index": ("self",),
    "_unsafe_index": ("self",),
    "index_select": ("self",),
    "gather": ("self",),
    "take": ("self",),
    "repeat": ("self",),
    "flip": ("self",),
    "roll": ("self",),
    "rot90": ("self",),
    "tril": ("self",),
    "triu": ("self",),
    "diag_embed": ("self",),
    "constant_pad_nd": ("self",),
    "masked_select": ("self",),
    "embedding": ("weight",),
    "masked_scatter": ("self", "source"),
    "scatter": ("self", "src"),
    "index_put": ("self", "values"),
    "index_copy": ("self", "source"),
    "index_fill": ("self", "value"),
    "select_scatter": ("self", "src"),
    "slice_scatter": ("self", "src"),
    "diagonal_scatter": ("self", "src"),
    "split_copy": ("self",),
    "unbind_copy": ("self",),
    "expand_copy": ("self",),
    "permute_copy": ("self",),
    "view_copy": ("self",),
    "select_copy": ("self",),
    "slice_copy": ("self",),
}
"""The operands whose elements are moved; every other tensor is an index or a mask, and must be known."""
FILLERS = ("value",)
"""Numbers that fill places: no cell, so 0 among the cell numbers."""
MOST_PLACES = 10_000
"""Writes to at most so many places run in one thread, in one order for values and cell numbers."""


@handles(*DATA)
def move(call: Call) -> Any:
    """Move values and cell numbers alike."""
    names = DATA[call.info.base]
    if call["accumulate"] or call["reduce"] is not None:
        return NotImplemented
    others = [name for name in call.bound if name not in names and name not in call.info.out]
    if not call.settle(*others):
        refuse(call.info.name, "an index or a mask is a random number")
    values = call.plain()
    wanted = (values[0] if isinstance(values, (list, tuple)) else values).dtype
    if values[0].numel() > MOST_PLACES if isinstance(values, (list, tuple)) else values.numel() > MOST_PLACES:
        refuse(call.info.name, f"more than {MOST_PLACES} places")
    for name in names:
        given = call[name]
        if isinstance(given, (list, tuple)):
            call.bound[name] = [_of_type(call, each, wanted) for each in given]
        elif isinstance(given, torch.Tensor):
            call.bound[name] = _of_type(call, given, wanted)
    values = call.plain()
    numbers = call.invoke(lambda name, value: _numbers(call, value) if name in names else _still(name, value))
    if isinstance(values, (list, tuple)):
        return [fresh(call.table, v, ids) for v, ids in zip(values, numbers, strict=True)]
    return fresh(call.table, values, numbers)


def _of_type(call: Call, given: Any, dtype: torch.dtype) -> AuditTensor:
    """An operand that holds cells as the type of the result; torch converts the others itself."""
    t = call.as_audited(given)
    return t if t.dtype is dtype or ids_of(t) is None else cast(t, dtype, call.session)


def _numbers(call: Call, value: Any) -> Any:
    """The cell numbers of an operand."""
    if isinstance(value, (list, tuple)):
        return [_numbers(call, each) for each in value]
    if isinstance(value, torch.Tensor):
        return ids_or_zeros(call.as_audited(value))
    return 0


def _still(name: str, value: Any) -> Any:
    """Any other argument: an index as it is, a filler as no cell."""
    return 0 if name in FILLERS and not isinstance(value, torch.Tensor) else unwrap(value)


@handles("fill")
def fill(call: Call) -> Any:
    """Every element becomes one number, perhaps a random one."""
    shape = torch.empty_like(unwrap(call["self"]))
    value = call["value"]
    if not isinstance(value, torch.Tensor):
        return fresh(call.table, shape.fill_(value))
    (cell,) = items(cast(call.tensor("value"), shape.dtype, call.session))
    return build(call.table, [cell] * shape.numel(), shape)


@handles("zero")
def zero(call: Call) -> Any:
    """Every element becomes 0."""
    return fresh(call.table, torch.zeros_like(unwrap(call["self"])))


@handles("copy")
def copy(call: Call) -> Any:
    """The elements of another tensor, converted and expanded."""
    target = unwrap(call["self"])
    source = cast(call.tensor("src"), target.dtype, call.session)
    values = call.plain().clone()
    return fresh(call.table, values.copy_(source.value), ids_or_zeros(source).expand(values.size()))


@handles("_to_copy")
def to_copy(call: Call) -> Any:
    """A copy, perhaps as another type of number."""
    source = call.tensor("self")
    values = call.plain()
    converted = cast(source, values.dtype, call.session)
    return fresh(call.table, values.copy_(converted.value), ids_or_zeros(converted))


@handles("empty_like", "zeros_like", "ones_like", "full_like", "new_empty", "new_zeros", "new_ones", "new_full")
@handles("new_empty_strided")
def like(call: Call) -> Any:
    """A new tensor that takes only shape and type from an operand."""
    return fresh(call.table, call.plain())


WIDE = {torch.int64, torch.float32, torch.float64}
_WIDTH = {torch.float16: 1, torch.bfloat16: 1, torch.float32: 2, torch.float64: 3}


def cast(t: AuditTensor, dtype: torch.dtype, session: Session) -> AuditTensor:
    """The tensor as another type of number; what a cell becomes stays undecided where that is possible."""
    if t.dtype is dtype:
        return t
    if ids_of(t) is None:
        return fresh(session.table, t.value.to(dtype))
    elements = [_converted(x, t.dtype, dtype) if isinstance(x, Cell) else x for x in items(t)]
    return build(session.table, elements, torch.empty_like(t.value, dtype=dtype))


def _converted(cell: Any, old: torch.dtype, new: torch.dtype) -> Any:
    """A cell as an element of another type."""
    if is_continuous(cell):
        if new is torch.bool:
            return apply("ne", cell, 0)
        if is_coarse(new):
            refuse(f"conversion of a random number to {new}", GRID)
        if not new.is_floating_point:
            return Discrete(lambda: int(apply("trunc", cell)), "integer part of a random number")
        return cell
    if new is torch.bool:
        return cell if isinstance(cell, Question) else Question(lambda: bool(cell.settle()), "a number that is not 0")
    whole = isinstance(cell, Discrete | Winner) and not old.is_complex
    if isinstance(cell, Question) or (whole and new in WIDE):
        return cell
    if old.is_floating_point and _WIDTH.get(new, 0) > _WIDTH.get(old, 9):
        return cell
    return _rounded(cell, old, new)


def _rounded(cell: Lazy, old: torch.dtype, new: torch.dtype) -> Any:
    """The value of a cell, decided now and rounded as torch does."""
    value: Any = torch.tensor(cell.settle(), dtype=old).to(new).item()
    return value
