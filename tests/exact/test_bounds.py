"""Bounds on E[tau] of whole trees: known numbers, every lossless scheme below them, over-accepting faults above."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError, LimitReached
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.files import read_model
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, Q, rational
from rheo_proof.exact.program import Emission
from rheo_proof.exact.replay import replay
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.growing import Child, Draw, Growing
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Drafting, Parameters, Scheme, plain
from rheo_proof.schemes.tree import Path, Tree
from rheo_proof.schemes.verifying.rheo import Rheo as RheoVerification
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.schemes.verifying.walk import Walk, split
from rheo_proof.theorems.bounds import Strings, chained_bound, kept_trees, presence, string_bound, strings_of
from rheo_proof.theorems.levels import candidates
from rheo_proof.theorems.prices import Prices, priced_bound, program_bound
from rheo_proof.theorems.transport import by_subsets
from tests.exact.test_cases import load, parameters_of

RULES = ("rheo", "rrsw", "match", "flow")
SHAPES = [  # V, m, K, D, N, B
    (3, 0, 2, 2, 4, 2),
    (3, 1, 2, 2, 4, 2),
    (4, 1, 3, 2, 5, 2),
    (3, 1, 2, 3, 5, 2),
    (3, 0, 2, 2, 6, 2),
    (3, 2, 2, 2, 3, 2),
]


def shaped(m: int, slots: int, depth: int, nodes: int, beam: int) -> Parameters:
    return Parameters(slots=slots, head=m, depth=depth, beam=beam, nodes=nodes)


def tau(scheme: Scheme, model: ToyModel) -> Fraction:
    return law_by_classes(scheme, model).expected_tokens - 1


def bounds(drafting: Drafting, model: ToyModel) -> tuple[Fraction, Fraction, Fraction]:
    """Linear program, chained strings, single strings: each at most the next."""
    trees = kept_trees(drafting, model)
    found = (program_bound(trees, model).bound, chained_bound(trees, model), string_bound(trees, model))
    assert found[0] <= found[1] <= found[2]
    return found


# Known numbers


@pytest.mark.parametrize(
    ("shape", "rheo", "flow", "program"),
    [
        ((1, 2, 2, 4, 2), "329/300", "23/20", "23/20"),
        ((0, 2, 2, 4, 2), "737/600", "157/120", "163/120"),
        ((1, 2, 3, 5, 2), "261/200", "163/120", "163/120"),
        ((0, 2, 3, 5, 2), "482/375", "2949/2000", "2949/2000"),
    ],
)
def test_the_program_on_the_toy(shape: tuple[int, int, int, int, int], rheo: str, flow: str, program: str) -> None:
    parameters, model = shaped(*shape), toy(shape[2])
    assert tau(plain(replace(parameters, verify="rheo")), model) == Fraction(rheo)
    assert tau(plain(replace(parameters, verify="flow")), model) == Fraction(flow)
    assert bounds(parameters.drafting(), model)[0] == Fraction(program)


PROGRAM = {
    "bottom-up-refuted-0": "185/96",
    "bottom-up-refuted-1": "635/576",
    "flow-peaky-0": "4502257/3635280",
    "flow-peaky-1": "23/13",
    "lossless-02": "2082133/1492260",
    "lossless-06": "12/17",
    "lossless-07": "15/11",
    "lossless-09": "190469/94248",
}


@pytest.mark.parametrize("stem", PROGRAM)
def test_the_program_on_the_cases(stem: str) -> None:
    case = load(stem)
    parameters, model = parameters_of(case), read_model(case["model"])
    program = bounds(parameters.drafting(), model)[0]
    assert program == Fraction(PROGRAM[stem])
    for rule in RULES:
        assert tau(plain(replace(parameters, verify=rule)), model) <= program


def test_only_the_program_is_sharp_on_this_case() -> None:
    case = load("bottom-up-refuted-1")
    parameters, model = parameters_of(case), read_model(case["model"])
    program, chained, single = bounds(parameters.drafting(), model)
    assert tau(plain(replace(parameters, verify="rheo")), model) == program == Fraction(635, 576)
    assert chained == single == Fraction(83, 64)


@pytest.mark.parametrize(("n", "single", "program"), [(2, "89/100", "21/25"), (3, "1", "971/1000")])
def test_on_one_level_of_list_draws_the_program_is_the_transport_optimum(n: int, single: str, program: str) -> None:
    drafting = Iid(n, 1)
    low, chained, high = bounds(drafting, toy(1))
    assert chained == high
    assert (low, high) == (Fraction(program), min(Fraction(single), high))
    assert low == by_subsets(toy(1).target(()), drafting.tuples(toy(1).draft(()))).acceptance


def test_the_prices_of_one_level_are_the_set_of_the_cut() -> None:
    certificate = program_bound(kept_trees(Iid(2, 1), toy(1)), toy(1))
    assert certificate.prices == {(2,): ONE}


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_on_a_chain_block_verification_attains_the_chained_bound(depth: int) -> None:
    known = {1: "3/5", 2: "133/120", 3: "2949/2000"}
    parameters = replace(shaped(0, 1, depth, depth, 1), verify="flow")
    program, chained, _ = bounds(parameters.drafting(), toy(depth))
    assert tau(plain(parameters), toy(depth)) == program == chained == Fraction(known[depth])


def test_draws_without_replacement_on_two_levels() -> None:
    program, chained, single = bounds(Reported(2, 2, True), toy(2))
    assert (program, chained, single) == (Fraction(139, 70), Fraction(139, 70), Fraction(279, 140))
    assert tau(Scheme(Reported(2, 2, True), Rrs()), toy(2)) == Fraction(5983, 3600)


# Random models


def instances() -> Iterator[tuple[ToyModel, Parameters]]:
    for seed, family in enumerate(FAMILIES):
        for vocab, *shape in SHAPES:
            m, slots, depth, nodes, beam = shape
            yield family_model(family, seed, vocab, depth), shaped(m, slots, depth, nodes, beam)


def test_every_lossless_rule_stays_below_and_the_bounds_are_ordered() -> None:
    sharp = strict = 0
    for model, parameters in instances():
        program, chained, single = bounds(parameters.drafting(), model)
        reached = [tau(plain(replace(parameters, verify=rule)), model) for rule in RULES]
        assert max(reached) <= program, (model, parameters)
        sharp += max(reached) == program
        strict += program < chained or chained < single
    assert sharp > 10
    assert strict > 10


def test_recursive_rejection_on_lists_stays_below() -> None:
    for seed, family in enumerate(FAMILIES):
        model = family_model(family, seed, 3, 2)
        assert tau(Scheme(Iid(2, 2), Rrs()), model) <= bounds(Iid(2, 2), model)[0]
        optimum = by_subsets(model.target(()), Iid(2, 1).tuples(model.draft(()))).acceptance
        assert bounds(Iid(2, 1), model)[0] == optimum


def test_with_one_level_and_room_for_all_slots_the_program_is_the_transport_optimum() -> None:
    for seed, family in enumerate(FAMILIES):
        model, drafting = family_model(family, seed, 4, 1), shaped(seed % 2, 3, 1, 3, 3).drafting()
        optimum = by_subsets(model.target(()), candidates(drafting, model.draft(()))).acceptance
        assert bounds(drafting, model)[0] == optimum


def test_on_a_tree_without_draws_one_hot_verification_attains_every_bound() -> None:
    for seed, family in enumerate(FAMILIES):
        model, parameters = family_model(family, seed, 3, 2), replace(shaped(2, 2, 2, 4, 2), verify="match")
        assert {*bounds(parameters.drafting(), model)} == {tau(plain(parameters), model)}


def test_kept_trees_are_those_of_the_drafting_program_by_replay() -> None:
    for model, parameters in list(instances())[::3]:
        drafting: Any = parameters.drafting()

        def draft(chance: Chance, drafting: Any = drafting, model: ToyModel = model) -> Strings:
            state = drafting.start()
            while not isinstance(state, Tree):
                state = drafting.step(model, state, chance)
            return strings_of(state, {})

        trees = kept_trees(drafting, model)
        assert trees == replay(draft)
        assert sum(presence(trees).values()) <= parameters.nodes


# What has to lie above


@dataclass(frozen=True)
class Reported(Growing):
    """Draws without replacement; unless `honest`, verification is told that each was drawn from q (fault N2)."""

    slots: int
    depth: int
    honest: bool

    def children(self, model: ToyModel, prefix: Prefix, place: Path, draw: Draw) -> Sequence[Child]:
        q = model.draft(prefix)
        left, made = q, []
        for _ in range(min(self.slots, len(q.support))):
            x = draw(left)
            made.append(Child(x, left if self.honest else q))
            if left[x] < 1:
                left = type(q)([Q(0) if y == x else mass / (1 - left[x]) for y, mass in enumerate(left)])
        return made


class AlwaysAccept(RheoVerification):
    """Moves to the sampled child whatever the target says."""

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        sampled, others = split(walk.children)
        if sampled is None:
            return self.last_draw(model, walk, others, chance)
        return self.move(model, (*walk.prefix, chance.value(sampled.token)), sampled.children)


def test_a_rule_that_always_accepts_exceeds_even_the_weakest_bound() -> None:
    parameters = shaped(0, 1, 2, 2, 1)
    reached = tau(Scheme(parameters.drafting(), AlwaysAccept()), toy(2))
    assert reached == 2 > Fraction(47, 40) == bounds(parameters.drafting(), toy(2))[2]


def test_draws_without_replacement_tested_as_independent_ones_exceed_the_optimum() -> None:
    honest, faulty = (tau(Scheme(Reported(2, 1, honest), Rrs()), toy(1)) for honest in (True, False))
    assert honest == Fraction(9, 10)
    assert faulty == 1 > Fraction(139, 140) == bounds(Reported(2, 1, False), toy(1))[0]


OVER = {"own-probability", "tail-probability", "drop-unlikely", "verify-full-q", "draw-full-q", "ratio-on-top-k"}


@pytest.mark.parametrize("name", sorted({*OVER, "skip-residual", "shared-coin", "resort-siblings"}))
def test_an_over_accepting_fault_exceeds_the_program_on_some_model(name: str) -> None:
    fault = FAULTS[name]

    def exceeds(seed: int, family: str, m: int) -> bool:
        scheme = fault.build(fault.fix(replace(shaped(m, 2, 2, 4, 2), variant=name)))
        model = family_model(family, seed, 3, 2)
        return tau(scheme, model) > bounds(scheme.drafting, model)[0]

    models = product(range(3), ("random", "peaked", "ties", "zeros", "near"), (0, 1))
    assert any(exceeds(seed, family, m) for seed, family, m in models)


def test_prices_that_nobody_optimised_prove_a_bound_too() -> None:
    rng, above = random.Random("prices"), []
    for model, parameters in list(instances())[::4]:
        trees = kept_trees(parameters.drafting(), model)
        prices: Prices = {x: Q(rng.randrange(5), 4) for x in presence(trees)}
        above.append(priced_bound(trees, model, prices) - program_bound(trees, model).bound)
        assert above[-1] >= 0
        assert priced_bound(trees, model, {}) >= program_bound(trees, model).bound
    assert any(above)


def test_a_negative_price_would_prove_something_false_and_is_refused() -> None:
    model, drafting = toy(1), Iid(1, 1)
    p, q, price = model.target(())[0], model.draft(())[0], Q(-3)
    by_the_formula = p * price + q * (1 - price) + (1 - q)
    assert by_the_formula < tau(Scheme(drafting, Rrs()), model) == Fraction(3, 5)
    for prices in ({(0,): price}, {(): ONE}):
        with pytest.raises(InputError, match="price"):
            priced_bound(kept_trees(drafting, model), model, prices)


def test_a_limit_and_a_missing_package_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LimitReached):
        kept_trees(Iid(2, 2), toy(2), Limits(classes=20))
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(InputError, match=r"needs scipy; pip install 'rheo-proof\[transport\]'"):
        program_bound(kept_trees(Iid(1, 1), toy(1)), toy(1))
    assert rational("3/5") == chained_bound(kept_trees(Iid(1, 1), toy(1)), toy(1))
