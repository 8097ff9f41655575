"""The e-process: mean exactly 1, Ville's inequality over every path, any stopping rule, no overflow."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, fsum, inf, log

import numpy as np
import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.binomial import clopper_pearson
from rheo_proof.stats.cells import Counts, read_law
from rheo_proof.stats.eprocess import EProcess
from rheo_proof.stats.goodness import approximate
from rheo_proof.stats.ledger import current
from rheo_proof.stats.multinomial import outcomes, probabilities
from rheo_proof.stats.seeds import stream


@pytest.mark.parametrize(
    ("law", "n"), [(["1/2", "1/2"], 30), (["9/10", "1/20", "1/20"], 20), (["2/5", "3/10", "1/5", "1/10"], 9)], ids=str
)
@pytest.mark.parametrize("weights", [None, [0.5], [3.0, 700.0]], ids=str)
def test_the_evidence_has_mean_1_under_the_law_and_is_rounded_down(
    law: list[str], n: int, weights: list[float] | None
) -> None:
    everything = outcomes(n, len(law))
    masses = probabilities(everything, read_law(law).p)
    values = [exp(EProcess(law, weights).update(list(map(int, row))).log_e) for row in everything]
    assert 1 - 1e-6 < fsum(mass * value for mass, value in zip(masses, values, strict=True)) < 1 + 1e-12


TINIES = {f"1e-{exponent}": Fraction(1, 10**exponent) for exponent in (100, 290, 307, 310, 323, 400, 5000)}


def exact_log_e(law: list[Fraction], counts: list[int], weight: int) -> float:
    """The logarithm of the evidence from its definition, in fractions: rising factorials over powers."""
    mass = Fraction(1)
    for p, c in zip(law, counts, strict=True):
        for i in range(c):
            mass *= (weight * p + i) / p
    for i in range(sum(counts)):
        mass /= weight + i
    return log(mass.numerator) - log(mass.denominator)


@pytest.mark.parametrize("tiny", TINIES.values(), ids=TINIES)
@pytest.mark.parametrize("counts", [[20, 20, 0], [20, 19, 1], [0, 0, 1], [0, 0, 2], [10, 0, 30]], ids=str)
def test_the_evidence_is_exact_and_rounded_down_with_a_probability_that_is_hardly_a_float(
    tiny: Fraction, counts: list[int]
) -> None:
    law = [Fraction(1, 2), Fraction(1, 2) - tiny, tiny]
    for weight in (1, 1000):
        exact = exact_log_e(law, counts, weight)
        found = EProcess(law, [float(weight)]).update(counts).log_e
        assert exact - 1e-9 * (1 + abs(exact)) <= found <= exact + 1e-13 * log(tiny.denominator)
    assert not EProcess(law).update([500, 500, 0]).rejects(0.5)


def paths(n: int, p: float) -> list[tuple[float, list[int]]]:
    """Every sequence of n tosses with its probability, and the heads after each toss."""
    return [
        (float(np.prod([p if x else 1 - p for x in tosses])), list(np.cumsum(tosses)))
        for tosses in product((0, 1), repeat=n)
    ]


def ever(p: float, n: int, alarm: object) -> float:
    """The exact probability that an alarm goes off at any time within n tosses of a coin."""
    assert callable(alarm)
    known = {(heads, seen): alarm(heads, seen) for seen in range(1, n + 1) for heads in range(seen + 1)}
    return fsum(mass for mass, heads in paths(n, p) if any(known[int(h), seen] for seen, h in enumerate(heads, 1)))


@pytest.mark.parametrize(("law", "p"), [(["1/2", "1/2"], 0.5), (["1/5", "4/5"], 0.2)], ids=str)
@pytest.mark.parametrize("alpha", [0.5, 0.2, 0.05])
def test_ville_holds_over_every_path_when_one_looks_after_every_draw(law: list[str], p: float, alpha: float) -> None:
    def alarm(heads: int, seen: int) -> bool:
        return EProcess(law, [1.0, 10.0]).update([heads, seen - heads]).rejects(alpha)

    assert 0 < ever(p, 12, alarm) <= alpha


def test_looking_at_pearson_after_every_draw_breaks_its_level() -> None:
    """The twin: the same paths, the same looks, a test that is made for one look."""

    def alarm(heads: int, seen: int) -> bool:
        return approximate([heads, seen - heads], ["1/2", "1/2"]).pearson_p_value <= 0.05

    assert ever(0.5, 12, alarm) > 0.1


def test_the_evidence_does_not_depend_on_how_the_draws_came() -> None:
    law = ["1/2", "1/4", "1/4"]
    at_once = EProcess(law).update([50, 30, 20])
    in_parts = EProcess(law).update([50, 0, 0]).update([0, 30, 0]).update({2: 20})
    assert at_once.log_e == in_parts.log_e
    assert at_once.draws == in_parts.draws == 100


def test_the_p_value_is_that_of_the_largest_evidence_ever_seen() -> None:
    process = EProcess(["1/2", "1/2"]).update([400, 100])
    high, p_value = process.log_e, process.p_value
    process.update([0, 300])
    assert process.log_e < high
    assert process.log_max == high
    assert process.p_value == p_value == exp(-high)


def test_false_alarms_with_optional_stopping_are_rare() -> None:
    """Looks at every batch, alarms at any of them; the exact interval for the rate must reach down to alpha."""
    law, alpha, runs = ["1/2", "3/10", "1/10", "1/20", "1/20"], 0.1, 400
    target = read_law(law)
    generator = np.random.default_rng(stream("test_false_alarms_with_optional_stopping_are_rare"))
    alarms = 0
    for _ in range(runs):
        process = EProcess(target)
        for batch in generator.multinomial(50, target.p, size=20):
            process.update(Counts(tuple(map(int, batch))))
        alarms += process.rejects(alpha)
    current().spend(1e-9)
    assert clopper_pearson(alarms, runs, 1e-9).low <= alpha


def test_a_wrong_law_is_found_soon() -> None:
    generator = np.random.default_rng(stream("test_a_wrong_law_is_found_soon"))
    process = EProcess(["1/2", "1/4", "1/4"])
    for batch in generator.multinomial(500, [0.4, 0.35, 0.25], size=40):
        if process.update(list(map(int, batch))).rejects(1e-9):
            break
    assert process.rejects(1e-9)
    assert process.draws < 20_000


@pytest.mark.parametrize("n", [10**9, 10**14])
def test_nothing_overflows(n: int) -> None:
    process = EProcess(["1/2", "1/2"]).update([n, 0])
    assert 0.6 * n < process.log_e < 0.7 * n
    assert process.p_value == 0.0
    assert process.rejects(1e-300)
    fitting = EProcess(["1/2", "1/2"]).update([n, n])
    assert -inf < fitting.log_e < 0
    assert fitting.p_value == 1.0


def test_the_rounding_allowed_for_is_small_beside_the_evidence() -> None:
    n = 10**6
    process = EProcess(["1/2", "1/2"], [1.0]).update([n // 2 + 5000, n // 2 - 5000])
    exact = 2 * 5000**2 / n - 0.5 * log(n)  # the leading terms of a Beta(1/2, 1/2) mixture
    assert process.log_e == pytest.approx(exact, abs=2)


def test_an_impossible_draw_is_infinite_evidence_for_ever() -> None:
    process = EProcess(["1/2", "1/2", 0]).update([10, 10, 1])
    assert process.log_e == inf
    assert process.p_value == 0.0
    assert process.update([10**6, 10**6, 0]).rejects(1e-300)


def test_evidence_that_is_not_a_number_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EProcess, "_log_e", lambda self: float("nan"))
    with pytest.raises(InputError, match="not a number"):
        EProcess(["1/2", "1/2"]).update([1, 1])


@pytest.mark.parametrize("weights", [[], [0.0], [-1.0], [float("nan")], [float("inf")]], ids=str)
def test_a_prior_that_is_none_is_refused(weights: list[float]) -> None:
    with pytest.raises(InputError, match="weights"):
        EProcess(["1/2", "1/2"], weights)
