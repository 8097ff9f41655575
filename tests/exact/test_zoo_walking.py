"""The top-down schemes by name: lossless ones on random models, lossy ones and faults refuted, bounds kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ZERO, Q, to_fraction
from rheo_proof.exact.step import target_probability
from rheo_proof.exact.toys import toy, two_tokens
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_classes, law_by_replay
from rheo_proof.schemes.scheme import SCHEMES, Drafting, Named, Parameters, Scheme
from rheo_proof.schemes.tree import Tree
from rheo_proof.schemes.variations import VARIATIONS
from rheo_proof.schemes.zoo_walking import CONTROLS, ENTRIES, LOSSY
from tests.strategies import models
from tests.walking_zoo import agreed, lossless, strings_of, trees

EVERYTHING = {named.name: named for named in (*ENTRIES, *LOSSY, *CONTROLS)}
every_entry = pytest.mark.parametrize("name", [named.name for named in ENTRIES])
every_loss = pytest.mark.parametrize("name", [named.name for named in (*LOSSY, *CONTROLS)])
TWO = Parameters(slots=2, depth=2)


def built(name: str, parameters: Parameters) -> Scheme:
    named = EVERYTHING[name]
    return named.build(named.fix(parameters))


def test_names_are_distinct_and_new() -> None:
    assert len(EVERYTHING) == len(ENTRIES) + len(LOSSY) + len(CONTROLS)
    assert not EVERYTHING.keys() & {*SCHEMES, *VARIATIONS, *FAULTS}


@pytest.mark.parametrize("named", [*ENTRIES, *LOSSY], ids=lambda named: named.name)
def test_every_line_names_its_source(named: Named) -> None:
    assert re.search(r"arXiv \d{4}\.\d{5}|[A-Za-z-]+/[A-Za-z-]+|sgl-kernel", named.line)


def test_only_entries_claim_to_be_lossless() -> None:
    assert all(named.lossless for named in ENTRIES)
    assert not any(named.lossless for named in (*LOSSY, *CONTROLS))


def test_a_control_is_recorded_in_the_parameters() -> None:
    assert {named.fix(TWO).variant for named in CONTROLS} == {named.name for named in CONTROLS}


@every_entry
@pytest.mark.parametrize("family", FAMILIES)
def test_an_entry_is_lossless_at_one_level_with_three_drafts(name: str, family: str) -> None:
    for seed in range(2):
        model = family_model(family, seed, 3, 1)
        scheme = built(name, Parameters(slots=3, depth=1))
        assert lossless(agreed(scheme.drafting, scheme.verifying, model), model)


@every_entry
@pytest.mark.parametrize("family", FAMILIES)
def test_an_entry_is_lossless_at_two_levels(name: str, family: str) -> None:
    scheme = built(name, TWO)
    small, model = family_model(family, 1, 2, 2), family_model(family, 0, 3, 2)
    assert lossless(agreed(scheme.drafting, scheme.verifying, small), small)
    assert lossless(law_by_classes(scheme, model), model)


@given(st.sampled_from(ENTRIES), st.integers(1, 3).flatmap(lambda vocab: models(vocab, 2)), st.integers(1, 2))
def test_an_entry_is_lossless_on_random_models_with_zeros_ties_and_one_hot_laws(
    named: Named, model: ToyModel, slots: int
) -> None:
    scheme = built(named.name, Parameters(slots=slots, depth=2))
    law = law_by_classes(scheme, model)
    assert lossless(law, model)
    if model.vocab < 3:
        assert dict(law_by_replay(scheme, model).strings(model.vocab)) == dict(law.strings(model.vocab))


@every_entry
def test_an_entry_is_lossless_with_a_single_draft_and_with_a_single_token(name: str) -> None:
    one = built(name, Parameters(slots=1, depth=2))
    for model in (toy(2), two_tokens(2), family_model("random", 0, 1, 2)):
        assert lossless(agreed(one.drafting, one.verifying, model), model)
        assert lossless(law_by_classes(built(name, TWO), model), model)


@pytest.mark.parametrize("name", ["leviathan", "early-stop", "spechub", "greedy", "eagle", "delayed", "medusa-tree"])
@pytest.mark.parametrize("family", ["random", "zeros", "ties", "swing"])
def test_an_entry_is_lossless_at_three_levels(name: str, family: str) -> None:
    model = family_model(family, 2, 2, 3)
    scheme = built(name, Parameters(slots=2, depth=3))
    assert lossless(agreed(scheme.drafting, scheme.verifying, model), model)


@every_loss
def test_a_lossy_rule_and_a_fault_are_refuted_on_the_toy(name: str) -> None:
    scheme = built(name, TWO)
    assert not lossless(agreed(scheme.drafting, scheme.verifying, toy(2)), toy(2))


@pytest.mark.parametrize("name", [named.name for named in CONTROLS])
def test_a_fault_is_refuted_on_most_random_models(name: str) -> None:
    models = [family_model("random", seed, 3, 2) for seed in range(4)]
    wrong = sum(not lossless(law_by_classes(built(name, TWO), model), model) for model in models)
    assert wrong >= 2


class Lying:
    """A drafting method that tells verification a flatter law than the one a token was drawn from."""

    def __init__(self, method: Drafting) -> None:
        self.method = method
        self.depth = method.depth

    def start(self) -> object:
        return self.method.start()

    def step(self, model: ToyModel, state: object, chance: Chance) -> object:
        reached = self.method.step(model, state, chance)
        if not isinstance(reached, Tree):
            return reached
        return Tree(tuple(node if node.law is None else node._replace(law=flatter(node.law)) for node in reached.nodes))


def flatter(law: Law) -> Law:
    """Half way to the uniform law on the same tokens; the order of tokens stays."""
    return Law((mass + Q(1, len(law.support))) / 2 if mass else ZERO for mass in law)


@every_entry
def test_an_entry_that_looks_at_laws_is_biased_by_a_wrong_one_and_the_others_are_not(name: str) -> None:
    scheme = built(name, Parameters(slots=2, depth=1))
    law = agreed(Lying(scheme.drafting), scheme.verifying, toy(1))
    assert lossless(law, toy(1)) == (name in {"nss", "eagle", "medusa-tree"})


def bound(scheme: Scheme, model: ToyModel) -> Q:
    """The sum over strings x of min(P(x), Pr[x is in the tree])."""
    drafted: dict[tuple[int, ...], Q] = {}
    for nodes, mass in trees(scheme.drafting, model).items():
        for string in set(strings_of(nodes).values()):
            drafted[string] = drafted.get(string, ZERO) + mass
    return sum((min(target_probability(model, x), mass) for x, mass in drafted.items()), ZERO)


@every_entry
def test_no_entry_accepts_more_than_any_lossless_step_can(name: str) -> None:
    for model in (toy(2), family_model("random", 3, 3, 2), family_model("zeros", 3, 3, 2)):
        scheme = built(name, TWO)
        assert law_by_classes(scheme, model).expected_tokens - 1 <= to_fraction(bound(scheme, model))


@pytest.mark.parametrize("name", ["eagle", "medusa-tree"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_deterministic_tree_attains_the_bound_the_sum_of_its_target_probabilities(name: str, family: str) -> None:
    model = family_model(family, 4, 3, 2)
    scheme = built(name, Parameters(slots=3, depth=2, nodes=6))
    (nodes,) = trees(scheme.drafting, model)
    total = sum((target_probability(model, string) for string in strings_of(nodes).values()), ZERO)
    assert law_by_classes(scheme, model).expected_tokens - 1 == to_fraction(total) == to_fraction(bound(scheme, model))


def test_the_fault_without_renormalisation_is_refuted_by_the_bound_alone() -> None:
    one = Parameters(slots=2, depth=1)
    scheme = built("rsd-unnormalised", one)
    accepted = law_by_classes(scheme, toy(1)).expected_tokens - 1
    assert accepted > to_fraction(bound(scheme, toy(1)))
    honest = built("rsd-c", one)
    assert law_by_classes(honest, toy(1)).expected_tokens - 1 < to_fraction(bound(honest, toy(1)))


BROKEN: list[tuple[str, Callable[[Parameters], Parameters]]] = [
    ("leviathan", lambda p: replace(p, depth=0)),
    ("rrs", lambda p: replace(p, slots=0)),
    ("rsd-c", lambda p: replace(p, slots=0)),
    ("rrs-paths", lambda p: replace(p, slots=0)),
    ("greedy", lambda p: replace(p, slots=0)),
    ("spechub", lambda p: replace(p, depth=0)),
    ("eagle", lambda p: replace(p, nodes=0)),
    ("delayed", lambda p: replace(p, slots=0)),
    ("medusa-tree", lambda p: replace(p, slots=0)),
]


@pytest.mark.parametrize(("name", "change"), BROKEN, ids=[name for name, _ in BROKEN])
def test_parameters_out_of_range_are_refused(name: str, change: Callable[[Parameters], Parameters]) -> None:
    with pytest.raises(InputError, match="expected"):
        built(name, change(TWO))
