"""FlowVerification, a rule of this project: acceptance weight is carried down the whole tree.

It keeps the mass of every node under the current law of the output. Kept nodes are taken in rank order, the order in
which they were inserted; `flow_masses.py` says what each insertion does to the masses. On a chain this is block
verification (arXiv 2403.10444). The derivation is in docs/theorem.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rheo_proof.exact.chance import Chance, Var
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission, Running
from rheo_proof.schemes.tree import Node, Tree
from rheo_proof.schemes.verifying.flow_masses import Mass, inserted, revealed
from rheo_proof.schemes.verifying.walk import Verifying


class Revealing(NamedTuple):
    """Some kept nodes processed (the root first), the others still to come, in order."""

    done: tuple[Mass, ...]
    todo: tuple[Node, ...]

    @property
    def progress(self) -> tuple[int, ...]:
        """Fewer nodes to come."""
        return (0, -len(self.todo))

    def variables(self) -> Iterator[Var]:
        """Sampled tokens to come."""
        return (node.token for node in self.todo if isinstance(node.token, Var))


class Spot(NamedTuple):
    """A node in the final walk: the law of the next token, and the kept children it may lead to."""

    law: Law
    children: tuple[tuple[int, Spot], ...]


class FlowWalk(NamedTuple):
    """At a prefix, all masses known."""

    prefix: Prefix
    spot: Spot

    @property
    def progress(self) -> tuple[int, ...]:
        """Depth."""
        return (1, len(self.prefix))

    def variables(self) -> tuple[Var, ...]:
        """Everything has been looked at."""
        return ()


class Flow(Verifying):
    """Reveal the sampled nodes one by one in rank order, then walk along the masses with one draw at each node."""

    def order(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """The order in which nodes are processed; any other than rank order is a fault."""
        return nodes

    def start(self, model: ToyModel, tree: Tree) -> Revealing:
        """Only the root has mass."""
        return Revealing((Mass((), (), ONE),), self.order(tree.nodes))

    def step(self, model: ToyModel, state: Running, chance: Chance) -> Running | Emission:
        """Process one node, or draw one token."""
        if isinstance(state, Revealing):
            if state.todo:
                return self.reveal(model, state, chance)
            state = FlowWalk((), settle(model, state.done, state.done[0])[1])
        assert isinstance(state, FlowWalk)
        u, spot = state
        y = chance.latent(spot.law, ("token", len(u), 0), ("y",))
        hit = chance.find(y, [x for x, _ in spot.children])
        if hit is None:
            return Emission(u, y)
        return FlowWalk((*u, hit), dict(spot.children)[hit])

    def reveal(self, model: ToyModel, state: Revealing, chance: Chance) -> Revealing:
        """Insert one node with its mass; a sampled node scales all others."""
        node, todo = state.todo[0], state.todo[1:]
        parent = next((mass for mass in state.done if mass.path == node.path[:-1]), None)
        if parent is None:
            return Revealing(state.done, todo)
        p, x = model.target(parent.prefix), chance.value(node.token)
        if node.law is None:
            return Revealing(inserted(state.done, parent, node.path, x, p), todo)
        return Revealing(revealed(state.done, parent, node.path, x, p, node.law), todo)


def settle(model: ToyModel, done: tuple[Mass, ...], at: Mass) -> tuple[Q, Spot]:
    """The full mass of a node, and the law of its next token by full masses of kept children and other masses."""
    p = model.target(at.prefix)
    children = [mass for mass in done if mass.path[:-1] == at.path and mass.path]
    if not children and at.t is None:
        return at.c, Spot(p, ())
    weights = [at.of(p, y) for y in range(len(p))]
    below: list[tuple[int, Spot]] = []
    for child in children:
        full, spot = settle(model, done, child)
        x = child.prefix[-1]
        weights[x] = full
        if full:
            below.append((x, spot))
    total = sum(weights, ZERO)
    return total, Spot(normalised(weights) if total else p, tuple(sorted(below, key=lambda pair: pair[0])))
