"""Known numbers of the top-down schemes on the toy, by both enumerators.

The toy: at the root p = (1/2, 3/10, 1/5) and q = (3/10, 1/10, 3/5), other laws after each token (`exact/toys.py`).
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law, residual
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational, to_fraction
from rheo_proof.exact.toys import toy, two_tokens
from rheo_proof.schemes import faulty_walking as faulty
from rheo_proof.schemes.drafting.chain import Chain
from rheo_proof.schemes.drafting.delayed import Delayed
from rheo_proof.schemes.drafting.eagle import Eagle
from rheo_proof.schemes.drafting.greedy import Greedy as GreedyDrafting
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.iid_paths import IidPaths
from rheo_proof.schemes.drafting.spechub import SpecHub as SpecHubDrafting
from rheo_proof.schemes.drafting.static import Static, full
from rheo_proof.schemes.drafting.without_replacement import WithoutReplacement
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.scheme import Drafting, Parameters, plain
from rheo_proof.schemes.verifying.eagle_posterior import EaglePosterior
from rheo_proof.schemes.verifying.greedy import Greedy
from rheo_proof.schemes.verifying.kseq import KSeq, smallest_divisor, unspent
from rheo_proof.schemes.verifying.leviathan import Leviathan
from rheo_proof.schemes.verifying.match import Match
from rheo_proof.schemes.verifying.naive_tree import NaiveTree
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.schemes.verifying.rrsw import Rrsw
from rheo_proof.schemes.verifying.spechub import SpecHub, plan
from rheo_proof.schemes.verifying.walk import Verifying
from tests.walking_zoo import agreed, first_token, lossless, trees

P, Q_ROOT = toy(1).target(()), toy(1).draft(())
HALF = rational("3/2")

LOSSLESS: list[tuple[str, Drafting, Verifying, str]] = [
    ("chain, 1", Chain(1), Leviathan(), "3/5"),
    ("chain, 2", Chain(2), Leviathan(), "617/600"),
    ("chain, 3", Chain(3), Leviathan(), "482/375"),
    ("chain as recursive rejection, 3", Chain(3), Rrs(), "482/375"),
    ("rrs, 2 drafts", Iid(2, 1), Rrs(), "19/25"),
    ("rrs, 3 drafts", Iid(3, 1), Rrs(), "107/125"),
    ("rrs, 2x2", Iid(2, 2), Rrs(), "48881/36000"),
    ("rrs, 2 paths of 2", IidPaths(2, 2), Rrs(), "477781/360000"),
    ("rrs, 3 paths of 2", IidPaths(3, 2), Rrs(), "326906243/216000000"),
    ("nss, 2 drafts", Iid(2, 1), Match(), "12/25"),
    ("naive tree, 2 drafts", Iid(2, 1), NaiveTree(), "17/25"),
    ("without replacement, 2 drafts", WithoutReplacement(2, 1), Rrs(), "9/10"),
    ("without replacement, 3 drafts", WithoutReplacement(3, 1), Rrs(), "1"),
    ("without replacement, 2x2", WithoutReplacement(2, 2), Rrs(), "5983/3600"),
    ("the same as a fixed shape", Static(full(2, 2), sampled=True), Rrs(), "5983/3600"),
    ("k-seq, 2 drafts, 3/2", Iid(2, 1), KSeq(HALF), "59/75"),
    ("k-seq, 2 drafts, 2", Iid(2, 1), KSeq(Q(2)), "2304/3025"),
    ("spechub", SpecHubDrafting(1), SpecHub(), "19/20"),
    ("greedy, 2 drafts", GreedyDrafting(2, 1), Greedy(), "19/20"),
    ("greedy, the top token first", GreedyDrafting(2, 1), Rrsw(), "9/10"),
    ("greedy, 2x2", GreedyDrafting(2, 2), Greedy(), "277/150"),
    ("top 2, 2x2", Static(full(2, 2)), Match(), "231/200"),
    ("eagle (2, 1, 4)", Eagle(2, 1, 4), EaglePosterior(), "39/50"),
    ("eagle (2, 2, 5)", Eagle(2, 2, 5), EaglePosterior(), "181/200"),
    ("eagle (3, 2, 6)", Eagle(3, 2, 6), EaglePosterior(), "913/1000"),
    ("delayed (2, 1, 1)", Delayed(2, 1, 1), Rrs(), "38371/36000"),
    ("delayed (2, 0, 2)", Delayed(2, 0, 2), Rrs(), "477781/360000"),
    ("a chain that stops early", Chain(1, rational("1/5")), Leviathan(), "3/5"),
]


@pytest.mark.parametrize(
    ("drafting", "verifying", "accepted"), [row[1:] for row in LOSSLESS], ids=[row[0] for row in LOSSLESS]
)
def test_the_expected_number_of_accepted_tokens(drafting: Drafting, verifying: Verifying, accepted: str) -> None:
    model = toy(drafting.depth)
    law = agreed(drafting, verifying, model)
    assert lossless(law, model)
    assert law.expected_tokens - 1 == Fraction(accepted)


@pytest.mark.parametrize(("length", "accepted"), [(1, "2/3"), (2, "10/9"), (3, "38/27")])
def test_a_chain_with_constant_acceptance_a_emits_a_geometric_sum(length: int, accepted: str) -> None:
    model, a = two_tokens(length), Fraction(2, 3)
    law = agreed(Chain(length), Leviathan(), model)
    assert law.expected_tokens == (1 - a ** (length + 1)) / (1 - a) == 1 + Fraction(accepted)
    assert law.acceptance(length) == [a**level for level in range(1, length + 1)]


def test_the_two_token_example_of_block_verification_as_a_chain() -> None:
    assert agreed(Chain(2), Leviathan(), two_tokens(2)).expected_tokens - 1 == Fraction(10, 9)


def test_the_residuals_of_recursive_rejection() -> None:
    first = residual(P, Q_ROOT)
    assert first == Law.read(["1/2", "1/2", "0"])
    assert residual(first, Q_ROOT) == Law.read(["1/3", "2/3", "0"])


def test_the_residual_without_replacement() -> None:
    assert Law.read(["3/4", "1/4", "0"]) in {
        node.law for nodes in trees(WithoutReplacement(2, 1), toy(1)) for node in nodes
    }


@pytest.mark.parametrize(
    ("rho", "beta", "passing", "rest"),
    [("3/2", "8/15", "176/225", ["3/50", "23/150", "1/225"]), ("2", "9/20", "279/400", None)],
)
def test_what_kseq_spends(rho: str, beta: str, passing: str, rest: list[str] | None) -> None:
    divisor = rational(rho)
    assert sum(min(a / divisor, b) for a, b in zip(P, Q_ROOT, strict=True)) == rational(beta)
    v = unspent(P, Q_ROOT, divisor, 2)
    assert 1 - sum(v) == rational(passing)
    if rest is not None:
        assert v == tuple(map(rational, rest))


def test_the_smallest_divisor_is_four_plus_the_root_of_eleven_over_five() -> None:
    for steps in (1, 4, 20, 40):
        rho = smallest_divisor(P, Q_ROOT, 2, steps)
        below = rho - rational(f"1/{2**steps}")
        assert (5 * rho - 4) ** 2 >= 11 > (5 * below - 4) ** 2


@pytest.mark.parametrize("rho", ["1", "5/4", "7/5", "73/50"])
def test_a_divisor_below_the_smallest_is_refused_at_the_node_where_it_is_too_small(rho: str) -> None:
    with pytest.raises(InputError, match=rf"rho is {rho}, too small at prefix ''"):
        agreed(Iid(2, 1), KSeq(rational(rho)), toy(1))


def test_the_divisor_three_halves_is_too_small_for_three_drafts() -> None:
    with pytest.raises(InputError, match="too small"):
        agreed(Iid(3, 1), KSeq(HALF), toy(1))


def test_the_plan_of_spechub() -> None:
    at = plan(P, Q_ROOT, 2)
    assert [at.first[x] * Q_ROOT[x] for x in (0, 1)] == [rational("3/10"), rational("1/10")]
    assert [at.second[x] * mass for x, mass in ((0, rational("9/20")), (1, rational("3/20")))] == [
        rational("1/5"),
        rational("3/20"),
    ]
    assert (at.hub_first * rational("1/4"), at.hub_second) == (rational("1/5"), ZERO)
    assert at.left == (ZERO, rational("1/20"), ZERO)


def test_eagle_keeps_the_nodes_with_these_parents_and_rows() -> None:
    (nodes,) = trees(Eagle(2, 1, 4), toy(2))
    ids = {node.path: number for number, node in enumerate(nodes, 1)}
    assert [node.token for node in nodes] == [2, 0, 1, 2]
    assert [ids.get(node.path[:-1], 0) for node in nodes] == [0, 0, 1, 1]
    leaves = [path for path in ids if not any(path == other[:-1] for other in ids)]
    rows = sorted([ids[path[:length]] for length in range(1, len(path) + 1)] for path in leaves)
    assert rows == [[1, 3], [1, 4], [2]]


FAULTY: list[tuple[str, Drafting, Verifying, ToyModel, str]] = [
    ("N1, 2 drafts", Iid(2, 1), faulty.SkipRepeated(), toy(1), "1/25"),
    ("N1, 3 drafts", Iid(3, 1), faulty.SkipRepeated(), toy(1), "8/125"),
    ("N2", WithoutReplacement(2, 1), faulty.Unnormalised(), toy(1), "1/10"),
    ("N3, by id", WithoutReplacement(2, 2), faulty.Sorted(faulty.by_token), toy(2), "313/720"),
    ("N3, by q", WithoutReplacement(2, 2), faulty.Sorted(faulty.by_probability), toy(2), "6799/37800"),
    ("N5", faulty.TopAsDraws(full(2, 2)), Rrs(), toy(2), "487/1800"),
    ("N6, 1", Iid(2, 1), faulty.Clipped(ONE), toy(1), "2/25"),
    ("N6, 5/4", Iid(2, 1), faulty.Clipped(rational("5/4")), toy(1), "19/625"),
    ("N10", faulty.DropUnlikely(1), Leviathan(), toy(1), "7/100"),
]


@pytest.mark.parametrize(
    ("drafting", "verifying", "model", "tv"), [row[1:] for row in FAULTY], ids=[row[0] for row in FAULTY]
)
def test_a_fault_is_off_by_exactly_this(drafting: Drafting, verifying: Verifying, model: ToyModel, tv: str) -> None:
    law = agreed(drafting, verifying, model)
    assert not lossless(law, model)
    assert law.total_variation(model) == Fraction(tv)


def test_kseq_clipped_at_divisor_one_gives_this_law() -> None:
    law = first_token(agreed(Iid(2, 1), faulty.Clipped(ONE), toy(1)), toy(1))
    assert law == [Fraction("71/150"), Fraction("37/150"), Fraction("7/25")]


def test_a_clipped_divisor_that_is_large_enough_is_kseq() -> None:
    law, clipped = agreed(Iid(2, 1), KSeq(HALF), toy(1)), agreed(Iid(2, 1), faulty.Clipped(HALF), toy(1))
    assert dict(law.strings(3)) == dict(clipped.strings(3))


def test_deleting_without_renormalising_raises_acceptance_above_the_optimum() -> None:
    accepted = agreed(WithoutReplacement(2, 1), faulty.Unnormalised(), toy(1)).expected_tokens - 1
    assert accepted == 1 > Fraction(139, 140)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_an_unlikely_token_may_end_the_chain_if_it_is_kept_but_may_not_be_dropped(length: int) -> None:
    fifth, model = rational("1/5"), toy(length)
    assert lossless(agreed(Chain(length, fifth), Leviathan(), model), model)
    assert not lossless(agreed(faulty.DropUnlikely(length), Leviathan(), model), model)


def test_a_sampled_node_ranked_by_its_own_probability_is_off_by_7_40() -> None:
    """RheoSampling with K = 2, D = 2, N = 2, m = 1."""
    fault, parameters = FAULTS["own-probability"], Parameters(slots=2, head=1, depth=2, nodes=2)
    faulty_scheme, right = fault.build(fault.fix(parameters)), plain(parameters)
    law = agreed(faulty_scheme.drafting, faulty_scheme.verifying, toy(2))
    assert law.total_variation(toy(2)) == Fraction(7, 40)
    assert lossless(agreed(right.drafting, right.verifying, toy(2)), toy(2))


def test_siblings_tested_in_the_order_of_draws_are_the_twin_of_sorted_ones() -> None:
    in_order = agreed(WithoutReplacement(2, 2), Rrs(), toy(2))
    unsorted = agreed(WithoutReplacement(2, 2), faulty.Sorted(lambda q, x: Q(0)), toy(2))
    assert dict(in_order.strings(3)) == dict(unsorted.strings(3))


def test_a_tree_of_best_tokens_is_right_with_match_and_wrong_with_laws_of_draws() -> None:
    right = agreed(Static(full(2, 2)), Match(), toy(2))
    assert lossless(right, toy(2))
    assert right.expected_tokens - 1 == to_fraction(rational("231/200"))
