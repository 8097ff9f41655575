"""A NumPy generator in an audit: draws are made for real, to move the state, and their values thrown away."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.numpy_arrays import RandomArray
from rheo_proof.audit.numpy_bits import restore, saved, snapshot
from rheo_proof.audit.streams import Streams


class Source:
    """A real generator (`np.random.Generator` or `RandomState`) on a guarded bit generator."""

    def __init__(self, plain: Any, bits: Any) -> None:
        self.plain = plain
        self.bits = bits

    def outside(self, name: str, args: Sequence[Any], named: dict[str, Any]) -> Any:
        """The real draw, while no run is in progress."""
        result = getattr(self.plain, name)(*args, **named)
        self.bits.settle()
        return result

    def whole(
        self, streams: Streams, call: Callable[[], Any], kind: tuple[Any, ...], make: Callable[[Any], Any]
    ) -> Any:
        """A call as one draw: `make(real result)` is its result, the same again from the same state.

        `kind` is all that the result depends on, beside the class of the generator. A call that does not move the
        state is not random.
        """
        start = self.bits.check()
        real = call()
        self.bits.settle()
        if self.bits.known == start:
            return real
        return streams.once(start, (type(self.plain).__name__, frozen(kind)), lambda: make(real))

    def each(
        self,
        streams: Streams,
        call: Callable[[], Any],
        step: Callable[[], Any],
        kind: str,
        make: Callable[[Hashable], Any],
    ) -> Any:
        """A call as one draw for each number: the cells, in the shape of the real result.

        `step` draws one number for real; `make` gives the cell of a state. Uniforms are the same for every class of
        generator, and nothing else is.
        """
        if kind != "double":
            kind = f"{kind} of {type(self.plain).__name__}"
        start = self.bits.check()
        before = saved(self.bits)
        real = call()
        self.bits.settle()
        if np.ndim(real) == 0:
            return make(streams.name(start, kind))
        end = self.bits.known
        restore(self.bits, before)
        states = []
        for _ in range(real.size):
            states.append(snapshot(self.bits))
            step()
        if snapshot(self.bits) != end:
            refuse(f"a vector of {kind} draws", "one call and single draws move the generator differently")
        cells = [make(streams.name(state, kind)) for state in states]
        return RandomArray.of(cells, real.shape, real.dtype)


def frozen(value: Any) -> Hashable:
    """Arguments of a draw, to be compared."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, repr(value.tolist()))
    if isinstance(value, (list, tuple)):
        return tuple(map(frozen, value))
    return repr(value)


def no_out(out: Any) -> None:
    """Refuse an array that is to be filled."""
    if out is not None:
        refuse("a NumPy draw with out=", "an array of floats cannot hold random numbers")
