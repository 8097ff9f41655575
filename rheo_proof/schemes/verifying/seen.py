"""Rules that look at every drafted token before they do anything, as most published ones do."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from rheo_proof.exact.chance import Chance, Var
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.program import Emission, Running
from rheo_proof.schemes.tree import Branch, Node, Tree, branches
from rheo_proof.schemes.verifying.walk import Verifying


class Unseen(NamedTuple):
    """The drafted nodes in the order of their creation; nobody has looked at them."""

    nodes: tuple[Node, ...]

    @property
    def progress(self) -> tuple[int, ...]:
        """Nothing has happened."""
        return (0,)

    def variables(self) -> Iterator[Var]:
        """The latent tokens."""
        return (node.token for node in self.nodes if isinstance(node.token, Var))


class Seen(NamedTuple):
    """A drafted node, its token known, and what is drafted below it.

    `law` is what verification is told the token was drawn from, given all earlier siblings; None if it was not drawn.
    `slots` are its places in the list of siblings, several for a token that was drawn again.
    """

    token: int
    law: Law | None
    children: tuple[Seen, ...]
    slots: tuple[int, ...]


def seen(children: tuple[Branch, ...], chance: Chance) -> tuple[Seen, ...]:
    """Look at all tokens of some branches; a token that is listed again is not repeated."""
    distinct: dict[int, Seen] = {}
    for slot, child in enumerate(children):
        x = chance.value(child.token)
        if x in distinct:
            distinct[x] = distinct[x]._replace(slots=(*distinct[x].slots, slot))
        else:
            distinct[x] = Seen(x, child.law, seen(child.children, chance), (slot,))
    return tuple(distinct.values())


class Seeing(Verifying):
    """A rule that starts by looking at everything: `verify` is told the tree."""

    def start(self, model: ToyModel, tree: Tree) -> Unseen:
        """Nothing looked at."""
        return Unseen(tree.nodes)

    def step(self, model: ToyModel, state: Running, chance: Chance) -> Running | Emission:
        """Look at everything, then go on."""
        assert isinstance(state, Unseen)
        return self.verify(model, seen(branches(state.nodes), chance), chance)

    @abstractmethod
    def verify(self, model: ToyModel, children: tuple[Seen, ...], chance: Chance) -> Running | Emission:
        """What comes after; `children` are the children of the root."""
