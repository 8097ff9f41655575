"""Verification with weights, from the leaves up: the general form of rules that carry acceptance weight.

VERIFY(u, w) fails, or returns a string that extends u; it succeeds with probability w, and then what follows u has the
target's law. A rule of this kind says with which masses C(t, y) the children are to succeed, t being the list of them.
Any masses will do that are feasible for the scaled target w p (`masses.py`). Instances: block verification (arXiv
2403.10444), Traversal Verification (2505.12398), optimal transport with scaled targets (2605.04543).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from rheo_proof.exact.chance import Chance, Var
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission, Running
from rheo_proof.schemes.tree import Branch, Tree, branches, variables_below
from rheo_proof.schemes.verifying.masses import Masses, Plans, TupleLaw, Tuples
from rheo_proof.schemes.verifying.walk import Verifying


class Call(NamedTuple):
    """A running VERIFY(u, w): children not tried yet, their `weights` once they are known, and how it ends.

    When all children have failed it succeeds at u with probability `end`, emitting y ~ `law`.
    """

    prefix: Prefix
    w: Q
    children: tuple[Branch, ...]
    weights: tuple[Q, ...] | None = None
    end: Q = ZERO
    law: Law | None = None


class Calls(NamedTuple):
    """The stack of running calls; `clock` counts what has been done."""

    stack: tuple[Call, ...]
    clock: int

    @property
    def progress(self) -> tuple[int, ...]:
        """The clock."""
        return (self.clock,)

    def variables(self) -> Iterator[Var]:
        """Latent tokens of children that were not tried yet."""
        for call in self.stack:
            yield from variables_below(call.children)


class Weighted(Verifying):
    """VERIFY((), 1): the children try first, in their order, each with its weight; then u, with what is left of w p.

    Child y of the tuple t has weight C(t, y) / (D(t) - masses of the children before it), which makes its success have
    probability C(t, y) / D(t). A repeated token is one child. `tuples` is the law of the children.
    """

    def __init__(self, tuples: TupleLaw) -> None:
        self.plans = Plans(tuples, self.masses)

    @abstractmethod
    def masses(self, scaled: tuple[Q, ...], tuples: Tuples) -> Masses:
        """C for the scaled target w p and the law D."""

    def order(self, children: tuple[Branch, ...]) -> tuple[Branch, ...]:
        """The order in which children try; it must not depend on their tokens."""
        return children

    def start(self, model: ToyModel, tree: Tree) -> Calls:
        """VERIFY((), 1)."""
        return Calls((Call((), ONE, branches(tree.nodes)),), 0)

    def step(self, model: ToyModel, state: Running, chance: Chance) -> Running | Emission:
        """Find the weights of a call, call a child, or end the call."""
        assert isinstance(state, Calls)
        call, below = state.stack[-1], state.stack[:-1]
        level = len(call.prefix)
        if call.weights is None:
            return Calls((*below, self.weigh(model, call, chance)), state.clock + 1)
        if call.weights:
            child, weight = call.children[0], call.weights[0]
            waiting = call._replace(children=call.children[1:], weights=call.weights[1:])
            called = Call((*call.prefix, chance.value(child.token)), weight, child.children)
            return Calls((*below, waiting, called), state.clock + 1)
        if chance.coin(call.end, ("coin", level, 1)):
            assert call.law is not None
            return Emission(call.prefix, chance.latent(call.law, ("token", level, 0), ("y",)))
        return Calls(below, state.clock + 1)

    def weigh(self, model: ToyModel, call: Call, chance: Chance) -> Call:
        """The weights of the children of a call, those of weight 0 left out."""
        p = model.target(call.prefix)
        if not call.children:
            return call._replace(weights=(), end=call.w, law=p)
        t = tuple(chance.value(child.token) for child in call.children)
        shares, rest = self.plans.shares(tuple(call.w * mass for mass in p), model.draft(call.prefix), t)
        left, tried, weights = ONE, [], []
        for child in self.order(call.children):
            share = shares.pop(chance.value(child.token), ZERO)
            if share:
                tried.append(child)
                weights.append(share / left)
                left -= share
        total = sum(rest, ZERO)
        law = normalised(rest) if total else None
        end = total / (ONE - call.w + total) if total else ZERO
        return Call(call.prefix, call.w, tuple(tried), tuple(weights), end, law)
