"""Static mixing: drafts are verified against a mixture of target and draft, to accept more of them; lossy."""

from __future__ import annotations

from dataclasses import dataclass

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.schemes.verifying.walk import Walk


@dataclass(frozen=True)
class StaticMixing(Rrs):
    """Recursive rejection against (1 - w) p + w q, with q the law of the first draft at u; on a chain, one test.

    At a node without drafts y ~ p. With w = 0 lossless, with w = 1 on a chain every draft is accepted. On a chain the
    first token is off by exactly w TV(p, q).
    """

    w: Q

    def __post_init__(self) -> None:
        w = rational(self.w, "w")
        if not ZERO <= w <= ONE:
            raise InputError(f"w is {w}, expected a weight from 0 to 1")
        object.__setattr__(self, "w", w)

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """As recursive rejection, with the mixture for p at the first test."""
        if walk.tested == 0 and walk.children:
            q = walk.children[0].law
            assert q is not None
            walk = walk._replace(r=Law((ONE - self.w) * a + self.w * b for a, b in zip(walk.r, q, strict=True)))
        return super().at(model, walk, chance)
