"""FlowVerification, a rule of this project: acceptance weight is carried down the whole tree.

It keeps the mass of every node under the current law of the output. Kept nodes are taken in rank order, the order in
which they were inserted; each sampled node runs the single-draft test against the whole law. On a chain this is block
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
from rheo_proof.schemes.tree import Node, Path, Tree
from rheo_proof.schemes.verifying.walk import Verifying


class Mass(NamedTuple):
    """A node that has been processed: its prefix and mass c; after the reveal of its sampled slot also f, w and t.

    The mass of an untouched token y is c p(y) before the reveal, f (w p(y) - t(y))+ after.
    """

    path: Path
    prefix: Prefix
    c: Q
    f: Q = ZERO
    w: Q = ZERO
    t: Law | None = None

    def of(self, p: Law, y: int) -> Q:
        """The mass of an untouched token y, for the target law p at this node."""
        if self.t is None:
            return self.c * p[y]
        rest = self.w * p[y] - self.t[y]
        return self.f * rest if rest > ZERO else ZERO


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
        p = model.target(parent.prefix)
        if node.law is None:
            x = chance.value(node.token)
            c = parent.of(p, x)
            return Revealing((*state.done, Mass(node.path, (*parent.prefix, x), c)) if c else state.done, todo)
        w, t, x = parent.c, node.law, chance.value(node.token)
        wp = [w * mass for mass in p]
        a = min(ONE, wp[x] / t[x]) if t[x] else ONE
        rho = ZERO
        if a < ONE:
            rho = (ONE - a) / sum((t[y] - wp[y] for y in range(len(p)) if t[y] > wp[y]), ZERO)
        done = tuple(
            Mass(m.path, m.prefix, m.c * rho, rho, w, t)
            if m is parent
            else Mass(m.path, m.prefix, m.c * rho, m.f * rho, m.w, m.t)
            for m in state.done
        )
        return Revealing(alive((*done, Mass(node.path, (*parent.prefix, x), a))), todo)


def alive(done: tuple[Mass, ...]) -> tuple[Mass, ...]:
    """Leave out nodes whose whole subtree has mass 0: no later reveal with t(X) > 0 can raise it."""
    keep: set[Path] = {()}
    for mass in done:
        if mass.c or mass.f:
            keep.update(mass.path[:level] for level in range(1, len(mass.path) + 1))
    return tuple(mass for mass in done if mass.path in keep)


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
