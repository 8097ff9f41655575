"""ChainVerification, a rule of this project: block verification along each chain of sampled children.

Weight is carried down sampled children only; a deterministic child is entered with weight 1. The rule needs neither the
order of insertion nor anything off the path that it walks.
"""

from __future__ import annotations

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.law import normalised
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission, Running
from rheo_proof.schemes.tree import Branch, Tree, branches
from rheo_proof.schemes.verifying.bottom_up import Calls, Frame
from rheo_proof.schemes.verifying.walk import Verifying, split


class ChainVerification(Verifying):
    """VERIFY(u, w): the sampled child Y, if kept, tries first, with weight min(1, w p(Y)/t(Y)).

    If it fails, r = (w p - t)+ and left = 1 - sum_y min(t(y), w p(y)); without one, r = w p and left = 1. VERIFY fails
    with probability 1 - sum(r)/left. Otherwise y ~ norm(r): a kept deterministic child is entered by VERIFY(uy, 1), any
    other y is emitted.
    """

    def start(self, model: ToyModel, tree: Tree) -> Calls:
        """VERIFY((), 1)."""
        return Calls((self.call(model, (), ONE, branches(tree.nodes)),), 0)

    def call(self, model: ToyModel, prefix: Prefix, w: Q, children: tuple[Branch, ...]) -> Frame:
        """Open VERIFY(prefix, w)."""
        return Frame(prefix, tuple(w * mass for mass in model.target(prefix)), ONE, children)

    def step(self, model: ToyModel, state: Running, chance: Chance) -> Running | Emission:
        """Call the sampled child, or end this call."""
        assert isinstance(state, Calls)
        call, below = state.frames[-1], state.frames[:-1]
        sampled, others = split(call.children)
        if sampled is None:
            return self.end(model, state, chance)
        assert sampled.law is not None
        x, t = chance.value(sampled.token), sampled.law
        failed = Frame(
            call.prefix,
            tuple(max(ZERO, mass - d) for mass, d in zip(call.r, t, strict=True)),
            ONE - sum((min(mass, d) for mass, d in zip(call.r, t, strict=True)), ZERO),
            others,
        )
        called = self.call(model, (*call.prefix, x), min(ONE, call.r[x] / t[x]) if t[x] else ONE, sampled.children)
        return Calls((*below, failed, called), state.clock + 1)

    def end(self, model: ToyModel, state: Calls, chance: Chance) -> Running | Emission:
        """Fail back to the caller, or draw y; where y is a child nothing above is needed any more."""
        call, below = state.frames[-1], state.frames[:-1]
        level, total = len(call.prefix), sum(call.r, ZERO)
        if not chance.coin(total / call.left if total else ZERO, ("coin", level, 1)):
            return Calls(below, state.clock + 1)
        y = chance.latent(normalised(call.r), ("token", level, 0), ("y",))
        hit = chance.find(y, [chance.value(child.token) for child in call.children])
        if hit is None:
            return Emission(call.prefix, y)
        child = next(child for child in call.children if chance.value(child.token) == hit)
        return Calls((self.call(model, (*call.prefix, hit), ONE, child.children),), state.clock + 1)
