"""Storm, on the exported texts alone, finds the law of the class enumerator, as rationals; a fault's is the fault's."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings

from rheo_proof.exact.errors import LimitReached, SoundnessError
from rheo_proof.exact.families import family_model
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import ONE, Q, to_fraction
from rheo_proof.exact.step import target_probability
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, Scheme, plain
from rheo_proof.theorems.chain import markov_chain
from rheo_proof.theorems.export import FORMATS, drn, prism
from rheo_proof.theorems.instances import Entry
from rheo_proof.theorems.process import Choice, Process, one, out
from rheo_proof.theorems.second_opinion import differences, step_opinion
from rheo_proof.theorems.storm import chances_by_storm, law_by_storm
from tests.crosscheck.needs_storm import storm_or_skip
from tests.strategies import Instance, instances

storm_or_skip()

SIZES = [("random", 2, 2), ("ties", 3, 1), ("zeros", 3, 2)]
SCHEMES = [
    "rheo",
    "rrsw",
    "match",
    "flow",
    "chain",
    "block",
    "top-k",
    "leviathan",
    "bv",
    "rrs",
    "rsd-c",
    "traversal",
    "greedy",
    "eagle",
]
FAULTS = [
    ("skip-residual", "random", 1),
    ("own-probability", "random", 0),
    ("verify-full-q", "random", 1),
    ("stale-bonus", "random", 0),
    ("second-token", "random", 0),
    ("rrs-skip-repeated", "uniform", 0),
    ("rsd-sort-by-q", "random", 0),
]

every_format = pytest.mark.parametrize("language", FORMATS)


def scheme_of(name: str, **parameters: Any) -> Scheme:
    return Entry.of(name, Parameters(**parameters)).scheme()


@pytest.mark.parametrize(("family", "vocab", "depth"), SIZES)
@pytest.mark.parametrize("name", SCHEMES)
def test_storm_finds_our_law_and_the_targets(name: str, family: str, vocab: int, depth: int) -> None:
    model = family_model(family, 0, vocab, depth)
    scheme = scheme_of(name, slots=2, head=1, depth=depth, nodes=4)
    try:
        found = step_opinion(scheme, model, states=1500)
    except LimitReached:
        model = family_model(family, 0, 2, 1)
        found = step_opinion(scheme_of(name, slots=2, head=1, depth=1, nodes=4), model)
    assert found.languages == ("prism", "drn")
    assert found.differences == ()
    assert found.outputs > 1
    assert (found.tv, found.storm_tv) == (0, 0)


@pytest.mark.parametrize(("name", "family", "head"), FAULTS)
def test_storm_finds_the_law_of_a_fault_which_is_not_the_targets(name: str, family: str, head: int) -> None:
    model = family_model(family, 1, 3, 2)
    found = step_opinion(scheme_of(name, slots=2, head=head, depth=2, nodes=3), model)
    assert found.agrees
    assert found.storm_tv > 0


def test_storm_agrees_on_random_instances() -> None:
    small: list[bool] = []

    @given(instances())
    @settings(max_examples=25)
    def agrees(instance: Instance) -> None:
        scheme = plain(instance.parameters)
        try:
            process = markov_chain(scheme, instance.model, states=400)
        except LimitReached:
            small.append(False)
            return
        small.append(True)
        ours = dict(law_by_classes(scheme, instance.model).strings(instance.model.vocab))
        assert law_by_storm(drn(process), "drn") == ours

    agrees()
    assert sum(small) >= 5


@every_format
def test_two_of_storms_algorithms_agree(language: str) -> None:
    """The long-run share of an end state, for all of them at once, and one query of reachability for each."""
    process = markov_chain(plain(Parameters(slots=2, head=0, depth=2, nodes=4)), family_model("random", 0, 3, 2))
    text = FORMATS[language](process, ["a title"])
    law = chances_by_storm(text, language)
    assert len(law) > 20
    assert law == law_by_storm(text, language)


@every_format
def test_storm_disagrees_once_a_transition_is_corrupted(language: str) -> None:
    """Twin, for every row of the chain that has two outcomes."""
    scheme, model = plain(Parameters(slots=2, head=0, depth=2, nodes=3)), family_model("random", 0, 2, 2)
    process = markov_chain(scheme, model)
    ours = dict(law_by_classes(scheme, model).strings(2))
    assert law_by_storm(FORMATS[language](process, ()), language) == ours
    wrong = list(corrupted(process))
    assert len(wrong) > 10
    for each in wrong:
        assert law_by_storm(FORMATS[language](each, ()), language) != ours


def corrupted(process: Process) -> list[Process]:
    found = []
    for state, (choice, *_) in enumerate(process.choices):
        if len(choice.row) > 1:
            (a, mass), (b, other), *rest = choice.row
            row = ((a, mass / 1000), (b, other + mass * Q(999, 1000)), *rest)
            choices = (*process.choices[:state], (Choice("", row),), *process.choices[state + 1 :])
            found.append(replace(process, choices=choices))
    return found


def test_the_law_of_another_scheme_is_told_apart() -> None:
    """Twin: Storm on one rule, ours of another."""
    model = family_model("random", 0, 3, 2)
    rules = [plain(Parameters(slots=2, head=1, depth=2, nodes=4, verify=rule)) for rule in ("rheo", "match")]
    ours = [dict(law_by_classes(rule, model).strings(3)) for rule in rules]
    storms = [law_by_storm(drn(markov_chain(rule, model)), "drn") for rule in rules]
    assert [differences("drn", a, b) == [] for a in ours for b in storms] == [True, False, False, True]


# What Storm does not do by itself, as docs/storm.md says


@every_format
def test_storm_takes_rows_that_do_not_sum_to_1(language: str) -> None:
    """Why `Process` checks them. Should this fail one day, the page has to say so."""
    process = markov_chain(plain(Parameters(slots=1, head=0, depth=1, nodes=1)), family_model("random", 0, 2, 1))
    text = FORMATS[language](process, ())
    assert "1/3" in text
    assert chances_by_storm(text.replace("1/3", "1/30"), language)
    with pytest.raises(SoundnessError, match="total probability"):
        law_by_storm(text.replace("1/3", "1/30"), language)


@every_format
def test_storm_reads_long_numbers_exactly(language: str) -> None:
    for below in (3, 2**63 - 1, 2**63, 10**40 + 1):
        tiny = Q(1, below)
        ends = (one((1, ONE)), one((2, ONE)))
        labels = {out((0,)): (1,), out((1,)): (2,)}
        process = Process((one((1, ONE - tiny), (2, tiny)), *ends), ("", "", ""), labels)
        wanted: dict[Prefix, Fraction] = {(0,): 1 - Fraction(1, below), (1,): Fraction(1, below)}
        assert law_by_storm(FORMATS[language](process, ()), language) == wanted


@pytest.mark.filterwarnings("default")
def test_whole_numbers_beyond_64_bits_are_refused_in_prism_text() -> None:
    """Why `prism` writes them as decimals."""
    process = Process((one((0, ONE)),), ("",), {out((0,)): (0,)})
    text = prism(process).replace("-> 1 :", f"-> {2**64}/{2**64} :")
    assert str(2**64) in text
    with pytest.raises(RuntimeError, match="64-bit integer overflow"):
        law_by_storm(text, "prism")


@every_format
def test_completed_outputs_have_the_targets_law(language: str) -> None:
    """Storm's law of completed outputs against products of target probabilities: no step law of ours is involved."""
    model = family_model("swing", 2, 3, 2)
    for rule in ("rheo", "flow"):
        process = markov_chain(plain(Parameters(slots=2, head=0, depth=2, nodes=3, verify=rule)), model, complete=True)
        law = law_by_storm(FORMATS[language](process, ()), language)
        strings = product(range(3), repeat=3)
        assert law == {v: to_fraction(p) for v in strings if (p := target_probability(model, v))}
