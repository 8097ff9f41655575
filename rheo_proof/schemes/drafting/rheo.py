"""RheoSampling's draft tree (arXiv 2609.21827): head, one sampled slot, fill; beam; global pruning.

A node is expanded into K slots. The first m are the draft's best tokens (the *head*). One slot is *sampled*: its
token X is drawn from the rest of the draft law, the *tail law* t, and the tree is built with a *proxy* value that does
not depend on X. What is left is *filled* with the next best tokens, skipping X. With m = K no slot is sampled and the
tree is the top-K tree of EAGLE-2 and EAGLE-3 (arXiv 2406.16858, 2503.01840).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from rheo_proof.exact.chance import Chance, Token
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, Q
from rheo_proof.schemes.drafting.candidates import Candidate, Drafting
from rheo_proof.schemes.drafting.expansion import Expanding, Expansion
from rheo_proof.schemes.tree import Node, Path, Tree


@dataclass(frozen=True)
class Rheo(Expanding):
    """The draft trees of RheoSampling, expanded layer by layer; `Expanding` says what the parameters mean."""

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
