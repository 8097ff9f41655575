"""EAGLE-2 and EAGLE-3: the dynamic top-K tree (arXiv 2406.16858, 2503.01840; SafeAILab/EAGLE cb7e084)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rheo_proof.exact.chance import Chance, Var
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, Q
from rheo_proof.schemes.tree import Node, Path, Tree


class Scored(NamedTuple):
    """A candidate: its global index, the product of draft probabilities on the way to it, its tokens, its place."""

    number: int
    score: Q
    prefix: Prefix
    place: Path


class Nothing(NamedTuple):
    """Nothing is drafted yet."""

    @property
    def progress(self) -> tuple[int, ...]:
        """The only step is still to come."""
        return (0,)

    def variables(self) -> Iterator[Var]:
        """None: nothing is random."""
        return iter(())


@dataclass(frozen=True)
class Eagle:
    """The tree of `topK_genrate`: `top_k` K, `rounds` D (called depth there), `nodes` N = total_tokens - 1.

    The root gets its K best tokens, all of which form the first beam. In each of D rounds every node of the beam gets
    its K best tokens, and the K best of these candidates form the next beam; the last ones are never expanded, so
    there are D + 1 layers. Of all candidates the N best are kept, and listed in the order of their global index. Equal
    scores go by the smaller index; tokens of probability 0 are no candidates.
    """

    top_k: int
    rounds: int
    nodes: int

    def __post_init__(self) -> None:
        if self.top_k < 1 or self.rounds < 0 or self.nodes < 1:
            raise InputError(
                f"top_k is {self.top_k}, rounds {self.rounds} and nodes {self.nodes}, "
                "expected top_k and nodes of at least 1 and rounds of at least 0"
            )

    @property
    def depth(self) -> int:
        """The number of layers."""
        return self.rounds + 1

    def start(self) -> Nothing:
        """Nothing drafted yet."""
        return Nothing()

    def step(self, model: ToyModel, state: object, chance: Chance) -> Tree:
        """The whole tree, which is a function of the draft model."""
        kept = sorted(best(self.candidates(model), self.nodes), key=lambda one: one.number)
        return Tree(tuple(Node(one.place, one.prefix[-1], "head", None) for one in kept))

    def candidates(self, model: ToyModel) -> list[Scored]:
        """All candidates by global index."""
        found: list[Scored] = []
        beam = [Scored(-1, ONE, (), ())]
        for _ in range(self.rounds + 1):
            first = len(found)
            for node in beam:
                q = model.draft(node.prefix)
                tokens = sorted((x for x in range(len(q)) if q[x]), key=lambda x: q[x], reverse=True)[: self.top_k]
                for rank, x in enumerate(tokens):
                    found.append(Scored(len(found), node.score * q[x], (*node.prefix, x), (*node.place, rank)))
            beam = best(found[first:], self.top_k)
        return found


def best(candidates: list[Scored], most: int) -> list[Scored]:
    """Those with the best scores, best first; of equal ones the smaller index."""
    return sorted(candidates, key=lambda one: (-one.score, one.number))[:most]
