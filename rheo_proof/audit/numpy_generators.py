"""Stand-ins for `np.random.Generator`, `RandomState` and `default_rng`: real ones outside of a run, audited in it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from numpy.random import MT19937, PCG64, BitGenerator, Generator, RandomState

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.numpy_arrays import takes
from rheo_proof.audit.numpy_bits import GUARDED_CLASSES, Like, Twins, fresh_seed
from rheo_proof.audit.numpy_draws import DRAWS, REASONS
from rheo_proof.audit.numpy_sources import Source
from rheo_proof.audit.streams import active

_UNTOUCHED = {"bit_generator", "spawn", "get_state", "seed", "set_state"}

_twins = Twins()


def twins() -> Twins:
    """The twins of the audit in progress."""
    return _twins


def new_twins() -> Twins:
    """For a new audit: no twins yet."""
    global _twins
    _twins = Twins()
    return _twins


def _method(name: str) -> Callable[..., Any]:
    """A method that draws for real, or, in a run, what `numpy_draws` says."""

    def method(self: Any, *args: Any, **named: Any) -> Any:
        streams = active()
        if streams is None:
            return self.source.outside(name, args, named)
        if name not in DRAWS:
            refuse(f"{name} of a NumPy generator", REASONS.get(name, ""))
        draw = DRAWS[name]
        try:
            takes(draw).bind(self.source, streams, *args, **named)
        except TypeError:
            refuse(f"{name} of a NumPy generator with these arguments")
        return draw(self.source, streams, *args, **named)

    method.__name__ = name
    return method


def _methods(real: type) -> dict[str, Callable[..., Any]]:
    """Every public method of a real generator class, replaced."""
    names = [n for n in dir(real) if not n.startswith("_") and n not in _UNTOUCHED and callable(getattr(real, n))]
    return {name: _method(name) for name in names}


def _shares(kind: Any) -> bool:
    """Whether a shallow copy draws from the same bit generator, as in newer versions of NumPy."""
    real = kind(MT19937(0))
    return bool(copy.copy(real)._bit_generator is real._bit_generator)


_SHARES: dict[Any, bool] = {kind: _shares(kind) for kind in (Generator, RandomState)}


def _copied_bits(kind: type, bits: Any) -> Any:
    return bits if _SHARES[kind] else copy.deepcopy(bits)


class _Generator(Generator):
    source: Source

    def __init__(self, bit_generator: Any) -> None:
        bits = twins().of(bit_generator)
        super().__init__(bits)
        self.source = Source(Generator(bits), bits)

    def __reduce__(self) -> Any:
        return copied, ("Generator", self.source.bits)

    def __copy__(self) -> Any:
        return copied("Generator", _copied_bits(Generator, self.source.bits))


class _State(RandomState):
    source: Source

    def __init__(self, seed: Any = None) -> None:
        bits = twins().of(seed) if isinstance(seed, BitGenerator) else GUARDED_CLASSES[MT19937](0)
        super().__init__(bits)
        self.source = Source(RandomState(bits), bits)
        if not isinstance(seed, BitGenerator):
            self.seed(seed)

    def seed(self, seed: Any = None) -> None:
        """As of the real one."""
        self.source.outside("seed", (fresh_seed() if seed is None else seed,), {})

    def __reduce__(self) -> Any:
        return copied, ("RandomState", self.source.bits)

    def __copy__(self) -> Any:
        return copied("RandomState", _copied_bits(RandomState, self.source.bits))

    def set_state(self, state: Any) -> None:
        """As of the real one: the noise that followed this state follows it again."""
        self.source.outside("set_state", (state,), {})


def _stand_in(name: str, base: type, real: type) -> Any:
    made = Like(name, (base,), _methods(real))
    made.real = real
    return made


AuditGenerator = _stand_in("Generator", _Generator, Generator)
AuditState = _stand_in("RandomState", _State, RandomState)


def copied(name: str, bits: Any) -> Any:
    """A stand-in on a copied bit generator."""
    return (AuditGenerator if name == "Generator" else AuditState)(bits)


def default_rng(seed: Any = None) -> Any:
    """`np.random.default_rng`."""
    if isinstance(seed, Generator):
        return standing_in(seed)
    if isinstance(seed, RandomState):
        seed = seed._bit_generator
    if isinstance(seed, BitGenerator):
        return AuditGenerator(seed)
    return AuditGenerator(GUARDED_CLASSES[PCG64](seed))


def standing_in(real: Any) -> Any:
    """The stand-in of a generator that was there before."""
    if isinstance(real, (_Generator, _State)) or type(real) not in (Generator, RandomState):
        return real
    made = AuditGenerator if isinstance(real, Generator) else AuditState
    return made(real._bit_generator)
