"""The named schemes with acceptance weight: lossless ones proved, faults refuted, the one-page table of the toy."""

from __future__ import annotations

from fractions import Fraction

import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.toys import toy, two_tokens
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.static import Static, full
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.registry import ALL
from rheo_proof.schemes.scheme import Named, Parameters, Scheme
from rheo_proof.schemes.verifying.block import Block
from rheo_proof.schemes.verifying.gbv import Gbv
from rheo_proof.schemes.verifying.traversal import Traversal
from rheo_proof.schemes.zoo_walking import ENTRIES as WALKING
from rheo_proof.schemes.zoo_weighted import CONTROLS, ENTRIES
from tests.walking_zoo import agreed, lossless

NAMED = {named.name: named for named in (*ENTRIES, *CONTROLS)}

every_entry = pytest.mark.parametrize("named", ENTRIES, ids=lambda named: named.name)
every_control = pytest.mark.parametrize("named", CONTROLS, ids=lambda named: named.name)


def built(named: Named, slots: int, depth: int, head: int = 1) -> Scheme:
    return named.build(named.fix(Parameters(slots=slots, head=head, depth=depth, beam=2, nodes=4)))


def test_names_are_new_and_lines_cite_a_source() -> None:
    assert len(NAMED) == len(ENTRIES) + len(CONTROLS) >= 23
    assert not set(NAMED) & ({named.name for named in WALKING} | set(ALL) - set(NAMED))
    for named in ENTRIES:
        assert "arXiv" in named.line or "this project" in named.line, named.name
        assert named.lossless
    assert not any(named.lossless for named in CONTROLS)


@every_entry
def test_a_scheme_is_lossless_on_all_families_by_both_enumerators(named: Named) -> None:
    for seed, family in enumerate(FAMILIES):
        model = family_model(family, seed, 2, 2)
        scheme = built(named, 2, 2)
        assert lossless(agreed(scheme.drafting, scheme.verifying, model), model), family


@every_entry
def test_a_scheme_is_lossless_on_three_tokens(named: Named) -> None:
    for seed, family in enumerate(FAMILIES):
        model = family_model(family, seed + 10, 3, 2)
        scheme = built(named, 2 + seed % 2, 2, seed % 2)
        if named.name.startswith(("ot-", "univer-")) and seed % 2:
            continue  # three children of three tokens: 27 tuples a node, in test_plans.py
        assert lossless(law_by_classes(scheme, model), model), family


@pytest.mark.parametrize("name", ["bv", "hsd", "hsd-naive", "traversal-paths", "gbv", "chain-verification", "dx"])
def test_a_scheme_is_lossless_on_three_layers(name: str) -> None:
    for seed, family in enumerate(FAMILIES):
        model = family_model(family, seed + 20, 2, 3)
        assert lossless(law_by_classes(built(NAMED[name], 2, 3), model), model), family


REFUTED = {
    "traversal-sort-by-token": (2, 2, "313/720"),
    "traversal-top-as-draws": (2, 2, "563/1800"),
    "traversal-by-creation": (3, 2, "1463/120000"),
    "hsd-uncapped": (1, 2, "1/15"),
    "gbv-first-maximum": (2, 2, "1/25"),
    "gbv-clipped": (2, 2, "1143/18400"),
}
"""Slots, depth and exact distance of each fault on the toy."""


@every_control
def test_a_fault_is_refuted_on_the_toy_with_its_exact_distance(named: Named) -> None:
    slots, depth, tv = REFUTED[named.name]
    scheme, model = built(named, slots, depth), toy(depth)
    law = law_by_classes(scheme, model) if slots == 3 else agreed(scheme.drafting, scheme.verifying, model)
    assert not lossless(law, model)
    assert law.total_variation(model) == Fraction(tv)


@every_control
def test_a_fault_is_refuted_by_random_models(named: Named) -> None:
    families = ("ties", "random", "near") if named.name.startswith("gbv") else ("random", "near")
    slots = REFUTED[named.name][0]
    models = (family_model(family, seed, 3 if slots < 3 else 2, 2) for family in families for seed in range(4))
    assert any(not lossless(law_by_classes(built(named, slots, 2), model), model) for model in models)


def test_the_uncapped_final_test_is_wrong_on_two_tokens_by_a_ninth() -> None:
    scheme = built(NAMED["hsd-uncapped"], 1, 2)
    law = agreed(scheme.drafting, scheme.verifying, two_tokens(2))
    assert law.total_variation(two_tokens(2)) == Fraction(1, 9)
    assert law.expected_tokens - 1 == Fraction(4, 3)


ONE_LEVEL = {
    "bv": (1, "3/5"),
    "hsd": (1, "3/5"),
    "gbv": (2, "21/25"),
    "ot-iid": (2, "21/25"),
    "traversal": (2, "9/10"),
    "traversal-masses": (2, "9/10"),
    "ot-greedy": (2, "19/20"),
    "univer-greedy": (2, "19/20"),
    "greedy-scaled": (2, "19/20"),
    "ot-without": (2, "139/140"),
    "univer-without": (2, "139/140"),
}
TWO_LEVELS = {
    "bv": (1, "133/120"),
    "hsd": (1, "133/120"),
    "traversal": (2, "1253/720"),
    "traversal-masses": (2, "1253/720"),
    "traversal-paths": (2, "19261/14400"),
    "gbv": (2, "22379/14400"),
    "ot-greedy": (2, "277/150"),
    "univer-greedy": (2, "559/300"),
    "greedy-scaled": (2, "559/300"),
    "univer-without": (2, "139/70"),
    "univer-iid": (2, "2963/1800"),
}


@pytest.mark.parametrize("name", ONE_LEVEL)
def test_the_acceptance_of_one_level_is_that_of_the_table(name: str) -> None:
    slots, expected = ONE_LEVEL[name]
    scheme = built(NAMED[name], slots, 1)
    law = agreed(scheme.drafting, scheme.verifying, toy(1))
    assert lossless(law, toy(1))
    assert law.expected_tokens - 1 == Fraction(expected)


@pytest.mark.parametrize("name", TWO_LEVELS)
def test_the_accepted_tokens_of_two_levels_are_those_of_the_table(name: str) -> None:
    slots, expected = TWO_LEVELS[name]
    scheme = built(NAMED[name], slots, 2)
    law = agreed(scheme.drafting, scheme.verifying, toy(2))
    assert lossless(law, toy(2))
    assert law.expected_tokens - 1 == Fraction(expected)


def test_a_rule_refuses_a_draft_that_is_not_its_own() -> None:
    refused = [
        (Block(), Iid(2, 1), "needs a sampled chain"),
        (Block(), Static(full(1, 2)), "needs a sampled chain"),
        (Gbv(), Iid(2, 2), "needs 2 i.i.d. paths"),
        (Gbv(), Static(full(2, 1)), "needs 2 i.i.d. paths"),
        (Traversal(), Static(full(2, 2)), "needs sampled children"),
    ]
    for rule, drafting, message in refused:
        with pytest.raises(InputError, match=message):
            law_by_classes(Scheme(drafting, rule), toy(2))
