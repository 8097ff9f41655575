"""Faults in the torch decoder are rejected by samples, with the draws that the certificates prove to be enough.

A fixture is a small model on which a fault shows, chosen by the exact distance of the faulty step law from the right
one. The twin of a rejection: the same sampler agrees with the faulty law, as the enumerator knows it. So what was
rejected is this fault, and nothing else.
"""

from __future__ import annotations

import pytest
import torch

from rheo_proof.cli.crosscheck.inject import injected
from rheo_proof.cli.crosscheck.inject_torch import TORCH_INJECTIONS
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.stats.asserts import assert_law_equal
from rheo_proof.stats.fixtures import FIXTURES, Fixture
from rheo_proof.stats.ledger import separate_ledger
from rheo_proof.stats.verdict import LawMismatch
from tests.law.samplers import Sampler, Tables, torch_sampler

REFUSED = {"rrsw-tail-proxy"}
"""A combination that the decoder refuses; there is no wrong part to put into it."""

SHOWN = {fault: fixture for fixture in FIXTURES.values() for fault in fixture.faults if fault not in REFUSED}


def decoder(fixture: Fixture, fault: str) -> Sampler:
    """The torch decoder on a fixture, with the rule that the fault pretends to be.

    In float64: values that tie as rationals tie here too, also the thirds of low-proxy.
    """
    return torch_sampler(Tables.of_model(fixture.model(), torch.float64), fixture.correct(fault))


def test_every_fault_of_the_prover_is_shown_by_a_fixture_and_has_a_place_in_the_decoder() -> None:
    assert set(SHOWN) | REFUSED == set(FAULTS)
    assert set(SHOWN) <= set(TORCH_INJECTIONS)


@pytest.mark.parametrize("fault", SHOWN)
def test_the_decoder_without_the_fault_has_the_law_of_the_fixture(fault: str) -> None:
    fixture = SHOWN[fault]
    assert_law_equal(decoder(fixture, fault), fixture.laws(fault)[1], eps=fixture.eps, seeded=True)


@pytest.mark.parametrize("fault", SHOWN)
def test_a_fault_is_rejected_within_the_planned_draws_and_has_its_own_exact_law(fault: str) -> None:
    fixture = SHOWN[fault]
    faulty, right = fixture.laws(fault)
    fixture.certificate(fault, fixture.draws(fault)).enforce()
    with injected(fault, TORCH_INJECTIONS):
        with separate_ledger(), pytest.raises(LawMismatch):
            assert_law_equal(decoder(fixture, fault), right, eps=fixture.eps, seeded=True)
        assert_law_equal(decoder(fixture, fault), faulty, eps=fixture.eps, seeded=True)
