"""The policy that exposes a rule: on the model where it was refuted, or at the smallest sizes that do it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import to_fraction
from rheo_proof.theorems.adversary import Adversary
from rheo_proof.theorems.counterexample import denominator, sizes
from rheo_proof.theorems.induction import bounds
from rheo_proof.theorems.strategy import Strategy, attaining, checked, lines

SEEDS = 2
"""Seeds of each family that are tried at each size."""


@dataclass(frozen=True)
class Exposed:
    """A policy under which the output starts with `string` with probability `actual`, which is not `expected`.

    `upper`: it attains the largest probability of all policies, otherwise the smallest. `text` is the strategy in
    words, `tv` the exact distance of the completed output under it from the target. `gap` is `Bounds.gap`.
    """

    adversary: Adversary
    model: ToyModel
    string: Prefix
    upper: bool
    expected: Fraction
    actual: Fraction
    tv: Fraction
    strategy: Strategy
    text: tuple[str, ...]
    states: int


def exposed(
    adversary: Adversary, model: ToyModel, limits: Limits | None = None, most: int | None = None
) -> Exposed | None:
    """The policy that moves the probability of a string the most; of the strings moved the shortest. None if none is.

    It is run forward by replay. Raises `SoundnessError` unless induction on all strings together, induction on this one
    and replay find the same probability.

    >>> from rheo_proof.schemes.scheme import Parameters
    >>> adversary = Adversary("rrsw", Parameters(slots=2, depth=1, nodes=2), (1,))
    >>> found = exposed(adversary, family_model("random", 0, 3, 1))
    >>> found.string, found.expected, found.actual
    ((0,), Fraction(5, 11), Fraction(28, 55))
    """
    limits = limits or Limits()
    policies = adversary.policies(model)
    found = bounds(policies, limits, most, shorter=True)
    if found.lossless:
        return None
    v, upper, actual, expected = found.worst()
    strategy = attaining(policies, v, upper, limits)
    if to_fraction(strategy.value) != actual:
        raise SoundnessError(f"induction on {v} finds {strategy.value}, on all strings {actual}")
    law = checked(policies, strategy, v, limits)
    return Exposed(
        adversary,
        model,
        v,
        upper,
        expected,
        actual,
        law.total_variation(model),
        strategy,
        tuple(lines(policies, strategy)),
        found.states,
    )


def smallest(
    adversaries: Sequence[Adversary],
    vocab: int,
    model: ToyModel | None = None,
    limits: Limits | None = None,
    most: int | None = None,
    told: Callable[[tuple[int, int, int, int]], None] | None = None,
) -> Exposed | None:
    """The policy at the smallest sizes (V, D, K, N), in this order, that expose a rule; None if there are none.

    The adversaries differ in m only. Models are those of the families, or `model` alone with its V; at the first size
    the one with the smallest denominators is taken. `told` hears of each size. Raises `LimitReached`.
    """
    limits = limits or Limits()
    for v, depth, slots, nodes in sizes(vocab, adversaries[0].parameters):
        if model is not None and v != model.vocab:
            continue
        if told is not None:
            told((v, depth, slots, nodes))
        families = product(range(SEEDS), FAMILIES)
        pool = [model] if model is not None else [family_model(family, seed, v, depth) for seed, family in families]
        smaller = [found for each in adversaries if (found := each.smaller(depth, slots, nodes)) is not None]
        bad = [
            (adversary, each)
            for adversary, each in product(dict.fromkeys(smaller), pool)
            if not bounds(adversary.policies(each), limits, most).lossless
        ]
        if bad:
            adversary, simplest = min(bad, key=lambda pair: difficulty(pair[1]))
            return exposed(adversary, simplest, limits, most)
    return None


def difficulty(model: ToyModel) -> tuple[int, int]:
    """Largest denominator of a law, and the sum of all denominators."""
    laws: list[Law] = [model.target(u) for u in model.reachable()]
    laws += [model.draft(u) for u in model.reachable() if len(u) < model.depth]
    found = [denominator(law) for law in laws]
    return max(found), sum(found)
