"""Relaxed acceptance: a draft that the target nearly prefers is good enough (NVIDIA/TensorRT-LLM, MTP decoding)."""

from __future__ import annotations

from dataclasses import dataclass

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.walk import Walk, Walking


@dataclass(frozen=True)
class Relaxed(Walking):
    """At u: the first drafted token among the `top` best tokens of p, and within `delta` of the best, is moved to.

    When there is none, the best token of p is emitted. Nothing is random here; with `top` 1 this is greedy decoding.
    The source drafts chains and applies it to the thinking of a model; here it is applied everywhere.
    """

    top: int
    delta: Q

    def __post_init__(self) -> None:
        delta = rational(self.delta, "delta")
        if self.top < 1 or not ZERO <= delta <= ONE:
            raise InputError(f"top is {self.top} and delta {delta}, expected top of at least 1 and delta from 0 to 1")
        object.__setattr__(self, "delta", delta)

    def candidates(self, p: Law) -> tuple[int, ...]:
        """The tokens that are good enough, best first.

        >>> Relaxed(2, ONE / 5).candidates(Law.read(["1/5", "3/10", "1/2"]))
        (2, 1)
        """
        best = sorted(range(len(p)), key=lambda x: (-p[x], x))[: self.top]
        return tuple(x for x in best if p[x] >= p[best[0]] - self.delta)

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The choice."""
        good = self.candidates(walk.r)
        for child in walk.children:
            x = chance.value(child.token)
            if x in good:
                return self.move(model, (*walk.prefix, x), child.children)
        return Emission(walk.prefix, good[0])
