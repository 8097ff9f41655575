"""The smallest counterexample: vocabulary, depth, K, N and denominators, made small in that order.

The search goes through the sizes in that order and tries, at each, every m on a fixed pool of models; it stops at the
first size at which the scheme is biased. The laws of what it found there are then replaced by simpler ones for as long
as the scheme stays biased. Everything is deterministic. "Smallest" means the smallest of what was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import lcm

from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel, tabled
from rheo_proof.exact.number import Q
from rheo_proof.exact.step import StepLaw, Wrong
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems.zoo import EVERY

SEEDS = 6
"""Seeds of each family in the pool of models."""

SIMPLEST = 4
"""Laws with denominators up to this are tried as replacements."""

LARGEST = (5, 3)
"""No vocabulary and no depth beyond these is searched; nothing known to be biased is right up to them."""


@dataclass(frozen=True)
class Counterexample:
    """A model on which a scheme is biased, with the first wrong string and the exact distance."""

    name: str
    parameters: Parameters
    model: ToyModel
    wrong: Wrong
    tv: Fraction


Tables = tuple[dict[Prefix, Law], dict[Prefix, Law]]


def smallest(
    name: str,
    parameters: Parameters,
    vocab: int,
    heads: Sequence[int],
    limits: Limits | None = None,
    on_size: Callable[[tuple[int, int, int, int]], None] | None = None,
) -> Counterexample | None:
    """The smallest counterexample found to the scheme `name`, not larger than the sizes given; None if there is none.

    `heads` are the values of m to try. `on_size` is told each size (V, D, K, N) that is begun. Raises `LimitReached`.

    >>> found = smallest("skip-residual", Parameters(), 3, range(4))
    >>> found.model.vocab, found.parameters.depth, found.parameters.slots, found.parameters.nodes
    (2, 1, 1, 1)
    """
    limits = limits or Limits()
    tried: set[tuple[int, Parameters]] = set()
    for size in sizes(vocab, parameters):
        if on_size is not None:
            on_size(size)
        found = list(_biased(name, parameters, size, heads, limits, tried))
        if found:
            return min((_simplified(c, limits) for c in found[:2]), key=_difficulty)
    return None


def sizes(vocab: int, most: Parameters) -> Iterator[tuple[int, int, int, int]]:
    """Sizes (V, D, K, N) up to the given ones, smallest first; N at most the number of candidates there can be."""
    for v in range(2, min(vocab, LARGEST[0]) + 1):
        for depth in range(1, min(most.depth, LARGEST[1]) + 1):
            for slots in range(1, min(most.slots, v) + 1):
                beam = min(most.beam or slots, slots)
                layer = candidates = slots
                for _ in range(depth - 1):
                    layer = min(layer, beam) * slots
                    candidates += layer
                for nodes in range(1, min(most.nodes, candidates) + 1):
                    yield v, depth, slots, nodes


def _biased(
    name: str,
    parameters: Parameters,
    size: tuple[int, int, int, int],
    heads: Sequence[int],
    limits: Limits,
    tried: set[tuple[int, Parameters]],
) -> Iterator[Counterexample]:
    """One for each m; parameters that the scheme, which may fix some, was already tried with are passed over."""
    vocab, depth, slots, nodes = size
    for m in heads:
        if m > slots:
            continue
        smaller = replace(
            parameters, depth=depth, slots=slots, nodes=nodes, head=m, beam=min(parameters.beam or slots, slots)
        )
        asked = (vocab, EVERY[name].fix(smaller))
        if asked in tried:
            continue
        tried.add(asked)
        for seed, family in product(range(SEEDS), FAMILIES):
            found = check(name, smaller, _pooled(family, seed, vocab, depth), limits)
            if found is not None:
                yield found
                break


@lru_cache(maxsize=4096)
def _pooled(family: str, seed: int, vocab: int, depth: int) -> ToyModel:
    return family_model(family, seed, vocab, depth)


def check(name: str, parameters: Parameters, model: ToyModel, limits: Limits | None = None) -> Counterexample | None:
    """The counterexample that this model is to the scheme `name`, or None when the scheme is lossless on it."""
    named = EVERY[name]
    law: StepLaw = law_by_classes(named.build(named.fix(parameters)), model, limits)
    wrong = law.first_wrong(model)
    if wrong is None:
        return None
    return Counterexample(name, named.fix(parameters), model, wrong, law.total_variation(model))


def _simplified(found: Counterexample, limits: Limits) -> Counterexample:
    """Replace law after law by the simplest one that keeps the scheme biased, until none can be replaced."""
    vocab, depth = found.model.vocab, found.model.depth
    prefixes = [u for length in range(depth + 1) for u in product(range(vocab), repeat=length)]
    reachable = set(found.model.reachable())
    filler = Law.read(["1"] + ["0"] * (vocab - 1))
    tables: Tables = (
        {u: found.model.target(u) if u in reachable else filler for u in prefixes},
        {u: found.model.draft(u) if u in reachable else filler for u in prefixes if len(u) < depth},
    )
    changed = True
    while changed:
        changed = False
        for u in reversed(prefixes):
            for table in tables:
                if u in table:
                    simpler = _replace(found, tables, table, u, limits)
                    changed = changed or simpler is not None
                    found = simpler or found
    return found


def _replace(
    found: Counterexample, tables: Tables, table: dict[Prefix, Law], u: Prefix, limits: Limits
) -> Counterexample | None:
    """Try simpler laws at one prefix of one table; keep the first that does."""
    before = table[u]
    for law in simple_laws(len(before)):
        if _rank(law) >= _rank(before):
            break
        table[u] = law
        model = tabled(found.model.vocab, found.model.depth, dict(tables[0]), dict(tables[1]), "counterexample")
        simpler = check(found.name, found.parameters, model, limits)
        if simpler is not None:
            return simpler
    table[u] = before
    return None


@lru_cache(maxsize=16)
def simple_laws(vocab: int) -> tuple[Law, ...]:
    """All laws with denominators up to `SIMPLEST`, simplest first.

    >>> [str(law) for law in simple_laws(2)[:3]]
    ['Law(1, 0)', 'Law(0, 1)', 'Law(1/2, 1/2)']
    """
    laws = {
        Law(Q(w, whole) for w in weights)
        for whole in range(1, SIMPLEST + 1)
        for weights in product(range(whole + 1), repeat=vocab)
        if sum(weights) == whole
    }
    return tuple(sorted(laws, key=_rank))


def denominator(law: Law) -> int:
    """The common denominator of a law."""
    return lcm(*(int(mass.denominator) for mass in law))


def _rank(law: Law) -> tuple[int, tuple[Q, ...]]:
    return denominator(law), tuple(-mass for mass in law)


def _difficulty(found: Counterexample) -> tuple[int, int, int]:
    """Largest denominator, sum of denominators, m."""
    model = found.model
    sides = [model.target(u) for u in model.reachable()]
    sides += [model.draft(u) for u in model.reachable() if len(u) < model.depth]
    sizes_ = [denominator(law) for law in sides]
    return max(sizes_), sum(sizes_), found.parameters.head
