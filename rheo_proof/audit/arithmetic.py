"""Operations on cells and constants, one element at a time.

What stays a monotone function of one latent stays a `Scalar`; comparisons are lazy `Question`s; lazy operands of
anything else are decided first; what is none of this becomes `Opaque`, which is refused when somebody looks at it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from rheo_proof.audit.constants import (
    INFINITY,
    Constant,
    constant,
    exponential,
    finite,
    is_nan,
    logarithm,
    over,
    plus,
    related,
    times,
)
from rheo_proof.audit.errors import AuditError, refuse
from rheo_proof.audit.scalars import Cell, Lazy, Opaque, Question, Scalar, Settled
from rheo_proof.audit.standing import at_its_end
from rheo_proof.audit.steps import Range, applied, extended, threshold_of, value_range
from rheo_proof.exact.number import ONE, ZERO, Q

RELATIONS = {"lt", "le", "gt", "ge", "eq", "ne"}
FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
MOST_WHOLE = 4096
"""How many integers `int(u * n)` may be."""


def apply(op: str, *operands: Any) -> Any:
    """The result of an operation on cells and constants: a cell, or a constant when nothing random is left.

    `op` is an arithmetic operation, a relation, or a function of one number; constants are exact. Raises `AuditError`
    for an operation that does not exist here.
    """
    compared = op in RELATIONS
    values = [_operand(at_its_end(x) if compared and isinstance(x, Settled) else x) for x in operands]
    if not any(isinstance(x, Cell) for x in values):
        return _constant(op, values)
    for x in values:
        if isinstance(x, Opaque):
            return Opaque(x.run, x.operation, x.reason, x.site)
    if compared:
        return _relation(op, *values)
    if op in BINARY:
        return BINARY[op](*values)
    if op in UNARY:
        return UNARY[op](*values)
    raise AuditError(f"operation {op}: not one of those known for random numbers")


def _operand(x: Any) -> Any:
    """A cell or a constant; what is lazy is decided."""
    if isinstance(x, Lazy):
        x = x.settle()
    if isinstance(x, Settled):
        return x.constant
    if x is None or isinstance(x, Cell):
        return x
    value = constant(x)
    if value is None:
        raise AuditError(f"{x!r} of type {type(x).__name__} is no number")
    return value


def opaque(x: Scalar, operation: str, reason: str) -> Opaque:
    """The result of an operation whose law is not followed any further."""
    return Opaque(x.latent.run, operation, reason)


def _extended(x: Scalar, *steps: tuple[Any, ...]) -> Scalar:
    result = x.steps
    for step in steps:
        result = extended(result, step)
    return Scalar(x.latent, result)


def _range(x: Scalar) -> Range:
    """The values of x; everything after a row step."""
    return value_range(x.steps) or Range(-INFINITY, INFINITY)


def _affine(x: Scalar, a: Constant, b: Constant) -> Any:
    """a x + b."""
    if is_nan(a) or is_nan(b):
        return math.nan
    if finite(a) and a == ZERO:
        return _constant_but_at_ends(x, a, b, b)
    if not finite(a):
        sign = _range(x).sign
        return plus(times(a, Q(sign)), b) if sign else opaque(x, "a random number times infinity", "its sign is open")
    if not finite(b):
        return _constant_but_at_ends(x, a, b, b)
    return _extended(x, ("affine", a, b))


def _constant_but_at_ends(x: Scalar, a: Constant, b: Constant, c: Constant) -> Any:
    """c, in a search of boundary cases as something that knows what it is at the ends of its latent."""
    latent = x.latent
    if latent.run.boundary and (latent.may_pin or latent.pinned is not None):
        return Settled(latent, x.steps, a, b, c)
    return c


def _add(x: Any, y: Any) -> Any:
    if isinstance(x, Scalar) and isinstance(y, Scalar):
        return _together(x, y, ONE, ONE, "sum of two random numbers")
    return _affine(x, ONE, y) if isinstance(x, Scalar) else _affine(y, ONE, x)


def _sub(x: Any, y: Any) -> Any:
    if isinstance(x, Scalar) and isinstance(y, Scalar):
        return _together(x, y, ONE, -ONE, "difference of two random numbers")
    return _affine(x, ONE, times(-ONE, y)) if isinstance(x, Scalar) else _affine(y, -ONE, x)


def _mul(x: Any, y: Any) -> Any:
    if isinstance(x, Scalar) and isinstance(y, Scalar):
        return opaque(x, "product of two random numbers", "regions that are no boxes are not enumerated")
    return _affine(x, y, ZERO) if isinstance(x, Scalar) else _affine(y, x, ZERO)


def _div(x: Any, y: Any) -> Any:
    if isinstance(x, Scalar) and isinstance(y, Scalar):
        return opaque(x, "quotient of two random numbers", "regions that are no boxes are not enumerated")
    if isinstance(x, Scalar):
        if finite(y) and y == ZERO:
            sign = _range(x).sign
            return sign * INFINITY if sign else opaque(x, "a random number over 0", "its sign is open")
        return _affine(x, over(ONE, y), ZERO)
    inverse = _reciprocal(y)
    return _affine(inverse, x, ZERO) if isinstance(inverse, Scalar) else inverse


def _reciprocal(x: Scalar) -> Any:
    if not _range(x).sign:
        return opaque(x, "one over a random number", "its sign is open")
    return _extended(x, ("inv",))


def _together(x: Scalar, y: Scalar, a: Q, b: Q, operation: str) -> Any:
    """a x + b y, where x and y are affine in one common function of one latent."""
    split = _common(x, y)
    if split is None:
        return opaque(x, operation, "only sums of one random number with constants are followed")
    base, (ax, bx), (ay, by) = split
    return _affine(base, a * ax + b * ay, a * bx + b * by)


def _common(x: Scalar, y: Scalar) -> tuple[Scalar, tuple[Q, Q], tuple[Q, Q]] | None:
    """One z with x = a z + b and y = c z + d: (z, (a, b), (c, d)), if x and y are of that form."""
    if x.latent is not y.latent:
        return None
    forms = []
    for each in (x, y):
        last = each.steps[-1] if each.steps else ("",)
        affine = last[0] == "affine"
        forms.append((each.steps[:-1], (last[1], last[2])) if affine else (each.steps, (ONE, ZERO)))
    (base, first), (other, second) = forms
    return (Scalar(x.latent, base), first, second) if base == other else None


def _log(x: Scalar) -> Any:
    if _range(x).low < 0:
        return opaque(x, "logarithm of a random number", "it may be negative")
    return _extended(x, ("log",))


def _exp(x: Scalar) -> Any:
    return _extended(x, ("exp",))


def _pow(x: Any, y: Any) -> Any:
    if isinstance(x, Scalar) and isinstance(y, Scalar):
        return opaque(x, "power of two random numbers", "regions that are no boxes are not enumerated")
    if isinstance(x, Scalar):
        if finite(y) and y == ONE:
            return x
        if finite(y) and y == -ONE:
            return _reciprocal(x)
        logged = _log(x)
    else:
        logged, y = y, logarithm(x)
    if isinstance(logged, Opaque):
        return logged
    scaled = _affine(logged, y, ZERO)
    return _exp(scaled) if isinstance(scaled, Scalar) else apply("exp", scaled)


def _abs(x: Scalar) -> Any:
    sign = _range(x).sign
    return opaque(x, "absolute value of a random number", "its sign is open") if not sign else _affine(x, Q(sign), ZERO)


def _clamp(x: Any, low: Any = None, high: Any = None) -> Any:
    if isinstance(low, Scalar) or isinstance(high, Scalar) or not isinstance(x, Scalar):
        first = next(each for each in (x, low, high) if isinstance(each, Scalar))
        return opaque(first, "clamp at a random number", "")
    for end in (low, high):
        if end is not None and is_nan(end):
            return math.nan
    spread = _range(x)
    low = None if low is not None and low <= spread.low else low
    high = None if high is not None and high >= spread.high else high
    if low is None and high is None:
        return x
    if low is not None and low >= spread.high:
        return low if high is None or low < high else high
    if high is not None and high <= spread.low:
        return high
    if low is not None and high is not None and low >= high:
        return high
    return _extended(x, ("clamp", low, high))


def _maximum(x: Any, y: Any) -> Any:
    return _clamp(x, y, None) if isinstance(x, Scalar) else _clamp(y, x, None)


def _minimum(x: Any, y: Any) -> Any:
    return _clamp(x, None, y) if isinstance(x, Scalar) else _clamp(y, None, x)


UNARY: dict[str, Callable[..., Any]] = {
    "neg": lambda x: _affine(x, -ONE, ZERO),
    "abs": _abs,
    "reciprocal": _reciprocal,
    "log": _log,
    "log1p": lambda x: _log_of(_affine(x, ONE, ONE)),
    "exp": _exp,
    "sqrt": lambda x: _pow(x, ONE / 2),
    "clamp": _clamp,
    "floor": lambda x: whole_part(x, "floor"),
    "ceil": lambda x: whole_part(x, "ceil"),
    "trunc": lambda x: whole_part(x, "trunc"),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "maximum": _maximum,
    "minimum": _minimum,
}


def _log_of(x: Any) -> Any:
    return _log(x) if isinstance(x, Scalar) else x if isinstance(x, Opaque) else logarithm(x)


def _relation(op: str, x: Any, y: Any) -> Any:
    """A lazy comparison."""
    if not isinstance(x, Scalar):
        x, y, op = y, x, FLIPPED[op]
    if isinstance(y, Scalar):
        return _between(op, x, y)
    if is_nan(y):
        return op == "ne"
    return Question(lambda: decide(x, op, y), f"{op} a threshold")


def decide(x: Scalar, op: str, t: Constant) -> bool:
    """Whether x stands in this relation to t, decided now."""
    latent = x.latent
    latent.looked_at()
    end = latent.at_an_end()
    if end is not None:
        return related(applied(x.steps, end), op, t)
    if op in ("eq", "ne"):
        if any(step[0] == "clamp" for step in x.steps) and not decide(x, "lt", t):
            return decide(x, "le", t) is (op == "eq")
        return op == "ne"
    less = op in ("lt", "le")
    # x >= t is the complement of x < t.
    cut = threshold_of(x.steps, t, closed=op in ("le", "gt"))
    if cut is None:
        refuse("comparison of a softmax of noise with a number", "only races may look at it")
    if isinstance(cut, bool):
        return cut is less
    return (latent.below(cut.threshold) is cut.below) is less


def _between(op: str, x: Scalar, y: Scalar) -> Any:
    """A lazy comparison of two random numbers."""
    if op in ("eq", "ne"):
        same = x.latent is y.latent and x.steps == y.steps
        if same or x.latent is not y.latent:
            return same is (op == "eq")
    split = _common(x, y)
    if split is not None:
        base, (ax, bx), (ay, by) = split
        left, right = _affine(base, ax - ay, ZERO), by - bx
        return apply(op, left, right)
    from rheo_proof.audit.races import first_is_smaller

    ends = at_its_end(x), at_its_end(y)
    if not all(isinstance(end, Scalar) for end in ends):
        return apply(op, *ends)
    less = op in ("lt", "le")
    return Question(lambda: first_is_smaller(x, y) is less, f"{op} another random number")


def whole_part(x: Scalar, how: str) -> int:
    """The integer part of x, decided now; x must have a finite range, and no negative values to be cut towards 0."""
    spread = value_range(x.steps)
    if spread is None or not finite(spread.low) or not finite(spread.high):
        refuse(f"{how} of a random number", "its range is not finite")
    if how == "trunc" and spread.low < 0:
        if spread.high > 0:
            refuse("integer part of a random number", "its sign is open")
        how = "ceil"
    if how == "ceil":
        return -whole_part(_extended(x, ("affine", -ONE, ZERO)), "floor")
    low, high = operator.index(math.floor(spread.low)), operator.index(math.ceil(spread.high))
    if high - low > MOST_WHOLE:
        refuse(f"{how} of a random number", f"more than {MOST_WHOLE} values")
    while high - low > 1:
        middle = (low + high) // 2
        if decide(x, "lt", Q(middle)):
            high = middle
        else:
            low = middle
    return low


def _constant(op: str, values: list[Any]) -> Any:
    """The same operations where nothing is random; lazies have just been decided."""
    if op in RELATIONS:
        return related(values[0], op, values[1])
    x = values[0]
    y = values[1] if len(values) > 1 else None
    match op:
        case "add":
            return plus(x, y)
        case "sub":
            return plus(x, times(-ONE, y))
        case "mul":
            return times(x, y)
        case "div":
            return over(x, y)
        case "neg":
            return times(-ONE, x)
        case "reciprocal":
            return over(ONE, x)
        case "abs":
            return abs(x)
        case "log":
            return logarithm(x)
        case "log1p":
            return logarithm(plus(ONE, x))
        case "exp":
            return exponential(x)
        case "sqrt":
            return _power(x, ONE / 2)
        case "pow":
            return _power(x, y)
        case "maximum":
            return math.nan if is_nan(x) or is_nan(y) else max(x, y)
        case "minimum":
            return math.nan if is_nan(x) or is_nan(y) else min(x, y)
        case "clamp":
            return applied((("clamp", *values[1:], None, None)[:3],), x)
        case "floor" | "ceil" | "trunc":
            return Q(int(getattr(math, op)(x)))
    raise AuditError(f"operation {op}: not one of those known for random numbers")


def _power(x: Constant, y: Constant) -> Constant:
    if finite(x) and finite(y) and y.denominator == 1 and abs(y) <= 64 and (x or y >= 0):
        return x ** int(y)
    return exponential(times(y, logarithm(x)))
