"""Models for both sides: dyadic laws, of which a float64 is the rational itself, and tapes of dyadic uniforms.

`exact_step` is the program of the prover read from a tape; `reference_step` is the NumPy decoder on the same numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from rheo_reference import Config, Step, decode_step
from rheo_reference import Tape as ReferenceTape

from rheo_proof.exact.chance import Site, Tape
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import Q, to_fraction
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.scheme import Parameters, Scheme, plain
from rheo_proof.schemes.tree import Node, Tree
from tests.strategies import pooled

RULES = ("rheo", "rrsw", "match", "flow")
CONTEXT = (7, 7)
SIXTEENTHS = 16


@dataclass(frozen=True)
class Uniforms:
    """One tape for both sides: whole numbers over a power of two."""

    draft: tuple[tuple[int, ...], ...]
    coin: tuple[tuple[int, int], ...]
    token: tuple[int, ...]
    over: int

    def exact(self) -> Tape:
        sites: dict[Site, Q] = {("token", level, 0): Q(u, self.over) for level, u in enumerate(self.token)}
        sites |= {("coin", level, i): Q(u, self.over) for level, row in enumerate(self.coin) for i, u in enumerate(row)}
        sites |= {
            ("draft", layer, b): Q(u, self.over) for layer, row in enumerate(self.draft) for b, u in enumerate(row)
        }
        return Tape(sites)

    def reference(self) -> ReferenceTape:
        return ReferenceTape(*(np.array(part) / self.over for part in (self.draft, self.coin, self.token)))


def random_uniforms(rng: random.Random, depth: int, beam: int, fine: bool) -> Uniforms:
    """Coarse ones fall on acceptance ratios and on cdf values all the time; fine ones are odd over 2**31: never.

    The masses of FlowVerification are no dyadic numbers, so only fine uniforms are far enough from every step of its
    cdf for floats to decide as rationals do.
    """
    over = 1 << 31 if fine else rng.choice([8, 16, 64])

    def one() -> int:
        return 2 * rng.randrange(over // 2) + 1 if fine else rng.choice([0, over - 1, *(rng.randrange(over),) * 6])

    return Uniforms(
        tuple(tuple(one() for _ in range(beam)) for _ in range(depth)),
        tuple((one(), one()) for _ in range(depth)),
        tuple(one() for _ in range(depth + 1)),
        over,
    )


@cache
def dyadic_laws(vocab: int) -> st.SearchStrategy[Law]:
    """Sixteenths: any composition, and those of 1, 2, 4, 8 and zeros, in which values tie."""
    cuts = st.lists(st.integers(0, SIXTEENTHS), min_size=vocab - 1, max_size=vocab - 1).map(sorted)
    steps = cuts.map(lambda at: [b - a for a, b in pairwise([0, *at, SIXTEENTHS])])
    rows = [row for row in product((0, 1, 2, 4, 8, 16), repeat=vocab) if sum(row) == SIXTEENTHS]
    return (steps | st.sampled_from(rows)).map(lambda row: Law(Q(weight, SIXTEENTHS) for weight in row))


def dyadic_law(rng: random.Random, vocab: int) -> Law:
    """The same, from a generator."""
    if rng.randrange(2):
        cuts = [0, *sorted(rng.randrange(SIXTEENTHS + 1) for _ in range(vocab - 1)), SIXTEENTHS]
        row = [b - a for a, b in pairwise(cuts)]
    else:
        row = list(rng.choice([(8, 4, 2, 1, 1), (4, 4, 4, 4, 0), (8, 8, 0, 0, 0), (16, 0, 0, 0, 0), (4, 4, 4, 2, 2)]))
        row = [sum(row[vocab - 1 :]), *row[: vocab - 1]]
        rng.shuffle(row)
    return Law(Q(weight, SIXTEENTHS) for weight in row)


def dyadic_model(rng: random.Random, vocab: int, depth: int) -> ToyModel:
    pools = [[dyadic_law(rng, vocab) for _ in range(4)] for _ in range(2)]
    return pooled(vocab, depth, pools[0], pools[1], rng.random() < 0.3, rng.randrange(1 << 16))


def cut_is_dyadic(law: Law, sparse: int) -> bool:
    """Whether the S best tokens of a law weigh a power of two."""
    best = sorted((int(weight * SIXTEENTHS) for weight in law), reverse=True)[:sparse]
    return sum(best).bit_count() == 1


@st.composite
def instances(draw: st.DrawFn, rules: Sequence[str] = RULES) -> tuple[ToyModel, Parameters]:
    """A dyadic model and parameters of which every value and every law stays dyadic."""
    vocab, depth = draw(st.sampled_from([3, 2, 4, 5, 1])), draw(st.sampled_from([2, 1, 3]))
    pool = st.lists(dyadic_laws(vocab), min_size=1, max_size=3)
    targets, drafts = draw(pool), draw(pool)
    model = pooled(vocab, depth, targets, drafts, draw(st.booleans()), draw(st.integers(0, 1 << 16)))
    slots = draw(st.integers(1, 4))
    verify = draw(st.sampled_from(rules))
    sparse = [s for s in range(1, vocab) if all(cut_is_dyadic(law, s) for law in drafts)]
    scale = st.sampled_from([Q(1), Q(1, 2), Q(3, 4), Q(1, 8)])
    return model, Parameters(
        slots=slots,
        head=draw(st.integers(0, slots)),
        depth=depth,
        beam=draw(st.sampled_from([None, 1, 2, 3])),
        nodes=draw(st.integers(1, 8)),
        sparse=draw(st.sampled_from([None, *sparse])),
        proxy="paper" if verify == "rrsw" else draw(st.sampled_from(["paper", "tail"])),
        proxy_scale=draw(scale),
        fill_scale=draw(scale),
        verify=verify,
    )


def config_of(parameters: Parameters) -> Config:
    """The same parameters for the NumPy decoder, the models being given as laws."""
    shared: dict[str, Any] = {name: getattr(parameters, name) for name in SHARED}
    shared |= {name: float(getattr(parameters, name)) for name in ("proxy_scale", "fill_scale")}
    return Config(**shared, target=None, draft=None)


SHARED = ("slots", "head", "depth", "beam", "nodes", "sparse", "proxy", "verify")


def rows_of(laws: Callable[[Prefix], Iterable[Q]], context: Prefix = CONTEXT) -> Callable[[Sequence[Prefix]], Any]:
    """A model of the NumPy decoder: prefixes after a context -> rows of float64."""

    def rows(prefixes: Sequence[Prefix]) -> list[list[float]]:
        assert all(prefix[: len(context)] == context for prefix in prefixes)
        return [[float(weight) for weight in laws(prefix[len(context) :])] for prefix in prefixes]

    return rows


def exact_step(scheme: Scheme, model: ToyModel, tape: Tape) -> tuple[tuple[Node, ...], Prefix]:
    """The kept nodes and the emitted string of the prover's program."""
    drafting: Any = scheme.drafting.start()
    while not isinstance(drafting, Tree):
        drafting = scheme.drafting.step(model, drafting, tape)
    state: Any = scheme.verifying.start(model, drafting)
    while not isinstance(state, Emission):
        state = scheme.verifying.step(model, state, tape)
    return drafting.nodes, (*state.prefix, tape.value(state.token))


def reference_step(model: ToyModel, config: Config, tape: ReferenceTape) -> Step:
    return decode_step(rows_of(model.target), rows_of(model.draft), CONTEXT, config, tape)


def assert_same_step(model: ToyModel, parameters: Parameters, uniforms: Uniforms) -> None:
    """Same kept nodes in the same order, same tail laws, same string, same uniforms read in the same order."""
    tape = uniforms.exact()
    nodes, string = exact_step(plain(parameters), model, tape)
    step = reference_step(model, config_of(parameters), uniforms.reference())
    assert shape(step) == [(node.path, node.token, node.kind) for node in nodes]
    for i, node in enumerate(nodes, 1):
        assert tail_law(step, i, model.vocab) == (None if node.law is None else [to_fraction(q) for q in node.law])
    assert step.tokens == string
    assert list(step.used) == tape.used


def shape(step: Step) -> list[tuple[tuple[int, ...], int, str]]:
    """Slots on the way, token and kind of every kept node, in rank order."""
    paths: list[tuple[int, ...]] = [()]
    for i in range(1, len(step.tree)):
        paths.append((*paths[step.tree.parents[i]], int(step.tree.slots[i])))
    return [(paths[i], int(step.tree.tokens[i]), step.tree.kinds[i]) for i in range(1, len(step.tree))]


def tail_law(step: Step, node: int, vocab: int) -> list[Fraction] | None:
    tail = step.tree.tails[node]
    if tail is None:
        return None
    law = [Fraction(0)] * vocab
    for x, q in zip(tail.tokens, tail.q, strict=True):
        law[int(x)] = Fraction(float(q)) / Fraction(tail.z)
    return law


@given(instances())
def test_the_floats_of_an_instance_are_its_rationals(instance: tuple[ToyModel, Parameters]) -> None:
    model, parameters = instance
    for source in (model.target, model.draft):
        (row,) = rows_of(source)([CONTEXT])
        assert list(map(Fraction, row)) == [to_fraction(weight) for weight in source(())]
    config = config_of(parameters)
    assert Fraction(config.proxy_scale) == to_fraction(parameters.proxy_scale)


@given(st.integers(0, 1 << 32), st.booleans())
def test_both_tapes_hold_the_same_numbers(seed: int, fine: bool) -> None:
    uniforms = random_uniforms(random.Random(seed), 2, 3, fine)
    exact, reference = uniforms.exact().uniforms, uniforms.reference()
    tables = {"draft": reference.draft_u, "coin": reference.coin_u, "token": reference.token_u[:, None]}
    for (what, i, j), u in exact.items():
        assert Fraction(float(tables[what][i, j])) == to_fraction(u)
    assert len(exact) == 2 * 3 + 2 * 2 + 3
