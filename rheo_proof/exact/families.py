"""Families of toy models: each law is a function of (family, seed, prefix) alone, whatever is asked first.

Small integer weights keep the fractions readable; what sets the families apart is where a wrong rule would show:
equal values, zeros, a draft that is close to the target, far from it, or never right.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law, normalised, point
from rheo_proof.exact.model import Prefix, ToyModel, key
from rheo_proof.exact.number import Q

Pair: TypeAlias = tuple[Law, Law]
Family: TypeAlias = Callable[[random.Random, int, Prefix], Pair]
"""Target and draft law of one prefix, from a generator that is fresh for that prefix."""


def _law(weights: Sequence[int]) -> Law:
    return normalised([Q(w) for w in weights])


def _weights(rng: random.Random, vocab: int, low: int, high: int) -> list[int]:
    """Integer weights in low..high, not all zero."""
    weights = [rng.randint(low, high) for _ in range(vocab)]
    if not any(weights):
        weights[rng.randrange(vocab)] = 1
    return weights


def random_pair(rng: random.Random, vocab: int) -> Pair:
    """Independent weights from 1 to 6."""
    return _law(_weights(rng, vocab, 1, 6)), _law(_weights(rng, vocab, 1, 6))


def near_pair(rng: random.Random, vocab: int) -> Pair:
    """The draft's weights differ from the target's by at most 1."""
    weights = _weights(rng, vocab, 2, 9)
    return _law(weights), _law([w + rng.randint(-1, 1) for w in weights])


def peaked_pair(rng: random.Random, vocab: int) -> Pair:
    """A draft with one spike on an otherwise flat row; an arbitrary target with zeros."""
    spike = rng.randrange(vocab)
    flat = [1] * vocab
    flat[spike] = rng.choice([1, 2, 4, 8])
    return _law(_weights(rng, vocab, 0, 6)), _law(flat)


def uniform_pair(rng: random.Random, vocab: int) -> Pair:
    """A uniform draft, so that only the tie rule orders its tokens; an arbitrary target."""
    return _law(_weights(rng, vocab, 1, 6)), _law([1] * vocab)


def ties_pair(rng: random.Random, vocab: int) -> Pair:
    """Dyadic weights 1, 2 and 4 on both sides: many equal values and equal products."""

    def law() -> Law:
        return _law([rng.choice([1, 2, 2, 4]) for _ in range(vocab)])

    return law(), law()


def zeros_pair(rng: random.Random, vocab: int) -> Pair:
    """About half of the entries are zero, on both sides independently."""

    def law() -> Law:
        keep = rng.randrange(vocab)
        return _law([w if rng.randrange(2) or x == keep else 0 for x, w in enumerate(_weights(rng, vocab, 1, 4))])

    return law(), law()


def disjoint_pair(rng: random.Random, vocab: int) -> Pair:
    """Target and draft have no token in common (for one token they coincide)."""
    if vocab == 1:
        return point(0, 1), point(0, 1)
    tokens = list(range(vocab))
    rng.shuffle(tokens)
    cut = rng.randint(1, vocab - 1)

    def law(side: list[int]) -> Law:
        return _law([w if x in side else 0 for x, w in enumerate(_weights(rng, vocab, 1, 4))])

    return law(tokens[:cut]), law(tokens[cut:])


def identical_pair(rng: random.Random, vocab: int) -> Pair:
    """The draft is the target."""
    law = _law(_weights(rng, vocab, 0, 5))
    return law, law


def onehot_pair(rng: random.Random, vocab: int) -> Pair:
    """The draft is certain of one token; the target is certain in half of the prefixes."""
    target = point(rng.randrange(vocab), vocab) if rng.randrange(2) else _law(_weights(rng, vocab, 0, 4))
    return target, point(rng.randrange(vocab), vocab)


def swing_pair(rng: random.Random, vocab: int, prefix: Prefix) -> Pair:
    """What survives of the first level hangs on draws below its best token.

    The root is steep, so the sampled slot of the root ranks low; the second level is flat, so it has several nodes of
    middle rank; below them the draft is peaked after a token of the lower half and flat after one of the upper half,
    so their children fill the budget or do not. Rules that look at the survivors of one level while they weigh draws of
    another are right on nearly every other model and wrong here.
    """
    if not prefix:
        spike = rng.choice([24, 32])
    elif len(prefix) == 1:
        spike = 2
    else:
        spike = 4 if 2 * prefix[-1] < vocab else 1
    weights = [1] * vocab
    weights[rng.randrange((vocab + 1) // 2)] = spike
    return _law(_weights(rng, vocab, 1, 6)), _law(weights)


def _everywhere(make: Callable[[random.Random, int], Pair]) -> Family:
    """A family that treats all prefixes alike."""
    return lambda rng, vocab, prefix: make(rng, vocab)


FAMILIES: dict[str, Family] = {
    "random": _everywhere(random_pair),
    "near": _everywhere(near_pair),
    "peaked": _everywhere(peaked_pair),
    "swing": swing_pair,
    "uniform": _everywhere(uniform_pair),
    "ties": _everywhere(ties_pair),
    "zeros": _everywhere(zeros_pair),
    "disjoint": _everywhere(disjoint_pair),
    "identical": _everywhere(identical_pair),
    "onehot": _everywhere(onehot_pair),
}


def family_model(family: str, seed: int, vocab: int, depth: int, order: int = 0) -> ToyModel:
    """One model of a family. With `order` 1 its laws depend on the last token only.

    Raises `InputError` for an unknown family.

    >>> family_model("uniform", 0, 3, 1).draft(())
    Law(1/3, 1/3, 1/3)
    """
    if family not in FAMILIES:
        raise InputError(f"unknown family {family!r}; known are {', '.join(FAMILIES)}")
    make = FAMILIES[family]
    pairs: dict[Prefix, Pair] = {}

    def pair(prefix: Prefix) -> Pair:
        short = prefix[-order:] if order else prefix
        if short not in pairs:
            pairs[short] = make(random.Random(f"{family}/{seed}/{vocab}/{key(short)}"), vocab, short)
        return pairs[short]

    return ToyModel(vocab, depth, lambda u: pair(u)[0], lambda u: pair(u)[1], f"{family} {seed}")


def dyadic_model(seed: int, vocab: int, depth: int, parts: int = 16) -> ToyModel:
    """A model whose probabilities are multiples of 1/parts, zeros and ties included: for `parts` a power of two a
    decoder in floating point sees the same numbers.

    >>> dyadic_model(0, 3, 1).draft(()).mass((0, 1, 2)) == 1
    True
    """

    def law(side: str, prefix: Prefix) -> Law:
        rng = random.Random(f"dyadic/{side}/{seed}/{vocab}/{key(prefix)}")
        weights = [0] * vocab
        for _ in range(parts // 2):
            weights[rng.randrange(vocab)] += 2
        return Law(Q(w, parts) for w in weights)

    return ToyModel(vocab, depth, lambda u: law("p", u), lambda u: law("q", u), f"dyadic {seed}")
