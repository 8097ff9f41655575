"""The nodes of RheoSampling's tree as far as they can still come, and strings that no later node can meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q


class Slots(Protocol):
    """What a draft law fixes: head, tail (best first), and the law t of X, None where nothing is sampled."""

    @property
    def head(self) -> tuple[int, ...]: ...
    @property
    def tail(self) -> tuple[int, ...]: ...
    @property
    def t(self) -> Law | None: ...


class Place(NamedTuple):
    """A node u with its slots and laws, and what RheoVerification does at the reveal of X."""

    u: Prefix
    head: tuple[int, ...]
    tail: tuple[int, ...]
    t: Law | None
    p: Law
    fills: int

    @property
    def law(self) -> Law:
        """t. Raises `InputError` where nothing is sampled."""
        if self.t is None:
            raise InputError(f"a token was drawn at {self.u}, where nothing is sampled")
        return self.t

    def kappa(self, x: int) -> Q:
        """What the heads of u are multiplied by when X = x: (1 - min(1, p(x)/t(x))) / sum_y (t(y) - p(y))+."""
        if self.p[x] >= self.law[x]:
            return ZERO
        rejected = sum((b - a for a, b in zip(self.p, self.law, strict=True) if b > a), ZERO)
        return (ONE - self.p[x] / self.law[x]) / rejected

    def share(self, x: int, y: int) -> Q:
        """The part of the mass of u that y gets when X = x; y is no head."""
        return min(ONE, self.p[x] / self.law[x]) if y == x else self.kappa(x) * max(ZERO, self.p[y] - self.law[y])

    def factor(self, x: int, y: int) -> Q:
        """What the mass of the child y of u is multiplied by when X = x."""
        if y in self.head:
            return self.kappa(x)
        return self.share(x, y) / self.p[y] if self.p[y] else ZERO

    def slots(self, x: int) -> tuple[int, ...]:
        """X = x and the fills: the best of the tail without x."""
        return (x, *[y for y in self.tail if y != x][: self.fills])


class Places:
    """All nodes of a draft with `slots` slots and `depth` layers; `expansion` says what a draft law fixes."""

    def __init__(self, expansion: Callable[[Law], Slots], slots: int, depth: int) -> None:
        if slots < 1 or depth < 1:
            raise InputError(f"slots is {slots} and depth is {depth}, expected at least 1 each")
        self.expansion = expansion
        self.slots = slots
        self.depth = depth

    def at(self, model: ToyModel, u: Prefix) -> Place:
        """The node u."""
        found = self.expansion(model.draft(u))
        return Place(u, found.head, found.tail, found.t, model.target(u), self.slots - len(found.head) - 1)

    def settled(self, model: ToyModel, known: Mapping[Prefix, int], u: Prefix, s: Prefix) -> bool:
        """Whether the string s can meet no later node, at the reveal of X_u; `known` has the revealed tokens by node.

        It leaves the slots of a node whose X is known, or goes on below an X of the last layer. Before that it passes
        no node with an unknown X, u excepted.
        """
        for length in range(self.depth):
            v, y = s[:length], s[length]
            if v in known:
                place = self.at(model, v)
                if y not in place.head and y not in place.slots(known[v]):
                    return True
            else:
                place = self.at(model, v)
                if y not in place.head or (place.t is not None and v != u):
                    return False
        return known.get(s[: self.depth - 1]) == s[self.depth - 1]
