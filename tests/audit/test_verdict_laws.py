"""The comparison of a law with the target: against the other implementation of the criterion, on random laws."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from rheo_proof.audit import judging
from rheo_proof.audit.cases import Case
from rheo_proof.audit.exploring import Exploration, Raised, Usage
from rheo_proof.audit.judging import GUARD, completed, first_wrong, judge, rounding_bound, target_law, total_variation
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.tables import table
from rheo_proof.exact.families import family_model
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, to_fraction
from rheo_proof.exact.step import StepLaw

LENGTH = 3


def some_law(random: Random, model: ToyModel, faithful: bool) -> dict[Prefix, Q]:
    """A law of emitted strings: with the target's own next tokens, ended at random; or with some mass moved."""
    law: dict[Prefix, Q] = {}

    def emit(prefix: Prefix, mass: Q) -> None:
        for x, share in enumerate(model.target(prefix)):
            if not share:
                continue
            part, string = mass * share, (*prefix, x)
            stays = Q(random.randint(0, 4), 4) if len(string) < LENGTH else ONE
            if stays:
                law[string] = part * stays
            if stays < ONE:
                emit(string, part * (ONE - stays))

    emit((), ONE)
    if not faithful:
        one, other = sorted(law)[0], sorted(law)[-1]
        moved = law[one] / 3
        law[one] -= moved
        law[other] += moved
    return law


@pytest.mark.parametrize("faithful", [True, False])
def test_distance_and_first_wrong_string_are_those_of_the_step_law(faithful: bool) -> None:
    wrongs = []
    for seed in range(40):
        random = Random(seed)
        model = family_model(random.choice(["random", "zeros", "ties"]), seed, 3, LENGTH - 1)
        law = some_law(random, model, faithful)
        step = StepLaw.of_strings(law)
        ours, theirs = completed(law, model, LENGTH), target_law(model, LENGTH)
        assert to_fraction(total_variation(ours, theirs)) == step.total_variation(model)
        wrong, other = first_wrong(ours, theirs, ZERO), step.first_wrong(model)
        assert (wrong is None) == (other is None)
        if wrong is not None and other is not None:
            assert len(wrong.string) == len(other.string)
            assert wrong.expected != wrong.actual
        wrongs.append(wrong is not None)
    assert sum(wrongs) == 0 if faithful else sum(wrongs) > 30


def exploration(law: dict[object, Q], slack: Q = ZERO) -> Exploration:
    """An exploration that found this law."""
    return Exploration(dict(law), [], 1, Usage(), slack)  # type: ignore[arg-type]


CASE = Case(table("dyadic"), "float64")
MODEL = CASE.model(0)
[REQUEST] = CASE.requests()


def judged(law: dict[object, Q], **options: Q) -> judging.Judged:
    """The judgement on a law."""
    from rheo_proof.audit.baselines import Baseline

    slack = options.pop("slack", ZERO)
    return judge(exploration(law, slack), CASE, REQUEST, MODEL, Baseline(ONE, None, ONE), ZERO, **options)


def moved(by: Q) -> dict[object, Q]:
    """The target's law of the first token, with this much mass moved from token 0 to token 1."""
    p = list(MODEL.target(()))
    p[0], p[1] = p[0] - by, p[1] + by
    return {Outcome((x,), 0): mass for x, mass in enumerate(p)}


def test_off_by_a_guard_or_more_is_told_apart_at_the_millionth() -> None:
    just, over = judged(moved(GUARD)), judged(moved(GUARD + Q(1, 10**9)))
    assert (just.departs, just.guarded, just.distance) == (False, True, to_fraction(GUARD))
    assert (over.departs, over.guarded) == (True, False)
    assert over.wrong is not None
    assert over.wrong.string == (0,)
    assert over.wrong.expected - over.wrong.actual == to_fraction(GUARD) + Fraction(1, 10**9)


def test_roundings_are_neither_a_guard_nor_a_bias() -> None:
    bound = rounding_bound(CASE, ZERO, 3)
    assert 0 < bound < Q(1, 10**12)
    assert not judged(moved(bound)).guarded
    assert judged(moved(bound * 2)).guarded
    assert rounding_bound(CASE, Q(1, 10**9), 3) > Q(6, 10**9), "what is handed over is rounded, too"
    assert rounding_bound(Case(table("dyadic"), "float32"), ZERO, 3) > 10**8 * bound


def test_slack_and_tolerance_widen_what_is_allowed_by_as_much() -> None:
    by = GUARD + Q(1, 10**4)
    assert judged(moved(by)).departs
    assert not judged(moved(by), slack=Q(1, 5000)).departs
    assert not judged(moved(by), tolerance=Q(1, 5000)).departs
    assert judged(moved(by), tolerance=Q(1, 50000)).departs


def test_runs_that_raise_count_as_distance() -> None:
    law = {Outcome((x,), 0): mass / 2 for x, mass in enumerate(MODEL.target(()))}
    found = judged({**law, Raised("ValueError", "no"): Q(1, 4), Outcome((), 0, (), "no token was emitted"): Q(1, 4)})
    assert (found.failing, found.distance, found.departs) == (Fraction(1, 2), Fraction(1, 2), True)
    assert set(found.failures) == {"raises ValueError: no", "no token was emitted"}


def test_the_shortest_impossible_string_is_found() -> None:
    zeros = Case(table("zeros"), "float64").model(0)
    x = next(x for x, share in enumerate(zeros.target(())) if not share)
    y = next(y for y, share in enumerate(zeros.target(())) if share)
    z = next(z for z, share in enumerate(zeros.target((y,))) if not share)
    assert judging.impossible({(y, z, 0): ONE, (x, 0): ONE}, zeros) == (x,)
    assert judging.impossible({(y, z, 0): ONE}, zeros) == (y, z)
    assert judging.impossible({(y,): ONE}, zeros) is None
