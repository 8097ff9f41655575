"""What a step law becomes once it is completed with target samples, by brute force over all strings.

Written from the specification; works on models and laws as `oracle.py` has them, and shares no code with `rheo_proof`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from tests.oracle import Prefix, read_law

ZERO, ONE = Fraction(0), Fraction(1)


def filled(model: Mapping[str, Any]) -> dict[str, Any]:
    """The model with some law at every prefix; those that are added are at prefixes that nothing reaches.

    >>> sorted(filled({"vocab": 2, "depth": 1, "target": {"": [1, 0], "0": [1, 0]}, "draft": {"": [1, 0]}})["target"])
    ['', '0', '1']
    """
    vocab, depth = model["vocab"], model["depth"]
    prefixes = [",".join(map(str, u)) for n in range(depth + 1) for u in product(range(vocab), repeat=n)]
    filler = {u: ["1"] + ["0"] * (vocab - 1) for u in prefixes}
    return {**model, "target": filler | model["target"], "draft": filler | model["draft"]}


def target_probability(model: Mapping[str, Any], string: Prefix) -> Fraction:
    """The product of the target's probabilities along a string."""
    chance = ONE
    for length, token in enumerate(string):
        chance *= read_law(model, "target", string[:length])[token]
    return chance


def completed(model: Mapping[str, Any], law: Mapping[Prefix, Fraction], string: Prefix) -> Fraction:
    """The probability that the emitted string, completed with target samples, starts with `string`."""
    chance = ZERO
    for emitted, mass in law.items():
        if emitted[: len(string)] == string:
            chance += mass
        elif string[: len(emitted)] == emitted:
            rest = ONE
            for length in range(len(emitted), len(string)):
                rest *= read_law(model, "target", string[:length])[string[length]]
            chance += mass * rest
    return chance


def first_wrong(model: Mapping[str, Any], law: Mapping[Prefix, Fraction]) -> tuple[Prefix, Fraction, Fraction] | None:
    """The first string, shorter ones first, whose probability is not the target's: it, the target's, and the actual.

    >>> half = ["1/2", "1/2"]
    >>> model = {"vocab": 2, "depth": 1, "target": {"": half, "0": half, "1": half}, "draft": {"": half}}
    >>> first_wrong(model, {(0,): Fraction(1, 3), (1,): Fraction(2, 3)})
    ((0,), Fraction(1, 2), Fraction(1, 3))
    """
    for length in range(1, max(map(len, law)) + 1):
        for string in product(range(model["vocab"]), repeat=length):
            expected, actual = target_probability(model, string), completed(model, law, string)
            if expected != actual:
                return string, expected, actual
    return None
