"""A rule with a planted error is never proved: it is refuted, undecided, or an error; and each check of a run fires."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.families import family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, Q
from rheo_proof.exact.program import Emission
from rheo_proof.report.symbolic import proved
from rheo_proof.schemes.scheme import Parameters, Scheme, plain
from rheo_proof.schemes.tree import Branch, Node
from rheo_proof.schemes.verifying.flow import Flow, Revealing
from rheo_proof.schemes.verifying.rheo import Rheo, acceptance
from rheo_proof.schemes.verifying.walk import Walk
from rheo_proof.theorems import flow_statement, node_statements, tree_statements
from rheo_proof.theorems.cutting import over_regions
from rheo_proof.theorems.node_statements import Case
from rheo_proof.theorems.polynomials import Space
from rheo_proof.theorems.regions import Region
from rheo_proof.theorems.regionwise import Decided, decide, refuted
from rheo_proof.theorems.statements import ALIKE, Statement
from rheo_proof.theorems.symbolic_run import SymbolicReplay, Weighted, explored
from rheo_proof.theorems.symbols import Symbol, unknown
from rheo_proof.theorems.unread import Unread, UnreadLaw

Accept = Callable[[Law, Law, int], Q]


class Planted(Rheo):
    """RheoVerification with another probability of acceptance."""

    def __init__(self, accept: Accept) -> None:
        self.accept = accept

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The test of the only child, or the draw."""
        if not walk.children:
            return self.last_draw(model, walk, (), chance)
        [child] = walk.children
        assert child.law is not None
        x = chance.value(child.token)
        a = self.accept(walk.r, child.law, x)
        if chance.coin(a, ("coin", len(walk.prefix), 1)):
            return self.move(model, (*walk.prefix, x), child.children)
        return Walk(walk.prefix, self.rejected(model, walk, child.law, a), (), walk.tested + 1)


def scheme_of(case: Case, rule: Rheo) -> Scheme:
    return replace(plain(case.parameters(Parameters(verify="rheo"))), verifying=rule)


def decided(
    accept: Accept, vocab: int = 3, orders: tuple[tuple[int, ...], ...] = (), every: bool = True, rule: Any = None
) -> Decided:
    """What is found at one node with only the sampled slot kept; with `orders`, checked with plain numbers."""
    case = Case(vocab, 0, "X")
    scheme = scheme_of(case, rule or Planted(accept))
    compute = partial(node_statements.differences, scheme, case, Limits(), False)
    check = partial(node_statements.checked, scheme, case, orders)
    return decide(case.parts(every), compute, (case.model, scheme), Limits(), check=check)


def test_the_rule_itself_is_proved_and_checked_at_each_region() -> None:
    found = decided(acceptance, orders=((0, 1, 2),))
    assert (found.verdict, found.proved, found.checked) == ("proved", 13, 13)


# Numbers looked at in another way than by operators

IN_A_SET: dict[str, Accept] = {
    "set": lambda r, t, x: acceptance(r, t, x) / (2 if r[x] in set(t.probs) - {t[x]} else 1),
    "table": lambda r, t, x: {Q(1, 3): ONE / 2}.get(r[x], acceptance(r, t, x)),
    "set of laws": lambda r, t, x: ONE / 2 if r in {t} else acceptance(r, t, x),
}


@pytest.mark.parametrize("name", IN_A_SET)
def test_a_rule_that_asks_a_set_or_table_is_an_error(name: str) -> None:
    with pytest.raises(TypeError, match="no hash"):
        decided(IN_A_SET[name])


def test_the_same_rule_that_asks_a_list_is_refuted() -> None:
    found = decided(lambda r, t, x: acceptance(r, t, x) / (2 if r[x] in [y for y in t if y != t[x]] else 1))
    assert found.verdict == "refuted"


def test_a_rule_that_is_right_on_symbols_alone_is_noticed_at_points() -> None:
    def accept(r: Law, t: Law, x: int) -> Q:
        return acceptance(r, t, x) / (1 if any(isinstance(y, Symbol) for y in r) else 2)

    assert decided(accept).verdict == "proved"
    with pytest.raises(SoundnessError, match="the exact prover finds TV"):
        decided(accept, orders=((0, 1, 2),))


def test_a_rule_that_does_not_treat_tokens_alike_is_noticed_with_the_tokens_in_another_order() -> None:
    def accept(r: Law, t: Law, x: int) -> Q:
        return acceptance(r, t, x) / (2 if r[0] < t[0] and r[2] > t[2] else 1)

    assert decided(accept, orders=((0, 1, 2),), every=False).verdict == "proved"
    with pytest.raises(SoundnessError, match="the exact prover finds TV"):
        decided(accept, orders=((0, 1, 2), (2, 1, 0)), every=False)
    assert decided(accept).verdict == "refuted"


class HalfOnNumbers(Flow):
    """Right on symbolic numbers; on others the masses are halved after a reveal."""

    def reveal(self, model: ToyModel, state: Revealing, chance: Any) -> Revealing:
        done = super().reveal(model, state, chance).done
        if any(isinstance(mass.c, Symbol) for mass in done):
            return Revealing(done, state.todo[1:])
        return Revealing(tuple(mass._replace(c=mass.c / 2) for mass in done), state.todo[1:])


def test_a_reveal_that_is_right_on_symbols_alone_is_noticed_at_points() -> None:
    [whole] = flow_statement.parts(2, True)
    point = {0: Q(1, 8), 1: Q(1, 4), 2: Q(2, 3)}
    assert flow_statement.checked(Flow(), 2, [[0, 1], [1, 0]], whole, point) == 2
    with pytest.raises(SoundnessError, match=r"proves \(M\)"):
        flow_statement.checked(HalfOnNumbers(), 2, [[0, 1]], whole, point)


# What is off the way


class Lookahead(Rheo):
    """Draws from p where it likes what is kept below the children."""

    def __init__(self, asks: Callable[[ToyModel, Branch], bool]) -> None:
        self.asks = asks

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The draw, or what RheoVerification does."""
        if sum(self.asks(model, child) for child in walk.children):
            return self.last_draw(model, walk._replace(r=model.target(())), walk.children, chance)
        return super().at(model, walk, chance)


LOOKS: dict[str, Callable[[ToyModel, Branch], bool]] = {
    "how many": lambda model, child: len(child.children) > 1,
    "which": lambda model, child: any(below.token == 0 for below in child.children),
    "compared": lambda model, child: child.children == (),
    "target": lambda model, child: isinstance(child.token, int) and model.target((child.token,))[0] == ONE / 2,
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_rule_that_looks_below_the_children_is_an_error(look: str) -> None:
    rule = Lookahead(LOOKS[look])
    with pytest.raises(SoundnessError, match=r"off its way.*; region everywhere, point p0 = "):
        decided(acceptance, rule=rule)
    model = family_model("random", 0, 2, 2)
    scheme = replace(plain(Parameters(slots=2, head=1, depth=2, nodes=4)), verifying=rule)
    drafted = tree_statements.drafts(scheme, model, Limits())
    unknowns = tree_statements.Unknowns(2, 2, (0,))
    compute = partial(tree_statements.differences, scheme, drafted, unknowns, (0,), Limits())
    with pytest.raises(SoundnessError, match="off its way"):
        list(over_regions(unknowns.whole(), compute))


def test_whether_there_is_something_below_may_be_asked_where_it_is_known() -> None:
    assert Unread(some=True)
    for look in (lambda: bool(Unread(some=False)), lambda: UnreadLaw(2).support, lambda: UnreadLaw(2) == 0):
        with pytest.raises(SoundnessError, match="off its way"):
            look()
    assert len(UnreadLaw(2)) == 2


# Regions without rational points


def at_an_irrational_point(r: Law) -> bool:
    return r[0] * r[0] == Q(1, 8)


def test_a_rule_that_is_wrong_at_irrational_points_alone_is_undecided() -> None:
    def accept(r: Law, t: Law, x: int) -> Q:
        return acceptance(r, t, x) / (2 if at_an_irrational_point(r) and r[x] < t[x] else 1)

    found = decided(accept, vocab=2)
    assert (found.verdict, found.refutation) == ("undecided", None)
    assert found.open


def test_a_rule_that_breaks_down_at_irrational_points_alone_is_undecided() -> None:
    def accept(r: Law, t: Law, x: int) -> Q:
        if at_an_irrational_point(r):
            raise SoundnessError("broken here")
        return acceptance(r, t, x)

    found = decided(accept, vocab=2)
    assert (found.verdict, found.refutation) == ("undecided", None)
    assert found.open


# The checks of the run itself


def interval() -> Region:
    """0 < x < 1."""
    space = Space([["x"]])
    return Region.whole(space, (), [space.unknown(0), space.constant(ONE) - space.unknown(0)])


def test_a_coin_beyond_0_and_1_is_an_error() -> None:
    x = unknown(interval(), 0)
    for a in (x + 1, -x, ONE + 1, -ONE):
        with pytest.raises(SoundnessError, match="a coin of probability"):
            SymbolicReplay().coin(a, ("coin", 0, 1))
    assert SymbolicReplay().coin(x, ("coin", 0, 1))


def test_states_whose_probabilities_do_not_sum_to_1_are_an_error() -> None:
    x = unknown(interval(), 0)

    def run(*weights: Any) -> Weighted:
        start = Weighted()
        for y, weight in enumerate(weights):
            start.add(Emission((), y), weight)
        return explored(lambda state, _: state, start, lambda state: isinstance(state, Emission), Limits())

    assert len(list(run(x, ONE - x).items())) == 2
    with pytest.raises(SoundnessError, match="total probability"):
        run(x, ONE - x, x)


def test_states_are_merged_by_form_and_weights_are_added() -> None:
    x = unknown(interval(), 0)
    held = Weighted()
    for number in (x, x * 1, ONE - x):
        held.add(Node((), 0, "sampled", Law([number, ONE - number])), x)
    assert [weight == 2 * x for _, weight in held.items()] == [True, False]


def test_a_refutation_that_the_exact_prover_does_not_confirm_is_an_error() -> None:
    case = Case(2, 0, "X")
    region = case.whole()
    for rule, broken in ((Rheo(), True), (Planted(lambda r, t, x: ONE), False)):
        found = [((0,), unknown(region, 0) - unknown(region, 1))]
        if broken:
            with pytest.raises(SoundnessError, match="the exact prover TV 0"):
                refuted(region, found, case.model, scheme_of(case, rule))
        else:
            assert refuted(region, found, case.model, scheme_of(case, rule)) is not None


def test_the_closing_lines_name_what_was_assumed() -> None:
    lines = proved([Statement("rheo", "node", "", regions=1), Statement("flow", "node", "", regions=1, assumed=ALIKE)])
    assert [ALIKE in line for line in lines] == [False, True]
    assert lines[0].startswith("Proved, one node: rheo; for every target law p")
    assert lines[1].startswith("Proved, one node: flow; ")
