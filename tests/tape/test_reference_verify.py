"""The NumPy decoder against the prover's program on the same tape, and what its rules do where floats round."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rheo_reference import Config, Processing, Step, Tape, Tapes, decode_step, flow, slots, verify
from rheo_reference.laws import Prefix
from rheo_reference.slots import Tail
from rheo_reference.tape import inverse_cdf

from rheo_proof.exact.law import Law
from rheo_proof.exact.model import ToyModel, tabled
from rheo_proof.exact.number import Q
from rheo_proof.schemes.scheme import Parameters
from tests.tape.test_reference_models import (
    RULES,
    Uniforms,
    assert_same_step,
    config_of,
    dyadic_model,
    instances,
    random_uniforms,
    reference_step,
)

BELOW_ONE = float(np.nextafter(1.0, 0.0))
CASES = [
    (rule, m, proxy)
    for rule in RULES
    for m in range(4)
    for proxy in ("paper", "tail")
    if (rule, proxy) != ("rrsw", "tail")
]


# Against the exact program


@given(instances(), st.integers(0, 1 << 32))
def test_the_same_tape_gives_the_same_step_as_the_prover(instance: tuple[ToyModel, Parameters], seed: int) -> None:
    model, parameters = instance
    rng = random.Random(seed)
    for _ in range(8):
        fine = parameters.verify == "flow" or rng.random() < 0.2
        uniforms = random_uniforms(rng, parameters.depth, parameters.beam or parameters.slots, fine)
        assert_same_step(model, parameters, uniforms)


def sweep(rule: str, m: int, proxy: str, models: int = 12, tapes: int = 12) -> None:
    rng = random.Random(f"{rule} {m} {proxy}")
    for _ in range(models):
        vocab, depth = rng.choice([3, 4, 5]), rng.choice([2, 3])
        model = dyadic_model(rng, vocab, depth)
        parameters = Parameters(
            slots=3,
            head=m,
            depth=depth,
            beam=rng.choice([None, 1, 2]),
            nodes=rng.randint(2, 8),
            proxy=proxy,
            proxy_scale=rng.choice([Q(1), Q(1, 2)]),
            fill_scale=rng.choice([Q(1), Q(1, 2)]),
            verify=rule,
        )
        for _ in range(tapes):
            assert_same_step(model, parameters, random_uniforms(rng, depth, parameters.beam or 3, rule == "flow"))


@pytest.mark.parametrize(("rule", "m", "proxy"), CASES)
def test_every_rule_every_head_and_both_proxies_agree_with_the_prover(rule: str, m: int, proxy: str) -> None:
    sweep(rule, m, proxy)


def own_probability(law: Any, config: Config) -> Any:
    """The sampled slot is valued by the best tail probability instead of the proxy."""
    expansion = slots.expand(law, config)
    return expansion if expansion.tail is None else expansion._replace(proxy=float(expansion.tail.q[0]))


def coin_of_q(r: Any, mass: float, tail: Tail, x: int) -> float:
    """The test divides by q(X) instead of t(X)."""
    return min(1.0, float(r[x]) / float(tail.q[tail.where(x)]))


FAULTS: list[tuple[str, str, Callable[..., Any], str, int]] = [
    ("rheo_reference.decode", "expand", own_probability, "rheo", 1),
    ("rheo_reference.verify", "acceptance", coin_of_q, "rheo", 1),
    ("rheo_reference.verify", "residual", lambda r, mass, tail: r, "rheo", 1),
    ("rheo_reference.verify", "residual", lambda r, mass, tail: r, "rrsw", 0),
    ("rheo_reference.tree", "ranked", lambda values: np.argsort(-values[::-1], kind="stable")[::-1], "match", 1),
    ("rheo_reference.flow.Masses", "elsewhere", lambda self, u: 0.0, "flow", 1),
]


@pytest.mark.parametrize(("module", "name", "fault", "rule", "m"), FAULTS)
def test_a_fault_in_the_decoder_is_noticed(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str, fault: Callable[..., Any], rule: str, m: int
) -> None:
    monkeypatch.setattr(f"{module}.{name}", fault)
    with pytest.raises((AssertionError, LookupError)):
        sweep(rule, m, "paper")


# The worked example of the specification: p = (1/2, 3/10, 1/5), q = (3/5, 3/10, 1/10), m = 1

BY_HAND = {"p": [0.5, 0.3, 0.2], "q": [0.6, 0.3, 0.1]}


def by_hand(rule: str, draft_u: float, head_u: float, coin_u: float, token_u: float) -> Step:
    config = Config(slots=2, head=1, depth=1, nodes=2, verify=rule, target=None, draft=None)
    tape = Tape([[draft_u, 0.0]], [[head_u, coin_u]], [token_u, 0.0])
    return decode_step(
        lambda prefixes: [BY_HAND["p"]] * len(prefixes),
        lambda prefixes: [BY_HAND["q"]] * len(prefixes),
        (),
        config,
        tape,
    )


@pytest.mark.parametrize(
    ("draft_u", "coin_u", "tokens"),
    [(0.74, 0.39, (1, 0)), (0.74, 0.41, (0, 0)), (0.76, 0.79, (2, 0)), (0.76, 0.81, (0, 0))],
)
def test_rheo_accepts_at_the_ratios_worked_out_by_hand(draft_u: float, coin_u: float, tokens: Prefix) -> None:
    assert by_hand("rheo", draft_u, 0.99, coin_u, 0.9999 if tokens[0] else 0.5).tokens[0] == tokens[0]
    assert by_hand("rheo", draft_u, 0.99, coin_u, 0.5).accepted_length == 1


def test_rrsw_tests_its_heads_with_the_other_coin() -> None:
    taken = by_hand("rrsw", 0.0, 0.49, 0.0, 0.0)
    assert (taken.tokens[0], taken.used) == (0, (("draft", 0, 0), ("coin", 0, 0), ("token", 1, 0)))
    # r = (0, 3/5, 2/5) after the head has failed: X = 1 passes with (3/5)/(3/4) = 4/5.
    assert by_hand("rrsw", 0.0, 0.51, 0.79, 0.0).tokens[0] == 1
    assert by_hand("rrsw", 0.0, 0.51, 0.81, 0.0).tokens == (2,)


def test_flow_has_the_masses_worked_out_by_hand() -> None:
    for token_u, token in ((0.59, 0), (0.61, 1), (0.999, 1)):
        step = by_hand("flow", 0.0, 0.0, 0.0, token_u)
        assert step.tokens[0] == token
        assert step.used == (("draft", 0, 0), ("token", 0, 0), ("token", 1, 0))


# Zero temperature


@given(st.integers(0, 1 << 32), st.sampled_from(RULES), st.integers(0, 3))
def test_at_temperature_0_every_rule_decodes_greedily_whatever_the_tape(seed: int, rule: str, m: int) -> None:
    rng = np.random.default_rng(seed)
    table: dict[tuple[str, Prefix], Any] = {}

    def logits(side: str) -> Callable[[Sequence[Prefix]], Any]:
        def rows(prefixes: Sequence[Prefix]) -> Any:
            return [table.setdefault((side, prefix), rng.integers(0, 4, 5)) for prefix in prefixes]

        return rows

    config = Config(slots=3, head=m, depth=3, nodes=6, verify=rule, target=Processing(temperature=0))
    step = decode_step(logits("p"), logits("q"), (), config, Tapes.fill(rng, config)[0])
    for level, token in enumerate(step.tokens):
        assert token == np.argmax(table["p", step.tokens[:level]])


# Where floats round

WEIGHTS = st.sampled_from([0.0, 0.0, 0.0, 5e-324, 1e-300, 1e-17, 1.2e-16, 1e-9, 0.1, 1 / 3, 0.5, 1.0, 1.0])


@st.composite
def float_models(draw: st.DrawFn) -> tuple[Any, Any]:
    """Two models with few laws, extreme ones among them."""
    vocab = draw(st.integers(1, 5))
    row = st.lists(WEIGHTS, min_size=vocab, max_size=vocab).filter(lambda row: sum(row) > 1e-3)
    pool = draw(st.lists(row.map(lambda row: np.array(row) / sum(row)), min_size=2, max_size=4))

    def model(salt: int) -> Callable[[Sequence[Prefix]], Any]:
        return lambda prefixes: [pool[random.Random(f"{salt} {prefix}").randrange(len(pool))] for prefix in prefixes]

    return model(draw(st.integers(0, 99))), model(draw(st.integers(0, 99)))


def config_for(draw: Callable[..., Any]) -> Config:
    slots = draw(st.integers(1, 4))
    verify = draw(st.sampled_from(RULES))
    return Config(
        slots=slots,
        head=draw(st.integers(0, slots)),
        depth=draw(st.integers(1, 3)),
        beam=draw(st.sampled_from([None, 1, 2])),
        nodes=draw(st.integers(1, 8)),
        sparse=draw(st.sampled_from([None, 1, 2, 3])),
        proxy="paper" if verify == "rrsw" else draw(st.sampled_from(["paper", "tail"])),
        proxy_scale=draw(st.sampled_from([1.0, 0.3])),
        fill_scale=draw(st.sampled_from([1.0, 0.3])),
        verify=verify,
        target=None,
        draft=None,
    )


def edge_tape(config: Config, rng: random.Random, edges: list[float]) -> Tape:
    def block(*size: int) -> Any:
        return np.array([rng.choice([*edges, rng.random()]) for _ in range(int(np.prod(size)))]).reshape(size)

    return Tape(block(config.depth, config.width), block(config.depth, 2), block(config.depth + 1))


@given(float_models(), st.data())
def test_boundary_uniforms_never_emit_a_token_of_probability_0(models: tuple[Any, Any], data: st.DataObject) -> None:
    target, draft = models
    config = config_for(data.draw)
    rng = random.Random(data.draw(st.integers(0, 1 << 32)))
    edges = [0.0, BELOW_ONE]
    for _ in range(12):
        tape = edge_tape(config, rng, edges)
        step = decode_step(target, draft, (), config, tape)
        for level, token in enumerate(step.tokens):
            assert target([step.tokens[:level]])[0][token] > 0
        edges = [0.0, BELOW_ONE, *boundaries(step, target)]


def boundaries(step: Step, target: Any) -> list[float]:
    """The acceptance ratios and the cdf values of a step, each with the floats on both sides."""
    found: list[float] = []
    paths = step.tree.paths()
    for i, tail in enumerate(step.tree.tails):
        p = target([paths[step.tree.parents[i]]])[0] if i else target([()])[0]
        found += np.cumsum(p).tolist()
        if tail is not None:
            found.append(verify.acceptance(p, 1.0, tail, int(step.tree.tokens[i])))
    around = [v for u in found for v in (np.nextafter(u, 0.0), u, np.nextafter(u, 1.0))]
    return [float(u) for u in around if 0 <= u < 1]


def test_a_tail_below_the_smallest_normal_float_is_tested_like_any_other() -> None:
    """q = (1, 3e, e) with e = 2**-1074, the smallest float of all: t = (3/4, 1/4), as exactly as with e = 1/8."""
    p = np.array([0.5, 0.375, 0.125])
    for e in (2.0**-3, 2.0**-1074):
        tail = slots.expand(np.array([1 - 4 * e, 3 * e, e]), Config(slots=2, head=1)).tail
        assert tail is not None
        assert tail.t.tolist() == [0.75, 0.25]
        assert [tail.draw(u) for u in (0.0, 0.74, 0.75, BELOW_ONE)] == [1, 1, 2, 2]
        assert [verify.acceptance(p, 1.0, tail, x) for x in (1, 2)] == [0.5, 0.5]
        weights = verify.residual(p, 1.0, tail)
        assert (weights > 0).tolist() == [True, False, False]


def test_an_empty_residual_falls_back_to_the_law_it_was_left_from() -> None:
    q = np.array([1 / 3, 1 / 3, 1 / 3])
    p = np.nextafter(q, 0.0)
    tail = Tail(np.arange(3), q, 1.0)
    assert verify.acceptance(p, 1.0, tail, 0) < 1
    assert verify.residual(p, 1.0, tail) is p


def test_a_failed_coin_with_an_empty_residual_emits_a_possible_token() -> None:
    """Here t(2) = 1e-17 and p(2) = 0, while p and t are equal floats elsewhere."""
    rows = {"p": [0.5, 0.5, 0.0], "q": [0.5, 0.5, 1.2e-16]}
    config = Config(slots=1, head=0, depth=1, nodes=1, target=None, draft=None)
    tape = Tape([[BELOW_ONE]], [[0.0, 0.0]], [0.0, 0.0])
    step = decode_step(lambda u: [rows["p"]] * len(u), lambda u: [rows["q"]] * len(u), (), config, tape)
    assert step.tree.tokens.tolist() == [-1, 2]
    assert step.tokens == (0,)


@given(st.lists(WEIGHTS, min_size=1, max_size=6).filter(any), st.sampled_from([0.0, BELOW_ONE, 0.5, 1 / 3]))
@example([1.0, 0.0], BELOW_ONE)
@example([0.0, 5e-324, 0.0], BELOW_ONE)
@example([0.5, 0.25, 0.25, 0.0], 0.75)
def test_a_draw_never_takes_a_weight_of_0(weights: list[float], u: float) -> None:
    assert weights[inverse_cdf(np.array(weights), u)] > 0


def test_a_draw_takes_the_first_cdf_value_above_u() -> None:
    weights = np.array([0.25, 0.0, 0.5, 0.25])
    draws = [inverse_cdf(weights, u) for u in (0.0, 0.125, 0.25, 0.5, 0.75, BELOW_ONE)]
    assert draws == [0, 0, 2, 2, 3, 3]
    assert [inverse_cdf(3 * weights, u) for u in (0.0, 0.125, 0.25, 0.5, 0.75, BELOW_ONE)] == draws


# FlowVerification and vocabularies


@given(instances(rules=["flow"]), st.integers(0, 1 << 32))
def test_the_masses_of_flow_sum_to_the_mass_of_the_root(instance: tuple[ToyModel, Parameters], seed: int) -> None:
    """`full` is a sum over the support of t and a complement: compare with the sum of all V weights."""
    model, parameters = instance
    uniforms = random_uniforms(random.Random(seed), parameters.depth, parameters.beam or parameters.slots, True)
    captured: list[tuple[flow.Masses, Any]] = []

    class Spy(flow.Masses):
        def full(self) -> Any:
            full = super().full()
            captured.append((self, full))
            return full

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "Masses", Spy)
        assert_same_step(model, parameters, uniforms)
    ((masses, full),) = captured
    assert full[0] == pytest.approx(1.0)
    for node in range(len(full)):
        if masses.tree.children(node):
            weights = masses.weights(node, full)
            assert full[node] < 1e-12 or weights.sum() == pytest.approx(full[node], rel=1e-9, abs=1e-12)
        masses.c[node] = masses.f[node] = 0.0
        assert (masses.weights(node, np.zeros(len(full))) == masses.p[node]).all(), "no mass at all: y ~ p"


def test_rrsw_refuses_the_tail_proxy_and_says_why() -> None:
    with pytest.raises(ValueError, match="not lossless: the sampled slot may then rank above a head"):
        Config(verify="rrsw", proxy="tail")


def test_a_coin_is_true_below_its_probability_and_false_at_it() -> None:
    """p(0)/t(0) = 1/2, and the quarters around it: equal to the prover on both sides, with different strings."""
    target = {(): Law.read(["1/4", "3/4"]), (0,): Law.read(["1", "0"]), (1,): Law.read(["1", "0"])}
    model = tabled(2, 1, target, {(): Law.read(["1/2", "1/2"])})
    parameters = Parameters(slots=1, head=0, depth=1, nodes=1)
    below, at = (Uniforms(((0,),), ((0, coin),), (0, 0), 4) for coin in (1, 2))
    for uniforms in (below, at):
        assert_same_step(model, parameters, uniforms)
    strings = [reference_step(model, config_of(parameters), uniforms.reference()).tokens for uniforms in (below, at)]
    assert strings == [(0, 0), (1,)]
