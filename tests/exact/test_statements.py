"""The symbolic statements: they hold for the rules, fail for the faults, and agree with the enumerator at points."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from rheo_proof.cli.symbolic import RULES as COMMAND_RULES
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.families import family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import SCHEMES, Named, Parameters, Scheme
from rheo_proof.schemes.verifying.flow import Flow, Revealing
from rheo_proof.theorems import flow_statement, node_statements, tree_statements
from rheo_proof.theorems.cutting import over_regions
from rheo_proof.theorems.emptiness import points
from rheo_proof.theorems.node_statements import Case, cases
from rheo_proof.theorems.regions import Point, Region
from rheo_proof.theorems.regionwise import check_cover
from rheo_proof.theorems.statements import ALIKE, RULES, Statement, node_statement, tree_statement
from rheo_proof.theorems.symbols import at_point, vanishes
from tests.exact.test_regions import small

RNG = random.Random(11)
NODE_FAULTS = (
    "verify-full-q",
    "draw-full-q",
    "drop-unlikely",
    "skip-residual",
    "residual-of-q",
    "shared-coin",
    "resort-siblings",
    "ratio-on-top-k",
)


def named(name: str) -> Named:
    return SCHEMES.get(name) or FAULTS[name]


def rule_of(name: str) -> str:
    """The verification rule of a scheme or fault, RheoVerification where it is the user's."""
    return named(name).fix(Parameters()).verify


# Quantifiers: proved for the rules, refuted for the faults


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_proved_at_one_node_for_all_p_and_t(rule: str) -> None:
    for vocab in (1, 2, 3) if rule != "flow" else (1, 2):
        found = node_statement(rule, SCHEMES[rule], vocab, (), Parameters(verify=rule), Limits())
        assert found.verdict == "proved", found
        assert found.regions >= 1


@pytest.mark.parametrize("fault", NODE_FAULTS)
def test_a_fault_of_one_node_is_refuted_with_a_region_and_a_point(fault: str) -> None:
    found = node_statement(fault, FAULTS[fault], 3, (), Parameters(verify=rule_of(fault)), Limits(), fault=True)
    assert found.verdict == "refuted"
    assert found.refutation is not None
    assert found.refutation.region
    assert found.refutation.value
    assert found.refutation.tv > ZERO


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_proved_on_whole_trees_for_all_targets(rule: str) -> None:
    vocab, base = (3, Parameters(slots=2, depth=2, nodes=3, verify=rule))
    heads = (1, 2) if rule != "flow" else (2,)
    if rule == "flow":
        vocab, heads = 2, (0, 1, 2)
        base = Parameters(slots=2, depth=2, nodes=2, verify=rule)
    found = tree_statement(rule, SCHEMES[rule], family_model("peaked", 1, vocab, 2), heads, base, Limits())
    assert found.verdict == "proved", found


TREE_FAULTS = {
    "own-probability": ("random", 3, 2, 0, 4),
    "low-proxy": ("peaked", 3, 2, 0, 4),
    "tie-by-token": ("random", 3, 2, 1, 4),
    "second-token": ("random", 3, 2, 0, 4),
    "rrsw-tail-proxy": ("random", 3, 2, 1, 2),
    "flow-depth-first": ("random", 3, 2, 1, 4),
    "flow-layers": ("random", 2, 3, 0, 5),
}
"""Family of the model (seed 0), V, D, m, N."""


@pytest.mark.parametrize("fault", TREE_FAULTS)
def test_a_fault_of_the_tree_is_right_at_one_node_and_refuted_on_a_tree(fault: str) -> None:
    family, vocab, depth, m, nodes = TREE_FAULTS[fault]
    base = Parameters(slots=2, depth=depth, nodes=nodes, verify=rule_of(fault))
    model = family_model(family, 0, vocab, depth)
    found = tree_statement(fault, FAULTS[fault], model, (m,), base, Limits(), guided=True)
    assert found.verdict == "refuted"
    if base.verify != "flow":
        one = node_statement(fault, FAULTS[fault], 2, (), Parameters(verify=base.verify), Limits(), fault=True)
        assert one.verdict == "proved"


class HalfScaled(Flow):
    """After a reveal the masses are scaled by half of what they ought to be."""

    def reveal(self, model: ToyModel, state: Revealing, chance: Any) -> Revealing:
        done = super().reveal(model, state, chance).done
        return Revealing(tuple(mass._replace(f=mass.f / 2) for mass in done), state.todo[1:])


def test_a_reveal_with_a_wrong_scale_is_noticed() -> None:
    def wrong(rule: Flow) -> int:
        compute = partial(flow_statement.differences, rule, 2)
        leaves = [leaf for part in flow_statement.parts(2, True) for leaf in over_regions(part, compute)]
        return sum(not vanishes(d) for _, found in leaves for _, d in found)

    assert wrong(Flow()) == 0
    assert wrong(HalfScaled()) > 0


# At rational points the symbolic law is the law of the exact enumerator


def starts(model: ToyModel, scheme: Scheme) -> dict[Prefix, Q]:
    """Pr[S starts with v] for every v, and Pr[v is a proper prefix of S] under (*v, -1), by the class enumerator."""
    found: dict[Prefix, Q] = {}
    for string, mass in law_by_classes(scheme, model).strings(model.vocab):
        for length in range(len(string) + 1):
            v = string[:length]
            found[v] = found.get(v, ZERO) + mass
            if length < len(string):
                found[(*v, -1)] = found.get((*v, -1), ZERO) + mass
    return found


def expected(model: ToyModel, scheme: Scheme, string: Prefix) -> Q:
    """Pr[S starts with v x] - Pr[v is a proper prefix of S] p(x|v)."""
    law, v = starts(model, scheme), string[:-1]
    return law.get(string, ZERO) - law.get((*v, -1), ZERO) * model.target(v)[string[-1]]


def agree(leaves: list[tuple[Region, Any]], point: Point, model: ToyModel, scheme: Scheme) -> bool:
    """Whether the differences of the one region that holds the point have the values of the enumerator."""
    [(_, found)] = [leaf for leaf in leaves if leaf[0].contains(point)]
    return all(at_point(d, point) == expected(model, scheme, string) for string, d in found)


@pytest.mark.parametrize("name", ["rheo", "rrsw", "verify-full-q", "skip-residual"])
def test_at_one_node_the_symbolic_law_is_the_enumerated_one(name: str) -> None:
    case = Case(3, 1, "X", ordered=True)
    scheme = named(name).build(named(name).fix(case.parameters(Parameters(verify=rule_of(name)))))
    compute = partial(node_statements.differences, scheme, case, Limits(), True)
    leaves = list(over_regions(case.whole(), compute))
    tried = []
    while len(tried) < 12:
        p, (a, b) = small(RNG, 3, 6), sorted(small(RNG, 2, 6), reverse=True)
        if a + b == ONE and b:
            tried.append({0: p[0], 1: p[1], 2: a})
    for point in tried:
        model = case.model(next(leaf for leaf, _ in leaves if leaf.contains(point)), point)
        assert agree(leaves, point, model, scheme)
    wrong = [(leaf, [(s, d + ONE) for s, d in found]) for leaf, found in leaves]
    assert not agree(wrong, tried[0], model, scheme)


@pytest.mark.parametrize("name", ["rheo", "flow", "own-probability", "stale-bonus"])
def test_on_trees_the_symbolic_law_is_the_enumerated_one(name: str) -> None:
    q = family_model("random", 3, 2, 2)
    base = Parameters(slots=1, head=0, depth=2, nodes=2, verify=rule_of(name))
    scheme = named(name).build(named(name).fix(base))
    drafted = tree_statements.drafts(scheme, q, Limits())
    compared = 0
    for group in tree_statements.groups(scheme, drafted):
        unknowns = tree_statements.Unknowns(2, 2, group)
        compute = partial(tree_statements.differences, scheme, drafted, unknowns, group, Limits())
        for _ in range(4):
            rows = {u: Law(small(RNG, 2, 5)) for u in [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]}
            model = ToyModel(2, 2, rows.__getitem__, q.draft)
            point = unknowns.point(model)
            leaves = list(over_regions(unknowns.whole(), compute, point))
            assert agree(leaves, point, model, scheme)
            compared += 1
    assert compared >= 4


def test_a_case_names_its_slots() -> None:
    assert [(case.head, case.kept, case.slots) for case in cases("rheo", 2)] == [
        (0, "X", 1),
        (0, "all", 2),
        (1, "X", 2),
        (1, "pruned", 1),
    ]


def test_every_number_of_fills_is_run_up_to_four_tokens() -> None:
    assert [(case.kept, case.slots) for case in cases("rheo", 4, (0,))] == [
        ("X", 1),
        ("some", 2),
        ("some", 3),
        ("all", 4),
    ]
    assert [case.slots for case in cases("rheo", 5, (0,))] == [1, 5]


def test_what_is_assumed_or_left_out_is_said() -> None:
    def statement(vocab: int, fault: bool = False) -> Statement:
        return node_statement("rheo", SCHEMES["rheo"], vocab, (vocab - 1,), Parameters(), Limits(), fault)

    assert not statement(4).assumed
    assert "fills" not in statement(4).quantifiers
    assert statement(5).assumed == ALIKE
    assert statement(5).quantifiers.endswith("up to the order of the tokens; fills: none or all")
    assert statement(5).checked > statement(5).regions >= 1
    assert "; t falls along the tail; " in statement(3, fault=True).quantifiers


def test_the_command_line_knows_the_same_rules() -> None:
    assert RULES == COMMAND_RULES


def test_nothing_run_is_nothing_proved() -> None:
    assert node_statement("rheo", SCHEMES["rheo"], 2, (5,), Parameters(), Limits()).verdict == "undecided"


def test_a_scheme_that_is_right_at_its_guide_is_an_error() -> None:
    base = Parameters(slots=1, depth=1, nodes=1)
    with pytest.raises(SoundnessError, match="the symbolic run does not"):
        tree_statement("rheo", SCHEMES["rheo"], family_model("random", 0, 2, 1), (0,), base, Limits(), guided=True)


def test_a_lost_region_is_noticed() -> None:
    case = Case(3, 0, "X")
    scheme = SCHEMES["rheo"].build(case.parameters(Parameters()))
    compute = partial(node_statements.differences, scheme, case, Limits(), False)
    leaves = [leaf for leaf, _ in over_regions(case.whole(), compute)]
    check_cover(case.whole(), leaves)
    with pytest.raises(SoundnessError, match="do not cover"):
        check_cover(case.whole(), [leaf for leaf in leaves if not leaf.contains(next(points(case.whole())))])
    with pytest.raises(SoundnessError, match="do not cover"):
        check_cover(case.whole(), [*leaves, *leaves])
