"""Draft trees whose shape is fixed: nodes are expanded layer by layer, each by a rule that sees its prefix and place.

A drafting method of this kind says what the children of one node are; `Growing` makes a tree of it. Siblings may repeat
a token: they are listed with their multiplicity, and what is drafted below one of them is below all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from rheo_proof.exact.chance import Chance, Var
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.schemes.tree import Kind, Node, Path, Tree

Draw: TypeAlias = Callable[[Law], int]
"""Draws a token from a law, with fresh randomness at every call."""


class Child(NamedTuple):
    """A child to be: its token, and for a sampled one the law that it was drawn from given all that came before."""

    token: int
    law: Law | None = None

    @property
    def kind(self) -> Kind:
        """`sampled` with a law, `head` without."""
        return "head" if self.law is None else "sampled"


class Waiting(NamedTuple):
    """A node to be expanded: the tokens on the way to it, and its places: several if a token was repeated."""

    prefix: Prefix
    places: tuple[Path, ...]

    @property
    def copies(self) -> int:
        """How often its token was listed among its siblings: 1 at the root."""
        return len({place[-1:] for place in self.places})


class Growth(NamedTuple):
    """Nodes so far in the order of their creation, those to be expanded, and how many were."""

    nodes: tuple[Node, ...]
    waiting: tuple[Waiting, ...]
    expanded: int

    @property
    def progress(self) -> tuple[int, ...]:
        """Nodes expanded."""
        return (self.expanded,)

    def variables(self) -> Iterator[Var]:
        """None: every draw is looked at."""
        return iter(())


def at_least_1(**sizes: int) -> None:
    """Raise `InputError` that names two sizes of a drafting method and their values unless both are positive."""
    if min(sizes.values()) < 1:
        named = " and ".join(f"{name} is {size}" for name, size in sizes.items())
        raise InputError(f"{named}, expected at least 1 each")


class Growing(ABC):
    """A drafting method that is told by the children of a node. `depth` is the number of layers."""

    depth: int

    @abstractmethod
    def children(self, model: ToyModel, prefix: Prefix, place: Path, draw: Draw) -> Sequence[Child]:
        """The children of the node at a prefix, whose place in the tree is the slot taken at each level."""

    def grow(self, model: ToyModel, node: Waiting, draw: Draw) -> Sequence[Child]:
        """The children of a node; a method that counts the copies of a repeated token overrides this one."""
        return self.children(model, node.prefix, node.places[0], draw)

    def start(self) -> Growth:
        """The root, to be expanded."""
        return Growth((), (Waiting((), ((),)),), 0)

    def step(self, model: ToyModel, state: object, chance: Chance) -> Growth | Tree:
        """Expand one node."""
        assert isinstance(state, Growth)
        node, waiting = state.waiting[0], list(state.waiting[1:])
        prefix, places = node
        drawn = 0

        def draw(law: Law) -> int:
            nonlocal drawn
            drawn += 1
            return chance.draw(law, ("draft", state.expanded, drawn - 1))

        made = self.grow(model, node, draw)
        nodes = [
            Node((*place, slot), child.token, child.kind, child.law)
            for place in places
            for slot, child in enumerate(made)
        ]
        if len(prefix) + 1 < self.depth:
            for token in dict.fromkeys(child.token for child in made):
                slots = [slot for slot, child in enumerate(made) if child.token == token]
                waiting.append(Waiting((*prefix, token), tuple((*place, slot) for place in places for slot in slots)))
        grown = (*state.nodes, *nodes)
        return Growth(grown, tuple(waiting), state.expanded + 1) if waiting else Tree(grown)
