"""The decoders' random path against the exact law of (string, accepted length): the chi-square suite.

Hypothesis chooses models and configurations; it never sees a statistic. Each line of a check names rule, model and the
deviation that it must detect: `EPS`, in total variation, with the error rates of `assert_law_equal`. What decides is
the e-process, and at its cap G or TV with a proved bound; Pearson's chi-square stands beside them in the report.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
import rheo_gpu
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rheo_proof.exact.families import dyadic_model
from rheo_proof.exact.number import ONE, Q
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.stats.asserts import assert_law_equal
from tests.law.samplers import (
    Logits,
    Tables,
    chunks,
    counted,
    numpy_sampler,
    step_law,
    torch_sampler,
    torch_strings,
)

EPS = 0.03
RULES = ("rheo", "rrsw", "match", "flow")

# A tenth of the examples of other tests, for each rule. No shrinking: a smaller example is another look at the draws.
few = settings(max_examples=max(1, settings.default.max_examples // 10), phases=(Phase.explicit, Phase.generate))


@dataclass(frozen=True)
class Case:
    """A model by its seed, and the sizes of the step."""

    seed: int
    vocab: int
    banned: float
    parameters: Parameters
    temperature: Fraction
    top_k: int | None

    def logits(self) -> Logits:
        return Logits.random(self.seed, self.vocab, self.parameters.depth, banned=self.banned)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Small enough for a few hundred cells at most."""
    slots, depth = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    parameters = Parameters(
        slots=slots,
        head=draw(st.integers(0, slots)),
        depth=depth,
        beam=draw(st.sampled_from([None, 1, 2, 3])),
        nodes=draw(st.integers(1, 7)),
        sparse=draw(st.sampled_from([None, None, 2, 3])),
        proxy=draw(st.sampled_from(["paper", "tail"])),
        proxy_scale=draw(st.sampled_from([ONE, Q(1, 2)])),
        fill_scale=draw(st.sampled_from([ONE, Q(1, 2)])),
    )
    if parameters.proxy == "paper" or parameters.head == slots:
        parameters = replace(parameters, proxy="paper", proxy_scale=ONE)
    return Case(
        draw(st.integers(0, 1 << 30)),
        draw(st.integers(2, 4)),
        draw(st.sampled_from([0.0, 0.3])),
        parameters,
        draw(st.sampled_from([Fraction(1), Fraction(1, 2)])),
        draw(st.sampled_from([None, 2])),
    )


def with_rule(parameters: Parameters, rule: str) -> Parameters:
    """RRSw has no tail proxy."""
    if rule == "rrsw":
        parameters = replace(parameters, proxy="paper", proxy_scale=ONE)
    return replace(parameters, verify=rule)


@pytest.mark.parametrize("rule", RULES)
@few
@given(case=cases())
def test_torch_in_float32_emits_the_exact_law(rule: str, case: Case) -> None:
    parameters, logits = with_rule(case.parameters, rule), case.logits()
    how = rheo_gpu.Processing(temperature=float(case.temperature), top_k=case.top_k)
    exact = step_law(parameters, logits.exact(case.temperature, case.top_k))
    sampler = torch_sampler(Tables.of_logits(logits, torch.float32), parameters, how)
    assert_law_equal(sampler, exact, eps=EPS, name=f"torch {rule} {case}", seeded=True)


@pytest.mark.parametrize("rule", RULES)
@few
@given(case=cases())
def test_numpy_emits_the_exact_law(rule: str, case: Case) -> None:
    parameters, logits = with_rule(case.parameters, rule), case.logits()
    sampler = numpy_sampler(Tables.of_logits(logits, torch.float64), parameters)
    assert_law_equal(sampler, step_law(parameters, logits.exact()), eps=EPS, name=f"numpy {rule} {case}", seeded=True)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_half_precision_logits_emit_the_exact_law_of_those_logits(rule: str, dtype: torch.dtype) -> None:
    logits = Logits.random(11, 3, 2)
    parameters = Parameters(slots=2, head=1, depth=2, nodes=5, verify=rule)
    sampler = torch_sampler(Tables.of_logits(logits, dtype), parameters)
    assert_law_equal(sampler, step_law(parameters, logits.exact()), eps=EPS, seeded=True)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_ties_and_zeros_in_float32_emit_the_exact_law(rule: str, seed: int) -> None:
    """Dyadic probabilities are exact in float32, ties of values included."""
    model = dyadic_model(seed, 4, 2)
    parameters = Parameters(slots=3, head=seed % 3, depth=2, nodes=6, verify=rule)
    sampler = torch_sampler(Tables.of_model(model, torch.float32), parameters)
    assert_law_equal(sampler, step_law(parameters, model), eps=EPS, seeded=True)


KINDS = ((Fraction(0), 4, 5), (Fraction(1, 2), 2, 5), (Fraction(1), 4, 1), (Fraction(1), 3, 5))
"""Temperature, top-k and node budget of the requests of a mixed batch, which take turns."""


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_requests_of_a_mixed_batch_emit_their_own_laws(rule: str, kind: int) -> None:
    logits = Logits.random(5, 4, 2)
    tables = Tables.of_logits(logits, torch.float32)
    parameters = Parameters(slots=2, head=1, depth=2, nodes=5, verify=rule)
    temperature, top_k, budget = KINDS[kind]

    def sample(seed: int, draws: int) -> object:
        generator = torch.Generator().manual_seed(seed)

        def batch(n: int) -> torch.Tensor:
            def each(column: int) -> torch.Tensor:
                return torch.tensor([float(k[column]) for k in KINDS]).repeat(n)

            how = rheo_gpu.Processing(temperature=each(0), top_k=each(1))
            tokens = torch_strings(tables, parameters, generator, n * len(KINDS), how, each(2).long())
            return tokens[kind :: len(KINDS)]

        return counted(batch(n) for n in chunks(draws))

    exact = step_law(replace(parameters, nodes=budget), logits.exact(temperature, top_k))
    assert_law_equal(sample, exact, eps=EPS, seeded=True)
