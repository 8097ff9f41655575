"""Acceptance of one level in closed form, against enumeration on random pairs, and against the optimum."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law, normalised, residual, without
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational, to_fraction
from rheo_proof.exact.program import Emission
from rheo_proof.exact.toys import toy, two_tokens
from rheo_proof.schemes.drafting.chain import Chain
from rheo_proof.schemes.drafting.greedy import Greedy as GreedyDrafting
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.spechub import SpecHub as SpecHubDrafting
from rheo_proof.schemes.drafting.spechub import hub
from rheo_proof.schemes.drafting.without_replacement import WithoutReplacement
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Drafting, Scheme
from rheo_proof.schemes.tree import Branch
from rheo_proof.schemes.verifying.greedy import Greedy
from rheo_proof.schemes.verifying.kseq import KSeq, smallest_divisor, unspent
from rheo_proof.schemes.verifying.leviathan import Leviathan
from rheo_proof.schemes.verifying.match import Match
from rheo_proof.schemes.verifying.naive_tree import NaiveTree
from rheo_proof.schemes.verifying.rheo import Rheo
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.schemes.verifying.rrsw import Rrsw
from rheo_proof.schemes.verifying.spechub import SpecHub
from rheo_proof.schemes.verifying.walk import Verifying, Walk
from tests.walking_zoo import PAIRS, Given, agreed, best_acceptance, lossless, pair

every_pair = pytest.mark.parametrize(("family", "seed"), PAIRS)


def accepted(drafting: Drafting, verifying: Verifying, model: ToyModel) -> Fraction:
    """Pr[tau >= 1] for one level."""
    return agreed(drafting, verifying, model).acceptance(1)[0]


def rrs(p: Law, q: Law, drafts: int) -> Q:
    """1 - rej + rej * sum_y r_K(y) (1 - miss(y)), with rej = prod (1 - b_k) and b_k = sum min(r_{k-1}, q)."""
    r, rej, miss = p, ONE, [ONE] * len(p)
    for _ in range(drafts):
        b = sum((min(x, y) for x, y in zip(r, q, strict=True)), ZERO)
        if b == ONE:
            return ONE
        rej *= ONE - b
        miss = [m * (ONE - max(ZERO, q[y] - r[y]) / (ONE - b)) for y, m in enumerate(miss)]
        r = residual(r, q)
    return ONE - rej + rej * sum((r[y] * (ONE - miss[y]) for y in range(len(p))), ZERO)


def rrsw(r: Law, q: Law, seen: tuple[int, ...], drafts: int) -> Q:
    """A(r, d, k) = beta(r, d) + sum_x (d(x) - r(x))+ A(norm((r - d)+), d without x, k - 1)."""
    if not drafts or set(seen) == set(q.support):
        return ZERO
    d = without(q, seen) if seen else q
    total = sum((min(x, y) for x, y in zip(r, d, strict=True)), ZERO)
    for x in range(len(q)):
        if d[x] > r[x]:
            total += (d[x] - r[x]) * rrsw(residual(r, d), q, (*seen, x), drafts - 1)
    return total


def kseq(p: Law, q: Law, rho: Q, drafts: int) -> Q:
    """pacc + (1 - pacc) sum_y norm(v)(y) [1 - (1 - e(y))^K] with e = (q - p/rho)+ / (1 - beta)."""
    beta = sum((min(a / rho, b) for a, b in zip(p, q, strict=True)), ZERO)
    pacc, v = ONE - (ONE - beta) ** drafts, unspent(p, q, rho, drafts)
    if pacc == ONE:
        return ONE
    e = [max(ZERO, b - a / rho) / (ONE - beta) for a, b in zip(p, q, strict=True)]
    last = normalised(v)
    return pacc + (ONE - pacc) * sum((last[y] * (ONE - (ONE - e[y]) ** drafts) for y in range(len(p))), ZERO)


@every_pair
@pytest.mark.parametrize("drafts", [1, 2, 3])
def test_recursive_rejection_with_replacement(family: str, seed: int, drafts: int) -> None:
    p, q, model = pair(family, seed)
    assert accepted(Iid(drafts, 1), Rrs(), model) == to_fraction(rrs(p, q, drafts))


@every_pair
def test_the_last_draw_of_recursive_rejection_is_never_a_rejected_draft(family: str, seed: int) -> None:
    p, q, model = pair(family, seed)
    r, rej = p, ONE
    for _ in range(2):
        b = sum((min(x, y) for x, y in zip(r, q, strict=True)), ZERO)
        rej *= ONE - b
        r = residual(r, q) if b < ONE else r
    assert accepted(Iid(2, 1), Rrs(), model) == to_fraction(ONE - rej)


@every_pair
@pytest.mark.parametrize("drafts", [1, 2, 3])
def test_recursive_rejection_without_replacement(family: str, seed: int, drafts: int) -> None:
    p, q, model = pair(family, seed)
    assert accepted(WithoutReplacement(drafts, 1), Rrs(), model) == to_fraction(rrsw(p, q, (), drafts))


@pytest.mark.parametrize("family", FAMILIES)
def test_as_many_draws_without_replacement_as_the_draft_has_tokens_cover_the_target(family: str) -> None:
    for seed in range(4):
        p, q, model = pair(family, seed)
        if set(p.support) <= set(q.support):
            assert accepted(WithoutReplacement(len(q.support), 1), Rrs(), model) == 1


@every_pair
@pytest.mark.parametrize("drafts", [1, 2, 3])
def test_kseq_with_the_divisor_k_and_with_the_smallest(family: str, seed: int, drafts: int) -> None:
    p, q, model = pair(family, seed)
    small = smallest_divisor(p, q, drafts)
    assert accepted(Iid(drafts, 1), KSeq(), model) == to_fraction(kseq(p, q, small, drafts))
    assert accepted(Iid(drafts, 1), KSeq(Q(drafts)), model) == to_fraction(kseq(p, q, Q(drafts), drafts))
    assert ONE <= small <= drafts


@every_pair
def test_every_divisor_above_a_valid_one_is_valid_and_tests_pass_less_often(family: str, seed: int) -> None:
    p, q, _ = pair(family, seed)
    rows = [unspent(p, q, ONE + Q(step, 8), 3) for step in range(17)]
    valid = [min(v) >= 0 for v in rows]
    assert valid == sorted(valid)
    assert valid[-1]
    left = [sum(v, ZERO) for v in rows]
    assert left == sorted(left)


@every_pair
@pytest.mark.parametrize("drafts", [1, 2, 3])
def test_nss_and_naive_tree(family: str, seed: int, drafts: int) -> None:
    p, q, model = pair(family, seed)
    nss = sum((p[y] * (ONE - (ONE - q[y]) ** drafts) for y in range(3)), ZERO)
    naive = sum(
        (min(p[y], q[y]) + max(ZERO, p[y] - q[y]) * (ONE - (ONE - q[y]) ** (drafts - 1)) for y in range(3)), ZERO
    )
    assert accepted(Iid(drafts, 1), Match(), model) == to_fraction(nss)
    assert accepted(Iid(drafts, 1), NaiveTree(), model) == to_fraction(naive)


@every_pair
def test_spechub_is_the_greedy_scheme_with_two_drafts_and_the_optimum_of_its_pairs(family: str, seed: int) -> None:
    p, q, model = pair(family, seed)
    h = hub(q)
    got = accepted(SpecHubDrafting(1), SpecHub(), model)
    assert got == accepted(GreedyDrafting(2, 1), Greedy(), model)
    assert got == to_fraction(best_acceptance(p, SpecHubDrafting(1).tuples(q)))
    if q[h] < 1:
        t = [ZERO if x == h else q[x] / (ONE - q[h]) for x in range(3)]
        assert got == to_fraction(p[h] + sum((min(p[x], t[x]) for x in range(3) if x != h), ZERO))


@every_pair
@pytest.mark.parametrize("drafts", [1, 2, 3])
def test_greedy_drafts_reach_their_optimum_unless_the_top_is_tested_first(family: str, seed: int, drafts: int) -> None:
    p, q, model = pair(family, seed)
    method = GreedyDrafting(drafts, 1)
    top, t = method.split(q)
    law = t if t is not None else [ZERO] * 3
    rest = [x for x in range(3) if x not in top]
    off = ONE - p.mass(top)
    assert (
        accepted(method, Greedy(), model)
        == to_fraction(p.mass(top) + sum((min(p[y], law[y]) for y in rest), ZERO))
        == to_fraction(best_acceptance(p, method.tuples(q)))
    )
    assert accepted(method, Rrsw(), model) == to_fraction(
        p.mass(top) + sum((min(p[y], off * law[y]) for y in rest), ZERO)
    )


@every_pair
def test_the_rule_for_greedy_drafts_is_rheo_verification(family: str, seed: int) -> None:
    model = family_model(family, seed, 3, 2)
    laws = [law_by_classes(Scheme(GreedyDrafting(2, 2), rule), model) for rule in (Greedy(), Rheo())]
    assert dict(laws[0].strings(3)) == dict(laws[1].strings(3))


@every_pair
def test_no_rule_beats_the_optimum_of_its_drafts(family: str, seed: int) -> None:
    p, q, model = pair(family, seed)
    for drafts in (1, 2, 3):
        iid, distinct = Iid(drafts, 1), WithoutReplacement(drafts, 1)
        for rule in (Rrs(), KSeq(), Match(), NaiveTree()):
            assert accepted(iid, rule, model) <= to_fraction(best_acceptance(p, iid.tuples(q)))
        assert accepted(distinct, Rrs(), model) <= to_fraction(best_acceptance(p, distinct.tuples(q)))


@pytest.mark.parametrize(
    ("method", "optimum"),
    [
        (Iid(2, 1), "21/25"),
        (Iid(3, 1), "971/1000"),
        (WithoutReplacement(2, 1), "139/140"),
        (WithoutReplacement(3, 1), "1"),
        (GreedyDrafting(2, 1), "19/20"),
        (SpecHubDrafting(1), "19/20"),
    ],
)
def test_the_optimum_of_a_draft_law_on_the_toy(
    method: Iid | WithoutReplacement | GreedyDrafting | SpecHubDrafting, optimum: str
) -> None:
    p, q = toy(1).target(()), toy(1).draft(())
    assert best_acceptance(p, method.tuples(q)) == rational(optimum)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_chain_reaches_level_l_with_the_sum_over_strings_of_products_of_minima(family: str) -> None:
    model = family_model(family, 5, 3, 3)
    expected = []
    for level in (1, 2, 3):
        total = ZERO
        for string in product(range(3), repeat=level):
            mass = ONE
            for length, x in enumerate(string):
                mass *= min(model.target(string[:length])[x], model.draft(string[:length])[x])
            total += mass
        expected.append(to_fraction(total))
    law = agreed(Chain(3), Leviathan(), model)
    assert law.acceptance(3) == expected
    assert law.expected_tokens == 1 + sum(expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_chain_tested_by_any_rule_for_one_draft_has_the_same_law(family: str) -> None:
    model = family_model(family, 6, 3, 2)
    laws = [agreed(Chain(2), rule, model) for rule in (Leviathan(), Rrs(), NaiveTree(), KSeq(ONE), Rheo(), Rrsw())]
    assert len({tuple(law.strings(3)) for law in laws}) == 1


def test_recursive_rejection_takes_drafts_of_different_drafters_each_with_its_own_law() -> None:
    one, other = Law.read(["1/10", "1/10", "4/5"]), Law.read(["1/2", "1/4", "1/4"])
    honest = Given((None, None), (one, other))
    assert lossless(agreed(honest, Rrs(), toy(1)), toy(1))
    assert not lossless(agreed(Given((None, 0), (one, other)), Rrs(), toy(1)), toy(1))


class AnyOrder(Rrs):
    """Recursive rejection that picks the next child at random among those left, as arXiv 2305.09781 does."""

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """Put one of the children first."""
        children = list(walk.children)
        if children:
            uniform = Law([Q(1, len(children))] * len(children))
            first = children.pop(chance.draw(uniform, ("coin", 9, walk.tested)))
            children.insert(0, first)
        return super().at(model, walk._replace(children=tuple(children)), chance)


def test_independent_drafts_may_be_tested_in_any_order_that_does_not_look_at_them() -> None:
    law, other = agreed(Iid(2, 1), AnyOrder(), toy(1)), agreed(Iid(2, 1), Rrs(), toy(1))
    assert dict(law.strings(3)) == dict(other.strings(3))
    assert lossless(agreed(Iid(2, 2), AnyOrder(), two_tokens(2)), two_tokens(2))


def test_draws_without_replacement_may_not_nor_may_independent_ones_be_sorted_by_token() -> None:
    assert not lossless(agreed(WithoutReplacement(2, 1), AnyOrder(), toy(1)), toy(1))
    assert not lossless(agreed(Iid(2, 1), ByToken(), toy(1)), toy(1))


class ByToken(Rrs):
    """Recursive rejection in the order of the tokens."""

    def move(self, model: ToyModel, prefix: Prefix, children: tuple[Branch, ...]) -> Walk:
        """Arrive, and sort the children."""
        return super().move(model, prefix, tuple(sorted(children, key=lambda child: str(child.token))))


@pytest.mark.parametrize("copies", [(0, 0), (0, 0, 1), (2, 0, 2)])
def test_one_draw_and_a_look_is_right_on_trees_that_repeat_a_sibling(copies: tuple[int, ...]) -> None:
    tree = Given(copies, (None,) * len(copies))
    law = agreed(tree, Match(), toy(1))
    assert lossless(law, toy(1))
    assert law.acceptance(1)[0] == to_fraction(toy(1).target(()).mass(set(copies)))
