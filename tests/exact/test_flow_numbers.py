"""FlowVerification, DX and ChainVerification (rules of this project) on named models, beside RheoVerification."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given

from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.files import read_model
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.chain import Chain
from rheo_proof.schemes.drafting.rheo import Rheo as Drafting
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.schemes.verifying.block import Block
from rheo_proof.schemes.verifying.chain_verification import ChainVerification
from rheo_proof.schemes.verifying.dx import Dx
from rheo_proof.schemes.verifying.flow import Flow
from rheo_proof.schemes.verifying.match import Match
from rheo_proof.schemes.verifying.rheo import Rheo
from rheo_proof.schemes.verifying.settled import Places
from rheo_proof.schemes.verifying.walk import Verifying
from rheo_proof.theorems.bounds import kept_trees
from rheo_proof.theorems.prices import program_bound
from tests.strategies import Instance, instances
from tests.walking_zoo import agreed, lossless

CASES = Path(__file__).parents[1] / "cases"

NUMBERS = {
    "toy-2 1,2,2,4,2": "39/50 227/300 329/300 329/300 167/150 23/20",
    "toy-2 0,2,2,4,2": "39/50 1307/1600 737/600 157/120 761/600 157/120",
    "toy-3 1,2,3,5,2": "181/200 2101/2400 261/200 261/200 793/600 163/120",
    "toy-3 0,2,3,5,2": "181/200 1102051/2000000 482/375 2949/2000 1367/1000 2949/2000",
    "bottom-up-refuted-0 1,2,3,5,2": "143/96 71/48 173/96 173/96 173/96 523/288",
    "bottom-up-refuted-1 1,2,3,5,2": "137/144 967/1152 635/576 635/576 635/576 3245/3008",
    "flow-peaky-0 0,3,2,5,2": "147/187 51839/67320 3930521/3635280 1395739/1211760 4002791/3635280 1420907/1211760",
    "flow-peaky-1 1,3,2,5,2": "47/52 23083/26676 4349/2652 1461/884 13075/7956 1102/663",
    "lossless-02 0,2,2,3,2": "42/55 792667/1587222 26231159/19399380 2082133/1492260 238137941/174594420 "
    "2082133/1492260",
    "lossless-07 1,3,3,4,2": "119/121 279/275 3923/3025 3923/3025 3923/3025 163/121",
    "lossless-06 1,3,2,5,2": "21/34 53/85 23/34 23/34 23/34 12/17",
    "lossless-09 0,2,3,4,2": "17/20 6360269/10098000 1311521/680680 91805239/46966920 1314853/680680 91805239/46966920",
}
"""Model and (m, K, D, N, B): accepted tokens of top-K with one-hot verification, then on RheoSampling's tree of one-hot
verification, RheoVerification, ChainVerification, DX, FlowVerification."""


def named(name: str) -> tuple[ToyModel, int | None]:
    """A model by name, and the draft's cut of its laws."""
    if name.startswith("toy-"):
        return toy(int(name[4:])), None
    if name.startswith("near-"):
        return family_model("near", int(name[5:]), 3, 2), None
    case = json.loads((CASES / f"{name}.json").read_text())
    return read_model(case["model"], name), case["scheme"]["sparse"]


def rules(drafting: Drafting) -> tuple[Verifying, ...]:
    places = Places(drafting.expansion, drafting.slots, drafting.depth)
    return Match(), Rheo(), ChainVerification(), Dx(places), Flow()


@pytest.mark.parametrize("where", NUMBERS)
def test_named_models_have_their_numbers(where: str) -> None:
    name, written = where.split()
    model, sparse = named(name)
    m, K, D, N, B = map(int, written.split(","))
    drafting = Drafting(K, m, D, B, N, sparse)
    pairs = [(Drafting(K, K, D, B, N, sparse), rules(drafting)[0]), *((drafting, rule) for rule in rules(drafting))]
    found = []
    for drafted, rule in pairs:
        law = law_by_classes(Scheme(drafted, rule), model)
        assert lossless(law, model), rule
        found.append(law.expected_tokens - 1)
    assert found == [Fraction(count) for count in NUMBERS[where].split()]


BEST = {
    "toy-2 1,2,2,4,2": "23/20",
    "toy-2 0,2,2,4,2": "163/120",
    "toy-3 1,2,3,5,2": "163/120",
    "toy-3 0,2,3,5,2": "2949/2000",
    "bottom-up-refuted-0 1,2,3,5,2": "185/96",
    "bottom-up-refuted-1 1,2,3,5,2": "635/576",
    "flow-peaky-0 0,3,2,5,2": "4502257/3635280",
    "flow-peaky-1 1,3,2,5,2": "23/13",
    "lossless-02 0,2,2,3,2": "2082133/1492260",
    "lossless-07 1,3,3,4,2": "15/11",
    "lossless-06 1,3,2,5,2": "12/17",
    "lossless-09 0,2,3,4,2": "190469/94248",
}
"""What no lossless verification of these trees exceeds: the bound of the linear program."""


@pytest.mark.parametrize("where", NUMBERS)
def test_no_rule_on_a_named_model_is_above_the_linear_program(where: str) -> None:
    name, written = where.split()
    model, sparse = named(name)
    m, K, D, N, B = map(int, written.split(","))
    bound = program_bound(kept_trees(Drafting(K, m, D, B, N, sparse), model), model).bound
    assert bound == Fraction(BEST[where])
    assert max(Fraction(count) for count in NUMBERS[where].split()[1:]) <= bound


def test_the_linear_program_is_attained_on_half_of_the_named_models_mostly_by_flow_verification() -> None:
    attained = [where for where in NUMBERS if BEST[where] in NUMBERS[where].split()[1:]]
    assert len(attained) == 6
    assert [where for where in attained if NUMBERS[where].split()[5] != BEST[where]] == [
        "bottom-up-refuted-1 1,2,3,5,2"
    ]


def test_flow_verification_is_above_rheo_verification_on_one_named_model_and_below_on_another() -> None:
    above, below = (NUMBERS[where].split() for where in ("toy-2 1,2,2,4,2", "bottom-up-refuted-1 1,2,3,5,2"))
    assert Fraction(above[5]) > Fraction(above[2])
    assert Fraction(below[5]) < Fraction(below[2])


DIFFERENCES = {
    "flow-below-rheo 1,2,3,5,2": "-10/423",
    "near-5 0,2,2,3,2": "-3/112",
    "near-1 0,2,2,3,2": "23/3570",
}
"""Model and (m, K, D, N, B): by how much FlowVerification accepts more; less where the number is negative."""


@pytest.mark.parametrize("where", DIFFERENCES)
def test_which_of_flow_and_rheo_verification_accepts_more_depends_on_the_model(where: str) -> None:
    name, written = where.split()
    model, _ = named(name)
    m, K, D, N, B = map(int, written.split(","))
    laws = [law_by_classes(Scheme(Drafting(K, m, D, B, N), rule), model) for rule in (Flow(), Rheo())]
    assert all(lossless(law, model) for law in laws)
    assert laws[0].expected_tokens - laws[1].expected_tokens == Fraction(DIFFERENCES[where])


@pytest.mark.parametrize(("length", "count"), [(2, "133/120"), (3, "2949/2000")])
def test_flow_dx_and_chain_verification_of_a_chain_are_block_verification(length: int, count: str) -> None:
    drafting = Drafting(1, 0, length, 1, length)
    for model in (toy(length), family_model("ties", 0, 3, length), family_model("near", 1, 3, length)):
        block = law_by_classes(Scheme(Chain(length), Block()), model)
        for rule in rules(drafting)[2:]:
            law = law_by_classes(Scheme(drafting, rule), model)
            assert dict(law.strings(3)) == dict(block.strings(3)), (rule, model)
    assert law_by_classes(Scheme(drafting, Flow()), toy(length)).expected_tokens - 1 == Fraction(count)


@pytest.mark.parametrize("head", [0, 1])
def test_enumerators_agree_on_dx_and_chain_verification(head: int) -> None:
    drafting = Drafting(2, head, 2, 2, 4)
    for model in (toy(2), family_model("zeros", 1, 3, 2), family_model("swing", 2, 3, 2)):
        for rule in rules(drafting)[2:4]:
            assert lossless(agreed(drafting, rule, model), model), (rule, model)


@given(instances(drafts=40))
def test_dx_and_chain_verification_are_lossless_on_random_instances(instance: Instance) -> None:
    model, drafting = instance.model, instance.parameters.drafting()
    _, rheo, chain, dx, _ = (law_by_classes(Scheme(drafting, rule), model) for rule in rules(drafting))
    assert lossless(dx, model)
    assert lossless(chain, model)
    assert dx.expected_tokens >= rheo.expected_tokens


SHAPES = [(2, 0, 2, 2, 4), (2, 1, 3, 2, 5), (3, 1, 2, 2, 5), (3, 0, 2, 1, 3), (3, 2, 2, 2, 4), (2, 0, 3, 2, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_dx_is_lossless_and_never_below_rheo_verification(shape: tuple[int, int, int, int, int]) -> None:
    drafting = Drafting(*shape)
    for seed, family in enumerate(FAMILIES):
        model = family_model(family, seed, 2 if shape[2] == 3 and not shape[1] else 3, shape[2])
        _, rheo, chain, dx, _ = (law_by_classes(Scheme(drafting, rule), model) for rule in rules(drafting))
        assert lossless(dx, model)
        assert lossless(chain, model)
        assert dx.expected_tokens >= rheo.expected_tokens, model


class NothingSettled(Places):
    """No string may be traded."""

    def settled(self, model: ToyModel, known: Mapping[Prefix, int], u: Prefix, s: Prefix) -> bool:
        return False


class AllSettled(Places):
    """Every string may be traded, those that a later node can meet included."""

    def settled(self, model: ToyModel, known: Mapping[Prefix, int], u: Prefix, s: Prefix) -> bool:
        return s[: len(u)] != u


def test_dx_without_trade_is_rheo_verification() -> None:
    drafting = Drafting(2, 1, 2, 2, 4)
    rule = Dx(NothingSettled(drafting.expansion, 2, 2))
    for family in FAMILIES:
        model = family_model(family, 3, 3, 2)
        laws = [law_by_classes(Scheme(drafting, rule), model) for rule in (rule, Rheo())]
        assert dict(laws[0].strings(3)) == dict(laws[1].strings(3)), model


def test_dx_that_trades_what_a_later_node_can_meet_owes_more_than_there_is() -> None:
    drafting = Drafting(2, 0, 2, 2, 4)
    with pytest.raises(SoundnessError, match="does not fit"):
        law_by_classes(Scheme(drafting, Dx(AllSettled(drafting.expansion, 2, 2))), family_model("random", 4, 3, 2))


def test_dx_that_is_told_another_law_of_the_sampled_token_is_refuted() -> None:
    told = Places(Drafting(2, 0, 2, 2, 4).expansion, 2, 2)
    law = agreed(Drafting(2, 1, 2, 2, 4), Dx(told), toy(2))
    assert not lossless(law, toy(2))


def test_dx_refuses_parameters_out_of_range_and_a_draw_where_nothing_is_sampled() -> None:
    for slots, depth in ((0, 1), (1, 0)):
        with pytest.raises(InputError, match="expected at least 1 each"):
            Places(Drafting(1, 0, 1, 1, 1).expansion, slots, depth)
    told = Places(Drafting(2, 2, 2, 2, 4).expansion, 2, 2)
    with pytest.raises(InputError, match="where nothing is sampled"):
        law_by_classes(Scheme(Drafting(2, 1, 2, 2, 4), Dx(told)), toy(2))
