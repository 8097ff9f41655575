"""The edge cases that every implementation handles, one by one: the kept trees by hand, and no loss."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import LawSource, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.schemes.drafting.candidates import Drafting
from rheo_proof.schemes.drafting.rheo import Rheo as RheoDrafting
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import draft_classes, law_by_classes, law_by_replay
from rheo_proof.schemes.scheme import Parameters, Scheme, plain
from rheo_proof.schemes.tree import Tree
from rheo_proof.schemes.verifying.rheo import Rheo
from rheo_proof.schemes.verifying.walk import Walk

RULES = ("rheo", "rrsw", "match", "flow")


def law(written: str) -> Law:
    return Law.read(written.split())


def turning(p: str, q: str, depth: int) -> ToyModel:
    """Both laws turn with the prefix: after u, token x has the probability that x + sum(u) has at the root."""

    def source(base: Law) -> LawSource:
        return lambda u: Law(base[(x + sum(u)) % len(base)] for x in range(len(base)))

    return ToyModel(len(law(p)), depth, source(law(p)), source(law(q)))


class Case(NamedTuple):
    """`trees`: the kept trees for all draws, nodes in rank order. `s1.h0` is slot 0, a head, below slot 1, sampled."""

    p: str
    q: str
    parameters: Parameters
    trees: set[str]

    @property
    def model(self) -> ToyModel:
        return turning(self.p, self.q, self.parameters.depth)


def given(slots: int, head: int, depth: int, nodes: int, **others: Any) -> Parameters:
    return Parameters(slots=slots, head=head, depth=depth, nodes=nodes, **others)


P = "1/2 1/3 1/6"
CASES = {
    "K = 1": Case(P, "1/6 1/3 1/2", given(1, 0, 2, 2), {"s0 s0.s0"}),
    "K = 1, m = 1": Case(P, "1/6 1/3 1/2", given(1, 1, 2, 2), {"h0 h0.h0"}),
    "m = 0": Case(P, "1/6 1/3 1/2", given(3, 0, 1, 3), {"s0 f1 f2"}),
    "m = 0, deeper": Case(P, "1/6 1/3 1/2", given(2, 0, 2, 3, beam=1), {"s0 s0.s0 f1", "s0 s0.s0 s0.f1"}),
    "m = K": Case(P, "1/6 1/3 1/2", given(2, 2, 2, 4), {"h0 h1 h0.h0 h0.h1"}),
    "support smaller than K": Case(P, "1/2 0 1/2", given(4, 1, 1, 9), {"h0 s1"}),
    "support smaller than m": Case(P, "2/3 0 1/3", given(4, 3, 1, 9), {"h0 h1"}),
    "z = 0": Case(P, "2/3 0 1/3", given(3, 2, 2, 3), {"h0 h0.h0 h1"}),
    "V = 1": Case("1", "1", given(2, 1, 2, 9), {"h0 h0.h0"}),
    "V = 1, m = 0": Case("1", "1", given(2, 0, 2, 9), {"s0 s0.s0"}),
    "V = 2": Case("1/3 2/3", "3/4 1/4", given(2, 1, 2, 3), {"h0 h0.h0 s1"}),
    "p(X) = 0": Case("1/2 1/2 0", "1/2 1/4 1/4", given(3, 1, 1, 3), {"h0 s1 f2"}),
    "p(X) = 0 for all X": Case("1 0 0", "1/2 1/4 1/4", given(2, 1, 2, 4), {"h0 s1 h0.h0 h0.s1"}),
    "p = t": Case("0 2/3 1/3", "1/2 1/3 1/6", given(3, 1, 2, 4), {"h0 s1 h0.h0 h0.s1", "h0 s1 f2 h0.h0"}),
    "p = t = q": Case("1/2 1/3 1/6", "1/2 1/3 1/6", given(2, 0, 2, 3), {"s0 s0.s0 f1", "s0 s0.s0 s0.f1"}),
    "disjoint supports": Case("0 0 1", "2/3 1/3 0", given(2, 1, 2, 4), {"h0 h0.h0 s1 h0.s1"}),
    "uniform ties": Case(P, "1/3 1/3 1/3", given(3, 1, 2, 5, beam=2), {"h0 s1 f2 h0.h0 h0.s1"}),
    "child factor 1": Case(P, "0 1 0", given(2, 1, 3, 2), {"h0 h0.h0"}),
    "child factor 1, sampled": Case(P, "1/3 1/3 1/3", given(2, 0, 3, 3, beam=1), {"s0 s0.s0 s0.s0.s0"}),
    "N at least the number of candidates": Case(P, "1/6 1/3 1/2", given(2, 1, 2, 6), {"h0 s1 h0.h0 h0.s1 s1.h0 s1.s1"}),
    "N = 1": Case(P, "1/6 1/3 1/2", given(3, 1, 2, 1), {"h0"}),
    "B larger than the layer": Case(P, "1/6 1/3 1/2", given(2, 1, 2, 99, beam=99), {"h0 s1 h0.h0 h0.s1 s1.h0 s1.s1"}),
    "D = 1": Case(P, "1/6 1/3 1/2", given(3, 1, 1, 8), {"h0 s1 f2"}),
    "sparse smaller than m": Case(P, "1/6 1/3 1/2", given(3, 2, 2, 8, sparse=1), {"h0 h0.h0"}),
    "sparse equal to m": Case(P, "1/6 1/3 1/2", given(3, 2, 1, 8, sparse=2), {"h0 h1"}),
    "sparse, one token in the tail": Case(P, "1/6 1/3 1/2", given(3, 1, 1, 8, sparse=2), {"h0 s1"}),
}

every_case = pytest.mark.parametrize("name", CASES)
every_rule = pytest.mark.parametrize("verify", RULES)


def lossless(scheme: Scheme, model: ToyModel) -> bool:
    """By both enumerators, by the criterion and by the distance; all four agree."""
    laws = [law_by_classes(scheme, model), law_by_replay(scheme, model)]
    assert list(laws[0].strings(model.vocab)) == list(laws[1].strings(model.vocab))
    verdicts = {step.first_wrong(model) is None for step in laws} | {step.total_variation(model) == 0 for step in laws}
    [verdict] = verdicts
    return verdict


def shape(tree: Tree) -> str:
    kinds = {node.path: node.kind[0] for node in tree.nodes}
    steps = ([f"{kinds[n.path[: i + 1]]}{slot}" for i, slot in enumerate(n.path)] for n in tree.nodes)
    return " ".join(map(".".join, steps))


def shapes(drafting: RheoDrafting, model: ToyModel) -> set[str]:
    return {shape(tree) for tree in draft_classes(drafting, model).classes}


@every_case
def test_the_kept_tree_is_the_one_worked_out_by_hand(name: str) -> None:
    case = CASES[name]
    assert shapes(case.parameters.drafting(), case.model) == case.trees


@every_rule
@every_case
def test_an_edge_case_is_lossless(name: str, verify: str) -> None:
    case = CASES[name]
    assert lossless(plain(replace(case.parameters, verify=verify)), case.model)


@pytest.mark.parametrize("verify", ["rheo", "match", "flow"])
@pytest.mark.parametrize("scale", ["1", "1/3"])
@every_case
def test_an_edge_case_is_lossless_with_the_options_beyond_the_paper(name: str, verify: str, scale: str) -> None:
    case, number = CASES[name], rational(scale)
    options = replace(case.parameters, verify=verify, proxy="tail", proxy_scale=number, fill_scale=number)
    assert lossless(plain(options), case.model)


NO_CHOICE = {"V = 1", "V = 1, m = 0"}


@pytest.mark.parametrize(
    ("fault", "wrong", "right"),
    [
        (
            "skip-residual",
            {"K = 1", "m = 0", "V = 2", "p(X) = 0", "uniform ties", "D = 1"},
            {
                "disjoint supports",
                "K = 1, m = 1",
                "m = K",
                "z = 0",
                "p = t",
                "p = t = q",
                "N = 1",
                "sparse smaller than m",
            },
        ),
        (
            "verify-full-q",
            {"support smaller than K", "V = 2", "p(X) = 0", "uniform ties", "N at least the number of candidates"},
            {"K = 1", "m = 0", "m = K", "z = 0", "N = 1", "sparse smaller than m"},
        ),
        (
            "stale-bonus",
            {"K = 1", "m = K", "z = 0", "V = 2", "N = 1", "D = 1", "uniform ties", "support smaller than m"},
            NO_CHOICE,
        ),
    ],
)
def test_a_wrong_rule_is_refuted_where_its_mistake_shows(fault: str, wrong: set[str], right: set[str]) -> None:
    named = FAULTS[fault]
    verdicts = {name: lossless(named.build(named.fix(CASES[name].parameters)), CASES[name].model) for name in CASES}
    assert {name: verdicts[name] for name in wrong} == dict.fromkeys(wrong, False)
    assert {name: verdicts[name] for name in right | NO_CHOICE} == dict.fromkeys(right | NO_CHOICE, True)


# Each case is what its name says


def expansion(name: str) -> Any:
    return CASES[name].parameters.drafting().expansion(law(CASES[name].q))


def test_the_cases_are_what_they_are_called() -> None:
    assert expansion("z = 0").z == ZERO
    assert expansion("m = K").t is None
    assert [len(expansion(name).tail) for name in ("m = 0", "D = 1", "sparse, one token in the tail")] == [3, 2, 1]
    assert expansion("p = t").t == law(CASES["p = t"].p)
    assert expansion("p = t = q").t == law(CASES["p = t = q"].p) == law(CASES["p = t = q"].q)
    assert all(law(CASES["p(X) = 0 for all X"].p)[x] == 0 for x in expansion("p(X) = 0 for all X").tail)
    assert [law(CASES["p(X) = 0"].p)[x] for x in expansion("p(X) = 0").tail] == [Q(1, 2), ZERO]
    assert expansion("child factor 1").q[1] == ONE
    assert expansion("child factor 1, sampled").proxy == ONE
    assert expansion("uniform ties").proxy == Q(1, 3)
    assert list(expansion("sparse smaller than m").q) == [ZERO, ZERO, ONE]
    p, q = law(CASES["disjoint supports"].p), law(CASES["disjoint supports"].q)
    assert set(p.support).isdisjoint(q.support)


def test_an_empty_residual_is_not_reached_and_would_be_noticed() -> None:
    case = CASES["p = t"]
    p = law(case.p)
    with pytest.raises(SoundnessError, match="an empty residual was reached"):
        Rheo().rejected(case.model, Walk((), p, ()), Law(p.probs), ZERO)


# Numbers worked out by hand

SIXTH = Fraction(1, 6)


@pytest.mark.parametrize(
    ("name", "verify", "tokens"),
    [
        # A chain of two sampled slots: min(p, t) sums to 1/6 + 1/3 + 1/6 at both, p t to 1/12 + 1/9 + 1/12.
        ("K = 1", "rheo", 1 + Fraction(2, 3) + Fraction(4, 9)),
        ("K = 1", "rrsw", 1 + Fraction(2, 3) + Fraction(4, 9)),
        ("K = 1", "match", 1 + Fraction(5, 18) + Fraction(25, 324)),
        # The draft's best token is the target's worst.
        ("K = 1, m = 1", "match", 1 + SIXTH + SIXTH**2),
        ("N = 1", "rheo", 1 + SIXTH),
        ("sparse smaller than m", "flow", 1 + SIXTH + SIXTH**2),
        ("child factor 1", "rheo", 1 + Fraction(1, 3) + Fraction(1, 9)),
        # All tokens are kept, or none that can be said.
        ("D = 1", "match", Fraction(2)),
        ("D = 1", "rheo", Fraction(2)),
        ("V = 1", "rheo", Fraction(3)),
        ("V = 1, m = 0", "rrsw", Fraction(3)),
        ("disjoint supports", "flow", Fraction(1)),
        # Sampled tokens are always accepted, head tokens always drawn.
        ("p = t = q", "rheo", Fraction(3)),
        ("p = t = q", "flow", Fraction(3)),
        ("p(X) = 0 for all X", "rheo", Fraction(3)),
    ],
)
def test_expected_tokens_by_hand(name: str, verify: str, tokens: Fraction) -> None:
    case = CASES[name]
    scheme = plain(replace(case.parameters, verify=verify))
    assert law_by_classes(scheme, case.model).expected_tokens == tokens
    assert law_by_replay(scheme, case.model).expected_tokens == tokens


# Cousins of equal value: the child of the better ranked parent was created first, whatever the parents' slots


class ParentsBySlot(RheoDrafting):
    """A wrong reading: the parents of a layer are expanded in slot order."""

    def step(self, model: ToyModel, state: Drafting, chance: Chance) -> Drafting | Tree:
        reached = super().step(model, state, chance)
        if isinstance(reached, Tree) or reached.expanded:
            return reached
        return reached._replace(waiting=tuple(sorted(reached.waiting, key=lambda c: c.node.path)))


def cousins() -> tuple[ToyModel, Parameters]:
    """With the tail proxy the sampled slot (3/5) outranks the head (2/5); their best children are worth 3/10 all."""
    draft = {(): law("2/5 3/10 3/10"), (0,): law("3/4 1/8 1/8"), (1,): law("1/2 1/4 1/4"), (2,): law("1/4 1/2 1/4")}
    target = {(): law("1/4 1/2 1/4"), (0,): law("1/2 1/6 1/3"), (1,): law("1/5 3/5 1/5"), (2,): law("2/3 1/3 0")}
    model = ToyModel(3, 2, lambda u: target[u[:1]], lambda u: draft[u])
    return model, Parameters(slots=2, head=1, depth=2, nodes=3, proxy="tail", verify="match")


def test_cousins_of_equal_value_rank_as_their_parents_do() -> None:
    model, parameters = cousins()
    assert shapes(parameters.drafting(), model) == {"s1 h0 s1.h0"}
    assert shapes(parameters.drafting(ParentsBySlot), model) == {"s1 h0 h0.h0"}


def test_the_rank_of_cousins_shows_in_the_step_law() -> None:
    """Match: p(0) + p(X), and p of the child kept below X, or below 0 in the wrong reading."""
    model, parameters = cousins()
    first = Fraction(1, 4) + (Fraction(1, 2) + Fraction(1, 4)) / 2
    below_x = (Fraction(1, 2) * Fraction(1, 5) + Fraction(1, 4) * Fraction(1, 3)) / 2
    below_0 = Fraction(1, 4) * Fraction(1, 2)
    wrong = Scheme(parameters.drafting(ParentsBySlot), parameters.verifying())
    for enumerate_ in (law_by_classes, law_by_replay):
        assert enumerate_(plain(parameters), model).expected_tokens == 1 + first + below_x == Fraction(103, 60)
        assert enumerate_(wrong, model).expected_tokens == 1 + first + below_0
    assert lossless(plain(parameters), model)


# Parameters out of range


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"slots": 0, "head": 0}, "slots is 0, expected a whole number of at least 1"),
        ({"depth": 0}, "depth is 0, expected a whole number of at least 1"),
        ({"beam": 0}, "beam is 0, expected a whole number of at least 1"),
        ({"nodes": 0}, "nodes is 0, expected a whole number of at least 1"),
        ({"sparse": 0}, "sparse is 0, expected a whole number of at least 1"),
        ({"head": -1}, "head is -1, expected a whole number from 0 to slots = 3"),
        ({"head": 4}, "head is 4, expected a whole number from 0 to slots = 3"),
        ({"nodes": True}, "nodes is True, expected a whole number of at least 1"),
        ({"beam": 2.0}, "beam is 2.0, expected a whole number of at least 1"),
        ({"proxy_scale": 0.5}, 'proxy_scale: 0.5 is a float; write a rational such as "3/10"'),
        ({"proxy": "head"}, "proxy is 'head', expected 'paper' or 'tail'"),
        ({"proxy_scale": ZERO}, "proxy_scale is 0, expected more than 0 and at most 1"),
        ({"proxy_scale": Q(3, 2)}, "proxy_scale is 3/2, expected more than 0 and at most 1"),
        ({"fill_scale": ZERO}, "fill_scale is 0, expected more than 0 and at most 1"),
        ({"fill_scale": Q(-1)}, "fill_scale is -1, expected more than 0 and at most 1"),
        ({"verify": "rho"}, "unknown verification rule 'rho'; known are rheo, rrsw, match, flow, bottom-up"),
    ],
    ids=str,
)
def test_a_parameter_out_of_range_is_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError) as error:
        plain(Parameters(**change))
    assert str(error.value) == complaint


@pytest.mark.parametrize("m", [-1, 4, 1.0])
def test_a_head_that_is_chosen_by_a_function_is_in_range_too(m: int) -> None:
    drafting = RheoDrafting(slots=3, head=lambda q: m, depth=1, beam=3, nodes=3)
    with pytest.raises(InputError, match=f"head is {m}, expected a whole number from 0 to slots = 3"):
        drafting.expansion(law("1/2 1/2"))


def test_the_beam_is_the_number_of_slots_unless_it_is_said() -> None:
    assert Parameters(slots=4).drafting() == Parameters(slots=4, beam=4).drafting()
    assert Parameters(slots=4).as_json() == Parameters(slots=4, beam=4).as_json()
    assert Parameters(slots=4, beam=2).drafting().beam == 2
