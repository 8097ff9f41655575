"""Where plain runs of a function get the draws that the audit makes for it: exact dice, or a script.

A plain run is one in which nothing is intercepted. The function draws from its own generators; what its arguments are
made of is drawn here: the draft, uniforms, exponentials, seeds.
"""

from __future__ import annotations

import math
import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rheo_proof.audit.boxes import NotBoxes
from rheo_proof.audit.breakpoints import Floats
from rheo_proof.exact.chance import Sample
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.number import ONE, Q

BITS = {"float16": 11, "float32": 24, "float64": 53}
"""Uniforms are multiples of 2 to minus this, as torch and NumPy draw them."""


class Plain(ABC):
    """The draws of one plain run. `arrays`: how an adapter makes arguments and reads results."""

    def __init__(self, dtype: str, arrays: Any = None) -> None:
        if dtype not in BITS:
            raise InputError(f"dtype: {dtype!r} is not one of {', '.join(BITS)}")
        self.dtype = dtype
        self.arrays = arrays
        self.phase_now = "draft"

    @abstractmethod
    def choose(self, weights: Sequence[Q], what: str) -> int:
        """One of several outcomes; the weights are positive and sum to 1."""

    @abstractmethod
    def uniform(self) -> float:
        """One uniform in [0, 1), a float of the type."""

    @abstractmethod
    def exponential(self) -> float:
        """One exponential variable of mean 1."""

    @abstractmethod
    def seed(self) -> int:
        """A seed for a generator that the function is handed."""

    def phase(self, name: str) -> None:
        """What follows belongs to this phase; nothing is made of it here."""
        self.phase_now = name


class Rolled(Plain):
    """Draw everything. Discrete draws are exact: an integer below the common denominator of the weights.

    >>> Rolled("float32", random.Random(0)).choose([Q(1, 2), Q(1, 2)], "coin")
    1
    """

    def __init__(self, dtype: str, generator: random.Random, arrays: Any = None) -> None:
        super().__init__(dtype, arrays)
        self.generator = generator
        self._dice = Sample(generator)
        self._floats = Floats(dtype)

    def choose(self, weights: Sequence[Q], what: str) -> int:
        """Roll exact dice."""
        return self._dice.pick([(k, mass) for k, mass in enumerate(weights) if mass], ("token", 0, 0))

    def uniform(self) -> float:
        """A multiple of 2**-24 (single) or 2**-53 (double precision), 0 included."""
        return self.generator.getrandbits(BITS[self.dtype]) / (1 << BITS[self.dtype])

    def exponential(self) -> float:
        """Minus the logarithm of a uniform in (0, 1), rounded to the type."""
        value = -math.log((self.generator.getrandbits(52) + 0.5) / (1 << 52))
        return self._floats.value(self._floats.ordinal(value))

    def seed(self) -> int:
        """62 random bits."""
        return self.generator.getrandbits(62)


class Scripted(Plain):
    """Uniforms and exponentials from lists, choices from a script, then the first outcome each time.

    For each choice `options` holds how many outcomes there were; `weight` is the probability of the choices made, and
    `first_weight` that of the first `leading` of them, made before anything else was asked. Without lists each uniform
    is 1/2 and each exponential 1. `asked` and `asked_exponentials` count them. Further ones than there are, and seeds,
    raise `NotBoxes`.
    """

    def __init__(
        self,
        dtype: str,
        uniforms: Sequence[float] | None,
        script: Sequence[int] = (),
        exponentials: Sequence[float] | None = None,
    ) -> None:
        super().__init__(dtype)
        self.uniforms = uniforms
        self.exponentials = exponentials
        self.script = script
        self.asked = 0
        self.asked_exponentials = 0
        self.taken: list[int] = []
        self.options: list[int] = []
        self.weight = self.first_weight = ONE
        self.leading = 0

    def choose(self, weights: Sequence[Q], what: str) -> int:
        """The scripted outcome."""
        position = len(self.taken)
        index = self.script[position] if position < len(self.script) else 0
        self.taken.append(index)
        self.options.append(len(weights))
        self.weight *= weights[index]
        if not self.asked and not self.asked_exponentials:
            self.leading, self.first_weight = len(self.taken), self.weight
        return index

    def uniform(self) -> float:
        """The next uniform of the list."""
        self.asked += 1
        return _item(self.uniforms, self.asked - 1, 0.5, "uniforms")

    def exponential(self) -> float:
        """The next exponential of the list."""
        self.asked_exponentials += 1
        return _item(self.exponentials, self.asked_exponentials - 1, 1.0, "exponentials")

    def seed(self) -> int:
        raise NotBoxes("a generator as an argument: its draws cannot be set one by one")

    def next_script(self, start: int = 0, end: int | None = None) -> list[int] | None:
        """The next script in lexicographic order that differs only from `start` to `end`, None after the last."""
        for position in reversed(range(start, len(self.taken) if end is None else end)):
            if self.taken[position] + 1 < self.options[position]:
                return [*self.taken[:position], self.taken[position] + 1]
        return None


def _item(values: Sequence[float] | None, k: int, otherwise: float, what: str) -> float:
    if values is None:
        return otherwise
    if k >= len(values):
        raise NotBoxes(f"more {what} are asked for than the {len(values)} of the first run")
    return values[k]


def seed_globals(seed: int) -> None:
    """Seed the global generators that are loaded, so that a run can be repeated."""
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed % (1 << 32))
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)


def states() -> tuple[Hashable, ...]:
    """Where the global generators that are loaded stand."""
    found: list[Hashable] = [random.getstate()]
    if numpy := sys.modules.get("numpy"):
        _, words, *rest = numpy.random.get_state()
        found += [words.tobytes(), *rest]
    if torch := sys.modules.get("torch"):
        found.append(tuple(torch.random.get_rng_state().tolist()))
    return tuple(found)


@contextmanager
def own_states() -> Iterator[None]:
    """Put the global generators back to where they were."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    python = random.getstate()
    arrays = numpy.random.get_state() if numpy else None
    tensors = torch.random.get_rng_state() if torch else None
    try:
        yield
    finally:
        random.setstate(python)
        if numpy:
            numpy.random.set_state(arrays)
        if torch:
            torch.random.set_rng_state(tensors)
