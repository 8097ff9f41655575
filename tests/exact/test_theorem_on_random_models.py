"""The theorem on random models and parameters: every lossless rule is lossless, exactly."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given

from rheo_proof.exact.families import family_model
from rheo_proof.exact.model import ToyModel
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import SCHEMES, Parameters, Scheme, plain
from rheo_proof.schemes.variations import VARIATIONS
from tests.strategies import LOSSLESS_RULES, Instance, instances

MANY_DRAFTS = 20_000  # only classes are walked here, so models may be larger

every_lossless_rule = pytest.mark.parametrize("verify", LOSSLESS_RULES)


def lossless(scheme: Scheme, model: ToyModel) -> bool:
    """The criterion; the distance of the completed laws must say the same."""
    law = law_by_classes(scheme, model)
    verdict = law.first_wrong(model) is None
    assert verdict == (law.total_variation(model) == 0)
    return verdict


@every_lossless_rule
@given(instance=instances(drafts=MANY_DRAFTS))
def test_a_rule_is_lossless_for_every_parameter(verify: str, instance: Instance) -> None:
    assert lossless(plain(replace(instance.parameters, verify=verify)), instance.model)


@given(instance=instances(drafts=MANY_DRAFTS))
def test_rrsw_is_lossless_with_the_proxy_of_the_paper(instance: Instance) -> None:
    assert lossless(plain(replace(instance.parameters, verify="rrsw", proxy="paper")), instance.model)


@every_lossless_rule
@pytest.mark.parametrize("variation", VARIATIONS)
@given(instance=instances(drafts=MANY_DRAFTS))
def test_a_variation_is_lossless_with_every_lossless_rule(variation: str, verify: str, instance: Instance) -> None:
    named = VARIATIONS[variation]
    parameters = named.fix(replace(instance.parameters, verify=verify))
    assert lossless(named.build(parameters), instance.model)


@pytest.mark.parametrize("variation", VARIATIONS)
@given(instance=instances(drafts=MANY_DRAFTS))
def test_a_variation_is_lossless_with_rrsw_and_the_proxy_of_the_paper(variation: str, instance: Instance) -> None:
    named = VARIATIONS[variation]
    parameters = named.fix(replace(instance.parameters, verify="rrsw", proxy="paper"))
    assert lossless(named.build(parameters), instance.model)


@pytest.mark.parametrize("scheme", [name for name, named in SCHEMES.items() if named.lossless])
@given(instance=instances(drafts=MANY_DRAFTS))
def test_a_named_scheme_that_is_said_to_be_lossless_is(scheme: str, instance: Instance) -> None:
    named = SCHEMES[scheme]
    parameters = named.fix(replace(instance.parameters, proxy="paper"))
    assert lossless(named.build(parameters), instance.model)


# Twins: what is not lossless is refuted.

WRONG = FAULTS | {name: named for name, named in SCHEMES.items() if not named.lossless}

# Family, seed, V, D, K, N; with m = 1 and B = 2. A hundred random examples refute these often,
OFTEN = {
    "own-probability": ("random", 0, 3, 2, 3, 3),
    "tail-probability": ("random", 0, 3, 2, 2, 3),
    "verify-full-q": ("random", 0, 2, 2, 2, 3),
    "draw-full-q": ("random", 0, 2, 2, 2, 3),
    "drop-unlikely": ("random", 1, 3, 2, 2, 3),
    "skip-residual": ("random", 0, 2, 2, 2, 3),
    "residual-of-q": ("random", 0, 2, 2, 2, 3),
    "shared-coin": ("random", 3, 3, 2, 2, 3),
    "stale-bonus": ("random", 0, 2, 2, 2, 3),
    "bonus-from-draft": ("random", 0, 2, 2, 2, 3),
    "second-token": ("random", 2, 2, 2, 2, 4),
    "resort-siblings": ("random", 0, 3, 2, 3, 3),
    "ratio-on-top-k": ("random", 0, 2, 2, 2, 3),
}
# and these hardly ever.
RARELY = {
    "tie-by-token": ("random", 0, 3, 2, 2, 3),
    "low-proxy": ("random", 1, 3, 2, 3, 3),
    "flow-depth-first": ("random", 0, 3, 2, 2, 4),
    "flow-layers": ("peaked", 33, 3, 3, 2, 4),
    "rrsw-tail-proxy": ("random", 33, 3, 3, 2, 4),
    "bottom-up": ("peaked", 33, 3, 3, 2, 4),
}
FIXED = OFTEN | RARELY


def test_every_wrong_scheme_has_a_fixed_counterexample() -> None:
    assert set(FIXED) == set(WRONG)


@pytest.mark.parametrize("wrong", FIXED)
def test_a_wrong_scheme_is_refuted_where_the_rules_are_lossless(wrong: str) -> None:
    family, seed, vocab, depth, slots, nodes = FIXED[wrong]
    model, named = family_model(family, seed, vocab, depth), WRONG[wrong]
    parameters = Parameters(slots=slots, depth=depth, beam=2, nodes=nodes)
    assert not lossless(named.build(named.fix(parameters)), model)
    assert all(lossless(plain(replace(parameters, verify=verify)), model) for verify in (*LOSSLESS_RULES, "rrsw"))


def test_the_second_token_fault_is_exact_on_the_first_token() -> None:
    family, seed, vocab, depth, slots, nodes = FIXED["second-token"]
    model, named = family_model(family, seed, vocab, depth), FAULTS["second-token"]
    parameters = named.fix(Parameters(slots=slots, depth=depth, beam=2, nodes=nodes))
    wrong = law_by_classes(named.build(parameters), model).first_wrong(model)
    assert wrong is not None
    assert len(wrong.string) == 2


def test_a_variation_of_a_fault_stays_wrong() -> None:
    """Duplicate fills are harmless with the proxy of the paper and RRSw; the tail proxy is not."""
    family, seed, vocab, depth, slots, nodes = FIXED["rrsw-tail-proxy"]
    model, named = family_model(family, seed, vocab, depth), VARIATIONS["duplicate-fills"]
    parameters = Parameters(slots=slots, depth=depth, beam=2, nodes=nodes, verify="rrsw")
    assert lossless(named.build(parameters), model)
    assert not lossless(named.build(replace(parameters, proxy="tail")), model)


@pytest.mark.parametrize("wrong", OFTEN)
def test_the_random_instances_refute_a_fault(wrong: str) -> None:
    """What the properties above are tried on is able to refute."""
    named, refuted = WRONG[wrong], Counter[bool]()

    @given(instance=instances(drafts=MANY_DRAFTS))
    def count(instance: Instance) -> None:
        refuted[not lossless(named.build(named.fix(instance.parameters)), instance.model)] += 1

    count()
    assert refuted[True] >= 1
