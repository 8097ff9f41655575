"""`math.log` and its like, which want a float: on a random number they give a random number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rheo_proof.audit.arithmetic import apply
from rheo_proof.audit.constants import INFINITY
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.replacing import Hidden
from rheo_proof.audit.scalars import Cell, Lazy, Opaque, Scalar
from rheo_proof.audit.steps import applied
from rheo_proof.audit.streams import active
from rheo_proof.exact.number import Q


def random_part(x: Any) -> Any:
    """In a run, the cell in a number, 0-d array or tensor of one element; None if it is not random."""
    if active() is None or type(x) in (float, int, bool, str):
        return None
    if isinstance(x, Cell):
        return x
    try:
        inside = x.item()
    except Exception:
        return None
    return inside if isinstance(inside, Cell) else None


class Wrapped(Hidden):
    """A function of the standard library, with an own version for random numbers."""

    __slots__ = ("__name__", "mine", "original")

    def __init__(self, original: Callable[..., Any], mine: Callable[..., Any]) -> None:
        self.original = original
        self.mine = mine
        self.__name__ = original.__name__

    def __call__(self, *args: Any, **named: Any) -> Any:
        cells = [random_part(x) for x in args]
        if all(cell is None for cell in cells):
            return self.original(*args, **named)
        args = tuple(x if cell is None else cell for x, cell in zip(args, cells, strict=True))
        args = tuple(x.settle() if isinstance(x, Lazy) else x for x in args)
        for x in args:
            if isinstance(x, Opaque):
                x.look()
        if not any(isinstance(x, Cell) for x in args):
            return self.original(*args, **named)
        found = self.mine(*args, **named)
        return float(found) if isinstance(found, Q) else found

    def __repr__(self) -> str:
        return repr(self.original)


def _logarithm(x: Any, least: int = 0, op: str = "log") -> Any:
    """A logarithm; where a random number is at an end of its range, `math` raises rather than giving an infinity."""
    if type(x) is Scalar:
        end = x.latent.at_an_end()
        if end is not None and applied(x.steps, end) <= least:
            raise ValueError("math domain error")
    return apply(op, x)


def _log(x: Any, base: Any = None) -> Any:
    logged = _logarithm(x)
    return logged if base is None else apply("div", logged, apply("log", base))


def _not_finite(x: Any) -> bool:
    return bool(apply("eq", x, INFINITY)) or bool(apply("eq", x, -INFINITY))


def _refused(name: str) -> Callable[..., Any]:
    def method(*args: Any, **named: Any) -> Any:
        refuse(f"math.{name} of a random number")

    return method


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log": _log,
    "log1p": lambda x: _logarithm(x, -1, "log1p"),
    "log2": lambda x: apply("div", _logarithm(x), math.log(2)),
    "log10": lambda x: apply("div", _logarithm(x), math.log(10)),
    "exp": lambda x: apply("exp", x),
    "exp2": lambda x: apply("exp", apply("mul", x, math.log(2))),
    "expm1": lambda x: apply("sub", apply("exp", x), 1),
    "sqrt": lambda x: apply("sqrt", x),
    "pow": lambda x, y: apply("pow", x, y),
    "fabs": lambda x: apply("abs", x),
    "isnan": lambda x: False,
    "isinf": _not_finite,
    "isfinite": lambda x: not _not_finite(x),
}
"""What is followed; every other function of `math` is refused, `floor`, `ceil` and `trunc` ask the number itself."""


def wrapped() -> dict[Callable[..., Any], Wrapped]:
    """For every function of `math`: the one that takes its place."""
    asks_itself = ("floor", "ceil", "trunc")
    return {
        original: Wrapped(original, FUNCTIONS.get(name, _refused(name)))
        for name, original in vars(math).items()
        if callable(original) and not name.startswith("_") and name not in asks_itself
    }
