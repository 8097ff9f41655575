"""Sparse large vocabularies: Monte-Carlo p-values are valid, and the two statistics see different errors."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt
from typing import Any

import numpy as np
import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.cells import read_law
from rheo_proof.stats.ledger import current, separate_ledger
from rheo_proof.stats.multinomial import outcomes, probabilities
from rheo_proof.stats.sparse import MOST, STOP, assert_sparse_law_equal, sparse_p_value, sparse_statistics
from rheo_proof.stats.verdict import LawMismatch

WEIGHTS = [max(1, 10**5 // (rank + 1)) for rank in range(400)]
ZIPF = read_law([Fraction(weight, sum(WEIGHTS)) for weight in WEIGHTS])
DRAWS = 4000
ALPHA = "1e-4"


def tail_swings(strength: float) -> Any:
    """Every second token of the tail is likelier by this factor, the others less likely: small errors everywhere."""
    p = ZIPF.p.copy()
    p[20::2] *= 1 + strength
    p[21::2] *= 1 - strength
    return p / p.sum()


def head_moves(mass: float) -> Any:
    """Mass moves between the two likeliest tokens."""
    p = ZIPF.p.copy()
    p[0] -= mass
    p[1] += mass
    return p


def p_values(p: Any, seed: int) -> tuple[float, float]:
    generator = np.random.default_rng(seed)
    found = sparse_p_value(generator.multinomial(DRAWS, p), ZIPF, generator, 999)
    return found.tv, found.norm


def test_most_cells_of_the_law_expect_fewer_than_five_draws() -> None:
    assert (ZIPF.p * DRAWS < 5).mean() > 0.5


def test_each_statistic_sees_an_error_and_a_right_law_passes_early() -> None:
    assert min(p_values(tail_swings(0.9), 1)) == 1 / 1000
    assert min(p_values(head_moves(0.05), 2)) == 1 / 1000
    generator = np.random.default_rng(3)
    right = sparse_p_value(generator.multinomial(DRAWS, ZIPF.p), ZIPF, generator, 99_999)
    assert right.replicates < 99_999
    assert 1 / 1000 < right.p_value <= 1


def test_the_statistics_are_their_definitions() -> None:
    [[tv, norm]] = sparse_statistics(np.array([[6, 3, 1]]), np.array([0.5, 0.25, 0.25]))
    assert tv == pytest.approx(0.5 * (0.1 + 0.05 + 0.15))
    by_hand = (1 - 6) / 0.5 ** (2 / 3) + (0.25 - 3) / 0.25 ** (2 / 3) + (2.25 - 1) / 0.25 ** (2 / 3)
    assert norm == pytest.approx(by_hand)


def test_a_rank_among_replicates_is_a_p_value() -> None:
    """Exactly: over all outcomes and all ranks, from the true tail probabilities of the statistics."""
    p, n, replicates = np.array([0.5, 0.25, 0.25]), 8, 19
    everything = outcomes(n, 3)
    masses = probabilities(everything, p)
    for column in sparse_statistics(everything, p).T:
        tails = np.array([masses[column >= value].sum() for value in column])
        # P(no replicate reaches the observed value) = (1 - tail)^B: then the p-value is 1 / (B + 1).
        assert 0 < (masses * (1 - tails) ** replicates).sum() <= 1 / (replicates + 1)


def test_an_early_stop_counts_the_replicates_up_to_it() -> None:
    law = ["1/2", "1/4", "1/4"]
    found = sparse_p_value([4, 2, 2], law, np.random.default_rng(0), 10**6)
    assert found.replicates < 10**4
    assert found.tv == 1.0
    assert STOP / found.replicates <= found.norm <= 1.0


def test_a_rejection_needs_all_replicates_and_has_the_smallest_p_value() -> None:
    found = sparse_p_value([1000, 0, 0], ["1/2", "1/4", "1/4"], np.random.default_rng(0), 500)
    assert (found.tv, found.norm, found.replicates) == (1 / 501, 1 / 501, 500)
    assert found.p_value == 2 / 501


def test_an_impossible_draw_has_p_value_0() -> None:
    assert sparse_p_value([1, 1, 1], ["1/2", "1/2", 0], np.random.default_rng(0), 10).p_value == 0.0


def test_the_assertion_passes_a_right_sampler_and_spends_alpha() -> None:
    before = current().total
    found = assert_sparse_law_equal(lambda generator, n: generator.multinomial(n, ZIPF.p), ZIPF, draws=DRAWS)
    assert not found.rejected
    assert current().total - before == Fraction("1e-9")


@pytest.mark.parametrize("wrong", [tail_swings(0.9), head_moves(0.1)], ids=["tail", "head"])
def test_the_assertion_fails_a_wrong_sampler_after_two_stages(wrong: Any) -> None:
    asked = []

    def sampler(generator: np.random.Generator, n: int) -> Any:
        asked.append(n)
        return generator.multinomial(n, wrong)

    with separate_ledger(), pytest.raises(LawMismatch, match="power not proved") as failure:
        assert_sparse_law_equal(sampler, ZIPF, draws=DRAWS, alpha=ALPHA)
    assert asked == [DRAWS, DRAWS]
    assert failure.value.verdict.log_p <= np.log(float(ALPHA))


def test_the_replicates_are_enough_for_a_rejection_and_no_more_than_needed() -> None:
    replicates = ceil(2 / sqrt(1e-9))
    assert 2 / (replicates + 1) < sqrt(1e-9) < 2 / (replicates - 1)


def test_an_impossible_draw_fails_in_the_first_stage() -> None:
    with separate_ledger(), pytest.raises(LawMismatch, match="stage 1"):
        assert_sparse_law_equal(lambda generator, n: {0: n - 1, "never": 1}, ZIPF, draws=DRAWS, alpha=ALPHA)


@pytest.mark.parametrize("replicates", [0, -1])
def test_no_replicates_are_refused(replicates: int) -> None:
    with pytest.raises(InputError, match="replicates"):
        sparse_p_value([1, 1], ["1/2", "1/2"], np.random.default_rng(0), replicates)


@pytest.mark.parametrize("alpha", [1e-300, "1e-13", 3.9e-12], ids=str)
def test_an_alpha_that_takes_too_many_replicates_is_refused_before_anything_is_drawn(alpha: Any) -> None:
    asked = []
    before = current().total
    with pytest.raises(InputError, match="replicates"):
        assert_sparse_law_equal(lambda generator, n: asked.append(n), ZIPF, draws=DRAWS, alpha=alpha)
    assert (asked, current().total) == ([], before)


def test_the_smallest_alpha_takes_the_most_replicates() -> None:
    assert ceil(2 / sqrt(4e-12)) == MOST
    with separate_ledger():
        right = assert_sparse_law_equal(lambda rng, n: rng.multinomial(n, ZIPF.p), ZIPF, draws=DRAWS, alpha=4e-12)
    assert not right.rejected


def test_a_probability_too_small_for_a_float_does_not_disturb_the_statistics() -> None:
    tiny = Fraction(1, 10**400)
    law = [Fraction(1, 2), Fraction(1, 2) - tiny, tiny]
    assert sparse_p_value([500, 500, 0], law, np.random.default_rng(0), 999).p_value == 1.0
    assert sparse_p_value([500, 498, 2], law, np.random.default_rng(0), 999).norm == 1 / 1000


def test_more_draws_than_can_be_replicated_are_refused() -> None:
    with pytest.raises(InputError, match="draws"):
        sparse_p_value([2**63, 1], ["1/2", "1/2"], np.random.default_rng(0), 9)


def test_no_draws_are_refused() -> None:
    with pytest.raises(InputError, match="draws"):
        assert_sparse_law_equal(lambda generator, n: generator.multinomial(n, ZIPF.p), ZIPF, draws=0)
