"""What must be refuted is refuted, on several batteries and with the smallest model; what must not be is not.

No randomness: a fault that one battery misses is missed by every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import pytest

from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.files import write_model
from rheo_proof.exact.number import rational, to_fraction
from rheo_proof.exact.step import StepLaw
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_classes, law_by_replay
from rheo_proof.schemes.registry import ALL
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.schemes.variations import VARIATIONS
from rheo_proof.theorems import counterexample
from rheo_proof.theorems.counterexample import SEEDS, Counterexample, sizes, smallest
from rheo_proof.theorems.instances import Entry, Result, Source, battery, prove
from tests.completion import completed, filled, first_wrong, target_probability
from tests.oracle import DRAFT_FAULTS, VERIFY_FAULTS, step_law, total_variation

VOCAB, DEPTH, SLOTS = 5, 3, 3
BIASED = (*FAULTS, "bottom-up")
PLAIN = ("bottom-up", "rrsw-tail-proxy")
"""What is biased without a fault in the oracle: its rule and its options say it all."""
SLOW = {"shared-coin": (0,), "flow-depth-first": (1,), "flow-layers": (0,), "rrsw-tail-proxy": (1,), "bottom-up": (1,)}
"""Where only the m at which the smallest counterexample is found is searched, to save time."""


# The battery


def first_biased(name: str, sources: list[Source]) -> Result | None:
    """The first of these models on which a scheme is biased at some m; the m that take the least time go first."""
    for source in sources:
        for m in (1, 2, 3, 0):
            [result] = prove(source, [Entry.of(name, Parameters(depth=source.depth, head=m))])
            if result.wrong:
                return result
    return None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", BIASED)
def test_the_battery_refutes(name: str, seed: int) -> None:
    found = first_biased(name, battery(20, seed, VOCAB, DEPTH))
    assert found is not None
    assert found.verdict == "biased"
    assert found.tv is not None
    assert found.tv > 0


def test_there_are_many_faults_and_all_are_marked_as_biased() -> None:
    assert len(FAULTS) >= 15
    assert [name for name in BIASED if ALL[name].lossless] == []


@pytest.mark.parametrize("rule", ["rheo", "rrsw", "flow", "match"])
def test_the_same_search_refutes_no_sound_rule(rule: str) -> None:
    """The twin of the test above."""
    assert first_biased(rule, battery(10, 0, VOCAB - 1, DEPTH)) is None


# Smallest counterexamples


def oracle_scheme(found: Counterexample) -> dict[str, Any] | None:
    """The scheme as the oracle reads it, or None where the oracle does not have the fault."""
    if found.name in (*DRAFT_FAULTS, *VERIFY_FAULTS):
        return found.parameters.as_json()
    return found.parameters.as_json() | {"fault": None} if found.name in PLAIN else None


def strings_of(law: StepLaw, vocab: int) -> dict[tuple[int, ...], Fraction]:
    return dict(law.strings(vocab))


@cache
def searched(name: str) -> Counterexample:
    found = smallest(name, Parameters(), VOCAB, SLOW.get(name, range(SLOTS + 1)))
    assert found is not None
    return found


@pytest.mark.parametrize("name", BIASED)
def test_the_smallest_counterexample_is_one_by_brute_force(name: str) -> None:
    found = searched(name)
    assert found.name == name
    scheme, model = ALL[name].build(found.parameters), filled(write_model(found.model))
    law = strings_of(law_by_replay(scheme, found.model), found.model.vocab)
    assert law == strings_of(law_by_classes(scheme, found.model), found.model.vocab)
    assert first_wrong(model, law) == tuple(found.wrong)
    assert total_variation(model, law) == found.tv > 0
    written = oracle_scheme(found)
    if written is not None:
        assert step_law(model, written) == law


def test_the_oracle_knows_about_half_of_what_is_biased() -> None:
    known = [name for name in BIASED if name in (*DRAFT_FAULTS, *VERIFY_FAULTS) or name in PLAIN]
    assert len(known) >= 9


@pytest.mark.parametrize("name", ["own-probability", "second-token", "resort-siblings"])
def test_the_smallest_counterexample_is_the_same_every_time(name: str) -> None:
    """From empty caches. `cli/test_gallery.py` finds all of them again, as docs/faults.md has them."""
    first = searched(name)
    counterexample._pooled.cache_clear()
    counterexample.simple_laws.cache_clear()
    second = searched.__wrapped__(name)
    assert first is not second
    assert described(first) == described(second)


def described(found: Counterexample) -> tuple[Any, ...]:
    return found.name, found.parameters, write_model(found.model), found.wrong, found.tv


def biased_sizes(name: str, vocab: int, most: Parameters) -> Iterator[tuple[int, int, int, int]]:
    """The sizes at which a model of the pool shows the bias, in order, by the replay enumerator."""
    for v, depth, slots, nodes in sizes(vocab, most):
        for m, family, seed in product(range(slots + 1), FAMILIES, range(SEEDS)):
            p = ALL[name].fix(Parameters(slots=slots, head=m, depth=depth, beam=slots, nodes=nodes))
            model = family_model(family, seed, v, depth)
            if law_by_replay(ALL[name].build(p), model).first_wrong(model):
                yield v, depth, slots, nodes
                break


@pytest.mark.parametrize("name", ["second-token", "tie-by-token", "resort-siblings"])
def test_nothing_smaller_in_the_pool_shows_the_bias(name: str) -> None:
    found = searched(name)
    p = found.parameters
    size = (found.model.vocab, p.depth, p.slots, p.nodes)
    assert next(biased_sizes(name, VOCAB, Parameters())) == size
    assert next(iter(sizes(VOCAB, Parameters()))) < size


def test_the_sizes_are_tried_smallest_first_and_each_once() -> None:
    tried = list(sizes(VOCAB, Parameters()))
    assert tried == sorted(set(tried))
    assert tried[0] == (2, 1, 1, 1)
    assert all(v <= VOCAB and depth <= 3 and slots <= min(3, v) and nodes <= 8 for v, depth, slots, nodes in tried)
    assert {v for v, *_ in tried} == {2, 3, 4, 5}


def test_the_search_keeps_to_the_sizes_and_the_m_it_was_given() -> None:
    assert smallest("second-token", Parameters(depth=1), 3, range(4)) is None
    found = smallest("own-probability", Parameters(), 3, [1])
    assert found is not None
    assert found.parameters.head == 1


def test_the_search_finds_nothing_against_a_sound_scheme() -> None:
    assert smallest("rheo", Parameters(depth=2, slots=2, nodes=4), 3, range(3)) is None


def test_simplifying_keeps_a_counterexample_and_makes_it_no_harder() -> None:
    name, p = "own-probability", Parameters(slots=2, head=0, depth=1, beam=2, nodes=1)
    harder = next(
        found
        for family, seed in product(FAMILIES, range(SEEDS))
        if (found := counterexample.check(name, p, family_model(family, seed, 2, 1)))
    )
    found = searched(name)
    assert (found.parameters, found.model.vocab) == (harder.parameters, 2)
    assert counterexample._difficulty(found) < counterexample._difficulty(harder)


# Harmless options and variations

TAIL = {"proxy": "tail"}
HARMLESS: dict[str, tuple[tuple[str, ...], int, dict[str, Any]]] = {
    # schemes, depth, options
    "duplicate-fills": (("duplicate-fills",), 3, {}),
    "duplicate-fills, few nodes": (("duplicate-fills",), 3, {"nodes": 5}),
    "adaptive-head": (("adaptive-head",), 3, {}),
    "tail proxy": (("rheo", "flow", "match"), 3, TAIL),
    "tail proxy, half": (("rheo", "flow", "match"), 3, TAIL | {"proxy_scale": "1/2"}),
    "tail proxy, small, with fills": (("rheo", "flow", "match"), 3, TAIL | {"proxy_scale": "1/9", "fill_scale": "1/2"}),
    "fills at a third": (("rheo", "flow", "match", "rrsw"), 3, {"fill_scale": "1/3"}),
    "one expanded a layer": (("rheo", "flow", "match", "rrsw"), 3, {"beam": 1}),
    "two expanded, three kept": (("rheo", "flow", "match", "rrsw"), 3, {"beam": 2, "nodes": 3}),
    "one kept": (("rheo", "flow", "match", "rrsw"), 3, {"nodes": 1}),
    "all kept": (("rheo", "flow", "match", "rrsw"), 2, {"nodes": 10**6}),
    "all expanded, all kept": (("rheo", "flow", "match"), 2, {"beam": 99, "nodes": 99}),
    "sparse drafts": (("rheo", "flow", "match", "rrsw"), 3, {"sparse": 2}),
    "more slots than tokens": (("rheo", "flow", "match", "rrsw"), 2, {"slots": 5, "nodes": 9}),
    "a sampled chain": (("chain", "block"), 3, {}),
    "top-K": (("top-k",), 3, {"nodes": 6}),
}
RULES = ("rheo", "flow", "match")


def verdicts(names: tuple[str, ...], depth: int, options: dict[str, Any]) -> dict[str, int]:
    """How many instances of a battery have which verdict, for every m; variations with every sound rule."""
    scales = {name: rational(value) for name, value in options.items() if name.endswith("scale")}
    entries: dict[Entry, None] = {}
    for name, rule in product(names, RULES):
        for m in range(options.get("slots", SLOTS) + 1):
            entries[Entry.of(name, Parameters(**{**options, **scales, "depth": depth, "head": m, "verify": rule}))] = (
                None
            )
    counts: dict[str, int] = {}
    for source in battery(10, 0, VOCAB - 1, depth):
        for result in prove(source, list(entries)):
            counts[result.verdict] = counts.get(result.verdict, 0) + 1
    return counts


@pytest.mark.parametrize("label", HARMLESS)
def test_a_harmless_option_is_lossless_on_the_battery(label: str) -> None:
    counts = verdicts(*HARMLESS[label])
    assert set(counts) == {"lossless"}
    assert counts["lossless"] >= 10


def test_all_variations_are_among_the_harmless_options() -> None:
    assert {name for names, _, _ in HARMLESS.values() for name in names} >= set(VARIATIONS)


@pytest.mark.parametrize("options", [{"fill_scale": "1/3"}, {"beam": 1}, TAIL, {"sparse": 2}], ids=str)
def test_an_option_makes_no_fault_harmless(options: dict[str, Any]) -> None:
    """The twin: the same battery and the same options with a fault."""
    assert verdicts(("skip-residual",), 2, options)["biased"] > 0


# The fault that the first token does not show


def first_token(law: StepLaw, vocab: int) -> list[Fraction]:
    """The law of the first token that is emitted."""
    masses = [Fraction(0)] * vocab
    for string, mass in law.strings(vocab):
        masses[string[0]] += mass
    return masses


def first_tokens_off(name: str, m: int) -> tuple[int, int]:
    """On how many models of the battery the first token has a wrong law, and on how many the whole output has."""
    off, wrong = 0, 0
    for source in battery(20, 0, VOCAB, DEPTH):
        model = source.load()
        law = law_by_classes(ALL[name].build(ALL[name].fix(Parameters(head=m))), model)
        off += first_token(law, VOCAB) != [to_fraction(mass) for mass in model.target(())]
        first = law.first_wrong(model)
        wrong += first is not None
        assert first is None or name != "second-token" or len(first.string) >= 2
    return off, wrong


@pytest.mark.parametrize("m", range(SLOTS))
def test_the_second_token_fault_has_an_exact_first_token_and_a_wrong_second(m: int) -> None:
    off, wrong = first_tokens_off("second-token", m)
    assert off == 0
    assert wrong > 0


def test_the_first_token_shows_another_fault() -> None:
    """The twin: the comparison of first tokens can say no."""
    off, wrong = first_tokens_off("skip-residual", 1)
    assert 0 < off <= wrong


def test_the_second_token_is_wrong_by_brute_force_too() -> None:
    found = searched("second-token")
    model = filled(write_model(found.model))
    law = strings_of(law_by_replay(ALL[found.name].build(found.parameters), found.model), found.model.vocab)
    for token in range(found.model.vocab):
        assert completed(model, law, (token,)) == target_probability(model, (token,))
    assert len(found.wrong.string) == 2
    assert completed(model, law, found.wrong.string) != target_probability(model, found.wrong.string)
