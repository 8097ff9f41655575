"""Exponentials as arguments: a race inside each box, its weights found by bisection; any other use is refused."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from typing import Any

import pytest

from rheo_proof.audit.boxes import NotBoxes
from rheo_proof.audit.exploring import explore
from rheo_proof.audit.piecewise import PiecewiseLaw, law_of
from rheo_proof.exact.number import ZERO, Q
from tests.audit import uniform_verifiers as verifiers
from tests.audit.uniform_verifiers import P_NEXT, P, distance, exactly, race, row_of_noise


def piecewise(program: verifiers.Program, dtype: str = "float32", probes: int = 256) -> PiecewiseLaw:
    return law_of(program, dtype, probes=probes, size=len(P))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("program", [verifiers.one_row_for_all, verifiers.a_row_for_each])
def test_the_law_of_a_race_is_that_of_a_draw(program: verifiers.Program, dtype: str) -> None:
    found, expected = piecewise(program, dtype), explore(verifiers.right_chain).law
    assert distance(found.law, expected) <= found.resolution < Q(1, 10**6)


def test_a_race_for_the_wrong_row_is_seen() -> None:
    wrong, right = explore(verifiers.recovers_from_the_first_row).law, explore(verifiers.right_chain).law
    found = piecewise(verifiers.races_for_the_first_row)
    assert distance(found.law, wrong) <= found.resolution
    assert distance(found.law, right) > Q(1, 100)


@pytest.mark.parametrize("weights", [P, (0.0, 0.25, 0.75), (0.25, 0.0, 0.0), (0.0, 0.0, 2.0), (0.5, 0.5, 0.0)])
def test_weights_of_zero_never_win(weights: tuple[float, ...]) -> None:
    law = piecewise(lambda source: race(weights, row_of_noise(source))).law
    total = sum(exactly(weights), ZERO)
    for x, w in enumerate(exactly(weights)):
        assert abs(law.get(x, ZERO) - w / total) < Q(1, 10**6)
        assert (x in law) == bool(w)


def test_tokens_that_lead_to_the_same_outcome_are_added_up() -> None:
    law = piecewise(lambda source: race(P, row_of_noise(source)) == 2).law
    assert abs(law[True] - exactly(P)[2]) < Q(1, 10**6)


def test_weights_that_depend_on_a_uniform_alone_are_told_apart() -> None:
    def program(source: Any) -> Hashable:
        row = P if source.uniform() < 0.25 else P_NEXT
        return race(row, row_of_noise(source))

    found = piecewise(program, probes=2048)
    expected = [(a + 3 * b) / 4 for a, b in zip(exactly(P), exactly(P_NEXT), strict=True)]
    assert all(abs(found.law[x] - mass) < Q(1, 10**6) for x, mass in enumerate(expected))


@pytest.mark.parametrize(
    "use",
    [
        lambda noise: noise[0] < 1.0,
        lambda noise: noise[0] + noise[1] < noise[2],
        lambda noise: race(P, [e + 0.5 for e in noise]),
    ],
    ids=["threshold", "sum", "shifted"],
)
def test_another_use_of_exponentials_is_refused(use: Callable[[list[float]], Hashable]) -> None:
    with pytest.raises(NotBoxes, match=r"not used as a race|no token wins"):
        piecewise(lambda source: use(row_of_noise(source)))


def test_two_rows_that_matter_at_once_are_refused() -> None:
    with pytest.raises(NotBoxes, match="rows 0 and 1 of the exponentials matter at the same time"):
        piecewise(lambda source: (race(P, row_of_noise(source)), race(P, row_of_noise(source))))


def test_exponentials_that_are_no_rows_are_refused() -> None:
    with pytest.raises(NotBoxes, match="4 exponentials are not rows of one for each token of 3"):
        piecewise(lambda source: (source.exponential(), row_of_noise(source)) == 0)


def test_noise_of_its_own_beside_a_race_is_refused() -> None:
    dice = random.Random(0)
    with pytest.raises(NotBoxes, match="two answers for the same uniforms"):
        piecewise(lambda source: dice.random() < 0.1 or race(P, row_of_noise(source)))
