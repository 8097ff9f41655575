"""Hierarchical speculative decoding of a chain (arXiv 2601.05724), naive and capped, from joint probability ratios.

R_t = P(x_{1:t}) / Q(x_{1:t}). The capped rule is the paper's algorithm; term by term it is block verification.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.block import chain
from rheo_proof.schemes.verifying.seen import Seeing, Seen


class Joint(NamedTuple):
    """A prefix of the drafted chain: its probabilities under the target and under the draft."""

    target: Q
    draft: Q

    @property
    def ratio(self) -> Q:
        """R."""
        return self.target / self.draft


def joints(model: ToyModel, x: Prefix, q: Sequence[Law]) -> list[Joint]:
    """P and Q of all prefixes of x."""
    made = [Joint(ONE, ONE)]
    for i, token in enumerate(x):
        made.append(Joint(made[i].target * model.target(x[:i])[token], made[i].draft * q[i][token]))
    return made


def positive(a: Sequence[Q], b: Sequence[Q]) -> list[Q]:
    """(a - b)+."""
    return [max(ZERO, one - other) for one, other in zip(a, b, strict=True)]


class CappedHsd(Seeing):
    """The largest t whose coin Bern(h_t) is true is kept, and y ~ norm((w_t p - q)+), or y ~ p at t = L.

    h_L = min(1, R_L / max(1, R_1, ..., R_{L-1})) and h_t = D(p, q) / D(q, p), where w_t = R_t / max(R_0, ..., R_t),
    D(p, q) = Q(x_{1:t}) sum_y (w_t p(y) - q(y))+ and D(q, p) = Q(x_{1:t}) (1 - w_t) + D(p, q).
    """

    def final(self, ratios: Sequence[Q]) -> Q:
        """The probability of keeping the whole chain, from R_0, ..., R_L."""
        return min(ONE, ratios[-1] / max(ONE, *ratios[:-1]))

    def verify(self, model: ToyModel, children: tuple[Seen, ...], chance: Chance) -> Emission:
        """All coins, from the last one."""
        x, q = chain(children)
        made = joints(model, x, q)
        if chance.coin(self.final([joint.ratio for joint in made]), ("coin", len(x), 1)):
            return self.emit(x, model.target(x), chance)
        for t in reversed(range(len(x))):
            w = made[t].ratio / max(joint.ratio for joint in made[: t + 1])
            s = positive([w * mass for mass in model.target(x[:t])], q[t].probs)
            up = made[t].draft * sum(s, ZERO)
            down = made[t].draft * (ONE - w) + up
            if not t or chance.coin(up / down if down else ONE, ("coin", t, 1)):
                break
        return self.emit(x[:t], normalised(s), chance)

    def emit(self, prefix: Prefix, law: Law, chance: Chance) -> Emission:
        """One more token."""
        return Emission(prefix, chance.latent(law, ("token", len(prefix), 0), ("y",)))


class NaiveHsd(Seeing):
    """Keep the whole chain with probability min(1, R_L), else a part of it, and redraw the rest from the residual.

    The part is z = x_{1:t}, t the largest number below L whose coin Bern(U / max(U, D)) is true, with
    U = sum_y (P(zy) - Q(zy))+ and D = sum_y (Q(zy) - P(zy))+. Then z is prolonged by draws from norm((P(zy) - Q(zy))+)
    until it has L tokens, and no extra token follows. This asks for target laws off the drafted chain.
    """

    def verify(self, model: ToyModel, children: tuple[Seen, ...], chance: Chance) -> Emission:
        """The coins, then the missing tokens."""
        x, q = chain(children)
        made = joints(model, x, q)
        if chance.coin(min(ONE, made[-1].ratio), ("coin", len(x), 1)):
            return Emission(x, chance.latent(model.target(x), ("token", len(x), 0), ("y",)))
        for t in reversed(range(len(x))):
            p_zy, q_zy = scaled(made[t].target, model.target(x[:t])), scaled(made[t].draft, q[t])
            up, down = sum(positive(p_zy, q_zy), ZERO), sum(positive(q_zy, p_zy), ZERO)
            if chance.coin(up / max(up, down) if up or down else ONE, ("coin", t, 1)):
                break
        return self.redraw(model, x[:t], made[t], len(x), chance)

    def redraw(self, model: ToyModel, z: Prefix, joint: Joint, length: int, chance: Chance) -> Emission:
        """Prolong z to the full length."""
        while True:
            p, q = model.target(z), model.draft(z)
            law = normalised(positive(scaled(joint.target, p), scaled(joint.draft, q)))
            if len(z) + 1 == length:
                return Emission(z, chance.latent(law, ("token", len(z), 0), ("y",)))
            y = chance.draw(law, ("token", len(z), 0))
            z, joint = (*z, y), Joint(joint.target * p[y], joint.draft * q[y])


def scaled(factor: Q, law: Law) -> list[Q]:
    """factor * law."""
    return [factor * mass for mass in law]
