"""Which state of which generator gave which noise, in one run.

A draw is named by the state of the generator that it starts from: the same state gives the same noise again, as in life
(two generators of one seed, a state that was saved and restored). Two draws of different kinds from one state depend on
each other in a way that only the generator's algorithm knows; they are refused. The algorithm itself is believed: other
states, other noise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rheo_proof.audit.draws import Draws
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.latents import Variable

T = TypeVar("T")


class Streams:
    """The draws from generators in one run, by the state in which they found the generator.

    `generators` are the twins of instances of `random.Random`, `instances` those made in this run, with their states,
    `made` the generators of NumPy made in it: nothing is forgotten before the end of the run.
    """

    def __init__(self, run: Draws) -> None:
        self.run = run
        self._kinds: dict[Hashable, Hashable] = {}
        self._results: dict[Hashable, tuple[object, list[Variable]]] = {}
        self.generators: dict[int, tuple[object, object]] = {}
        self.made: list[object] = []
        self.instances: list[tuple[object, object]] = []

    def name(self, state: Hashable, kind: Hashable) -> Hashable:
        """The name of the noise that a draw of this kind finds in this state. Refuses another kind from that state."""
        if self._kinds.setdefault(state, kind) != kind:
            refuse("two different draws from one state of a generator", "they share their noise", shared=True)
        return state

    def once(self, state: Hashable, kind: Hashable, make: Callable[[], T]) -> T:
        """What a draw of this kind gave in this state, or gives now."""
        name = self.name(state, kind)
        known = self._results.get(name)
        if known is None:
            before = len(self.run.variables)
            result = make()
            self._results[name] = (result, self.run.variables[before:])
            return result
        for variable in known[1]:
            variable.looked_at()
        return known[0]  # type: ignore[return-value]


_active: Streams | None = None


def active() -> Streams | None:
    """The draws of the run in progress; None while no run is."""
    return _active


@contextmanager
def streams_of(run: Draws) -> Iterator[Streams]:
    """Every patched source of randomness belongs to this run, until the end of the block."""
    global _active
    before, _active = _active, Streams(run)
    try:
        yield _active
    finally:
        _active = before
