"""Races of noise have the laws that integration gives, alone and several on the same noise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_proof.audit import cones
from rheo_proof.audit.errors import NotEnumerable
from rheo_proof.audit.exploring import Run, explore
from rheo_proof.audit.races import argmax, order, softmax_row
from rheo_proof.exact.number import ONE, ZERO, Q

weights = st.lists(st.integers(1, 7), min_size=2, max_size=4)


def plackett_luce(w: list[int], ranking: tuple[int, ...]) -> Q:
    """The probability of an order of fresh clocks, by drawing without replacement."""
    mass, left = ONE, sum(w)
    for i in ranking:
        mass *= Q(w[i], left)
        left -= w[i]
    return mass


NOISES = {
    "p / E": (lambda run, w: w / run.exponential(), True, True),
    "E / p, smallest": (lambda run, w: run.exponential() / w, False, True),
    "p * (1 / E)": (lambda run, w: w * run.exponential().reciprocal(), True, True),
    "log u / p": (lambda run, w: run.uniform().log() / w, True, True),
    "log(1 - u) / p": (lambda run, w: (-run.uniform()).log1p() / w, True, True),
    "u ** (1 / p)": (lambda run, w: run.uniform() ** (Q(1) / w), True, True),
    "log p + Gumbel": (lambda run, w: math.log(w) - (-run.uniform().log()).log(), True, False),
    "log p - log E": (lambda run, w: math.log(w) - run.exponential().log(), True, False),
    "(log p + Gumbel) / T": (lambda run, w: (math.log(w) - (-run.uniform().log()).log()) / 0.5, True, False),
    "Gumbel with guards": (lambda run, w: math.log(w) - (-(run.uniform() + 1e-20).log() + 1e-20).log(), True, False),
    "exp of it": (lambda run, w: (math.log(w) - run.exponential().log()).exp(), True, False),
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("w", [[1, 2], [3, 1, 2]])
def test_every_form_of_noise_orders_like_draws_without_replacement(noise, w):
    make, largest, exact = NOISES[noise]
    law = explore(lambda run: tuple(order([make(run, x) for x in w], len(w), largest))).law
    assert set(law) == set(itertools.permutations(range(len(w))))
    for ranking, mass in law.items():
        expected = plackett_luce(w, ranking)
        assert mass == expected if exact else abs(float(mass - expected)) < 1e-15


@given(weights)
def test_the_first_clock_rings_by_its_weight(w):
    law = explore(lambda run: int(argmax([x / run.exponential() for x in w]))).law
    assert law == {i: Q(x, sum(w)) for i, x in enumerate(w)}


@given(weights)
def test_the_last_clock_rings_by_inclusion_and_exclusion(w):
    law = explore(lambda run: int(argmax([run.exponential() / x for x in w]))).law
    for i, rate in enumerate(w):
        others = [x for j, x in enumerate(w) if j != i]
        expected = sum(
            (
                (-1) ** k * Fraction(rate, rate + sum(some))
                for k in range(len(w))
                for some in itertools.combinations(others, k)
            ),
            Fraction(0),
        )
        assert Fraction(int(law[i].numerator), int(law[i].denominator)) == expected


@given(st.tuples(*[st.integers(1, 6)] * 3), st.tuples(*[st.integers(1, 6)] * 3))
def test_two_races_on_the_same_noise_have_their_joint_law(q, r):
    """Given that x won the first race at time t, the clocks of the others are q_j t plus fresh exponentials."""

    def program(run: Run) -> tuple[int, int]:
        noise = [run.exponential() for _ in q]
        first = argmax([e / w for e, w in zip(noise, q, strict=True)], largest=False)
        rates = [0 if i == int(first) else w for i, w in enumerate(r)]
        return int(first), int(argmax([w / e for e, w in zip(noise, rates, strict=True)]))

    law = explore(program).law
    total = sum(q)
    for x in range(3):
        j, k = (i for i in range(3) if i != x)
        mass = Fraction(r[j], r[j] + r[k]), Fraction(r[k], r[j] + r[k])
        a, b = q[j] / mass[0] / total, q[k] / mass[1] / total
        second = mass[1] / (1 + mass[0] * (b - a)) if b >= a else 1 - mass[0] / (1 + mass[1] * (a - b))
        expected = Fraction(q[x], total) * second
        assert law[x, k] == Q(expected.numerator, expected.denominator)


@given(weights.filter(lambda w: len(w) < 4))
def test_asking_a_race_again_changes_nothing(w):
    def program(run: Run) -> bool:
        noise = [run.exponential() for _ in w]
        cells = [x / e for e, x in zip(noise, w, strict=True)]
        later = argmax(cells)
        ranking = order(cells, len(w))
        return (
            int(later) == ranking[0]
            and ranking == order(cells, len(w))
            and order(cells, len(w), False) == ranking[::-1]
        )

    assert explore(program).law == {True: ONE}


def test_two_uniforms_compare_like_noise():
    assert explore(lambda run: bool(run.uniform() < run.uniform())).law == {True: Q(1, 2), False: Q(1, 2)}


def test_a_weight_of_zero_never_wins_and_a_logit_of_minus_infinity_neither():
    assert explore(lambda run: int(argmax([w / run.exponential() for w in (0.0, 1.0, 3.0)]))).law == {
        1: Q(1, 4),
        2: Q(3, 4),
    }
    logits = (-math.inf, 0.0, -math.inf)
    assert explore(lambda run: int(argmax([w - run.exponential().log() for w in logits]))).law == {1: ONE}


def test_a_row_of_softmax_is_raced_like_its_logits():
    def program(run: Run) -> int:
        return int(argmax(softmax_row([math.log(w) - run.exponential().log() for w in (1, 3)])))

    assert abs(float(explore(program).law[1]) - 0.75) < 1e-15


def test_guards_inside_noise_enter_the_slack_and_large_ones_are_refused():
    def program(guard: float):
        return lambda run: int(argmax([w / (run.exponential() + guard) for w in (1, 1)]))

    assert explore(program(0.0)).slack == ZERO
    assert ZERO < explore(program(1e-9)).slack <= Q(3, 10**9)
    with pytest.raises(NotEnumerable):
        explore(program(1e-3))


@pytest.mark.parametrize(
    "program",
    [
        lambda run: bool(run.uniform() * run.uniform() < 0.5),
        lambda run: bool(run.uniform() + run.uniform() < 0.5),
        lambda run: bool(run.uniform() / run.exponential() < 0.5),
        lambda run: int(argmax([run.uniform() * 0.5, run.uniform() * 0.25])),
        lambda run: int(argmax([run.exponential(), 0.5])),
        lambda run: complex(run.uniform()),
        lambda run: hash(run.uniform()),
        lambda run: {run.uniform(): 1},
        lambda run: math.log(run.uniform()),
        lambda run: round(run.uniform()),
        lambda run: bool(softmax_row([run.exponential(), run.exponential()])[0] < 0.5),
    ],
)
def test_what_has_no_law_here_is_refused_and_never_guessed(program):
    with pytest.raises(NotEnumerable, match=r"not enumerable: .* at .*test_races\.py:\d+"):
        explore(program)


def test_noise_that_met_a_threshold_is_refused_in_a_race():
    def program(run: Run) -> int:
        u, v = run.uniform(), run.uniform()
        bool(u < 0.5)
        return int(argmax([u.log(), v.log()]))

    with pytest.raises(NotEnumerable, match="threshold before"):
        explore(program)


def test_noise_that_raced_is_refused_at_a_threshold():
    def program(run: Run) -> bool:
        u, v = run.uniform(), run.uniform()
        int(argmax([u.log(), v.log()]))
        return bool(u < 0.5)

    with pytest.raises(NotEnumerable, match="other noise before"):
        explore(program)


@given(st.lists(st.tuples(*[st.integers(-4, 4)] * 3), max_size=4))
def test_cutting_loses_no_probability_and_the_halves_are_on_their_sides(functionals):
    regions = [cones.orthant(3)]
    for functional in functionals:
        a = tuple(map(Q, functional))
        below, above = cones.cut(regions, a)
        whole = sum(map(cones.probability, regions), ZERO)
        assert sum(map(cones.probability, below + above), ZERO) == whole
        assert all(sum(x * y for x, y in zip(a, ray, strict=True)) <= 0 for cone in below for ray in cone)
        assert all(sum(x * y for x, y in zip(a, ray, strict=True)) >= 0 for cone in above for ray in cone)
        regions = above or below


@pytest.mark.parametrize("scale", [0.0, 1e4, -1e5])
def test_large_logits_and_masks_of_minus_a_billion_race_as_they_should(scale):
    logits = [scale, scale + math.log(3), -1e9]
    law = explore(lambda run: int(argmax([w - run.exponential().log() for w in logits]))).law
    assert set(law) == {0, 1}
    assert abs(float(law[1]) - 0.75) < 1e-10


@pytest.mark.parametrize(
    "cut",
    [
        lambda run, w: (math.log(w) - run.exponential().log()).clamp(None, 0.0),
        lambda run, w: (w / run.exponential()).clamp(None, 1.0),
        lambda run, w: (math.log(w) - run.exponential().log()).exp().clamp(0.5, None),
    ],
)
def test_noise_that_is_cut_off_ties_and_is_refused(cut):
    with pytest.raises(NotEnumerable, match="race of random numbers"):
        explore(lambda run: int(argmax([cut(run, w) for w in (1, 2, 3)])))


def test_a_comparison_in_python_is_a_bool():
    def program(run: Run) -> tuple[bool, bool]:
        low = run.uniform() < 0.25
        return low is True, type(low) is bool

    assert explore(program).law == {(True, True): Q(1, 4), (False, True): Q(3, 4)}


@pytest.mark.parametrize("text", [str, repr, lambda u: f"{u:.1f}", "{}".format])
def test_the_text_of_a_random_number_is_refused(text):
    with pytest.raises(NotEnumerable, match="the text of a random number"):
        explore(lambda run: text(run.uniform()))


def emitted_at_ends(program):
    return set(explore(program).law), set(explore(program, boundary=True).law)


def test_noise_that_is_exactly_0_lets_a_weight_of_zero_win_by_nan():
    """-log(1 - u) is 0 at u = 0, and 0 / 0 is the largest to argmax: the boundary search says so."""

    def program(run: Run) -> int:
        noise = [-((-run.uniform()).log1p()) for _ in range(3)]
        return int(argmax([w / e for w, e in zip((0.0, 1.0, 2.0), noise, strict=True)]))

    assert emitted_at_ends(program) == ({1, 2}, {0, 1, 2})


def test_gumbel_noise_that_is_infinite_lets_a_masked_logit_win_by_nan():
    def program(run: Run) -> int:
        noise = [-((-((-run.uniform()).log1p())).log()) for _ in range(2)]
        return int(argmax([w + g for w, g in zip((-math.inf, 0.0), noise, strict=True)]))

    assert emitted_at_ends(program) == ({1}, {0, 1})


def test_gumbel_noise_of_log_u_is_harmless_at_0():
    def program(run: Run) -> int:
        return int(argmax([w - (-run.uniform().log()).log() for w in (-math.inf, 0.0, 0.0)]))

    assert emitted_at_ends(program) == ({1, 2}, {1, 2})


@pytest.mark.parametrize("base", [-0.5, 0.0, 3.0])
def test_a_clock_at_its_end_may_win_or_lose_against_noise(base):
    """A clamp turns Gumbel noise at u = 0 into a finite number, which beats the other noise or does not."""

    def program(run: Run) -> tuple[int, bool]:
        noise = [-(-run.uniform().clamp(1e-20).log()).log() for _ in range(3)]
        winner = int(argmax([w + g for w, g in zip((base, 0.0, 0.0), noise, strict=True)]))
        return winner, run.pinned is not None

    possible = set(explore(program, boundary=True).law)
    assert possible == set(itertools.product(range(3), (False, True)))


@pytest.mark.parametrize(
    ("key", "possible"),
    [
        (lambda w, u: w / -((1 - u).log()) if w else -1.0, {1, 2}),
        (lambda w, u: u ** (1 / w) if w else -1.0, {1, 2}),
        (lambda w, u: w / (-(-u).log1p()), {0, 1, 2}),
    ],
    ids=["exponential", "power", "0 / 0"],
)
def test_keys_that_are_compared_two_by_two_are_searched_at_their_ends(key, possible):
    """As `max` does it: a weight of 0 wins only where its own noise makes nan of it."""

    def program(run: Run) -> int:
        keys = [key(w, run.uniform()) for w in (0.0, 1.0, 2.0)]
        best = 0
        for i in (1, 2):
            if keys[i] > keys[best]:
                best = i
        return best

    assert set(explore(program).law) == {1, 2}
    assert set(explore(program, boundary=True).law) == possible


def test_a_constant_meets_each_random_number_of_a_race():
    """1.5 is above one of them and below the other: it never wins; in a ranking it would stand between them."""

    def program(run: Run) -> int:
        return int(argmax([run.uniform(), run.uniform() + 2, 1.5]))

    with pytest.raises(NotEnumerable, match="race of random numbers"):
        explore(program)
    assert explore(lambda run: int(argmax([run.uniform() + 2, 1.5]))).law == {0: 1}
    assert explore(lambda run: int(argmax([run.uniform() - 2, 1.5]))).law == {1: 1}
    with pytest.raises(NotEnumerable, match="either may win"):
        explore(lambda run: tuple(order([run.uniform(), run.uniform() + 2, 1.5], 3)))


def test_a_softmax_of_noise_at_its_end_is_refused_and_no_exception_of_the_function():
    def program(run: Run) -> bool:
        row = softmax_row([-(-run.uniform().log()).log() for _ in range(2)])
        return bool(row[0] > 0.5)

    with pytest.raises(NotEnumerable, match="softmax of noise"):
        explore(program, boundary=True)
