"""Every fault has a fixture on which a planned check is proved to refute it: arithmetic on exact laws, no sampling."""

from __future__ import annotations

from fractions import Fraction

import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_replay
from rheo_proof.schemes.scheme import plain
from rheo_proof.stats.certificate import certify, certify_distance
from rheo_proof.stats.fixtures import FIXTURES, Fixture, needs
from rheo_proof.stats.plan import BETA, plan_draws

PAIRS = [(fixture, fault) for fixture in FIXTURES.values() for fault in fixture.faults]
IDS = [f"{fixture.name}-{fault}" for fixture, fault in PAIRS]


def test_every_fault_has_a_fixture() -> None:
    assert len(FAULTS) == 18
    assert sorted(fault for _, fault in PAIRS) == sorted(FAULTS)


@pytest.mark.parametrize(("fixture", "fault"), PAIRS, ids=IDS)
def test_the_planned_draws_refute_the_fault(fixture: Fixture, fault: str) -> None:
    certificate = fixture.certificate(fault, fixture.draws(fault)).enforce()
    assert certificate.tv >= fixture.eps > 0
    assert certificate.power >= 1 - BETA
    assert certificate.miss <= BETA


@pytest.mark.parametrize("fixture", FIXTURES.values(), ids=FIXTURES)
def test_half_of_the_planned_draws_do_not(fixture: Fixture) -> None:
    """The twin: the fault that is hardest to see is out of reach, so lowering n turns the certificate red."""
    hardest = min(fixture.faults, key=lambda fault: -fixture.certificate(fault, 1).needed)
    assert fixture.certificate(hardest, 1).tv == fixture.eps
    halved = fixture.certificate(hardest, fixture.draws(hardest) // 2)
    assert not halved.holds
    assert halved.miss > BETA
    with pytest.raises(AssertionError, match="would prove"):
        halved.enforce()


@pytest.mark.parametrize("fixture", FIXTURES.values(), ids=FIXTURES)
def test_the_plan_has_not_one_draw_to_spare(fixture: Fixture) -> None:
    hardest = min(fixture.faults, key=lambda fault: -fixture.certificate(fault, 1).needed)
    draws = fixture.draws(hardest)
    assert fixture.certificate(hardest, draws).holds
    assert not fixture.certificate(hardest, draws - 1).holds


@pytest.mark.parametrize(("fixture", "fault"), PAIRS, ids=IDS)
def test_the_laws_of_a_certificate_are_those_of_the_replay_enumerator(fixture: Fixture, fault: str) -> None:
    faulty, correct = fixture.laws(fault)
    model = fixture.model()
    assert dict(law_by_replay(fixture.faulty(fault), model).strings(fixture.vocab)) == faulty
    scheme = plain(fixture.correct(fault))
    replayed = law_by_replay(scheme, model)
    assert dict(replayed.strings(fixture.vocab)) == correct
    assert replayed.total_variation(model) == 0


@pytest.mark.parametrize(("fixture", "fault"), PAIRS, ids=IDS)
def test_the_distance_of_a_certificate_is_that_of_its_laws(fixture: Fixture, fault: str) -> None:
    faulty, correct = fixture.laws(fault)
    certificate = fixture.certificate(fault, 1)
    strings = set(faulty) | set(correct)
    zero = Fraction(0)
    assert certificate.tv == sum(max(zero, faulty.get(s, zero) - correct.get(s, zero)) for s in strings)
    assert certificate.impossible == sum(mass for s, mass in faulty.items() if s not in correct)
    assert certificate.tv >= fixture.completed_tv(fault)


def test_a_fault_may_show_in_the_steps_where_the_completed_output_is_right() -> None:
    assert FIXTURES["chains"].completed_tv("flow-layers") == 0
    assert FIXTURES["chains"].certificate("flow-layers", 1).tv > 0


def test_a_certificate_against_completed_laws_needs_the_distance_only() -> None:
    fixture = FIXTURES["broad"]
    tv = fixture.completed_tv("skip-residual")
    cells = fixture.vocab ** (fixture.parameters.depth + 1)
    planned = plan_draws(cells, tv).cap
    assert certify_distance(tv, cells, planned).holds
    assert not certify_distance(tv, cells, planned // 2).holds
    assert not certify_distance(tv / 2, cells, planned).holds


def test_a_single_test_needs_fewer_draws_than_a_sequential_one() -> None:
    faulty, correct = FIXTURES["chains"].laws("flow-layers")
    single, sequential = (certify(faulty, correct, 1, sequential=s).needed for s in (False, True))
    assert single == plan_draws(correct, FIXTURES["chains"].eps).draws < sequential


def test_more_draws_never_prove_less() -> None:
    faulty, correct = FIXTURES["spikes"].laws("tie-by-token")
    misses = [certify(faulty, correct, n).miss for n in range(100, 4000, 100)]
    assert misses == sorted(misses, reverse=True)
    assert misses[0] > BETA > misses[-1]


def test_mass_on_impossible_strings_is_seen_by_a_single_draw() -> None:
    certificate = certify({"a": "1/2", "c": "1/2"}, {"a": "1/2", "b": "1/2"}, 10)
    assert certificate.impossible == Fraction(1, 2)
    assert certificate.needed == 10
    assert certify({"c": 1}, {"a": "1/2", "b": "1/2"}, 1).needed == 1


def test_what_is_right_has_no_certificate() -> None:
    law = {"a": "1/2", "b": "1/2"}
    with pytest.raises(InputError, match="tv: 0"):
        certify(law, law, 1000)


@pytest.mark.parametrize(
    ("tv", "draws", "impossible"), [("2", 10, 0), ("1/2", 0, 0), ("1/4", 10, "1/2"), ("-1/2", 10, 0)]
)
def test_a_certificate_of_nonsense_is_refused(tv: str, draws: int, impossible: object) -> None:
    with pytest.raises(InputError):
        certify_distance(tv, 5, draws, impossible=impossible)


def test_what_the_command_prints_holds_for_every_fault() -> None:
    found = needs()
    assert [need.fault for need in found] == list(FAULTS)
    for need in found:
        enough = need.fixture.certificate(need.fault, need.certificate.needed)
        assert enough.holds
        assert enough.miss <= BETA
        assert not need.fixture.certificate(need.fault, need.certificate.needed - 1).holds or enough.needed == 1
