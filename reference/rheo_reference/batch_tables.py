"""What the laws at a prefix decide, worked out once for each prefix of a toy model.

A prefix is the number of its row; the children of prefix i are i V + 1, ..., i V + V. A *draw* is a prefix and the
place of its sampled token in the order of its tail, as one number i V + place; place 0 stands for "no sampled slot"
too. The number `width` in place of a slot means that there is none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .config import Config
from .laws import Floats, Ints
from .slots import Expansion, Slot, Tail, expand
from .verify import acceptance, residual


class Cdfs:
    """Rows of weights to draw from, each as `tape.inverse_cdf` would: weights of 0 behind a row change nothing.

    A token is the number of cumulative weights that u times the total has reached. The last positive weight and those
    behind it are never reached, which is how a draw ends where rounding has left u at the total.
    """

    def __init__(self, weights: ArrayLike) -> None:
        rows = np.asarray(weights, dtype=np.float64)
        cdf = np.cumsum(rows, axis=1)
        self.total = cdf[:, -1].copy()
        width = rows.shape[1]
        last = width - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
        cdf[np.arange(width) >= last[:, None]] = np.inf
        cdf[self.total == 0] = np.inf
        self.steps = [np.ascontiguousarray(step) for step in cdf.T if (step < np.inf).any()]

    def draw(self, row: Ints, u: Floats) -> Ints:
        """An index for each u, by the weights of its row; 0 where all of them are 0."""
        reached = u * self.total.take(row)
        index = np.zeros(reached.shape, dtype=np.intp)
        for step in self.steps:
            index += step.take(row) <= reached
        return index


class Tables:
    """Everything a step looks up. Arrays are flat; what indexes them is said beside each."""

    def __init__(self, target: Sequence[Floats], draft: Sequence[Floats], config: Config) -> None:
        self.target, self.draft, self.config = target, draft, config
        self.vocab = vocab = len(target[0])
        self.width = width = min(config.slots, vocab)
        self.expansions = [expand(law, config) for law in draft]
        draws = len(draft) * vocab

        # The sampled token and its law. By place and prefix; by draw; the slot of the sampled token by prefix.
        self.tail = Cdfs([pad(e.tail.q if e.tail else [], vocab, 0.0) for e in self.expansions])
        self.sampled = np.concatenate([pad(e.tail.tokens if e.tail else [], vocab, 0) for e in self.expansions])
        self.sampled_slot = np.full(len(target), width)
        self.sampled_slot[: len(draft)] = [len(e.head) if e.tail else width for e in self.expansions]

        # Slots by slot and draw: the factor (NaN: no such slot) and the prefix of the child. By draw and token: the
        # slot that holds it.
        self.factors = np.full((width, draws), np.nan)
        self.children = np.zeros((width, draws), dtype=np.intp)
        self.slot_of = np.full(draws * vocab, width)
        for draw in range(draws):
            for i, slot in enumerate(slots(self.expansions[draw // vocab], draw % vocab)):
                self.factors[i, draw] = slot.factor
                self.children[i, draw] = draw // vocab * vocab + 1 + slot.token
                self.slot_of[draw * vocab + slot.token] = i

    def coins(self, running: Sequence[tuple[Floats, float]]) -> Floats:
        """By draw: how likely the sampled token is accepted against the law r / mass of its prefix."""
        accepted = np.zeros((len(running), self.vocab))
        for row, tail, (r, mass) in zip(accepted, self.tails(), running, strict=True):
            if tail:
                row[: len(tail.tokens)] = [acceptance(r, mass, tail, int(x)) for x in tail.tokens]
        return accepted.ravel()

    def residuals(self, running: Sequence[tuple[Floats, float]]) -> Cdfs:
        """Row i: the target law of prefix i. Row i + len(target): the residual of r / mass after a failed coin."""
        rows = [residual(r, mass, tail) if tail else r for tail, (r, mass) in zip(self.tails(), running, strict=True)]
        return Cdfs([*self.target, *rows])

    def tails(self) -> list[Tail | None]:
        """By prefix."""
        return [expansion.tail for expansion in self.expansions]


def slots(expansion: Expansion, place: int) -> list[Slot]:
    """The slots of a node whose sampled token stands at a place of its tail."""
    tail = expansion.tail
    if tail is None:
        return expansion.slots(None) if place == 0 else []
    return expansion.slots(int(tail.tokens[place])) if place < len(tail.tokens) else []


def pad(values: ArrayLike, length: int, filler: float) -> NDArray[np.float64] | Ints:
    """The values, and as many fillers behind them as are missing; fillers are as whole as the values."""
    row = np.full(length, filler)
    row[: len(np.asarray(values))] = values
    return row
