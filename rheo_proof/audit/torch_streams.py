"""Where in the streams of torch's generators a run has drawn.

A draw is named by the state that its generator was in: generators that were seeded alike, or set back, give the same
cells again. From one state, draws of different kinds or types make different numbers of the same bits: refused. So are
draws that overlap without starting at one state, because they share some of their noise, and states that changed while
nobody looked.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Hashable
from typing import Any

import torch

from rheo_proof.audit.errors import refuse

_HEADER = struct.Struct("<QiiQ")
_WORDS = 624
"""CPU generators of torch are Mersenne Twisters: seed, words left, a flag, the next word, and a block of words."""
_END = 1 << 62
MOST_BLOCKS = 10_000


def state_of(generator: torch.Generator) -> bytes:
    """The state of a generator."""
    words = generator.get_state()
    # Not by NumPy, which torch does without.
    return ctypes.string_at(words.data_ptr(), words.numel())


def place_of(state: bytes) -> tuple[bytes, int]:
    """The block of words of a state, and how many of them are used."""
    _, left, _, following = _HEADER.unpack_from(state)
    block = state[_HEADER.size : _HEADER.size + 8 * _WORDS]
    return block, (_END if left == 1 else following)


def _between(state: bytes, last: bytes) -> list[bytes]:
    """The blocks of words that come after a state and before a block."""
    scratch: Any = torch._C.Generator()
    scratch.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
    blocks: list[bytes] = []
    while True:
        torch.rand(_WORDS, generator=scratch, dtype=torch.float32)
        block, _ = place_of(state_of(scratch))
        if block == last or len(blocks) == MOST_BLOCKS:
            return blocks
        blocks.append(block)


class Streams:
    """The draws of one run."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        self.used: dict[bytes, list[tuple[int, int, int]]] = {}
        self.kinds: dict[int, Hashable] = {}
        self.seen: dict[int, torch.Generator] = {}

    def known(self, generator: torch.Generator) -> int:
        """The number of the state that a generator is in, which is taken as it is."""
        self.seen[id(generator)] = generator
        state = state_of(generator)
        return self.numbers.setdefault(state, len(self.numbers))

    def check(self, generator: torch.Generator) -> None:
        """Refuse if a generator has advanced without being seen."""
        state = state_of(generator)
        if state in self.numbers:
            return
        fresh: Any = torch._C.Generator()
        if state != state_of(fresh.manual_seed(generator.initial_seed())):
            refuse("a draw from a generator of torch", "it was not seen when it happened")

    def start(self, generator: torch.Generator) -> int:
        """The number of the state at the beginning of a draw."""
        if id(generator) in self.seen:
            self.check(generator)
        return self.known(generator)

    def use(self, start: int, before: bytes, after: bytes) -> None:
        """Enter a draw. Refuses one that overlaps with another that began elsewhere."""
        (block, first), (last, stop) = place_of(before), place_of(after)
        if block == last:
            parts = [(block, first, stop)]
        else:
            whole = [(each, 0, _END) for each in _between(before, last)]
            parts = [(block, first, _END), *whole, (last, 0, stop)]
        for where, begin, end in parts:
            spans = self.used.setdefault(where, [])
            if any(start != other and begin < high and low < end for other, low, high in spans):
                refuse("two draws that overlap in the stream of a generator", "they share their noise", shared=True)
            spans.append((start, begin, end))


class Draw:
    """One draw: the names of its elements. `kind` is what, beside the state, the numbers depend on."""

    def __init__(self, streams: Streams, generator: torch.Generator | None, kind: Hashable) -> None:
        self.streams = streams
        self.kind = kind
        self.generator = torch.default_generator if generator is None else generator
        self.start = streams.start(self.generator)
        self.before = state_of(self.generator)

    def at(self, index: int) -> tuple[str, int, int]:
        """The name of one element."""
        return ("torch", self.start, index)

    def done(self, result: torch.Tensor) -> None:
        """The draw has been made: the state from here on is expected. Refuses another kind of draw from its state.

        Torch fills a result in the order of its memory.
        """
        after = state_of(self.generator)
        self.streams.numbers.setdefault(after, len(self.streams.numbers))
        if after == self.before:
            return
        order = None if result.is_contiguous() else (tuple(result.shape), result.stride())
        kind = (self.kind, result.dtype, order)
        if self.streams.kinds.setdefault(self.start, kind) != kind:
            refuse("two different draws from one state of a generator", "they share their noise", shared=True)
        self.streams.use(self.start, self.before, after)
