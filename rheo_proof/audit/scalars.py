"""Random numbers as the audited code sees them: cells that know where they come from, and no value.

A `Scalar` is a monotone function of one latent. A `Lazy` is a discrete result (a comparison, a drawn token, the winner
of a race) that is decided when the code looks at it. An `Opaque` is a random number of which no law is known here; it
may be moved about, and looking at it ends the audit. No cell has a float that C code could read.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from rheo_proof.audit.constants import constant
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.latents import Latent
from rheo_proof.audit.sites import Site, user_site
from rheo_proof.audit.steps import Steps, applied
from rheo_proof.exact.number import Q

if TYPE_CHECKING:
    from rheo_proof.audit.draws import Draws


def _as_python(value: Any) -> Any:
    """What an operator gives back: audited code knows floats, not rationals."""
    return float(value) if isinstance(value, Q) else value


def _is_tensor(value: Any) -> bool:
    """Whether it is a tensor of torch, which knows what to do with a random number: the result is a tensor."""
    return hasattr(type(value), "__torch_dispatch__")


def _is_coarse(value: Any) -> bool:
    """Whether it is a number of NumPy in whose type a random number of Python would lose its law."""
    dtype = getattr(value, "dtype", None)
    name = "" if dtype is None else str(dtype)
    return name.startswith(("float", "complex")) and name not in ("float32", "float64")


def _divided(below: Any) -> None:
    """Raise what Python raises where a float of its own is divided by, and is 0 at an end of its range."""
    if type(below) is Scalar and below.latent.python:
        end = below.latent.at_an_end()
        if end is not None and applied(below.steps, end) == 0:
            raise ZeroDivisionError("float division by zero")


def _operation(name: str, reflected: bool = False) -> Callable[..., Any]:
    """A method that hands an operation on two numbers to `arithmetic.apply`."""

    def method(self: Any, other: Any) -> Any:
        from rheo_proof.audit.arithmetic import apply

        if not isinstance(other, Cell):
            if type(self) is Scalar and _is_coarse(other):
                refuse(f"a random number and one of type {other.dtype}", "the grid of what they give is coarse")
            if _is_tensor(other) or constant(other) is None:
                return NotImplemented
        if name == "div":
            _divided(self if reflected else other)
        return _as_python(apply(name, other, self) if reflected else apply(name, self, other))

    return method


def _comparison(name: str) -> Callable[..., Any]:
    """A comparison in Python, decided now: a float compares to a bool, and code may ask `is True`."""
    compare = _operation(name)

    def method(self: Any, other: Any) -> Any:
        answer = compare(self, other)
        return answer.settle() if isinstance(answer, Lazy) else answer

    return method


def _function(name: str) -> Callable[..., Any]:
    """A method that hands an operation on one number to `arithmetic.apply`."""

    def method(self: Any) -> Any:
        from rheo_proof.audit.arithmetic import apply

        return _as_python(apply(name, self))

    return method


class Cell:
    """Anything random. Arithmetic and comparisons give cells; leaving for a float, a hash or a condition is decided
    or refused by the kind of cell."""

    __slots__ = ()

    __add__ = _operation("add")
    __radd__ = _operation("add", reflected=True)
    __sub__ = _operation("sub")
    __rsub__ = _operation("sub", reflected=True)
    __mul__ = _operation("mul")
    __rmul__ = _operation("mul", reflected=True)
    __truediv__ = _operation("div")
    __rtruediv__ = _operation("div", reflected=True)
    __pow__ = _operation("pow")
    __rpow__ = _operation("pow", reflected=True)
    __lt__ = _comparison("lt")
    __le__ = _comparison("le")
    __gt__ = _comparison("gt")
    __ge__ = _comparison("ge")
    __eq__ = _comparison("eq")
    __ne__ = _comparison("ne")
    __neg__ = _function("neg")
    __abs__ = _function("abs")
    log = _function("log")
    log1p = _function("log1p")
    exp = _function("exp")
    sqrt = _function("sqrt")
    reciprocal = _function("reciprocal")

    def __pos__(self) -> Any:
        return self

    def clamp(self, min: Any = None, max: Any = None) -> Any:
        """The value, cut to [min, max]; None leaves an end open."""
        from rheo_proof.audit.arithmetic import apply

        return _as_python(apply("clamp", self, min, max))

    def _leave(self, operation: str) -> NoReturn:
        refuse(operation, self._why())

    def _why(self) -> str:
        return "the number is random, and has no value"

    def __float__(self) -> float:
        self._leave("float()")

    def __complex__(self) -> complex:
        self._leave("complex()")

    def __hash__(self) -> int:
        self._leave("hash()")

    def __str__(self) -> str:
        return self._text()

    def __format__(self, spec: str) -> str:
        return self._text()

    def __repr__(self) -> str:
        return self._text()

    def _text(self) -> str:
        """What it looks like in print: a name; in a run audited code could read digits there, so that is refused."""
        from rheo_proof.audit.exploring import in_a_run

        if in_a_run():
            self._leave("the text of a random number")
        return f"<{self._name()}>"

    def _name(self) -> str:
        return "random number"

    def __getattr__(self, name: str) -> Any:
        """What NumPy's numbers have, as of an array of no axes; what only a float has ends the audit, not the code."""
        numpy = sys.modules.get("numpy")
        if not name.startswith("_"):
            if numpy is not None and hasattr(numpy.float64, name) and not hasattr(float, name):
                from rheo_proof.audit.numpy_arrays import alone

                return getattr(alone(self), name)
            if hasattr(float, name):
                self._leave(f"float.{name}")
        raise AttributeError(f"'float' object has no attribute {name!r}")

    def __reduce__(self) -> NoReturn:
        self._leave("pickle or copy")

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __copy__(self) -> Any:
        return self


class Scalar(Cell):
    """f(U) for one latent U and a monotone f; a condition or an integer made of it is decided at once."""

    __slots__ = ("latent", "steps")

    def __init__(self, latent: Latent, steps: Steps = ()) -> None:
        self.latent = latent
        self.steps = steps

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """`isinstance(u, float)` is what code asks about a number it has drawn."""
        return float

    def __bool__(self) -> bool:
        from rheo_proof.audit.arithmetic import apply

        return bool(apply("ne", self, 0))

    def _integer(self, how: str) -> int:
        from rheo_proof.audit.arithmetic import whole_part

        return whole_part(self, how)

    def __int__(self) -> int:
        return self._integer("trunc")

    def __trunc__(self) -> int:
        return self._integer("trunc")

    def __floor__(self) -> int:
        return self._integer("floor")

    def __ceil__(self) -> int:
        return self._integer("ceil")

    def __round__(self, digits: int | None = None) -> NoReturn:
        self._leave("round()")

    def __floordiv__(self, other: Any) -> Any:
        return (self / other)._integer("floor")

    def _refused(self, other: Any, *more: Any) -> NoReturn:
        self._leave("remainder of a random number")

    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __rfloordiv__ = _refused

    def item(self) -> Scalar:
        """Itself, as of a 0-d array."""
        return self

    def _name(self) -> str:
        return f"random number {self.latent.name}"


class Settled(Scalar):
    """a f(U) + b with a = 0 or b infinite: one constant, but perhaps at an end of U, where floats make NaN of it.

    Only made in a search of boundary cases, and only races look at it; everything else takes the constant.
    """

    __slots__ = ("a", "b", "constant")

    def __init__(self, latent: Latent, steps: Steps, a: Any, b: Any, constant: Any) -> None:
        super().__init__(latent, steps)
        self.a = a
        self.b = b
        self.constant = constant


class Lazy(Cell):
    """A discrete random number that is decided when somebody looks."""

    __slots__ = ("_decide", "_value", "what")

    def __init__(self, decide: Callable[[], int], what: str) -> None:
        self._decide: Callable[[], int] | None = decide
        self._value: int | None = None
        self.what = what

    @property
    def settled(self) -> bool:
        """Whether it has been decided."""
        return self._decide is None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.settle(), name) if hasattr(int, name) else super().__getattr__(name)

    def settle(self) -> Any:
        """Its value, decided now if it was not before."""
        if self._decide is not None:
            decide = self._decide
            self._value = decide()
            self._decide = None
        return self._value

    def __bool__(self) -> bool:
        return bool(self.settle())

    def __int__(self) -> int:
        return int(self.settle())

    def __index__(self) -> int:
        return int(self.settle())

    def __float__(self) -> float:
        return float(self.settle())

    def __hash__(self) -> int:
        return hash(self.settle())

    def __trunc__(self) -> int:
        return int(self.settle())

    def __round__(self, digits: int | None = None) -> int:
        return int(self.settle())

    def item(self) -> Any:
        """Its value."""
        return self.settle()

    def __format__(self, spec: str) -> str:
        return format(self.settle(), spec)

    def _text(self) -> str:
        from rheo_proof.audit.exploring import in_a_run

        return str(self.settle()) if in_a_run() or self.settled else f"<{self.what}>"


def _settled(name: str) -> Callable[..., Any]:
    def method(self: Any, *others: Any) -> Any:
        return getattr(operator, name)(self.settle(), *others)

    return method


def _settled_right(name: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        return getattr(operator, name)(other, self.settle())

    return method


_ARITHMETIC = ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "and_", "or_", "xor", "lshift", "rshift")
for _name in _ARITHMETIC:
    setattr(Lazy, f"__{_name.rstrip('_')}__", _settled(_name))
    setattr(Lazy, f"__r{_name.rstrip('_')}__", _settled_right(_name))


class Question(Lazy):
    """A comparison that is not decided yet; its value is a bool."""

    __slots__ = ()

    def __invert__(self) -> Question:
        return Question(lambda: not self.settle(), f"not {self.what}")


class Discrete(Lazy):
    """A drawn index that is not decided yet."""

    __slots__ = ()


class Winner(Lazy):
    """The index of the cell that wins a race, not decided yet."""

    __slots__ = ()


class Opaque(Cell):
    """A random number whose law is not known here: looking at it is refused with the operation that made it."""

    __slots__ = ("operation", "reason", "run", "site")

    def __init__(self, run: Draws | None, operation: str, reason: str = "", site: Site | None = None) -> None:
        self.run = run
        self.operation = operation
        self.reason = reason
        self.site = site or user_site()

    def look(self) -> NoReturn:
        """Refuse, at the place where the number was made."""
        from rheo_proof.audit.errors import refuse_at

        refuse_at(self.operation, self.site, self.reason)

    def _leave(self, operation: str) -> NoReturn:
        self.look()

    def __bool__(self) -> bool:
        self.look()

    def __int__(self) -> int:
        self.look()

    def __index__(self) -> int:
        self.look()

    def _name(self) -> str:
        return f"random number after {self.operation}"
