"""The K slots of one expanded node: head, one sampled slot, fill.

Everything here lives on the few tokens that take part, in the order (-q, token id), never on the whole vocabulary.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .config import Config
from .laws import Floats, Ints, best
from .tape import inverse_cdf


class Tail(NamedTuple):
    """The tail law t = q / z on its tokens, in order.

    q and z stay apart because rules can do without the quotient: p(x) / t(x) is z p(x) / q(x), and (p - t)+ is
    proportional to (z p - q)+. Neither rounds where p, q and z are dyadic. `of` doubles both until z reaches 1/2,
    which changes no quotient and keeps the products of a tiny tail away from underflow.
    """

    tokens: Ints
    q: Floats
    z: float

    @classmethod
    def of(cls, tokens: Ints, q: Floats, z: float) -> Tail:
        """The tail law q / z."""
        doublings = max(0, -math.frexp(z)[1])
        return cls(tokens, np.ldexp(q, doublings), math.ldexp(z, doublings))

    @property
    def t(self) -> Floats:
        """The tail law itself, on `tokens`."""
        return self.q / self.z

    def where(self, x: int) -> int:
        """Where in `tokens` a token stands, -1 if it is not there."""
        found = np.flatnonzero(self.tokens == x)
        return int(found[0]) if len(found) else -1

    def draw(self, u: float) -> int:
        """X ~ t by inverse cdf, in the order of the node."""
        return int(self.tokens[inverse_cdf(self.q, u)])


class Slot(NamedTuple):
    """One proposed child: what its value is multiplied by is its factor."""

    token: int
    kind: str
    factor: float


class Expansion(NamedTuple):
    """What the draft law of a node fixes before X is drawn. `tail` is None where no slot is sampled.

    `room`: slots left behind the sampled one. `fills`: the best tokens of the tail, one more than room where there are
    so many, because X may be among them.
    """

    head: list[Slot]
    tail: Tail | None = None
    proxy: float = 0.0
    fills: tuple[Slot, ...] = ()
    room: int = 0

    def slots(self, x: int | None) -> list[Slot]:
        """All slots in order, given X (None without a sampled slot). Only the choice of fills looks at X."""
        if x is None:
            return self.head
        return [
            *self.head,
            Slot(x, "sampled", self.proxy),
            *[fill for fill in self.fills if fill.token != x][: self.room],
        ]


def cut(law: Floats, sparse: int | None) -> tuple[Ints, Floats]:
    """The order of a draft law and the probabilities in it; cut to the best `sparse` tokens and renormalised."""
    if sparse is None:
        order = best(law, len(law))
        return order, law[order]
    order = best(law, sparse + 1)
    q = law[order[:sparse]]
    return order[:sparse], q / q.sum() if len(order) > sparse else q


def expand(law: Floats, config: Config) -> Expansion:
    """Head, tail law and proxy of a node whose draft law is `law`.

    z is summed over the tail rather than taken as 1 - q(head), which may cancel to 0 or below; with an empty head it
    is 1. Either way z is at most 1 and, even when rounded, at least q(x_{m+1}), hence so is the proxy: a value never
    rises on the way down, and no fill ever ranks before the sampled slot.
    """
    order, q = cut(law, config.sparse)
    m, room = min(config.head, len(order)), config.slots - config.head - 1
    head = [Slot(int(x), "head", float(mass)) for x, mass in zip(order[:m], q[:m], strict=True)]
    tail, q = order[m:], q[m:]
    if room < 0 or not len(tail):
        return Expansion(head)
    z = min(1.0, float(np.cumsum(q)[-1])) if m else 1.0
    paper = min(head[-1].factor, z) if m else z
    proxy = max(config.proxy_scale * z, float(q[0])) if config.proxy == "tail" else paper
    best_of_tail = zip(tail[: room + 1], q[: room + 1], strict=True)
    fills = tuple(Slot(int(x), "fill", config.fill_scale * float(mass)) for x, mass in best_of_tail)
    return Expansion(head, Tail.of(tail, q, z), proxy, fills, room)
