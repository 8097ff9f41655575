"""Random toy models and parameters, small enough for every enumerator, for property tests.

A model draws its laws from small pools, so that zeros, ties, one-hot laws and p = q are common and failures shrink to
readable fractions; which law of a pool a prefix has is a function of the prefix and of one seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from hypothesis import strategies as st

from rheo_proof.exact.law import Law, normalised, point
from rheo_proof.exact.model import LawSource, Prefix, ToyModel, key
from rheo_proof.exact.number import Q, rational, to_fraction
from rheo_proof.schemes.scheme import RULES, Parameters

LOSSLESS_RULES = ("rheo", "flow", "match")
"""Lossless for all parameters; `rrsw` is lossless for the paper's proxy, `bottom-up` is not."""

SCALES = tuple(rational(scale) for scale in ("1", "2/3", "1/2", "1/5"))


@dataclass(frozen=True, repr=False)
class Instance:
    """A model, and parameters that fit it."""

    model: ToyModel
    parameters: Parameters

    def __repr__(self) -> str:
        return f"Instance({json.dumps(self.parameters.as_json())}, {json.dumps(written(self.model), default=str)})"


def laws(vocab: int) -> st.SearchStrategy[Law]:
    """Small weights: arbitrary ones, with zeros, with ties, with spikes; uniform and one-hot laws among them."""

    def rows(*weights: int) -> st.SearchStrategy[list[int]]:
        return st.lists(st.sampled_from(weights), min_size=vocab, max_size=vocab)

    tied, steep, free = rows(1, 2, 4), rows(1, 8), rows(1, 2, 3, 4, 5, 6)
    zeros = rows(0, 1, 2, 3).filter(any)
    weighted = st.one_of(free, zeros, tied, steep).map(lambda row: normalised([Q(weight) for weight in row]))
    return weighted | st.integers(0, vocab - 1).map(lambda token: point(token, vocab))


@st.composite
def models(draw: st.DrawFn, vocab: int, depth: int) -> ToyModel:
    """Target and draft laws from pools of at most four; a target law may be a draft law."""
    drafts = draw(st.lists(laws(vocab), min_size=2, max_size=4))
    targets = draw(st.lists(laws(vocab) | st.sampled_from(drafts), min_size=2, max_size=4))
    seed = draw(st.integers(0, 1 << 16))

    def source(side: str, pool: list[Law]) -> LawSource:
        return lambda prefix: random.Random(f"{side}/{seed}/{key(prefix)}").choice(pool)

    return ToyModel(vocab, depth, source("target", targets), source("draft", drafts), f"pools {seed}")


@st.composite
def instances(draw: st.DrawFn, drafts: int = 100) -> Instance:
    """V from 1 to 4, D from 1 to 3, every parameter. A draft of every instance has at most `drafts` outcomes."""
    vocab, depth = draw(st.sampled_from([2, 3, 4, 3, 4, 1])), draw(st.sampled_from([1, 2, 3, 2, 3]))
    slots = draw(st.sampled_from([2, 3, 2, 3, 4, 1]))
    parameters = Parameters(
        slots=slots,
        head=draw(st.sampled_from([*range(min(slots, 2)), *range(min(slots, 3)), slots])),
        depth=depth,
        beam=draw(st.sampled_from([None, 2, 1, 3, 2])),
        nodes=draw(st.sampled_from([3, 4, 5, 1, 2, 6, 8])),
        sparse=draw(st.sampled_from([None, None, None, 3, 2, 1])),
        proxy=draw(st.sampled_from(["paper", "tail"])),
        proxy_scale=draw(st.sampled_from(SCALES)),
        fill_scale=draw(st.sampled_from(SCALES)),
        verify=draw(st.sampled_from(list(RULES))),
    )
    deeper = draw(st.sampled_from([0, 0, 1])) if depth < 3 else 0
    return Instance(draw(models(vocab, depth + deeper)), affordable(parameters, vocab, drafts))


def affordable(parameters: Parameters, vocab: int, drafts: int) -> Parameters:
    """The same parameters with a beam, then a depth, that is low enough."""
    beam = min(parameters.beam or parameters.slots, parameters.slots * vocab)
    while vocab ** draws(replace(parameters, beam=beam), vocab) > drafts:
        if beam > 1:
            beam -= 1
        elif parameters.depth > 1:
            parameters = replace(parameters, depth=parameters.depth - 1)
        else:
            break
    return replace(parameters, beam=parameters.beam if beam == (parameters.beam or parameters.slots) else beam)


def draws(parameters: Parameters, vocab: int) -> int:
    """An upper bound for the number of sampled slots that are drafted."""
    if parameters.head == parameters.slots:
        return 0
    parents, total = 1, 0
    for _ in range(parameters.depth):
        total += parents
        parents = min(parameters.beam or parameters.slots, parents * min(parameters.slots, vocab))
    return total


def prefixes(vocab: int, depth: int) -> Iterator[Prefix]:
    """All of them, reachable or not, shorter ones first."""
    for length in range(depth + 1):
        yield from product(range(vocab), repeat=length)


def written(model: ToyModel) -> dict[str, Any]:
    """The model as the oracle reads it, with the laws of unreachable prefixes as well."""
    return {
        "vocab": model.vocab,
        "depth": model.depth,
        "target": {key(u): fractions(model.target(u)) for u in prefixes(model.vocab, model.depth)},
        "draft": {key(u): fractions(model.draft(u)) for u in prefixes(model.vocab, model.depth - 1)},
    }


def fractions(law: Law) -> list[Fraction]:
    return [to_fraction(mass) for mass in law]
