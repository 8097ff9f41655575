"""`float(u)` in audited code: the call keeps a random number as it is, and the name `float` stays the type.

A class in the place of `float` would break `dtype=float`, dictionaries of types and `type(x) is float`. So the calls
are rewritten, and nothing else: in the bytecode, calling a global name differs from reading it. What calls `float` in
another way (`map(float, us)`) meets the real one, which a random number refuses.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Any

from rheo_proof.audit.python_math import random_part
from rheo_proof.audit.scalars import Lazy

NAME = "__float_of_audit__"


def as_float(*args: Any) -> Any:
    """`float`, but a random number stays one."""
    if len(args) == 1:
        cell = random_part(args[0])
        if cell is not None:
            return float(cell) if isinstance(cell, Lazy) else cell
    return float(*args)


def rewritten(code: CodeType) -> CodeType:
    """The code with every call of the global `float` as a call of `NAME`; the same object if there is none.

    >>> rewritten((lambda x: float(x)).__code__).co_names
    ('float', '__float_of_audit__')
    >>> rewritten((lambda x: isinstance(x, float)).__code__).co_names
    ('isinstance', 'float')
    """
    consts = tuple(rewritten(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    changed = any(new is not old for new, old in zip(consts, code.co_consts, strict=True))
    names, text = code.co_names, code.co_code
    if "float" in names:
        text = _calls_replaced(code)
        names = (*names, NAME) if text != code.co_code else names
    if text == code.co_code and not changed:
        return code
    return code.replace(co_consts=consts, co_names=names, co_code=text)


def _calls_replaced(code: CodeType) -> bytes:
    text = bytearray(code.co_code)
    # The lowest bit says that the name is called; the rest is its number.
    called, new = code.co_names.index("float") << 1 | 1, len(code.co_names) << 1 | 1
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL" and instruction.arg == called and (new < 256 or called >= 256):
            text[instruction.offset + 1] = new & 255
            if new >= 256:
                text[instruction.offset - 1] = new >> 8
    return bytes(text)


def patch_calls(functions: Iterable[FunctionType]) -> Callable[[], None]:
    """Rewrite the calls in these functions; returns what puts them back."""
    undo: list[tuple[FunctionType, CodeType, CodeType]] = []
    for function in functions:
        before = function.__code__
        after = before if "float" in function.__globals__ else rewritten(before)
        if after is not before:
            undo.append((function, before, after))
            function.__code__ = after
    setattr(builtins, NAME, as_float)

    def restore() -> None:
        delattr(builtins, NAME)
        for function, before, after in undo:
            if function.__code__ is after:
                function.__code__ = before

    return restore
