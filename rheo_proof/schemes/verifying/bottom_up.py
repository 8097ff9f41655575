"""A leaf-first rule that was tried as an improvement, and is not lossless: adversarial trees and peaked drafts show it.

The weight of a deterministic child depends on whether the sampled sibling is kept, which may depend on draws inside
that child's subtree. It is right on most random models, which makes it a good test of a battery of models.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rheo_proof.exact.chance import Chance, Var
from rheo_proof.exact.law import normalised
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission, Running
from rheo_proof.schemes.tree import Branch, Tree, branches, variables_below
from rheo_proof.schemes.verifying.walk import Verifying, split


class Frame(NamedTuple):
    """A call VERIFY(u, w) in progress: r = mass left for each token, `left` = probability of having come this far.

    `children` have not been tried yet: the sampled one goes first, then the others in slot order.
    """

    prefix: Prefix
    r: tuple[Q, ...]
    left: Q
    children: tuple[Branch, ...]


class Calls(NamedTuple):
    """The stack of running calls; `clock` counts calls made and calls failed."""

    frames: tuple[Frame, ...]
    clock: int

    @property
    def progress(self) -> tuple[int, ...]:
        """The clock."""
        return (self.clock,)

    def variables(self) -> Iterator[Var]:
        """Latent tokens of children that were not tried yet."""
        for frame in self.frames:
            yield from variables_below(frame.children)


class BottomUp(Verifying):
    """VERIFY(u, w): let the children try first, each with its weight; then succeed at u with what is left."""

    def start(self, model: ToyModel, tree: Tree) -> Calls:
        """VERIFY((), 1)."""
        return Calls((self.call(model, (), ONE, branches(tree.nodes)),), 0)

    def call(self, model: ToyModel, prefix: Prefix, w: Q, children: tuple[Branch, ...]) -> Frame:
        """Open VERIFY(prefix, w)."""
        r = tuple(w * mass for mass in model.target(prefix))
        return Frame(prefix, r, ONE, children)

    def step(self, model: ToyModel, state: Running, chance: Chance) -> Running | Emission:
        """Call the next child, or end this call."""
        assert isinstance(state, Calls)
        frame, below = state.frames[-1], state.frames[:-1]
        sampled, others = split(frame.children)
        if sampled is not None:
            assert sampled.law is not None
            x, t = chance.value(sampled.token), sampled.law
            weight = min(ONE, frame.r[x] / t[x]) if t[x] else ONE
            failed = Frame(
                frame.prefix,
                tuple(mass - t[y] if mass > t[y] else ZERO for y, mass in enumerate(frame.r)),
                ONE - sum((min(t[y], mass) for y, mass in enumerate(frame.r)), ZERO),
                others,
            )
            return self.descend(model, state, failed, x, weight, sampled.children)
        if others:
            child, rest = others[0], others[1:]
            x = chance.value(child.token)
            mass = frame.r[x]
            r = tuple(ZERO if y == x else m for y, m in enumerate(frame.r))
            failed = Frame(frame.prefix, r, frame.left - mass, rest)
            if not mass:
                return Calls((*below, failed), state.clock + 1)
            return self.descend(model, state, failed, x, mass / frame.left, child.children)
        return self.finish(state, chance)

    def descend(
        self, model: ToyModel, state: Calls, failed: Frame, x: int, weight: Q, children: tuple[Branch, ...]
    ) -> Calls:
        """Call VERIFY on a child; `failed` is how this call goes on when the child fails."""
        called = self.call(model, (*failed.prefix, x), weight, children)
        return Calls((*state.frames[:-1], failed, called), state.clock + 1)

    def finish(self, state: Calls, chance: Chance) -> Running | Emission:
        """Succeed with probability sum(r)/left and emit, or fail and hand back to the caller."""
        frame, below = state.frames[-1], state.frames[:-1]
        total = sum(frame.r, ZERO)
        level = len(frame.prefix)
        if not chance.coin(total / frame.left if total else ZERO, ("coin", level, 1)):
            return Calls(below, state.clock + 1)
        return Emission(frame.prefix, chance.latent(normalised(frame.r), ("token", level, 0), ("y",)))
