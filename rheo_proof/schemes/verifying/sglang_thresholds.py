"""SGLang's sampling from the target alone, with its two thresholds (sgl-kernel speculative_sampling.cuh, 120affb)."""

from __future__ import annotations

from dataclasses import dataclass

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law, without
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.walk import Walk, Walking


@dataclass(frozen=True)
class SglangThresholds(Walking):
    """At u one uniform z for all children x_1, x_2, .. in stored order, with S_j = p(x_1) + .. + p(x_j).

    The first x_j with z <= S_j / `acc`, or with p(x_j) >= `single`, is moved to; when there is none, y ~ p without
    the children. Lossless for 1 and 1 if siblings are distinct; below 1 tokens outside the tree lose mass.
    """

    acc: Q = ONE
    single: Q = ONE

    def __post_init__(self) -> None:
        for name in ("acc", "single"):
            value = rational(getattr(self, name), name)
            if not ZERO < value <= ONE:
                raise InputError(f"{name} is {value}, expected more than 0 and at most 1")
            object.__setattr__(self, name, value)

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The test of all children with one uniform, or the last draw."""
        if not walk.children:
            return self.last_draw(model, walk, (), chance)
        tokens = tuple(chance.value(child.token) for child in walk.children)
        running, reach, shares = ZERO, ZERO, []
        for x in tokens:
            running += walk.r[x]
            now = ONE if walk.r[x] >= self.single else max(reach, min(ONE, running / self.acc))
            shares.append(now - reach)
            reach = now
        choice = chance.draw(Law([*shares, ONE - reach]), ("coin", len(walk.prefix), 1))
        if choice < len(tokens):
            return self.move(model, (*walk.prefix, tokens[choice]), walk.children[choice].children)
        return Walk(walk.prefix, without(walk.r, tokens), (), walk.tested + 1)
