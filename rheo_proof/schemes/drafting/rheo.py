"""RheoSampling's draft tree (arXiv 2609.21827): head, one sampled slot, fill; beam; global pruning.

A node is expanded into K slots. The first m are the draft's best tokens (the *head*). One slot is *sampled*: its
token X is drawn from the rest of the draft law, the *tail law* t, and the tree is built with a *proxy* value that does
not depend on X. What is left is *filled* with the next best tokens, skipping X. With m = K no slot is sampled and the
tree is the top-K tree of EAGLE-2 and EAGLE-3 (arXiv 2406.16858, 2503.01840).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from rheo_proof.exact.chance import Chance, Token, Var
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.schemes.tree import Node, Path, Tree


class Candidate(NamedTuple):
    """A drafted node with its value; `above` holds the tokens on the way to it, its own left out."""

    value: Q
    above: Prefix
    node: Node


class Expansion(NamedTuple):
    """What the draft law of one node fixes before any draw. Tokens of positive q only, best first."""

    q: Law
    head: tuple[int, ...]
    tail: tuple[int, ...]
    z: Q
    t: Law | None
    proxy: Q


@lru_cache(maxsize=1 << 14)
def _expansion(drafting: Rheo, q: Law) -> Expansion:
    order = sorted(q.support, key=lambda x: (-q[x], x))
    if drafting.sparse is not None and len(order) > drafting.sparse:
        order = order[: drafting.sparse]
        q = normalised([mass if x in order else ZERO for x, mass in enumerate(q)])
    m = min(drafting.check_head(drafting.head(q)) if callable(drafting.head) else drafting.head, len(order))
    head, tail = tuple(order[:m]), tuple(order[m:])
    z = q.mass(tail)
    if m >= drafting.slots or not z:
        return Expansion(q, head, (), z, None, ZERO)
    t = Law(ZERO if x in head else mass / z for x, mass in enumerate(q))
    if drafting.proxy == "tail":
        proxy = max(drafting.proxy_scale * z, q[tail[0]])
    else:
        proxy = min(q[head[-1]], z) if head else z
    return Expansion(q, head, tail, z, t, proxy)


class Drafting(NamedTuple):
    """The state between two expansions. Both lists of candidates are cut to what can still be chosen.

    `waiting`: nodes of this layer to expand; `layer`: best B of the next one; `kept`: best N of all.
    """

    depth: int
    expanded: int
    waiting: tuple[Candidate, ...]
    layer: tuple[Candidate, ...]
    kept: tuple[Candidate, ...]

    @property
    def progress(self) -> tuple[int, ...]:
        """Layers finished, then nodes expanded in this one."""
        return (self.depth, self.expanded)

    def variables(self) -> Iterator[Var]:
        """The sampled tokens that nobody looked at completely."""
        seen = set()
        for candidate in (*self.waiting, *self.layer, *self.kept):
            token = candidate.node.token
            if isinstance(token, Var) and token not in seen:
                seen.add(token)
                yield token


@dataclass(frozen=True)
class Rheo:
    """The draft trees of RheoSampling.

    `slots` K, `head` m (0 <= m <= K, or a function of the draft law), `depth` D layers, `beam` B nodes expanded in
    a layer, `nodes` N kept in the end, `sparse` S: draft laws cut to their S best tokens. Options beyond the paper:
    `proxy` "tail" values the sampled slot by max(a z, q(x_{m+1})) with a = `proxy_scale`; `fill_scale` multiplies
    the value of fills. Raises `InputError` for parameters out of range.
    """

    slots: int
    head: int | Callable[[Law], int]
    depth: int
    beam: int
    nodes: int
    sparse: int | None = None
    proxy: str = "paper"
    proxy_scale: Q = ONE
    fill_scale: Q = ONE

    def __post_init__(self) -> None:
        for name in ("slots", "depth", "beam", "nodes", "sparse"):
            value = getattr(self, name)
            if value is None and name == "sparse":
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InputError(f"{name} is {value}, expected a whole number of at least 1")
        if not callable(self.head):
            self.check_head(self.head)
        if self.proxy not in ("paper", "tail"):
            raise InputError(f"proxy is {self.proxy!r}, expected 'paper' or 'tail'")
        for name in ("proxy_scale", "fill_scale"):
            value = rational(getattr(self, name), name)
            if not ZERO < value <= ONE:
                raise InputError(f"{name} is {value}, expected more than 0 and at most 1")
            object.__setattr__(self, name, value)

    def check_head(self, m: object) -> int:
        """m itself. Raises `InputError` unless it is a number of slots."""
        if not isinstance(m, int) or isinstance(m, bool) or not 0 <= m <= self.slots:
            raise InputError(f"head is {m}, expected a whole number from 0 to slots = {self.slots}")
        return m

    def expansion(self, q: Law) -> Expansion:
        """Head, tail law and proxy of a node whose draft law is q.

        >>> Rheo(3, 1, 1, 3, 8).expansion(Law.read(["1/4", "1/2", "1/4"])).t
        Law(1/2, 0, 1/2)
        """
        return _expansion(self, q)

    def slots_of(self, at: Expansion, path: Path, chance: Chance, layer: int, b: int) -> Iterator[tuple[Q, Node]]:
        """The slots of one expanded node in order, each with its construction factor."""
        for slot, x in enumerate(at.head):
            yield at.q[x], Node((*path, slot), x, "head", None)
        if at.t is None:
            return
        m = len(at.head)
        token = self.sampled_token(at, path, chance, layer, b)
        yield self.sampled_factor(at, token, chance), Node((*path, m), token, "sampled", self.reported_law(at))
        for slot, x in enumerate(self.fills(at, token, chance), m + 1):
            yield self.fill_scale * at.q[x], Node((*path, slot), x, "fill", None)

    def sampled_token(self, at: Expansion, path: Path, chance: Chance, layer: int, b: int) -> Token:
        """X, drawn from the tail law, not looked at."""
        assert at.t is not None
        return chance.latent(at.t, ("draft", layer, b), ("X", *path), at.tail)

    def sampled_factor(self, at: Expansion, token: Token, chance: Chance) -> Q:
        """The construction factor of the sampled slot: the proxy, whatever X is."""
        return at.proxy

    def reported_law(self, at: Expansion) -> Law | None:
        """The law that verification is told X was drawn from."""
        return at.t

    def fills(self, at: Expansion, token: Token, chance: Chance) -> tuple[int, ...]:
        """The best tokens of the tail without X, as many as there are slots left."""
        room = self.slots - len(at.head) - 1
        skipped = chance.find(token, at.tail[:room])
        if skipped is None:
            return at.tail[:room]
        return tuple(x for x in at.tail[: room + 1] if x != skipped)

    def start(self) -> Drafting:
        """Nothing drafted yet; the root waits to be expanded."""
        root = Candidate(ONE, (), Node((), 0, "head", None))
        return Drafting(0, 0, (root,), (), ())

    def step(self, model: ToyModel, state: Drafting, chance: Chance) -> Drafting | Tree:
        """Expand the next node of the layer; after the last layer, the kept tree."""
        parent, waiting = state.waiting[0], state.waiting[1:]
        path = parent.node.path
        prefix = (*parent.above, chance.value(parent.node.token)) if path else ()
        layer, kept = list(state.layer), list(state.kept)
        at = self.expansion(model.draft(prefix))
        for factor, node in self.slots_of(at, path, chance, state.depth, state.expanded):
            candidate = Candidate(parent.value * factor, prefix, node)
            self.insert(layer, candidate, self.beam, chance)
            self.insert(kept, candidate, self.nodes, chance)
        last = state.depth + 1 == self.depth
        if waiting:
            return Drafting(state.depth, state.expanded + 1, waiting, () if last else tuple(layer), tuple(kept))
        if last or not layer:
            return Tree(tuple(candidate.node for candidate in kept))
        return Drafting(state.depth + 1, 0, tuple(layer), (), tuple(kept))

    def insert(self, ranked: list[Candidate], candidate: Candidate, room: int, chance: Chance) -> None:
        """Add a newly created candidate in rank order and cut to the best `room`.

        A new candidate has the largest creation index, so it goes behind those of equal value; one that is beaten by
        `room` others can never be among the best `room` again.
        """
        ranked.insert(bisect_right(ranked, -candidate.value, key=lambda other: -other.value), candidate)
        del ranked[room:]
