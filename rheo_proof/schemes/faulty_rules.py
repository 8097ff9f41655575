"""Verification rules that break a condition of the theorem, for `faults.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rheo_proof.exact.chance import Chance, Var
from rheo_proof.exact.law import Law, normalised, residual
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission, Running
from rheo_proof.schemes.drafting.rheo import Rheo as RheoDrafting
from rheo_proof.schemes.tree import Branch, Node, Tree, variables_below
from rheo_proof.schemes.verifying.flow import Flow
from rheo_proof.schemes.verifying.rheo import Rheo, acceptance
from rheo_proof.schemes.verifying.rrsw import Rrsw
from rheo_proof.schemes.verifying.walk import Verifying, Walk, split


class SkipResidual(Rheo):
    """After a rejection draw from p, not from what is left of it."""

    def rejected(self, model: ToyModel, walk: Walk, t: Law, a: Q) -> Law:
        """p."""
        return walk.r


class ResidualOfQ(Rheo):
    """The residual is norm((p - q)+), where X was drawn from t; p where that is empty."""

    def __init__(self, drafting: RheoDrafting) -> None:
        self.drafting = drafting

    def rejected(self, model: ToyModel, walk: Walk, t: Law, a: Q) -> Law:
        """What is left of p once q has been subtracted."""
        q = self.drafting.expansion(model.draft(walk.prefix)).q
        return walk.r if walk.r == q else residual(walk.r, q)


class SharedCoin(Rheo):
    """One uniform is used for the acceptance and, by inverse cdf, for the residual draw."""

    def rejected(self, model: ToyModel, walk: Walk, t: Law, a: Q) -> Law:
        """The law of the residual's inverse cdf at a uniform that is known to be at least a."""
        weights, low = [], ZERO
        for mass in residual(walk.r, t):
            high = low + mass
            weights.append(max(ZERO, high - max(low, a)))
            low = high
        return normalised(weights)


class Bonus(Rheo):
    """The bonus token, emitted at a node without kept children, is drawn from another row than p."""

    def __init__(self, row: Callable[[ToyModel, Prefix], Law]) -> None:
        self.row = row

    def move(self, model: ToyModel, prefix: Prefix, children: tuple[Branch, ...]) -> Walk:
        """Arrive; at a node without children, with the wrong law."""
        return Walk(prefix, model.target(prefix) if children else self.row(model, prefix), children)


def parent_row(model: ToyModel, prefix: Prefix) -> Law:
    """p at the parent."""
    return model.target(prefix[:-1])


def draft_row(model: ToyModel, prefix: Prefix) -> Law:
    """q where the draft has a row, p at the full depth."""
    return model.draft(prefix) if len(prefix) < model.depth else model.target(prefix)


class ResortSiblings(Rrsw):
    """Children are tested in the order of their tokens, so the order depends on X."""

    def order(self, children: tuple[Branch, ...], chance: Chance) -> tuple[Branch, ...]:
        """By token."""
        return tuple(sorted(children, key=lambda child: chance.value(child.token)))


class RatioOnTopK(Rrsw):
    """Deterministic children are tested with min(1, p/q) and residual, as if they had been drawn from q."""

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The ratio test for every child."""
        if not walk.children:
            return self.last_draw(model, walk, (), chance)
        child, rest = walk.children[0], walk.children[1:]
        assert child.law is not None
        x = chance.value(child.token)
        if chance.coin(acceptance(walk.r, child.law, x), ("coin", len(walk.prefix), 1)):
            return self.move(model, (*walk.prefix, x), child.children)
        return Walk(walk.prefix, residual(walk.r, child.law), rest, walk.tested + 1)


class DepthFirstFlow(Flow):
    """Nodes are processed depth first, siblings in slot order."""

    def order(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """By path."""
        return tuple(sorted(nodes, key=lambda node: node.path))


class LayeredFlow(Flow):
    """Nodes are processed layer by layer, in rank order within a layer."""

    def order(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """By depth."""
        return tuple(sorted(nodes, key=lambda node: len(node.path)))


class OneUniform(NamedTuple):
    """A walk whose coins all compare the same uniform, known so far to lie in [low, high)."""

    walk: Walk
    low: Q = ZERO
    high: Q = ONE

    @property
    def progress(self) -> tuple[int, ...]:
        """That of the walk."""
        return self.walk.progress

    def variables(self) -> Iterator[Var]:
        """Those of the walk."""
        return variables_below(self.walk.children)


class SecondToken(Verifying):
    """RheoVerification with one uniform for the coins of all levels: the first token is right, the second is not."""

    def start(self, model: ToyModel, tree: Tree) -> OneUniform:
        """At the root, nothing known of the uniform."""
        return OneUniform(Rheo().start(model, tree))

    def step(self, model: ToyModel, state: Running, chance: Chance) -> Running | Emission:
        """As RheoVerification, with the coin decided by the one uniform."""
        assert isinstance(state, OneUniform)
        walk, low, high = state
        sampled, others = split(walk.children)
        if sampled is None:
            reached = Rheo().at(model, walk, chance)
            return reached if isinstance(reached, Emission) else OneUniform(reached, low, high)
        assert sampled.law is not None
        x = chance.value(sampled.token)
        a = acceptance(walk.r, sampled.law, x)
        cut = min(max(a, low), high)
        if chance.coin((cut - low) / (high - low), ("coin", 0, 1)):
            return OneUniform(Rheo().move(model, (*walk.prefix, x), sampled.children), low, cut)
        r = residual(walk.r, sampled.law)
        return OneUniform(Walk(walk.prefix, r, others, walk.tested + 1), cut, high)
