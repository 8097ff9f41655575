"""What the rules that walk from the root have in common: the node they stand at and the law left to draw from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from rheo_proof.exact.chance import Chance, Var
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.program import Emission, Running
from rheo_proof.schemes.tree import Branch, Tree, branches, variables_below


class Walk(NamedTuple):
    """At prefix u, with the running law r and the kept children that were not tested yet.

    `children` are all kept children of u; `tested` says how many tests were made here.
    """

    prefix: Prefix
    r: Law
    children: tuple[Branch, ...]
    tested: int = 0

    @property
    def progress(self) -> tuple[int, ...]:
        """Depth, then tests made at this node."""
        return (len(self.prefix), self.tested)

    def variables(self) -> Iterator[Var]:
        """The latent tokens below u."""
        return variables_below(self.children)


class Verifying(ABC):
    """A verification rule: a program from a kept tree to an emitted string."""

    @abstractmethod
    def start(self, model: ToyModel, tree: Tree) -> Running:
        """The state before the first draw."""

    @abstractmethod
    def step(self, model: ToyModel, state: Running, chance: Chance) -> Running | Emission:
        """The next state, or the end."""


class Walking(Verifying):
    """A rule that walks from the root: `at` says what happens at one node."""

    def start(self, model: ToyModel, tree: Tree) -> Walk:
        """At the root, with the whole target law."""
        return self.move(model, (), branches(tree.nodes))

    def move(self, model: ToyModel, prefix: Prefix, children: tuple[Branch, ...]) -> Walk:
        """Arrive at a node."""
        return Walk(prefix, model.target(prefix), children)

    def step(self, model: ToyModel, state: Running, chance: Chance) -> Running | Emission:
        """One test or one draw at the node."""
        assert isinstance(state, Walk)
        return self.at(model, state, chance)

    @abstractmethod
    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """One test or one draw."""

    def last_draw(self, model: ToyModel, walk: Walk, children: tuple[Branch, ...], chance: Chance) -> Walk | Emission:
        """Draw y ~ r; move when y is one of the children, otherwise emit it."""
        level = len(walk.prefix)
        y = chance.latent(walk.r, ("token", level, 0), ("y",))
        hit = chance.find(y, [chance.value(child.token) for child in children])
        if hit is None:
            return Emission(walk.prefix, y)
        child = next(child for child in children if chance.value(child.token) == hit)
        return self.move(model, (*walk.prefix, hit), child.children)


def split(children: tuple[Branch, ...]) -> tuple[Branch | None, tuple[Branch, ...]]:
    """The sampled child, if it is kept, and the deterministic children."""
    sampled = next((child for child in children if child.kind == "sampled"), None)
    return sampled, tuple(child for child in children if child.kind != "sampled")
