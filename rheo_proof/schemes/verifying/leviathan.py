"""Chain speculative sampling (Leviathan et al., arXiv 2211.17192; Chen et al., arXiv 2302.01318)."""

from __future__ import annotations

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import residual
from rheo_proof.exact.model import ToyModel, key
from rheo_proof.exact.number import ONE
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.walk import Walk, Walking


class Leviathan(Walking):
    """At u with the drafted token x: Bern(p(x)/q(x)) keeps it; otherwise y ~ norm((p - q)+) ends the step.

    At the end of the chain y ~ p. Raises `InputError` at a node with several children.
    """

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The test of the drafted token."""
        level, p = len(walk.prefix), walk.r
        if not walk.children:
            return Emission(walk.prefix, chance.latent(p, ("token", level, 0), ("y",)))
        if len(walk.children) > 1:
            raise InputError(f"prefix {key(walk.prefix)!r} has {len(walk.children)} drafts, expected one: a chain")
        child = walk.children[0]
        q, x = child.law, chance.value(child.token)
        assert q is not None
        if chance.coin(min(ONE, p[x] / q[x]), ("coin", level, 1)):
            return self.move(model, (*walk.prefix, x), child.children)
        return Emission(walk.prefix, chance.latent(residual(p, q), ("token", level, 0), ("y",)))
