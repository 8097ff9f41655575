"""NumPy's bit generators with a guard: every step that no audited draw has asked for is noticed.

The generators that exist when an audit starts are not used at all. Each gets a twin, a guarded bit generator in the
same state, and must be found unmoved after every run: whoever still reaches it draws behind the audit's back.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Hashable
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.random import MT19937, PCG64, PCG64DXSM, SFC64, BitGenerator, Philox, SeedSequence

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.replacing import Hidden
from rheo_proof.audit.streams import active

ALGORITHMS: tuple[type[BitGenerator], ...] = (MT19937, PCG64, PCG64DXSM, Philox, SFC64)
NOT_INTERCEPTED = "a draw from a NumPy generator that was not intercepted"
_UNSEEDED = 0x7268656F
_MT_BYTES = 625 * 4

_seeds = itertools.count()
_jumping = False


def fresh_seed() -> list[int]:
    """A seed that nobody else has, in the place of the operating system's entropy."""
    return [_UNSEEDED, next(_seeds)]


def algorithm_of(bits: BitGenerator) -> Any:
    """NumPy's own class of a bit generator. Raises `TypeError` for somebody else's."""
    for kind in type(bits).__mro__:
        if kind in ALGORITHMS:
            return kind
    raise TypeError(f"bit generator {type(bits).__name__}: not one of NumPy's")


def snapshot(bits: BitGenerator) -> Hashable:
    """The whole state of a bit generator."""
    algorithm = algorithm_of(bits)
    if algorithm is MT19937 and _IN_MEMORY:
        return ctypes.string_at(_address(bits), _MT_BYTES)
    return _flat(algorithm.state.__get__(bits))


def _flat(state: Any) -> Hashable:
    if isinstance(state, dict):
        return tuple(map(_flat, state.values()))
    return state.tobytes() if isinstance(state, np.ndarray) else state


def restore(bits: BitGenerator, state: Any) -> None:
    """Put a bit generator into a state that `saved` has read."""
    if isinstance(state, bytes):
        ctypes.memmove(_address(bits), state, _MT_BYTES)
    else:
        algorithm_of(bits).state.__set__(bits, state)


def saved(bits: BitGenerator) -> Any:
    """The state, to be restored later."""
    algorithm = algorithm_of(bits)
    if algorithm is MT19937 and _IN_MEMORY:
        return snapshot(bits)
    return algorithm.state.__get__(bits)


def _address(bits: Any) -> int:
    return int(algorithm_of(bits).ctypes.__get__(bits).state_address)


def _memory_is_as_expected() -> bool:
    """Whether a Mersenne twister keeps its 624 words and its position where NumPy has always kept them.

    Its `.state` takes 80 microseconds, its memory one.
    """
    bits = MT19937(1)
    state: Any = bits.state["state"]
    expected = np.asarray(state["key"], dtype=np.uint32).tobytes() + np.int32(state["pos"]).tobytes()
    return ctypes.string_at(_address(bits), _MT_BYTES) == expected


_IN_MEMORY = _memory_is_as_expected()


class Like(type):
    """The type of a class that stands for another: what is an instance of that one is an instance of it."""

    real: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.real)


class Guarded:
    """What a guarded bit generator adds: `known` is its state as the audited draws have left it."""

    known: Hashable

    def __init__(self, seed: Any = None, *more: Any, **named: Any) -> None:
        if seed is None and not more and not named:
            seed = fresh_seed()
        super().__init__(seed, *more, **named)  # type: ignore[call-arg]
        self.settle()
        GUARDED.add(self)
        streams = active()
        if streams is not None:
            streams.made.append(self)

    def settle(self) -> None:
        """The state is as it should be."""
        self.known = snapshot(self)  # type: ignore[arg-type]

    def check(self) -> Hashable:
        """Its state. Refuses one that has moved by itself."""
        now = snapshot(self)  # type: ignore[arg-type]
        if now != self.known:
            refuse(NOT_INTERCEPTED)
        return now

    @property
    def state(self) -> Any:
        """As of the real one; a state that is put back brings its noise back."""
        return super().state  # type: ignore[misc]

    @state.setter
    def state(self, value: Any) -> None:
        algorithm_of(self).state.__set__(self, value)  # type: ignore[arg-type]
        self.settle()

    def random_raw(self, *args: Any, **named: Any) -> Any:
        """Refused in a run."""
        return self._unless_audited("random_raw", *args, **named)

    def advance(self, *args: Any) -> Any:
        """Refused in a run: other draws may reach the same state step by step."""
        return self._unless_audited("advance", *args)

    def jumped(self, jumps: int = 1) -> Any:
        """As of the real one: so far ahead that no other draw gets there."""
        global _jumping
        _jumping = True
        try:
            moved = super().jumped(jumps)  # type: ignore[misc]
        finally:
            _jumping = False
        moved.settle()
        return moved

    def __reduce__(self) -> Any:
        return copied, (algorithm_of(self).__name__, self.state, self.seed_seq)  # type: ignore[arg-type, attr-defined]

    def _unless_audited(self, name: str, *args: Any, **named: Any) -> Any:
        if active() is not None and not _jumping:
            refuse(f"{name} of a bit generator")
        result = getattr(super(), name)(*args, **named)
        self.settle()
        return result


GUARDED: WeakSet[Guarded] = WeakSet()
"""Every guarded bit generator that is alive."""


def _guarded(algorithm: type[BitGenerator]) -> type:
    """The guarded version, of the same name: a state says which algorithm it is for."""
    made = Like(algorithm.__name__, (Guarded, algorithm), {})
    made.real = algorithm
    return made


GUARDED_CLASSES: dict[type, Any] = {algorithm: _guarded(algorithm) for algorithm in ALGORITHMS}


def copied(algorithm: str, state: Any, sequence: Any) -> Any:
    """A guarded bit generator with this state, for copies."""
    made = next(made for real, made in GUARDED_CLASSES.items() if real.__name__ == algorithm)(_seed_again(sequence))
    made.state = state
    return made


def _seed_again(sequence: Any) -> Any:
    """A seed sequence equal to this one, which spawns children of its own."""
    if type(sequence) is not SeedSequence:
        return sequence
    return SeedSequence(
        sequence.entropy,
        spawn_key=sequence.spawn_key,
        pool_size=sequence.pool_size,
        n_children_spawned=sequence.n_children_spawned,
    )


class Pair(Hidden):
    """A real bit generator, its state, and its twin."""

    __slots__ = ("before", "real", "saved", "twin")

    def __init__(self, real: BitGenerator) -> None:
        self.real = real
        self.before = snapshot(real)
        self.saved = saved(real)
        self.twin = GUARDED_CLASSES[algorithm_of(real)](_seed_again(real.seed_seq))
        self.rewind()

    def rewind(self) -> None:
        """The twin in the state of the real one."""
        restore(self.twin, self.saved)
        self.twin.known = self.before


class Twins:
    """The guarded twins of the bit generators that were there before."""

    def __init__(self) -> None:
        self._pairs: dict[int, Pair] = {}

    def of(self, real: BitGenerator) -> Any:
        """The twin of a real one, made when it is first asked for; a guarded one is its own."""
        if isinstance(real, Guarded):
            return real
        if id(real) not in self._pairs:
            self._pairs[id(real)] = Pair(real)
        return self._pairs[id(real)].twin

    def rewind(self) -> None:
        """All twins in the states of the real ones, which may have been drawn from between runs."""
        for pair in self._pairs.values():
            now = snapshot(pair.real)
            if now != pair.before:
                pair.before, pair.saved = now, saved(pair.real)
            if pair.twin.known != now:
                pair.rewind()
        for guarded in GUARDED:
            guarded.settle()

    def check(self) -> None:
        """Refuses what has moved without an audited draw: a generator of before, or a guarded one."""
        moved = False
        for pair in self._pairs.values():
            if snapshot(pair.real) != pair.before:
                restore(pair.real, pair.saved)
                moved = True
        for guarded in GUARDED:
            if snapshot(guarded) != guarded.known:  # type: ignore[arg-type]
                guarded.settle()
                moved = True
        if moved:
            refuse(NOT_INTERCEPTED)
