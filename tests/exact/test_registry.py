"""The registry: one name for one scheme, what each ought to be, and look-ups that know all of them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.exact.families import family_model
from rheo_proof.exact.number import Q
from rheo_proof.exact.toys import toy
from rheo_proof.schemes import zoo_walking, zoo_weighted
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.registry import (
    ALL,
    BUDGETED,
    CHAIN_FAULTS,
    CHAINS,
    CONTROLS,
    LOSSY,
    ON_RHEO_TREES,
    PAIRS,
    REDRAWING,
    THREE_PATHS,
    ZOO,
    united,
)
from rheo_proof.schemes.scheme import SCHEMES, Parameters
from rheo_proof.schemes.variations import VARIATIONS
from rheo_proof.theorems.agreement import replay_agrees
from rheo_proof.theorems.instances import Effort, Entry, Source, prove
from rheo_proof.theorems.zoo import EVERY, FAULTS_KNOWN, PLANNED, SCHEMES_KNOWN, fault_named, scheme_named

TWO = Parameters(slots=2, head=1, depth=2, beam=2, nodes=4)
ZOO_NAMES = [*ZOO, *LOSSY, *CONTROLS, *PLANNED]
OTHER = replace(
    TWO, head=0, beam=1, sparse=1, proxy="tail", proxy_scale=Q(1, 2), fill_scale=Q(1, 2), verify="match", nodes=4
)
"""Every parameter that the zoo may be blind to is another one."""


def test_every_name_stands_for_one_scheme() -> None:
    groups = (SCHEMES, VARIATIONS, ZOO, LOSSY, FAULTS, CONTROLS, PLANNED)
    assert sum(map(len, groups)) == len(EVERY)
    assert all(name == named.name for name, named in EVERY.items())
    assert set(EVERY) == set(SCHEMES_KNOWN) | set(FAULTS_KNOWN)
    assert set(EVERY) - set(ALL) == set(PLANNED)


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(SoundnessError, match="two schemes have the name 'rheo'"):
        united(SCHEMES.values(), [SCHEMES["rheo"]])


def test_at_least_twenty_published_schemes_cite_their_source() -> None:
    citation = re.compile(r"arXiv \d{4}\.\d{5}|[A-Za-z-]+/[A-Za-z-]+|sgl-kernel|this project")
    cited = [name for name in SCHEMES_KNOWN if citation.search(SCHEMES_KNOWN[name].line)]
    assert len(cited) >= 40
    assert set(SCHEMES_KNOWN) - set(cited) == {"match", "bottom-up", *VARIATIONS}


def test_the_zoo_is_all_that_its_two_files_hold() -> None:
    assert list(ZOO) == [named.name for named in (*zoo_walking.ENTRIES, *zoo_weighted.ENTRIES)]
    assert list(LOSSY) == [named.name for named in zoo_walking.LOSSY]
    assert list(CONTROLS) == [named.name for named in (*zoo_walking.CONTROLS, *zoo_weighted.CONTROLS)]


def test_what_a_scheme_ought_to_be_is_one_of_three() -> None:
    assert {named.expected for named in (*ZOO.values(), *PLANNED.values())} == {"lossless"}
    assert {named.expected for named in LOSSY.values()} == {"lossy by design"}
    assert {named.expected for named in FAULTS_KNOWN.values()} == {"biased"}
    assert len(FAULTS) == 18


def test_look_ups_list_what_is_known() -> None:
    assert scheme_named("ot-greedy-flow").lossless
    assert fault_named("gbv-clipped") is CONTROLS["gbv-clipped"]
    with pytest.raises(InputError, match=r"unknown scheme 'gbv-clipped'; known are rheo, .*, ot-greedy-flow"):
        scheme_named("gbv-clipped")
    with pytest.raises(InputError, match=r"unknown fault 'relaxed'; known are .*, gbv-clipped"):
        fault_named("relaxed")


def drafting(name: str, parameters: Parameters) -> object:
    named = EVERY[name]
    return named.build(parameters).drafting


@pytest.mark.parametrize("name", ZOO_NAMES)
def test_a_scheme_of_the_zoo_fixes_exactly_what_it_does_not_read(name: str) -> None:
    """Its own builder drafts the same from parameters that differ wherever the registry says so."""
    assert EVERY[name].zoo
    if name in ON_RHEO_TREES:
        assert isinstance(drafting(name, TWO), Rheo)
        assert EVERY[name].fix(OTHER) == replace(OTHER, verify=name)
        return
    fixed = EVERY[name].fix(TWO)
    assert fixed == EVERY[name].fix(OTHER)
    assert drafting(name, fixed) == drafting(name, TWO) or name in THREE_PATHS
    assert (fixed.head, fixed.verify, fixed.depth) == (0, name, 2)
    reads_nodes = drafting(name, replace(TWO, nodes=2)) != drafting(name, TWO)
    assert reads_nodes == (name in BUDGETED)
    assert reads_nodes == ("nodes" in EVERY[name].reads)
    reads_slots = drafting(name, replace(TWO, slots=3, nodes=12)) != drafting(name, replace(TWO, nodes=12))
    one_child = name in (*CHAINS, *CHAIN_FAULTS)
    assert reads_slots == (not one_child and name not in PAIRS)
    assert (fixed.slots == 1) == one_child
    takes = {slots for slots in (1, 2, 3) if EVERY[name].fix(replace(TWO, slots=slots)).slots == slots}
    assert takes == (
        {1, 2, 3} if reads_slots and name not in THREE_PATHS else {1 if one_child else 2 if name in PAIRS else 3}
    )


def test_the_names_in_the_lists_are_schemes_of_the_zoo() -> None:
    for names in (ON_RHEO_TREES, BUDGETED, CHAINS, CHAIN_FAULTS, PAIRS, THREE_PATHS, REDRAWING):
        assert names
        assert set(names) <= set(ZOO_NAMES)


@pytest.mark.parametrize("name", [*PLANNED, "rrs", "gbv", "dx", "eagle", "relaxed", "kseq-clipped"])
def test_replay_checks_schemes_of_the_zoo_as_well(name: str) -> None:
    assert replay_agrees(Entry.of(name, TWO)) == 2


def test_replay_falls_back_to_smaller_models_where_there_are_too_many_paths() -> None:
    assert replay_agrees(Entry.of("rrs", Parameters(slots=3, depth=3))) == 2


@pytest.mark.parametrize("name", PLANNED)
def test_a_plan_from_a_maximal_flow_is_lossless_and_as_good_at_one_level(name: str) -> None:
    other = ZOO[name.removesuffix("-flow")]
    for family in ("random", "ties", "zeros", "peaked"):
        model = family_model(family, 0, 3, 2)
        assert law_by_classes(EVERY[name].build(TWO), model).total_variation(model) == 0
    one = replace(TWO, depth=1)
    assert (
        law_by_classes(EVERY[name].build(one), toy(1)).expected_tokens
        == law_by_classes(other.build(one), toy(1)).expected_tokens
    )


def test_a_lossy_rule_is_lossy_by_design_where_it_errs_and_lossless_where_it_does_not() -> None:
    entry = Entry.of("static-mixing", TWO)
    [lossy] = prove(Source("random", 0, 3, 2), [entry], Effort())
    [exact] = prove(Source("identical", 0, 3, 2), [entry], Effort())
    assert (lossy.verdict, exact.verdict) == ("lossy by design", "lossless")
    assert lossy.tv is not None
    assert lossy.tv > 0 == exact.tv
