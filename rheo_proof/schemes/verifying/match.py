"""One-hot verification, as EAGLE-2 and EAGLE-3 do it above temperature 0 (arXiv 2406.16858, 2503.01840)."""

from __future__ import annotations

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.walk import Walk, Walking


class Match(Walking):
    """At u: y ~ p. A y that is a kept child is moved to, any other is emitted."""

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The draw."""
        return self.last_draw(model, walk, walk.children, chance)
