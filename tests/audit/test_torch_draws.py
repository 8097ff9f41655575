"""What torch draws: the law of every source, and which draws share their noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
import torch

from rheo_proof.audit.errors import NotEnumerable
from tests.audit.torch_programs import explored, law_of

F = Fraction
WEIGHTS = torch.tensor([1.0, 3.0, 0.0, 4.0])
NORMALISED = {0: F(1, 8), 1: F(3, 8), 3: F(1, 2)}
ORDERED = {(i, j): NORMALISED[i] * NORMALISED[j] / (1 - NORMALISED[i]) for i, j in permutations(NORMALISED, 2)}
ROWS = torch.tensor([[1.0, 3.0], [2.0, 2.0]])
HALF = F(1, 2)
BELOW = {True: F(1, 4), False: F(3, 4)}


def close(law, expected):
    return law.keys() == expected.keys() and all(abs(law[x] - expected[x]) < F(1, 10**6) for x in expected)


def coins(p):
    return {(1.0,): p, (0.0,): 1 - p}


SOURCES = {
    "one token": (lambda: torch.multinomial(WEIGHTS, 1).item(), NORMALISED),
    "one token of a method": (lambda: WEIGHTS.multinomial(num_samples=1)[0], NORMALISED),
    "one token of each row": (
        lambda: torch.multinomial(ROWS, 1)[:, 0],
        {(0, 0): F(1, 8), (0, 1): F(1, 8), (1, 0): F(3, 8), (1, 1): F(3, 8)},
    ),
    "with replacement": (
        lambda: torch.multinomial(WEIGHTS, 2, replacement=True),
        {(i, j): NORMALISED[i] * NORMALISED[j] for i in NORMALISED for j in NORMALISED},
    ),
    "without replacement": (lambda: torch.multinomial(WEIGHTS, 2), ORDERED),
    "categorical": (lambda: torch.distributions.Categorical(WEIGHTS).sample(), NORMALISED),
    "several categorical": (
        lambda: torch.distributions.Categorical(ROWS).sample((1,))[0],
        {(0, 0): F(1, 8), (0, 1): F(1, 8), (1, 0): F(3, 8), (1, 1): F(3, 8)},
    ),
    "coins": (lambda: torch.bernoulli(torch.tensor([0.25])), coins(F(1, 4))),
    "coins of a tensor": (lambda: torch.zeros(1).bernoulli_(torch.tensor([0.25])), coins(F(1, 4))),
    "coins of a number": (lambda: torch.zeros(1).bernoulli_(0.75), coins(F(3, 4))),
    "certain coins": (lambda: torch.bernoulli(torch.tensor([1.0])), {(1.0,): F(1)}),
    "distribution of coins": (lambda: torch.distributions.Bernoulli(torch.tensor([0.25])).sample(), coins(F(1, 4))),
    "integers": (lambda: torch.randint(2, 5, (1,)).item(), {2: F(1, 3), 3: F(1, 3), 4: F(1, 3)}),
    "integers from 0": (lambda: torch.randint(2, ()), {0: HALF, 1: HALF}),
    "integers of a shape": (lambda: torch.randint_like(torch.zeros(1), 2), {(0.0,): HALF, (1.0,): HALF}),
    "integers in place": (lambda: torch.zeros(1).random_(1, 3), {(1.0,): HALF, (2.0,): HALF}),
    "order": (lambda: torch.randperm(3), {order: F(1, 6) for order in permutations(range(3))}),
    "uniform": (lambda: torch.rand(()) < 0.25, BELOW),
    "uniform on an interval": (lambda: torch.empty(()).uniform_(1, 3) < 1.5, BELOW),
    "uniform of a distribution": (lambda: torch.distributions.Uniform(0.0, 2.0).sample() < 0.5, BELOW),
    "exponential": (lambda: torch.zeros(2).exponential_().argmin(), {0: HALF, 1: HALF}),
    "exponential with a rate": (
        lambda: torch.stack([torch.empty(()).exponential_(3.0), torch.empty(()).exponential_(1.0)]).argmin(),
        {0: F(3, 4), 1: F(1, 4)},
    ),
    "exponential of a distribution": (
        lambda: torch.distributions.Exponential(torch.tensor([1.0, 3.0])).sample().argmin(),
        {0: F(1, 4), 1: F(3, 4)},
    ),
    "Gumbel of a distribution": (
        lambda: (torch.distributions.Gumbel(0.0, 1.0).sample((2,)) + torch.tensor([0.0, 3.0]).log1p()).argmax(),
        {0: F(1, 5), 1: F(4, 5)},
    ),
    "Gumbel softmax": (
        lambda: torch.nn.functional.gumbel_softmax(torch.tensor([1.0, 3.0]).log()).argmax(),
        {0: F(1, 4), 1: F(3, 4)},
    ),
    "hard Gumbel softmax": (
        lambda: torch.nn.functional.gumbel_softmax(torch.tensor([1.0, 3.0]).log(), hard=True).argmax(),
        {0: F(1, 4), 1: F(3, 4)},
    ),
    "dropout": (lambda: torch.nn.functional.dropout(torch.ones(1), 0.25), {(0.0,): F(1, 4), (F(4, 3),): F(3, 4)}),
    "compiled": (lambda: torch.compile(lambda p: torch.rand(()) < p)(torch.tensor(0.25)), BELOW),
    "on a device that is not here": (
        lambda: torch.rand(1, device="cuda").cuda().to("cuda:0").cpu().item() < 0.25,
        BELOW,
    ),
}  # fmt: skip


def _rounded(law):
    """The law with outcomes as floats of single precision, as torch rounds them."""
    return {
        tuple(float(torch.tensor(float(x))) for x in value) if isinstance(value, tuple) else value: mass
        for value, mass in law.items()
    }


@pytest.mark.parametrize("name", SOURCES)
def test_the_law_of_a_source(name):
    function, expected = SOURCES[name]
    assert close(law_of(function), _rounded(expected))


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, 2.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_weights_that_torch_refuses_end_the_function_as_they_do_in_torch(weights):
    with pytest.raises(RuntimeError) as expected:
        torch.multinomial(torch.tensor(weights), 1)
    (outcome,) = law_of(lambda: torch.multinomial(torch.tensor(weights), 1))
    assert (outcome.kind, outcome.message) == ("RuntimeError", str(expected.value))


def test_a_zero_row_among_others_is_an_error():
    (outcome,) = law_of(lambda: torch.multinomial(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), 1))
    assert outcome.kind == "RuntimeError"


def seeded_twice():
    torch.manual_seed(1)
    first = torch.rand(2)
    torch.manual_seed(1)
    return first < 0.25, torch.rand(2) < 0.25


def two_generators():
    one, other = torch.Generator().manual_seed(7), torch.Generator().manual_seed(7)
    return torch.rand(1, generator=one) < 0.25, torch.rand(1, generator=other) < 0.25


def state_put_back():
    state = torch.get_rng_state().clone()
    first = torch.multinomial(WEIGHTS, 1)
    torch.set_rng_state(state)
    return first, torch.multinomial(WEIGHTS, 1)


def generators_apart():
    one, other = torch.Generator().manual_seed(1), torch.Generator().manual_seed(2)
    return torch.rand(1, generator=one) < 0.25, torch.rand(1, generator=other) < 0.25


@pytest.mark.parametrize("function", [seeded_twice, two_generators, state_put_back])
def test_noise_from_one_state_is_the_same_noise(function):
    assert all(first == second for first, second in law_of(function))


def test_noise_from_two_states_is_independent():
    law = law_of(generators_apart)
    assert law[(True,), (True,)] == F(1, 16)


def other_kind():
    torch.manual_seed(1)
    first = torch.rand(1)
    torch.manual_seed(1)
    return first < 0.25, torch.zeros(1).exponential_() < 0.25


def other_weights():
    torch.manual_seed(1)
    first = torch.multinomial(WEIGHTS, 1)
    torch.manual_seed(1)
    return first, torch.multinomial(WEIGHTS.flip(0), 1)


def overlapping():
    torch.manual_seed(1)
    first = torch.rand(1), torch.rand(1)
    torch.manual_seed(1)
    return first[1] < 0.25, torch.rand(2)[1] < 0.25


def overlapping_far():
    torch.manual_seed(1)
    torch.rand(700)
    torch.rand(1)
    state = torch.get_rng_state()
    torch.rand(1)
    torch.manual_seed(1)
    torch.rand(2000)
    torch.set_rng_state(state)
    return torch.rand(1) < 0.25


@pytest.mark.parametrize("function", [other_kind, other_weights, overlapping, overlapping_far])
def test_noise_that_is_shared_in_part_is_refused(function):
    with pytest.raises(NotEnumerable, match="share their noise") as refused:
        explored(function)
    assert refused.value.shared


@pytest.mark.parametrize(
    "function", [lambda: torch.manual_seed(3) is None, lambda: torch.random.fork_rng().__enter__() is None]
)
def test_seeding_is_no_draw(function):
    assert sum(law_of(function).values()) == 1


def test_a_draw_that_is_not_looked_at_is_counted_as_unused():
    def draw():
        u = torch.rand(5)
        return u[0] < 0.5

    usage = explored(draw).usage
    assert (usage.drawn, usage.used, usage.unused) == (5, 1, 4)
