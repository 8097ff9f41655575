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
from functools import cache
from itertools import product
from typing import Any

from hypothesis import strategies as st

from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import LawSource, Prefix, ToyModel, key
from rheo_proof.exact.number import Q, rational, to_fraction
from rheo_proof.schemes.scheme import RULES, Parameters

LOSSLESS_RULES = ("rheo", "flow", "match")
"""Lossless for all parameters; `rrsw` is lossless for the paper's proxy, `bottom-up` is not."""

SCALES = tuple(rational(scale) for scale in ("1", "2/3", "1/2", "1/5"))
SEEDS = st.integers(0, 1 << 16)


@dataclass(frozen=True, repr=False)
class Instance:
    """A model, and parameters that fit it."""

    model: ToyModel
    parameters: Parameters

    def __repr__(self) -> str:
        return f"Instance({json.dumps(self.parameters.as_json())}, {json.dumps(written(self.model), default=str)})"


@cache
def laws(vocab: int) -> st.SearchStrategy[Law]:
    """Small weights: one-hot, arbitrary ones, with ties, with zeros, with spikes; the uniform law first."""

    def rows(*weights: int) -> list[tuple[int, ...]]:
        return list(product(weights, repeat=vocab))

    one_hot = [tuple(int(x == token) for x in range(vocab)) for token in range(vocab)]
    weights = rows(1, 2, 3) + 4 * one_hot + rows(0, 1, 2, 3)[1:] + 3 * rows(1, 8) + 2 * rows(3, 2, 1)
    return st.sampled_from([normalised([Q(weight) for weight in row]) for row in weights])


@st.composite
def models(draw: st.DrawFn, vocab: int, depth: int) -> ToyModel:
    """Some from pools of at most four laws, some from the families of the package."""
    kind = draw(st.sampled_from(["pools", *FAMILIES, "pools", "random", "swing"]))
    seed = draw(SEEDS)
    if kind != "pools":
        return family_model(kind, seed, vocab, depth, order=draw(st.sampled_from([0, 1, 0])))
    pool = st.lists(laws(vocab), min_size=2, max_size=4)
    return pooled(vocab, depth, draw(pool), draw(pool), draw(st.booleans()), seed)


def pooled(vocab: int, depth: int, targets: list[Law], drafts: list[Law], share: bool, seed: int) -> ToyModel:
    """Every prefix has a law of the pools; with `share`, a target law may be a draft law."""

    def source(side: str, pool: list[Law]) -> LawSource:
        return lambda prefix: random.Random(f"{side}/{seed}/{key(prefix)}").choice(pool)

    both = targets + drafts if share else targets
    return ToyModel(vocab, depth, source("target", both), source("draft", drafts), f"pools {seed}")


@cache
def parameters(depth: int) -> st.SearchStrategy[Parameters]:
    """All of them, those with one sampled slot beside one head slot most often."""
    with_both, others = [(2, 1), (4, 1), (4, 2), (3, 2), (3, 1)], [(1, 0), (2, 0), (3, 0), (1, 1), (2, 2), (3, 3)]
    return st.builds(
        lambda shape, **others: Parameters(slots=shape[0], head=shape[1], depth=depth, **others),
        st.sampled_from(with_both + others + with_both),
        beam=st.sampled_from([None, 2, 1, 3, 2]),
        nodes=st.sampled_from([3, 4, 1, 2, 8, 6, 5, 4]),
        sparse=st.sampled_from([None, None, None, 1, 2, 3, None, None]),
        proxy=st.sampled_from(["paper", "tail"]),
        proxy_scale=st.sampled_from(SCALES),
        fill_scale=st.sampled_from(SCALES),
        verify=st.sampled_from(list(RULES)),
    )


@st.composite
def instances(draw: st.DrawFn, drafts: int = 100) -> Instance:
    """V from 1 to 4, D from 1 to 3, every parameter. A draft of every instance has at most `drafts` outcomes."""
    vocab, depth = draw(st.sampled_from([2, 3, 4, 1, 3, 4, 3, 4])), draw(st.sampled_from([1, 2, 3, 2, 3]))
    model = draw(models(vocab, min(3, depth + draw(st.sampled_from([0, 0, 1])))))
    return Instance(model, affordable(draw(parameters(depth)), vocab, drafts))


def affordable(wanted: Parameters, vocab: int, drafts: int) -> Parameters:
    """The same parameters with a beam, then a depth, that is low enough."""
    parameters = wanted
    while vocab ** draws(parameters, vocab) > drafts:
        beam = min(parameters.beam or parameters.slots, parameters.slots * vocab)
        if beam > 1:
            parameters = replace(parameters, beam=beam - 1)
        elif parameters.depth > 1:
            parameters = replace(parameters, depth=parameters.depth - 1)
        else:
            break
    return parameters


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
