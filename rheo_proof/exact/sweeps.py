"""Models that one number turns: a temperature, or how much noise there is in the draft. Rational all the way.

At every prefix a target and a draft of integer weights are fixed by the seed alone, whatever the number is.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import Prefix, ToyModel, key
from rheo_proof.exact.number import ONE, ZERO, Q, rational


def _weights(rng: random.Random, vocab: int) -> tuple[list[int], list[int]]:
    """Target weights from 1 to 6, draft weights that differ from them by at most 2."""
    target = [rng.randint(1, 6) for _ in range(vocab)]
    return target, [max(1, w + rng.randint(-2, 2)) for w in target]


def tempered_model(vocab: int, depth: int, exponent: int, seed: int) -> ToyModel:
    """p and q proportional to the `exponent`-th power of integer weights: temperature 1/exponent, in rationals.

    Exponent 0 makes both uniform. Draft weights differ from target weights, which are 1 to 6, by at most 2.

    >>> [str(tempered_model(2, 1, e, 0).target(())) for e in (0, 1, 2)]
    ['Law(1/2, 1/2)', 'Law(3/4, 1/4)', 'Law(9/10, 1/10)']
    """
    if exponent < 0:
        raise InputError(f"the exponent is {exponent}, expected at least 0")

    @cache
    def pair(u: Prefix) -> tuple[Law, Law]:
        target, draft = _weights(random.Random(f"temperature/{seed}/{vocab}/{key(u)}"), vocab)
        return normalised([Q(w**exponent) for w in target]), normalised([Q(w**exponent) for w in draft])

    return _model(vocab, depth, pair, f"temperature 1/{exponent} {seed}")


def noisy_model(vocab: int, depth: int, share: Q, seed: int) -> ToyModel:
    """q = (1 - share) p + share r, where p and r have independent weights from 1 to 6: share 0 is a perfect draft.

    >>> noisy_model(3, 1, ZERO, 0).draft(()) == noisy_model(3, 1, ONE, 0).target(())
    True
    """
    if not ZERO <= rational(share, "the share of noise") <= ONE:
        raise InputError(f"the share of noise is {share}, expected 0 to 1")

    @cache
    def pair(u: Prefix) -> tuple[Law, Law]:
        rng = random.Random(f"noise/{seed}/{vocab}/{key(u)}")
        p, r = (normalised([Q(rng.randint(1, 6)) for _ in range(vocab)]) for _ in range(2))
        return p, Law((ONE - share) * a + share * b for a, b in zip(p, r, strict=True))

    return _model(vocab, depth, pair, f"noise {share} {seed}")


def _model(vocab: int, depth: int, pair: Callable[[Prefix], tuple[Law, Law]], name: str) -> ToyModel:
    return ToyModel(vocab, depth, lambda u: pair(u)[0], lambda u: pair(u)[1], name)
