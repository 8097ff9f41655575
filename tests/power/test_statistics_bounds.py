"""The p-value bounds against the exact multinomial: every outcome enumerated, every attainable threshold tried."""

from __future__ import annotations

from fractions import Fraction
from math import inf, log

import numpy as np
import pytest
from scipy.stats import beta, binom

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.asserts import METHODS, assert_law_equal
from rheo_proof.stats.binomial import binomial_p_value, clopper_pearson, holm, worst_cells
from rheo_proof.stats.calibration import BOUNDS, sizes, worst_ratios
from rheo_proof.stats.cells import Counts, read_counts, read_law
from rheo_proof.stats.eprocess import EProcess
from rheo_proof.stats.event import assert_event_probability, event_draws
from rheo_proof.stats.goodness import (
    TestResult,
    approximate,
    empirical_tv,
    g_statistic,
    g_test,
    spread,
    tv_radius,
    tv_test,
)
from rheo_proof.stats.multinomial import exact_p_value, outcomes, probabilities, size
from rheo_proof.stats.plan import critical_g
from rheo_proof.stats.verdict import LawMismatch

CASES: list[tuple[list[str], int]] = [
    (["1/2", "1/2"], 1),
    (["1/2", "1/2"], 40),
    (["999/1000", "1/1000"], 500),
    (["9/10", "1/20", "1/20"], 40),
    (["1/3", "1/3", "1/3"], 40),
    (["1/2", "49/100", "1/100"], 50),
    (["2/5", "3/10", "1/5", "1/10"], 12),
    (["1/2", "3/10", "1/10", "1/20", "1/20"], 8),
]


@pytest.mark.parametrize(("law", "n"), CASES, ids=str)
def test_a_bound_is_never_below_the_exact_p_value(law: list[str], n: int) -> None:
    ratios = worst_ratios(law, n)
    assert len(BOUNDS) == 2
    assert all(ratios[bound] <= 1 for bound in BOUNDS)


def test_approximate_p_values_and_bounds_of_a_tenth_would_be_found_out() -> None:
    """The twin: the comparison finds p-values that are too small."""
    found = [worst_ratios(law, n) for law, n in CASES]
    for test in ("Pearson", "G, chi-square tail"):
        assert max(ratios[test] for ratios in found) > 1
    for bound in BOUNDS:
        assert max(10 * ratios[bound] for ratios in found) > 1


def test_pearson_alarms_hundreds_of_times_too_often_where_g_does_not() -> None:
    found = sizes(["9/10", "1/20", "1/20"], 100, [1e-9])
    assert found["Pearson"][0] > 500
    assert found["G, chi-square tail"][0] < 1
    assert found["G, Agrawal (F2)"][0] < 1
    assert found["TV, McDiarmid (F1)"][0] < 1


def test_the_size_of_a_test_is_at_most_its_level() -> None:
    law = ["9/10", "1/20", "1/20"]
    for alpha in (0.3, 0.05, 1e-3):
        assert 0 < size(law, 30, lambda counts, target: g_test(counts, target).log_p, alpha) <= alpha
        assert size(law, 30, lambda counts, target: tv_test(counts, target).log_p, alpha) <= alpha


# The exact multinomial itself


@pytest.mark.parametrize(("law", "n"), CASES, ids=str)
def test_the_outcomes_are_all_there(law: list[str], n: int) -> None:
    everything = outcomes(n, len(law))
    assert len({tuple(row) for row in everything.tolist()}) == len(everything)
    assert set(everything.sum(axis=1).tolist()) == {n}
    assert abs(probabilities(everything, read_law(law).p).sum() - 1) < 1e-12


def test_the_exact_p_value_of_two_cells_is_the_binomial_one() -> None:
    for c in range(11):
        assert exact_p_value([c, 10 - c], ["1/2", "1/2"], empirical_tv) <= binomial_p_value(c, 10, "1/2")
        assert exact_p_value([c, 10 - c], ["1/2", "1/2"], empirical_tv) >= binomial_p_value(c, 10, "1/2") * (1 - 1e-8)


def test_the_exact_p_value_of_an_impossible_draw_is_0() -> None:
    assert exact_p_value([1, 1, 1], ["1/2", "1/2", 0], g_statistic) == 0.0


def test_an_enumeration_that_would_not_end_is_refused() -> None:
    with pytest.raises(InputError, match="outcomes"):
        outcomes(10**6, 10)


# The statistics


def test_tv_and_g_of_counts_are_their_definitions() -> None:
    law = read_law(["1/2", "3/10", "1/5"])
    counts = read_counts([70, 10, 20], law)
    assert empirical_tv(counts, law) == pytest.approx(0.2, abs=1e-15)
    by_hand = 2 * (70 * log(70 / 50) + 10 * log(10 / 30) + 20 * log(20 / 20))
    assert g_statistic(counts, law) == pytest.approx(by_hand, rel=1e-14)
    assert approximate(counts, law).pearson == pytest.approx(400 / 50 + 400 / 30, rel=1e-14)


def test_counts_that_fit_exactly_have_statistics_0_however_many_they_are() -> None:
    law = ["1/2", "3/10", "1/5"]
    for n in (10, 10**7, 10**15):
        counts = [n // 2, 3 * n // 10, n // 5]
        target = read_law(law)
        read = read_counts(counts, target)
        assert empirical_tv(read, target) == g_statistic(read, target) == 0.0
        assert tv_test(counts, law).p_value == g_test(counts, law).p_value == 1.0


def test_g_is_at_least_four_n_times_the_square_of_tv() -> None:
    """Pinsker's inequality, on which the power of G rests."""
    for law, n in CASES:
        target = read_law(law)
        for row in outcomes(n, target.size)[::7]:
            counts = Counts(tuple(map(int, row)))
            assert g_statistic(counts, target) >= 4 * n * empirical_tv(counts, target) ** 2 * (1 - 1e-12)


def test_the_spread_is_largest_for_the_uniform_law() -> None:
    for k in (2, 5, 25):
        assert spread(read_law([f"1/{k}"] * k)) == pytest.approx((k - 1) ** 0.5, rel=1e-11)
    assert spread(read_law(["9/10", "1/20", "1/20"])) < 2**0.5


def test_the_critical_values_of_g_are_those_of_agrawals_bound() -> None:
    """As measured before this library was written: asymptotic and rigorous critical values at 1e-9."""
    assert [round(critical_g(1e-9, k - 1), 1) for k in (3, 5, 25, 125)] == [56.0, 66.4, 141.3, 420.2]


@pytest.mark.parametrize("test", [tv_test, g_test])
def test_a_draw_in_a_cell_of_probability_0_has_p_value_0(test: object) -> None:
    assert callable(test)
    for counts, law in (
        ([5, 5, 1], ["1/2", "1/2", 0]),
        ({"a": 10**9, "c": 1}, {"a": "1/2", "b": "1/2"}),
        ({"a": 1, "b": 1, "c": 1}, {"a": "1/2", "b": "1/2"}),
    ):
        result = test(counts, law)
        assert result.log_p == -inf
        assert result.rejects(1e-300)


@pytest.mark.parametrize("test", [tv_test, g_test])
def test_a_cell_of_probability_0_without_draws_changes_nothing(test: object) -> None:
    assert callable(test)
    assert test([60, 40, 0], ["1/2", "1/2", 0]).log_p == test([60, 40], ["1/2", "1/2"]).log_p


def test_a_law_with_one_cell_is_never_refuted_by_draws_in_it() -> None:
    assert tv_test([7], [1]).p_value == g_test([7], [1]).p_value == 1.0
    assert tv_test({0: 7, 1: 1}, [1]).p_value == g_test({0: 7, 1: 1}, [1]).p_value == 0.0


def test_slack_forgives_as_much_as_it_says_and_no_more() -> None:
    law, n = ["1/2", "1/2"], 10**6
    off = [n * 51 // 100, n * 49 // 100]
    assert tv_test(off, law).rejects(1e-9)
    assert not tv_test(off, law, slack=0.01).rejects(1e-1)
    assert tv_test(off, law, slack=0.005).rejects(1e-9)


@pytest.mark.parametrize("log_p", [float("nan"), 0.1, inf], ids=str)
def test_a_bound_that_is_no_probability_raises_and_never_passes(log_p: float) -> None:
    with pytest.raises(InputError, match="not the logarithm of a probability"):
        TestResult("broken", 0.0, log_p)


def test_the_interval_for_tv_misses_as_rarely_as_it_says() -> None:
    """Exactly, for a law at distance 1/10: by enumeration of the draws of the wrong law."""
    p, q, n, delta = read_law(["1/2", "1/2"]), read_law(["3/5", "2/5"]), 60, 0.05
    radius = tv_radius(2, n, delta)
    everything = outcomes(n, 2)
    apart = np.array([abs(empirical_tv(Counts(tuple(map(int, row))), p) - 0.1) for row in everything])
    assert 0 < probabilities(everything, q.p)[apart > radius].sum() <= delta


# Probabilities that are hardly floats, and counts that are hardly integers of a machine

TINIES = {f"1e-{exponent}": Fraction(1, 10**exponent) for exponent in (307, 310, 323, 400, 5000)}
tinies = pytest.mark.parametrize("tiny", TINIES.values(), ids=TINIES)


@tinies
def test_a_cell_with_a_tiny_probability_and_no_draws_changes_nothing(tiny: Fraction) -> None:
    law, plain = read_law([Fraction(1, 2), Fraction(1, 2) - tiny, tiny]), read_law(["1/2", "1/2"])
    counts, without = read_counts([60, 40, 0], law), read_counts([60, 40], plain)
    assert g_statistic(counts, law) == pytest.approx(g_statistic(without, plain), rel=1e-14)
    assert approximate(counts, law).pearson == pytest.approx(4.0, rel=1e-14)
    assert spread(law) == pytest.approx(1.0, rel=1e-11)
    assert worst_cells(counts, law)[-1] == (2, 0, float(100 * tiny), 1.0)
    for method in METHODS:
        name = f"tiny {method}"
        assert not assert_law_equal(
            lambda rng, n: rng.integers(2, size=n), law, eps="0.1", method=method, name=name
        ).rejected


@tinies
@pytest.mark.parametrize("c", [1, 2, 50])
def test_draws_in_a_cell_with_a_tiny_probability_are_weighed_from_its_logarithm(tiny: Fraction, c: int) -> None:
    law = read_law([Fraction(1, 2), Fraction(1, 2) - tiny, tiny])
    counts = read_counts([50, 50 - c, c], law)
    far = 2 * c * (log(c) - log(100 * tiny.numerator) + log(tiny.denominator))
    near = sum(2 * count * log(count / 50) for count in (50, 50 - c) if count)
    assert g_statistic(counts, law) == pytest.approx(near + far, rel=1e-12)
    assert 0 <= g_test(counts, law).p_value <= 1
    rough = approximate(counts, law)
    assert rough.pearson > 1e300
    assert rough.pearson_p_value == 0.0
    assert "Pearson" in rough.line()
    assert worst_cells(counts, law)[0].cell == 2
    # Rounded up: the chance of any draw there is not 0.
    exact = 1 - (1 - tiny) ** 100 if tiny.denominator < 10**401 else tiny
    assert binomial_p_value(c, 100, tiny) > 0
    assert c > 1 or exact <= Fraction(binomial_p_value(c, 100, tiny)) < Fraction(1, 10**300)


@tinies
def test_the_spread_is_rounded_up_where_the_other_cell_is_tiny(tiny: Fraction) -> None:
    assert Fraction(spread(read_law([1 - tiny, tiny]))) ** 2 >= 4 * tiny * (1 - tiny)
    assert spread(read_law([1])) == 0.0


def test_an_event_that_is_almost_sure_may_fail_to_happen() -> None:
    """1 - 1e-17 is 1 as a float, and the tail beyond 1 is empty."""
    n, rest = 10**10, Fraction(1, 10**17)
    found = binomial_p_value(n - 1, n, 1 - rest)
    assert found == binomial_p_value(1, n, rest) == pytest.approx(2 * n * float(rest), rel=1e-6)


def test_counts_beyond_64_bits_are_tested_and_told() -> None:
    n = 2**70
    for counts in ({"a": n, "b": n}, {"a": n, "b": n + 2**64}, {"a": n, "b": n, "c": 1}):
        law = read_law({"a": "1/2", "b": "1/2"})
        fits = counts == {"a": n, "b": n}
        assert tv_test(counts, law).rejects(1e-9) != fits
        assert EProcess(law).update(counts).rejects(1e-9) != fits
        if fits:
            assert not assert_law_equal(counts, law, eps="0.1", name="many").rejected
            continue
        with pytest.raises(LawMismatch, match="worst cells"):
            assert_law_equal(counts, law, eps="0.1", name="many")
    with pytest.raises(InputError, match="more than"):
        read_counts({"a": 10**100, "b": 1}, law)
    with pytest.raises(InputError, match="n <="):
        binomial_p_value(2**60, 2**61, "1/2")


# One event


def exact_two_sided(c: int, n: int, p: Fraction) -> Fraction:
    masses = [Fraction(1)] * (n + 1)
    for i in range(n + 1):
        ways = Fraction(1)
        for j in range(i):
            ways = ways * (n - j) / (j + 1)
        masses[i] = ways * p**i * (1 - p) ** (n - i)
    assert sum(masses) == 1
    return min(Fraction(1), 2 * min(sum(masses[: c + 1]), sum(masses[c:])))


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 10), Fraction(29, 30)], ids=str)
def test_the_binomial_p_value_is_the_exact_one_rounded_up(p: Fraction) -> None:
    for c in range(21):
        exact = exact_two_sided(c, 20, p)
        assert exact <= Fraction(binomial_p_value(c, 20, p)) <= min(Fraction(1), exact * (1 + Fraction(1, 10**8)))


def test_the_clopper_pearson_interval_is_what_the_test_does_not_reject() -> None:
    for c, n in ((0, 10), (3, 10), (10, 10), (17, 400)):
        low, high = clopper_pearson(c, n, 0.01)
        for inside in (low + 1e-6, (low + high) / 2, high - 1e-6):
            assert binomial_p_value(c, n, Fraction(inside)) >= 0.01
        for outside in (low - 1e-6, high + 1e-6):
            if 0 < outside < 1:
                assert binomial_p_value(c, n, Fraction(outside)) <= 0.01


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 50)], ids=str)
def test_the_clopper_pearson_interval_covers_as_often_as_it_says(p: Fraction) -> None:
    n, alpha = 40, 0.05
    masses = probabilities(outcomes(n, 2), np.array([float(p), float(1 - p)]))
    covered = [clopper_pearson(int(row[0]), n, alpha) for row in outcomes(n, 2)]
    missed = sum(mass for mass, (low, high) in zip(masses, covered, strict=True) if not low <= p <= high)
    assert 0 < missed <= alpha


def test_an_event_of_probability_0_or_1_is_decided_by_one_draw() -> None:
    assert binomial_p_value(0, 10, 0) == binomial_p_value(10, 10, 1) == 1.0
    assert binomial_p_value(1, 10, 0) == binomial_p_value(9, 10, 1) == 0.0


@pytest.mark.parametrize(
    ("successes", "n", "p"),
    [(1.0, 10, "1/2"), (-1, 10, "1/2"), (11, 10, "1/2"), (0, 0, "1/2"), (True, 10, "1/2"), (1, 10, 0.5), (1, 10, "2")],
    ids=str,
)
def test_a_binomial_question_that_makes_no_sense_is_refused(successes: object, n: object, p: object) -> None:
    with pytest.raises(InputError):
        binomial_p_value(successes, n, p)


def test_an_event_that_happens_too_often_is_refuted_with_its_interval() -> None:
    n = event_draws("0.05")
    assert assert_event_probability(n // 3, n, "1/3", eps="0.05").low < 1 / 3
    with pytest.raises(LawMismatch, match="Clopper-Pearson"):
        assert_event_probability(n // 3 + n // 20 + n // 20, n, "1/3", eps="0.05")
    with pytest.raises(InputError, match="fewer"):
        assert_event_probability(n // 3, n - 1, "1/3", eps="0.05")


def test_the_planned_draws_see_an_event_that_is_off_by_eps() -> None:
    """Exactly: the probability that the planned draws of an event at 1/2 + eps do not reject 1/2."""
    n = event_draws(0.2, 1e-3, 1e-2)
    masses = probabilities(outcomes(n, 2), np.array([0.7, 0.3]))
    passed = [binomial_p_value(int(row[0]), n, "1/2") > 1e-3 for row in outcomes(n, 2)]
    assert 0 < masses[passed].sum() <= 1e-2


def test_holm_is_between_no_correction_and_bonferroni() -> None:
    p_values = [0.04, 0.001, 0.5, 0.02, 0.001]
    adjusted = holm(p_values)
    assert all(p <= a <= min(1.0, 5 * p) for p, a in zip(p_values, adjusted, strict=True))
    assert adjusted == pytest.approx([0.08, 0.005, 0.5, 0.06, 0.005])


def test_the_worst_cells_are_the_ones_that_were_moved() -> None:
    law = read_law({(0,): "1/4", (1,): "1/4", (2,): "1/4", (3,): "1/4"})
    counts = read_counts({(0,): 250, (1,): 350, (2,): 150, (3,): 250, (9,): 1}, law)
    assert [cell.cell for cell in worst_cells(counts, law, 3)] in ([(9,), (2,), (1,)], [(9,), (1,), (2,)])


def test_a_binomial_tail_that_is_not_a_number_raises_and_never_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binom, "cdf", lambda *_: float("nan"))
    monkeypatch.setattr(beta, "isf", lambda *_: float("nan"))
    with pytest.raises(InputError, match="nan"):
        binomial_p_value(3, 10, "1/2")
    with pytest.raises(InputError, match="nan"):
        clopper_pearson(3, 10, 0.05)
