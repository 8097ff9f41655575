"""What RheoVerification and RRSw accept at each node, against the transport optimum of that node, by enumeration."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import to_fraction
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, Scheme, plain
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.theorems.levels import Level, all_slots, by_depth, candidates, levels, rrsw_acceptance
from rheo_proof.theorems.transport import by_subsets, optimal_plan

WITHOUT_FILLS = [(1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3)]  # K, m: at most one slot after the head
WITH_FILLS = [(2, 0), (3, 1)]


def roomy(slots: int, head: int, depth: int, verify: str) -> Scheme:
    """Nothing is pruned."""
    nodes = sum(slots**layer for layer in range(1, depth + 1))
    return plain(Parameters(slots=slots, head=head, depth=depth, beam=slots**depth, nodes=nodes, verify=verify))


def models(vocab: int, depth: int) -> Iterator[ToyModel]:
    return (family_model(family, seed, vocab, depth) for family, seed in product(FAMILIES, range(2)))


def found(slots: int, head: int, verify: str) -> Iterator[tuple[Level, Law, Law, Rheo]]:
    """Every node of every model, with its laws."""
    for model in models(4, 2):
        scheme = roomy(slots, head, 2, verify)
        assert isinstance(scheme.drafting, Rheo)
        for level in levels(scheme, model):
            yield level, model.target(level.prefix), model.draft(level.prefix), scheme.drafting


@pytest.mark.parametrize(("slots", "head"), WITHOUT_FILLS)
def test_rheo_verification_attains_the_optimum_at_every_node_when_there_are_no_fills(slots: int, head: int) -> None:
    gaps = [level.gap for level, *_ in found(slots, head, "rheo")]
    assert len(gaps) > 30
    assert set(gaps) == {0}


@pytest.mark.parametrize(("slots", "head"), WITH_FILLS)
def test_rheo_verification_is_between_head_plus_x_and_all_slots_when_there_are_fills(slots: int, head: int) -> None:
    nodes = [level for level, *_ in found(slots, head, "rheo")]
    assert all(level.head_and_x <= level.accepted <= level.optimum for level in nodes)
    assert any(level.head_and_x < level.accepted for level in nodes)
    assert any(level.gap for level in nodes)


@pytest.mark.parametrize(("slots", "head"), WITHOUT_FILLS)
def test_rrsw_accepts_what_the_specification_says_and_no_more_than_the_optimum(slots: int, head: int) -> None:
    below = 0
    for level, p, q, drafting in found(slots, head, "rrsw"):
        assert level.accepted == rrsw_acceptance(drafting, p, q) <= level.optimum
        below += level.gap > 0
    assert (below > 0) == (0 < head < slots)


def test_the_closed_form_with_fills_is_the_transport_optimum() -> None:
    for (slots, head), model in product([*WITHOUT_FILLS, *WITH_FILLS, (3, 0), (4, 1)], models(5, 1)):
        drafting, p, q = Rheo(slots, head, 1, slots, slots), model.target(()), model.draft(())
        assert all_slots(drafting, p, q) == by_subsets(p, candidates(drafting, q)).acceptance


def test_fills_with_the_paper_parameters_lose_nothing_on_the_toy_and_a_quarter_here() -> None:
    assert {level.gap for level in levels(roomy(2, 0, 2, "rheo"), toy(2))} == {0}
    p, q = Law.read(["1/4", "3/4", "0"]), Law.read(["1/2", "1/4", "1/4"])
    [level] = levels(roomy(2, 0, 1, "rheo"), ToyModel(3, 1, lambda u: p, lambda u: q))
    assert (level.head_and_x, level.accepted, level.optimum) == (Fraction(1, 2), Fraction(3, 4), 1)
    assert sum(optimal_plan(p, candidates(Rheo(2, 0, 1, 2, 2), q)).values()) == 1


def test_the_toy_level_by_level() -> None:
    rheo, rrsw = (levels(roomy(2, 1, 2, verify), toy(2)) for verify in ("rheo", "rrsw"))
    assert [level.accepted for level in rheo] == [Fraction(19, 20), 1, 1, Fraction(11, 15)]
    assert [level.gap for level in rrsw] == [Fraction(1, 20), Fraction(1, 8), Fraction(1, 9), Fraction(1, 15)]
    first, second = by_depth(rheo)
    assert (first.arrival, first.accepted) == (1, Fraction(19, 20))
    assert (second.arrival, second.accepted) == (first.accepted, Fraction(269, 285))
    assert [level.gap for level in by_depth(rrsw)] == [Fraction(1, 20), Fraction(353, 3240)]


def test_levels_add_up_to_the_expected_number_of_accepted_tokens() -> None:
    for model in models(3, 2):
        scheme = roomy(2, 0, 2, "rheo")
        joined = by_depth(levels(scheme, model))
        reached = sum((level.arrival * level.accepted for level in joined), Fraction(0))
        assert reached == law_by_classes(scheme, model).expected_tokens - 1


def test_candidates_have_the_law_of_the_specification() -> None:
    q = Law.read(["1/2", "1/4", "1/8", "1/8"])
    drafting = Rheo(3, 1, 1, 3, 3)
    assert {t: to_fraction(mass) for t, mass in candidates(drafting, q, fills=False).items()} == {
        (0, 1): Fraction(1, 2),
        (0, 2): Fraction(1, 4),
        (0, 3): Fraction(1, 4),
    }
    assert candidates(Rheo(2, 2, 1, 2, 2), q) == {(0, 1): 1}


@pytest.mark.parametrize(
    "scheme",
    [plain(Parameters(slots=2, head=0, depth=2, beam=2, nodes=5)), Scheme(Iid(2, 2), Rrs())],
    ids=["pruned", "another drafting"],
)
def test_a_drafting_that_may_prune_is_refused(scheme: Scheme) -> None:
    with pytest.raises(InputError, match="prune"):
        levels(scheme, toy(2))
