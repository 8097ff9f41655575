"""Operations element by element on random numbers: arithmetic, comparisons, logic, and choices between two tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from rheo_proof.audit.arithmetic import RELATIONS, apply
from rheo_proof.audit.scalars import Cell, Lazy, Question
from rheo_proof.audit.torch_arithmetic import ARITHMETIC
from rheo_proof.audit.torch_call import Call, handles
from rheo_proof.audit.torch_move import cast
from rheo_proof.audit.torch_store import AuditTensor, build, fresh, ids_of, is_continuous


def truth(x: Any) -> Any:
    """Whether an element counts as true: a bool, or a `Question`."""
    if is_continuous(x):
        return apply("ne", x, 0)
    if isinstance(x, Lazy) and not isinstance(x, Question):
        return Question(lambda: bool(x.settle()), "a number that is not 0")
    return x if isinstance(x, Cell) else bool(x)


def known(x: Any) -> bool:
    """The same, decided now."""
    return bool(truth(x))


ORDERS: dict[str, Callable[[Any, Any], Any]] = {name: getattr(operator, name) for name in RELATIONS}
LOGIC: dict[str, Callable[..., bool]] = {
    "not": lambda x: not known(x),
    "and": lambda x, y: known(x) and known(y),
    "or": lambda x, y: known(x) or known(y),
    "xor": lambda x, y: known(x) is not known(y),
}


def columns(call: Call, names: Sequence[str], like: torch.Tensor, convert: bool) -> list[list[Any]]:
    """The elements of each argument, expanded to the shape of the result; a number counts for every element.

    With `convert`, as the type in which torch computes: what enters a comparison is what was rounded to it.
    """
    tensors = {name: call.tensor(name) for name in names if isinstance(call[name], torch.Tensor)}
    common = _common(call, names) if convert else None
    found = []
    for name in names:
        if name in tensors:
            t = tensors[name] if common is None else cast(tensors[name], common, call.session)
            found.append(_expanded(t, like.size()))
        else:
            number = call[name]
            if common is not None and type(number) in (int, float) and common.is_floating_point:
                number = torch.tensor(number, dtype=torch.float64).to(common).item()
            found.append([number] * like.numel())
    return found


def _mixed(call: Call, names: Sequence[str]) -> bool:
    """Whether operands are of several types, or numbers that a type would round."""
    types = {call[name].dtype for name in names if isinstance(call[name], torch.Tensor)}
    return len(types) > 1 or any(type(call[name]) is float for name in names) or torch.int64 in types


def _common(call: Call, names: Sequence[str]) -> torch.dtype | None:
    """The type in which torch computes with these operands."""
    result: Any = None
    for name in names:
        value = call[name]
        if isinstance(value, torch.Tensor) or type(value) in (int, float, bool):
            value = value.value if type(value) is AuditTensor else value
            result = (
                value
                if result is None
                else torch.empty((), dtype=torch.result_type(result, value))
                if not (isinstance(result, torch.Tensor) and isinstance(value, torch.Tensor))
                else _joined(result, value)
            )
    return result.dtype if isinstance(result, torch.Tensor) else None


def _joined(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    shape = (1,) if x.dim() or y.dim() else ()
    return torch.empty(shape, dtype=torch.result_type(x, y))


def _expanded(t: AuditTensor, shape: torch.Size) -> list[Any]:
    values: list[Any] = t.value.expand(shape).flatten().tolist()
    ids = ids_of(t)
    if ids is None:
        return values
    cells = t.store.table.cells
    return [cells[k] if k else v for k, v in zip(ids.expand(shape).flatten().tolist(), values, strict=True)]


def elementwise(call: Call, names: Sequence[str], action: Callable[..., Any], convert: bool = True) -> AuditTensor:
    """The action on every element that something random enters; torch has computed the others."""
    result = call.plain()
    given = columns(call, names, result, convert=False)
    # A conversion may find that a cell has been decided: then the number counts, and not what torch made of the poison.
    random = [any(isinstance(x, Cell) for x in row) for row in zip(*given, strict=True)]
    rows = zip(*(columns(call, names, result, convert) if convert and _mixed(call, names) else given), strict=True)
    elements = [
        action(*row) if cells else plain
        for row, cells, plain in zip(rows, random, result.flatten().tolist(), strict=True)
    ]
    return build(call.table, elements, result)


@handles(*ARITHMETIC)
def arithmetic(call: Call) -> Any:
    """Arithmetic: lazy operands are decided first, and then perhaps nothing random is left. Integers may wait."""
    if call.info.base in WHOLE and call.plain().dtype is torch.int64:
        return whole_numbers(call)
    if call.settle():
        return NotImplemented
    names, action = ARITHMETIC[call.info.base]
    return elementwise(call, names, action)


WHOLE: dict[str, tuple[str, ...]] = {
    "add": ("self", "other", "alpha"),
    "sub": ("self", "other", "alpha"),
    "mul": ("self", "other"),
}
"""Arithmetic that integers take part in without being decided, with the arguments that count."""


def whole_numbers(call: Call) -> AuditTensor:
    """Sums, differences and products of 64-bit integers, decided when somebody looks."""
    base = call.info.base
    sign = -1 if base == "sub" else 1

    def total(x: Any, y: Any, alpha: Any) -> Any:
        return _total(x, y, sign * (1 if alpha is None else alpha))

    return elementwise(call, WHOLE[base], _product if base == "mul" else total, convert=False)


def _product(x: Any, y: Any) -> Any:
    """x y; of a condition and a number, the number is looked at only where the condition holds."""
    for one, other in ((x, y), (y, x)):
        if not isinstance(one, Cell) and one == 0:
            return 0
        if not isinstance(one, Cell) and one == 1 and not isinstance(other, Question):
            return other
    first, second = (y, x) if isinstance(y, Question) else (x, y)

    def decide() -> int:
        factor = int(value_of(first))
        return wrapped(factor * int(value_of(second))) if factor else 0

    return Lazy(decide, "product of integers")


def _total(x: Any, y: Any, factor: int) -> Any:
    """x + factor y."""
    if not isinstance(y, Cell) and y == 0 and not isinstance(x, Question):
        return x
    if not isinstance(x, Cell) and x == 0 and factor == 1 and not isinstance(y, Question):
        return y
    return Lazy(lambda: wrapped(int(value_of(x)) + factor * int(value_of(y))), "sum of integers")


def wrapped(number: int) -> int:
    """What 64 bits hold of it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


@handles(*ORDERS)
def compare(call: Call) -> Any:
    """A comparison, not decided."""
    relation = call.info.base
    python = ORDERS[relation]

    def question(x: Any, y: Any) -> Any:
        if is_continuous(x) or is_continuous(y):
            return apply(relation, x, y)
        return Question(lambda: bool(python(value_of(x), value_of(y))), f"{relation} of two numbers")

    return elementwise(call, ("self", "other"), question)


def value_of(x: Any) -> Any:
    """The value of an element, decided now."""
    return x.settle() if isinstance(x, Lazy) else x


@handles("logical_not", "logical_and", "logical_or", "logical_xor")
@handles("bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__")
def logic(call: Call) -> Any:
    """Logic on truth values, not decided; bits of other numbers are."""
    kind = call.info.base.rpartition("_")[2] or call.info.base.strip("_")
    names = ["self"] if kind == "not" else ["self", "other"]
    given = [call[name] for name in names]
    if not call.info.base.startswith("logical") and any(
        (x.dtype is not torch.bool) if isinstance(x, torch.Tensor) else type(x) is not bool for x in given
    ):
        return NotImplemented
    action = LOGIC[kind]

    def question(*row: Any) -> Any:
        short = {"and": False, "or": True}.get(kind)
        if short is not None and any(not isinstance(x, Cell) and bool(x) is short for x in row):
            return short
        return Question(lambda: action(*row), f"{kind} of conditions")

    return elementwise(call, names, question, convert=False)


@handles("where")
def where(call: Call) -> Any:
    """A choice by a condition: not decided where both sides are discrete."""
    if not isinstance(call["condition"], torch.Tensor) or "self" not in call.bound:
        return NotImplemented
    return chosen(call, ("condition", "self", "other"), lambda condition, x, y: (condition, x, y))


@handles("masked_fill")
def masked_fill(call: Call) -> Any:
    """A choice between an element and a filler."""
    return chosen(call, ("mask", "self", "value"), lambda mask, x, value: (mask, value, x))


def chosen(call: Call, names: Sequence[str], order: Callable[..., tuple[Any, Any, Any]]) -> AuditTensor:
    """`x if condition else y` for every element."""
    result = call.plain()
    dtype = result.dtype
    for name in names[1:]:
        value = call[name]
        if isinstance(value, torch.Tensor):
            call.bound[name] = cast(call.as_audited(value), dtype, call.session)
        else:
            call.bound[name] = fresh(call.table, torch.tensor(value).to(dtype))
    rows = zip(*columns(call, names, result, convert=False), strict=True)
    return build(call.table, [_choice(*order(*row)) for row in rows], result)


def _choice(condition: Any, x: Any, y: Any) -> Any:
    condition = truth(condition)
    if not isinstance(condition, Cell):
        return x if condition else y
    if is_continuous(x) or is_continuous(y):
        return x if bool(condition) else y
    if not isinstance(x, Cell) and not isinstance(y, Cell) and x == y and x != 0:
        return x
    return Lazy(lambda: value_of(x) if bool(condition) else value_of(y), "choice by a condition")
