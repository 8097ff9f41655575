"""The `random` module in an audit.

Its functions are written in Python on top of three primitives of the class `random.Random`, so it is the primitives
that are replaced, on the class: `shuffle`, `sample`, `choice`, `randrange`, `uniform` and every instance follow. In a
run, an instance is not used at all but a twin in the same state; the instances of before must be found unmoved.
"""

from __future__ import annotations

import _random
import itertools
import struct
from collections.abc import Callable, Iterable
from random import Random, SystemRandom
from typing import Any

from rheo_proof.audit.draws import exact_weights
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.python_system import SYSTEM_PATCHES
from rheo_proof.audit.scalars import Cell, Lazy
from rheo_proof.audit.streams import Streams, active
from rheo_proof.exact.number import ONE

MOST_OUTCOMES = 4096
"""How many values a drawn integer may have."""

CORE = _random.Random
_seed_of_a_real_one = Random.seed
_seeds = itertools.count()


def _twin(streams: Streams, instance: Any) -> Any:
    """The generator that is used in place of an instance."""
    known = streams.generators.get(id(instance))
    if known is None:
        twin = CORE()
        twin.setstate(CORE.getstate(instance))
        known = streams.generators[id(instance)] = (instance, twin)
    return known[1]


def _position(twin: Any) -> bytes:
    """The state, as `numpy_bits` has it of the same algorithm: a state may be carried from one to the other."""
    return struct.pack("625I", *twin.getstate())


def _random_(self: Any) -> Any:
    streams = active()
    if streams is None:
        return CORE.random(self)
    found = _next(streams, self, "double", streams.run.uniform)
    found.latent.python = True
    return found


def _next(streams: Streams, instance: Any, kind: Any, make: Callable[[Any], Any]) -> Any:
    """One cell from one step of the generator."""
    twin = _twin(streams, instance)
    state = streams.name(_position(twin), kind)
    twin.random()
    return make(state)


def _whole(streams: Streams, instance: Any, kind: Any, step: Callable[[Any], Any], make: Callable[[], Any]) -> Any:
    """One decided number from a step of the generator."""
    twin = _twin(streams, instance)
    state = _position(twin)
    step(twin)
    return streams.once(state, kind, make)


def _equally(streams: Streams, n: int) -> int:
    if n > MOST_OUTCOMES:
        refuse("a random integer", f"more than {MOST_OUTCOMES} values")
    return int(streams.run.categorical([ONE] * n).settle())


def _getrandbits(self: Any, k: int) -> int:
    streams = active()
    if streams is None:
        return CORE.getrandbits(self, k)
    if k <= 0:
        return CORE.getrandbits(self, k)
    if k > 64:
        refuse("getrandbits", f"more than {MOST_OUTCOMES} values")
    return int(_whole(streams, self, ("bits", k), lambda twin: twin.getrandbits(k), lambda: _equally(streams, 1 << k)))


_real_below = Random._randbelow  # type: ignore[attr-defined]


def _randbelow(self: Any, n: int, *args: Any, **named: Any) -> int:
    streams = active()
    if streams is None or type(self).getrandbits is not Random.getrandbits:
        return int(_real_below(self, n, *args, **named))

    def step(twin: Any) -> None:
        while n and twin.getrandbits(n.bit_length()) >= n:
            pass

    return int(_whole(streams, self, ("below", n), step, lambda: _equally(streams, n)))


def _choices(self: Any, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> list[Any]:
    streams = active()
    if streams is None or type(self).random is not Random.random:
        return list(_originals["choices"](self, population, weights, cum_weights=cum_weights, k=k))
    if cum_weights is not None:
        if weights is not None:
            raise TypeError("Cannot specify both weights and cumulative weights")
        steps = list(cum_weights)
        weights = [b - a for a, b in zip([0, *steps], steps, strict=False)]
    if weights is not None and len(weights) != len(population):
        raise ValueError("The number of weights does not match the population")
    if not len(population):
        raise IndexError("list index out of range")
    exact = [ONE] * len(population) if weights is None else exact_weights([_weight(w) for w in weights])

    def one() -> Any:
        make = lambda: int(streams.run.categorical(exact).settle())  # noqa: E731
        return _whole(streams, self, ("choices", tuple(exact)), lambda twin: twin.random(), make)

    return [population[one()] for _ in range(k)]


def _weight(weight: Any) -> Any:
    weight = weight.settle() if isinstance(weight, Lazy) else weight
    if isinstance(weight, Cell):
        refuse("choices with random weights")
    if weight < 0:
        refuse("choices with a negative weight")
    return weight


def _expovariate(self: Any, lambd: Any = 1.0) -> Any:
    streams = active()
    if streams is None or type(self).random is not Random.random:
        return _originals["expovariate"](self, lambd)
    return _next(streams, self, "exponential", streams.run.exponential) / lambd


def _seed(self: Any, a: Any = None, version: int = 2) -> None:
    streams = active()
    if streams is None:
        _seed_of_a_real_one(self, a, version)
        return
    scratch = Random.__new__(Random)
    _seed_of_a_real_one(scratch, f"nobody has this seed: {next(_seeds)}" if a is None else a, version)
    _twin(streams, self).setstate(CORE.getstate(scratch))


def _made(self: Any, x: Any = None) -> None:
    """A new instance is seeded like any other; in a run it has a twin as well."""
    _seed_of_a_real_one(self, x)
    self.seed(x)
    self.gauss_next = None
    streams = active()
    if streams is not None:
        streams.instances.append((self, CORE.getstate(self)))


def _getstate(self: Any) -> Any:
    streams = active()
    if streams is None:
        return _originals["getstate"](self)
    return (self.VERSION, _twin(streams, self).getstate(), None)


def _setstate(self: Any, state: Any) -> None:
    streams = active()
    if streams is None:
        _originals["setstate"](self, state)
    elif state[0] != self.VERSION:
        refuse("setstate of an old version")
    else:
        _twin(streams, self).setstate(state[1])


def _refused(name: str, reason: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **named: Any) -> Any:
        if active() is not None:
            refuse(f"{name} of random", reason)
        return _originals[name](self, *args, **named)

    return method


_NORMAL = "normal noise has no thresholds that are known exactly"
_BYTES = "raw bytes are not enumerated"
_REFUSED = {
    "gauss": _NORMAL,
    "normalvariate": _NORMAL,
    "lognormvariate": _NORMAL,
    "randbytes": _BYTES,
    **dict.fromkeys(("betavariate", "gammavariate", "vonmisesvariate", "paretovariate", "weibullvariate"), ""),
    **dict.fromkeys(("triangular", "binomialvariate"), ""),
}
_PATCHES: dict[str, Callable[..., Any]] = {
    "random": _random_,
    "getrandbits": _getrandbits,
    "_randbelow": _randbelow,
    "_randbelow_with_getrandbits": _randbelow,
    "choices": _choices,
    "expovariate": _expovariate,
    "__init__": _made,
    "seed": _seed,
    "getstate": _getstate,
    "setstate": _setstate,
    **{name: _refused(name, reason) for name, reason in _REFUSED.items() if hasattr(Random, name)},
}
_originals = {name: getattr(Random, name) for name in _PATCHES}
for _name, _function in _PATCHES.items():
    # A bound method is found again by the name of its function.
    _function.__name__ = _originals[_name].__name__


def patch_classes() -> Callable[[], None]:
    """Replace the primitives of `Random` and `SystemRandom`; returns what puts them back."""
    undo: list[tuple[type, str, Any]] = []
    for cls, patches in ((Random, _PATCHES), (SystemRandom, SYSTEM_PATCHES)):
        for name, function in patches.items():
            undo.append((cls, name, vars(cls).get(name)))
            setattr(cls, name, function)

    def restore() -> None:
        for cls, name, before in undo:
            if before is None:
                delattr(cls, name)
            else:
                setattr(cls, name, before)

    return restore


def states(instances: Iterable[Any]) -> list[tuple[Any, Any]]:
    """The instances with their states, for `check`."""
    return [(each, CORE.getstate(each)) for each in instances if not isinstance(each, SystemRandom)]


def check(before: Iterable[tuple[Any, Any]]) -> None:
    """Refuses an instance that has moved."""
    moved = [(instance, state) for instance, state in before if CORE.getstate(instance) != state]
    for instance, state in moved:
        CORE.setstate(instance, state)
    if moved:
        refuse("a draw from a random.Random that was not intercepted")
