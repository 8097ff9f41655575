"""`assert_law_equal`: what it passes, what it refutes, what it refuses, and what it says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import log, pi
from typing import Any

import numpy as np
import pytest

from rheo_proof.exact.chance import Sample
from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import run
from rheo_proof.schemes.scheme import plain
from rheo_proof.stats import verdict as verdicts
from rheo_proof.stats.asserts import METHODS, assert_law_equal
from rheo_proof.stats.binomial import clopper_pearson
from rheo_proof.stats.cells import Counts, Target, read_law
from rheo_proof.stats.eprocess import EProcess
from rheo_proof.stats.event import assert_event_probability, event_draws
from rheo_proof.stats.fixtures import FIXTURES, Fixture
from rheo_proof.stats.goodness import approximate, g_test, tv_radius
from rheo_proof.stats.ledger import LIMIT, current, separate_ledger
from rheo_proof.stats.multinomial import size
from rheo_proof.stats.plan import plan_draws
from rheo_proof.stats.sampling import FIRST
from rheo_proof.stats.seeds import root_seed, stream
from rheo_proof.stats.verdict import LawMismatch
from tests.power.samplers import EPS, LAW, LEAKS, RIGHT, SURE, WRONG, sampler

# What passes


@pytest.mark.parametrize("method", METHODS)
def test_a_right_sampler_passes_on_the_planned_number_of_draws(method: str) -> None:
    plan = plan_draws(LAW, EPS)
    drawn = {"sequential": plan.cap, "fixed": plan.draws, "two-stage": plan.stages[0].draws}[method]
    found = assert_law_equal(RIGHT, LAW, eps=EPS, method=method)
    assert found.draws == drawn
    assert not found.rejected
    assert found.tv_interval.low <= found.tv <= found.tv_interval.high


def test_the_default_for_a_sampler_is_sequential_and_for_counts_fixed() -> None:
    assert assert_law_equal(RIGHT, LAW, eps=EPS).method.startswith("sequential")
    counts = np.bincount(RIGHT(np.random.default_rng(stream("counts")), plan_draws(LAW, EPS).draws), minlength=5)
    assert assert_law_equal(counts, LAW, eps=EPS).method.startswith("fixed")


def returned(shape: str) -> Callable[[np.random.Generator, int], Any]:
    """The same right sampler, returning its draws in different forms."""

    def draw(generator: np.random.Generator, n: int) -> Any:
        cells = list(LAW)
        indices = RIGHT(generator, n)
        return {
            "indices": indices,
            "counts": np.bincount(indices, minlength=5),
            "mapping": Counter(cells[i] for i in indices),
            "list of cells": [cells[i] for i in indices],
        }[shape]

    return draw


def test_every_form_of_the_same_draws_is_read_alike() -> None:
    shapes = ("indices", "counts", "mapping", "list of cells")
    found = []
    for shape in shapes:
        with separate_ledger():  # the same name and number, hence the same random numbers
            found.append(assert_law_equal(returned(shape), LAW, eps="0.1", name="forms"))
    assert len({verdict.counts for verdict in found}) == 1


def test_a_seeded_sampler_gets_a_new_integer_for_each_batch() -> None:
    seeds = []

    def seeded(seed: int, n: int) -> Any:
        seeds.append(seed)
        return RIGHT(np.random.default_rng(seed), n)

    assert not assert_law_equal(seeded, LAW, eps=EPS, seeded=True).rejected
    assert len(set(seeds)) == len(seeds) > 1
    assert all(type(seed) is int and 0 <= seed < 2**63 for seed in seeds)


# What is refuted


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wrong", [WRONG, LEAKS], ids=["moved", "impossible"])
def test_a_wrong_sampler_fails(method: str, wrong: Any) -> None:
    with pytest.raises(LawMismatch) as failure:
        assert_law_equal(wrong, LAW, eps=EPS, method=method, beta=SURE)
    found = failure.value.verdict
    assert found.rejected
    assert found.log_p <= np.log(1e-9)


def test_the_sequential_check_stops_long_before_its_cap() -> None:
    with pytest.raises(LawMismatch) as failure:
        assert_law_equal(sampler(1, 1, 1, 1, 0), LAW, eps="0.01", beta=SURE)
    found = failure.value.verdict
    assert found.draws == FIRST
    assert found.planned > 100 * FIRST


def test_an_early_failure_has_twice_the_p_value_of_the_e_process() -> None:
    """Each part has half of alpha, so that both together have alpha."""
    with pytest.raises(LawMismatch) as failure:
        assert_law_equal(sampler(1, 1, 1, 1, 0), LAW, eps="0.01", beta=SURE)
    found = failure.value.verdict
    assert found.log_p == log(2) - EProcess(LAW).update(found.counts).log_max


def test_the_fixed_test_decides_at_the_cap_where_the_e_process_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The power that is proved is that of the fixed test."""
    monkeypatch.setattr(EProcess, "_log_e", lambda self: 0.0)
    plan = plan_draws(LAW, EPS, beta=SURE)
    with pytest.raises(LawMismatch, match="at the cap") as failure:
        assert_law_equal(WRONG, LAW, eps=EPS, beta=SURE)
    found = failure.value.verdict
    assert found.draws == plan.cap == plan_draws(LAW, EPS, 0.5e-9, SURE).draws
    assert found.log_p == log(2) + g_test(found.counts, LAW).log_p


def scripted(first: int) -> Callable[[np.random.Generator, int], Any]:
    """A coin whose first thousand tosses have so many heads, and all others as many heads as tails."""
    asked = []

    def draw(generator: np.random.Generator, n: int) -> Any:
        asked.append(n)
        heads = first if len(asked) == 1 else n // 2
        return {0: heads, 1: n - heads}

    return draw


def test_evidence_between_1_and_2_over_alpha_stops_nothing() -> None:
    """The e-process has half of alpha. After the first look its evidence is enough for alpha, not for that."""
    coin = ["1/2", "1/2"]
    assert log(1 / 1e-9) < EProcess(coin).update([611, 389]).log_max < log(2 / 1e-9)
    found = assert_law_equal(scripted(611), coin, eps="0.03")
    assert found.draws == plan_draws(coin, "0.03").cap
    assert found.looks > 1
    with pytest.raises(LawMismatch) as failure:  # the twin: one head more is enough
        assert_law_equal(scripted(612), coin, eps="0.03")
    assert failure.value.verdict.draws == FIRST


def test_a_check_that_passes_before_its_cap_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheo_proof.stats.asserts.batch_sizes", lambda *_, **__: iter([FIRST]))
    with separate_ledger(), pytest.raises(SoundnessError, match="without proved power"):
        assert_law_equal(RIGHT, LAW, eps=EPS)


def test_wrong_counts_fail() -> None:
    n = plan_draws(LAW, EPS).draws
    with pytest.raises(LawMismatch):
        assert_law_equal({(0,): n, (1, 0): n}, LAW, eps=EPS)


def test_an_unlisted_cell_is_an_impossible_one() -> None:
    n = plan_draws(LAW, EPS).draws
    with pytest.raises(LawMismatch, match="probability 0"):
        assert_law_equal({(0,): n // 2, (1, 0): n // 4, (1, 1): n // 8, (2,): n // 8, (7, 7): 8}, LAW, eps=EPS)


def test_an_impossible_draw_in_the_first_of_two_stages_is_enough() -> None:
    asked = []

    def leaks_once(generator: np.random.Generator, n: int) -> Any:
        asked.append(n)
        drawn = RIGHT(generator, n)
        drawn[0] = 4
        return drawn

    with pytest.raises(LawMismatch, match="stage 1"):
        assert_law_equal(leaks_once, LAW, eps=EPS, method="two-stage")
    assert asked == [plan_draws(LAW, EPS).stages[0].draws]


def test_the_second_of_two_stages_draws_afresh_and_can_acquit() -> None:
    calls = []

    def wrong_at_first(generator: np.random.Generator, n: int) -> Any:
        calls.append(n)
        return (WRONG if len(calls) == 1 else RIGHT)(generator, n)

    found = assert_law_equal(wrong_at_first, LAW, eps=EPS, method="two-stage", beta=SURE)
    assert [stage.draws for stage in plan_draws(LAW, EPS, beta=SURE).stages] == calls
    assert "stage 2" in found.method


def test_slack_allows_what_it_says() -> None:
    nearly = sampler(402, 198, 100, 100, 0)  # TV 1/400
    assert not assert_law_equal(nearly, LAW, eps=EPS, slack=0.01).rejected
    with pytest.raises(LawMismatch):
        assert_law_equal(WRONG, LAW, eps=EPS, slack=0.01, beta=SURE)
    with pytest.raises(InputError, match="slack"):
        assert_law_equal(RIGHT, LAW, eps=EPS, slack=0.01, method="sequential")


@pytest.mark.parametrize("fixture", FIXTURES.values(), ids=FIXTURES)
def test_draws_from_a_faulty_law_fail_and_from_the_right_one_pass(fixture: Fixture) -> None:
    for fault in fixture.faults:
        faulty, correct = fixture.laws(fault)
        with pytest.raises(LawMismatch):
            assert_law_equal(from_law(faulty), correct, eps=fixture.eps, beta=SURE, name=f"{fixture.name} {fault}")
    assert not assert_law_equal(from_law(correct), correct, eps=fixture.eps).rejected


def from_law(law: dict[Any, Fraction]) -> Callable[[np.random.Generator, int], Any]:
    """Draws cells of an exact law, as a mapping of counts."""
    target = read_law(law)

    def draw(generator: np.random.Generator, n: int) -> Any:
        counts = generator.multinomial(n, target.p)
        return dict(zip(target.cells, map(int, counts), strict=True))

    return draw


def decoder(scheme: Any, model: Any) -> Callable[[int, int], Any]:
    """The scheme as a program that draws its random choices, step after step."""

    def draw(seed: int, n: int) -> Any:
        chance = Sample(random.Random(seed))
        return Counter(run(scheme, model, chance) for _ in range(n))

    return draw


@pytest.mark.parametrize("fault", ["flow-layers", None], ids=str)
def test_a_faulty_decoder_is_caught_by_sampling_it_and_the_right_one_passes(fault: str | None) -> None:
    fixture = FIXTURES["chains"]
    correct = plain(fixture.correct("flow-layers"))
    law, model = fixture.laws("flow-layers")[1], fixture.model()
    if fault is None:
        draw = decoder(correct, model)
        assert not assert_law_equal(draw, law, eps=fixture.eps, seeded=True).rejected
        return
    assert fault in FAULTS
    with pytest.raises(LawMismatch):
        assert_law_equal(decoder(fixture.faulty(fault), model), law, eps=fixture.eps, seeded=True, beta=SURE)


# What it says


def message(**options: Any) -> str:
    with pytest.raises(LawMismatch) as failure:
        assert_law_equal(WRONG, LAW, eps=EPS, beta=SURE, **options)
    return str(failure.value)


def test_a_failure_says_all_that_is_needed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHEO_SEED", "123")
    said = message()
    test = request.node.nodeid
    for part in (
        "TV 0.0",
        "99.9% interval [",
        "p-value bound ",
        "worst cells (exact binomial, Holm)",
        "1,0 ",
        "1,1 ",
        "approximate, not deciding: Pearson",
        "root seed 123",
        "eps 0.05, alpha 1e-09",
    ):
        assert part in said, part
    [command] = [line.strip() for line in said.splitlines() if "pytest" in line]
    assert command == f"RHEO_SEED=123 pytest {test}"
    named = message(name="one step").splitlines()[-1].strip()
    assert named == f"RHEO_SEED=123 pytest {test}  # the assertion named 'one step'"


def test_the_same_seed_and_name_repeat_a_failure_to_the_letter() -> None:
    first = message(name="again")
    current().new_test()
    assert message(name="again") == first


def test_another_name_number_or_root_draws_other_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(generator: np.random.Generator, n: int) -> Any:
        seen.append(int(generator.integers(1 << 62)))
        return RIGHT(generator, n)

    with separate_ledger():
        for name in ("one", "one", "two"):
            assert assert_law_equal(watched, LAW, eps="0.1", name=name, method="fixed").draws > 0
        current().new_test()
        monkeypatch.setenv("RHEO_SEED", str(root_seed() + 1))
        assert assert_law_equal(watched, LAW, eps="0.1", name="one", method="fixed").draws > 0
    assert len(seen) == len(set(seen)) == 4


def test_the_first_of_the_worst_cells_is_one_that_was_moved() -> None:
    lines = message().splitlines()
    at = next(i for i, line in enumerate(lines) if "worst cells" in line)
    assert lines[at + 2].split()[0] in {"1,0", "1,1"}


def test_p_values_are_written_rounded_up() -> None:
    for log_p in (-0.1, -1.0, -20.7, -700.0, -5000.0):
        written = verdicts.in_words(log_p)
        digits, _, power = written.partition("e")
        assert np.log(float(digits)) + int(power) * np.log(10) >= log_p


def test_the_intervals_of_many_looks_are_wider_than_that_of_one() -> None:
    target = read_law(LAW)
    counts = Counts((400, 200, 100, 100))
    widths = []
    for looks in (1, 2, 10, 50):
        found = verdicts.Verdict("x", "x", target, counts, 800, "", 0.0, 1e-9, looks, 0, None)
        widths.append(found.tv_interval.high - found.tv_interval.low)
    assert all(a < b for a, b in pairwise(widths))


def test_the_intervals_of_two_stages_have_half_of_the_level_each() -> None:
    target, counts = read_law(LAW), Counts((400, 200, 100, 100))
    found = assert_law_equal(RIGHT, LAW, eps=EPS, method="two-stage")
    assert found.stages == 2
    one, two = (verdicts.Verdict("x", "x", target, counts, 800, "", 0.0, 1e-9, 1, 0, None, n) for n in (1, 2))
    spent = verdicts.DELTA * 6 / pi**2
    assert one.tv_interval.high == tv_radius(6, 800, spent)
    assert two.tv_interval.high == tv_radius(6, 800, spent / 2)


# How often it is wrong


def test_false_alarms_are_as_frequent_as_the_enumeration_says() -> None:
    """G with its asymptotic tail, which has alarms to count: its exact size, and its frequency over many seeds."""
    law, n, runs, alpha = read_law(["1/2", "3/10", "1/5"]), 40, event_draws("0.1"), 0.05

    def log_p(counts: Counts, target: Target) -> float:
        return float(np.log(approximate(counts, target).g_p_value))

    exact = Fraction(size(law, n, log_p, alpha))
    generator = np.random.default_rng(stream("test_false_alarms_are_as_frequent_as_the_enumeration_says"))
    drawn = [Counts(tuple(map(int, row))) for row in generator.multinomial(n, law.p, size=runs)]
    alarms = sum(log_p(counts, law) <= np.log(alpha) for counts in drawn)
    low, high = assert_event_probability(int(alarms), runs, exact, eps="0.1")
    assert low <= exact <= high
    with pytest.raises(LawMismatch):
        assert_event_probability(int(alarms), runs, exact + Fraction(1, 10), eps="0.1")


@pytest.mark.parametrize("method", METHODS)
def test_a_loose_level_is_kept_over_many_seeds(method: str) -> None:
    """200 checks at alpha 1/20 of a right sampler, with 200 names: no more alarms than an exact test lets pass."""
    runs, alarms, alpha = 200, 0, 0.05
    with separate_ledger():
        for i in range(runs):
            try:
                assert_law_equal(RIGHT, LAW, eps="0.2", alpha=alpha, beta=0.1, method=method, name=f"{method} {i}")
            except LawMismatch:
                alarms += 1
    assert is_kept(alarms, runs, alpha)


def is_kept(alarms: int, runs: int, alpha: float) -> bool:
    """Whether so many alarms are compatible with a rate of at most alpha, at the level of one assertion."""
    current().spend(1e-9)
    return clopper_pearson(alarms, runs, 1e-9).low <= alpha


def test_the_exact_interval_would_notice_a_level_that_is_not_kept() -> None:
    assert not is_kept(60, 200, 0.05)


def test_this_file_spends_from_the_budget() -> None:
    before = current().total
    assert not assert_law_equal(RIGHT, LAW, eps="0.2").rejected
    assert current().total - before == Fraction("1e-9")
    assert current().total <= LIMIT
