"""The piecewise-exact mode: its laws are those of the enumerator, and what it cannot know it refuses or says."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_proof.audit.boxes import MISS, PROBES, ROUNDS, NotBoxes, Pieces, unseen
from rheo_proof.audit.breakpoints import Floats
from rheo_proof.audit.carving import Search, settle
from rheo_proof.audit.exploring import Raised, explore
from rheo_proof.audit.piecewise import PiecewiseLaw, assumption, law_of
from rheo_proof.exact.errors import LimitReached
from rheo_proof.exact.number import ONE, Q
from tests.audit import uniform_verifiers as verifiers

RIGHT = [
    verifiers.right_chain,
    verifiers.right_siblings,
    verifiers.one_draw,
    verifiers.returns_a_law,
]
WRONG = {
    verifiers.recovers_from_the_first_row: verifiers.right_chain,
    verifiers.accepts_by_target_alone: verifiers.right_chain,
    verifiers.reuses_the_coin: verifiers.right_siblings,
    verifiers.one_draw_of_the_draft: verifiers.one_draw,
}
TYPES = ["float32", "float64"]


def piecewise(program: verifiers.Program, dtype: str = "float32", probes: int = 256) -> PiecewiseLaw:
    return law_of(program, dtype, probes=probes)


def pieces(
    function: Callable[..., Hashable], n: int, dtype: str = "float32", probes: int = PROBES, **options: Any
) -> Pieces:
    search = Search(lambda points: [function(*u) for u in points], n, Floats(dtype), random.Random(0), **options)
    settle([(search, ONE)], probes)
    return search.pieces()


# The law


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("program", [*RIGHT, *WRONG], ids=lambda program: program.__name__)
def test_the_law_is_that_of_the_enumerator(program: verifiers.Program, dtype: str) -> None:
    found, expected = piecewise(program, dtype), explore(program).law
    assert verifiers.distance(found.law, expected) <= found.resolution
    assert found.resolution < Q(1, 10**6)
    assert sum(found.law.values()) == 1


@pytest.mark.parametrize("program", [verifiers.right_siblings, verifiers.one_draw, verifiers.returns_a_law])
def test_where_all_thresholds_are_floats_it_is_equal_to_the_last_digit(program: verifiers.Program) -> None:
    assert piecewise(program).law == explore(program).law


@pytest.mark.parametrize("wrong", WRONG, ids=lambda program: program.__name__)
def test_a_fault_is_seen_in_the_law(wrong: verifiers.Program) -> None:
    found, right = piecewise(wrong), explore(WRONG[wrong]).law
    assert verifiers.distance(found.law, right) > Q(1, 100) > found.resolution


@given(st.floats(2**-13, 1 - 2**-10, width=16), st.sampled_from(["float16", "float32", "float64"]))
def test_a_threshold_is_found_to_the_last_bit(t: float, dtype: str) -> None:
    threshold = Q(*t.as_integer_ratio())
    assert pieces(lambda u: u < t, 1, dtype, 16).law == {True: threshold, False: 1 - threshold}
    above = pieces(lambda u: u <= t, 1, dtype, 16)
    assert above.law[True] == threshold + above.resolution > threshold


def test_a_candidate_that_is_wrong_changes_nothing() -> None:
    candidates = [Q(1, 3), Q(1, 7), Q(5, 16)]
    assert pieces(lambda u: u < 0.3, 1, candidates=candidates).law == pieces(lambda u: u < 0.3, 1).law


def test_a_candidate_that_is_right_saves_questions() -> None:
    def asked(candidates: list[Q]) -> int:
        return pieces(lambda u: u < 0.3125, 1, "float64", 16, candidates=candidates).calls

    assert asked([Q(5, 16)]) < asked([]) - 30


def test_uniforms_that_do_not_matter_cost_no_cells() -> None:
    assert len(pieces(lambda *u: u[3] < 0.25, 6).cells) == 2


def test_an_exception_is_an_outcome() -> None:
    def program(source: Any) -> Hashable:
        if source.uniform() < 0.25:
            raise ValueError("no such row")
        return "fine"

    assert piecewise(program).law == {Raised("ValueError", "no such row"): Q(1, 4), "fine": Q(3, 4)}


# What is refused


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "curved",
    [
        lambda u, v: u * v < 0.3,
        lambda u, v: u < v,
        lambda u, v: u + v < 0.7,
        lambda u, v: v < 0.5 and u * u + v * v < 0.5,
        lambda u, v: u + v / 1024 < 0.7,
    ],
    ids=["product", "comparison", "sum", "arc", "steep"],
)
def test_regions_that_are_not_boxes_are_refused(curved: Callable[..., Hashable], dtype: str) -> None:
    with pytest.raises(NotBoxes, match=r"uniform [01] moves with uniform [01] .*not boxes"):
        pieces(curved, 2, dtype)


@pytest.mark.parametrize(
    "straight",
    [
        lambda u, v: max(u, v) < 0.3,
        lambda u, v: u < (0.3 if v < 0.5 else 0.301),
        lambda u, v: int(8 * u) + int(8 * v) < 7,
    ],
    ids=["corner", "step", "staircase"],
)
def test_boxes_that_look_a_little_like_curves_are_not(straight: Callable[..., Hashable]) -> None:
    found = pieces(straight, 2)
    centres = [
        ((a + b) / 2 for a, b in zip(*(map(Floats("float32").value, end) for end in cell.box), strict=True))
        for cell in found.cells
    ]
    assert [straight(*centre) for centre in centres] == [cell.answer for cell in found.cells]


def test_too_many_boxes_are_refused() -> None:
    with pytest.raises(LimitReached, match="more than 20 boxes"):
        pieces(lambda u: int(64 * u), 1, most_cells=20)


def test_randomness_of_its_own_is_refused() -> None:
    dice = random.Random(0)
    for share in (0.1, 0.01):
        with pytest.raises(NotBoxes, match="two answers for the same uniforms"):
            pieces(lambda u, share=share: u < 0.25 or dice.random() < share, 1)


def test_a_generator_as_an_argument_is_refused() -> None:
    with pytest.raises(NotBoxes, match="generator as an argument"):
        piecewise(lambda source: source.seed() > 0)


# What is assumed


def test_a_thin_feature_is_found_by_the_fresh_points() -> None:
    law = pieces(lambda u: 0.5 <= u < 0.515625, 1).law
    assert law[True] == Q(1, 64)
    assert unseen(PROBES) < 1 / 64


def test_a_thin_feature_between_candidates_is_found() -> None:
    thin = Q(1, 2) + Q(1, 2**16)
    assert pieces(lambda u: 0.5 <= u < float(thin), 1, candidates=[Q(1, 2), thin]).law[True] == Q(1, 2**16)


def test_a_thinner_feature_is_missed_and_the_statement_says_so() -> None:
    assert True not in pieces(lambda u: 0.5 <= u < 0.5 + 2**-16, 1).law
    assert unseen(PROBES) > 2**-16
    assert f"wrong by TV {unseen(PROBES):.3g} survives with probability at most 1e-09" in assumption(PROBES)


def test_the_stated_distance_follows_from_the_number_of_points() -> None:
    eps = unseen(PROBES)
    assert ROUNDS * math.exp(-PROBES * eps) == pytest.approx(MISS)
    assert unseen(10 * PROBES) == pytest.approx(eps / 10)


def test_there_are_as_many_points_as_stated() -> None:
    assert piecewise(verifiers.right_chain, probes=500).probes >= 500


# The end 0


def test_an_outcome_that_only_an_exact_zero_gives_is_reported() -> None:
    found = piecewise(lambda source: bool(source.uniform() <= 0.0))
    assert found.law == {False: ONE}
    assert [(end.uniform, end.outcome) for end in found.at_zero] == [(0, True)]


def test_a_strict_comparison_has_no_outcome_at_zero() -> None:
    assert piecewise(lambda source: bool(source.uniform() < 0.0)).at_zero == ()
    assert piecewise(lambda source: bool(source.uniform() <= 0.25)).at_zero == ()
