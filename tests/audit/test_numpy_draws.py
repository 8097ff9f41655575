"""Every draw of NumPy's that is followed has its law; every other one is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from numpy.random import default_rng

from rheo_proof.audit.exploring import Raised
from tests.audit.sources import ONE_OF_FOUR, halves, law, refused

F = Fraction
P = np.array([0.5, 0.25, 0.25])
LAW = {0: F(1, 2), 1: F(1, 4), 2: F(1, 4)}


UNIFORMS = {
    "rand": lambda: np.random.rand() < 0.25,
    "rand of a shape": lambda: np.random.rand(2, 2)[1, 0] < 0.25,
    "random": lambda: np.random.random() < 0.25,
    "random_sample": lambda: np.random.random_sample(3)[-1] < 0.25,
    "ranf": lambda: np.random.ranf() < 0.25,
    "sample": lambda: np.random.sample((1,))[0] < 0.25,
    "uniform": lambda: np.random.uniform(-1.0, 3.0) < 0.0,
    "uniform of a size": lambda: np.random.uniform(size=2)[1] < 0.25,
    "uniform between arrays": lambda: np.random.uniform([0.0, 1.0], [1.0, 5.0])[1] < 2.0,
    "Generator.random": lambda: default_rng().random() < 0.25,
    "Generator.random in float32": lambda: default_rng().random(2, dtype=np.float32)[0] < 0.25,
    "Generator.uniform": lambda: default_rng().uniform(0.0, 4.0) < 1.0,
    "RandomState": lambda: np.random.RandomState(3).rand() < 0.25,
}


@pytest.mark.parametrize("draw", UNIFORMS.values(), ids=UNIFORMS)
def test_a_uniform_is_split_where_it_is_compared(draw):
    assert law(lambda: bool(draw())) == ONE_OF_FOUR


RACES = {
    "exponential": lambda: np.argmin(np.random.exponential(size=3) / P),
    "standard_exponential": lambda: np.argmin(np.random.standard_exponential(3) / P),
    "exponential with scales": lambda: np.random.exponential(1 / P).argmin(),
    "Generator.exponential": lambda: default_rng().exponential(1 / P).argmin(),
    "Generator.standard_exponential": lambda: (P / default_rng().standard_exponential(3)).argmax(),
    "standard_exponential by inversion": lambda: (default_rng().standard_exponential(3, method="inv") / P).argmin(),
    "standard_exponential in float32": lambda: (default_rng().standard_exponential(3, dtype="float32") / P).argmin(),
    "uniforms in a logarithm": lambda: np.argmax(np.log(np.random.rand(3)) / P),
    "uniforms in a power": lambda: np.argmax(np.random.rand(3) ** (1 / P)),
    "1 - u": lambda: np.argmin(-np.log1p(-np.random.rand(3)) / P),
}


@pytest.mark.parametrize("race", RACES.values(), ids=RACES)
def test_a_race_draws_by_its_weights(race):
    assert law(lambda: int(race())) == LAW


@pytest.mark.parametrize(
    "race",
    [
        lambda: np.argmax(np.log(P) + np.random.gumbel(size=3)),
        lambda: np.argmax(np.log(P) + default_rng().gumbel(size=3)),
        lambda: np.argmax(default_rng().gumbel(np.log(P))),
        lambda: np.argmax(np.log(P) - np.log(-np.log(np.random.rand(3)))),
    ],
    ids=["gumbel", "Generator.gumbel", "locations", "from uniforms"],
)
def test_gumbel_noise_draws_by_weights_that_are_rounded_logarithms(race):
    found = law(lambda: int(race()))
    assert set(found) == set(LAW)
    assert all(abs(found[x] - LAW[x]) < F(1, 10**15) for x in LAW)


DRAWS = {
    "choice": lambda: np.random.choice(3, p=P),
    "choice from a list": lambda: [0, 1, 2].index(np.random.choice([5, 6, 7], p=P) - 5),
    "choice of a size": lambda: np.random.choice(3, 1, p=P)[0],
    "Generator.choice": lambda: default_rng().choice(3, p=P),
    "Generator.choice of a size": lambda: default_rng().choice(np.arange(3), (1, 1), p=P)[0, 0],
    "choice from rows": lambda: default_rng().choice(np.eye(3), p=P).argmax(),
    "multinomial": lambda: np.random.multinomial(1, P).argmax(),
    "multinomial of a size": lambda: np.random.multinomial(1, P, size=2)[1].argmax(),
    "Generator.multinomial": lambda: default_rng().multinomial(1, P).argmax(),
    "binomials": lambda: (lambda x, y: 0 if x else 1 + y)(*np.random.binomial(1, [0.5, 0.5])),
    "inverse CDF": lambda: np.searchsorted(np.cumsum(P), np.random.rand(), side="right"),
    "inverse CDF by a method": lambda: np.cumsum(P).searchsorted(np.random.rand(), side="right"),
    "inverse CDF by argmax": lambda: np.argmax(np.random.rand() < np.cumsum(P)),
    "inverse CDF by counting": lambda: (np.cumsum(P) <= np.random.rand()).sum(),
    "inverse CDF by digitize": lambda: np.digitize(np.random.rand(), np.cumsum(P)),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_categorical_draw_has_its_weights(draw):
    assert law(lambda: int(draw())) == LAW


ORDERS = {
    "permutation": lambda: np.random.permutation(3),
    "permutation of a list": lambda: np.random.permutation([0, 1, 2]),
    "shuffle": lambda: _shuffled(np.random.shuffle, np.arange(3)),
    "shuffle of a list": lambda: _shuffled(np.random.shuffle, [0, 1, 2]),
    "choice without replacement": lambda: np.random.choice(3, 3, replace=False),
    "Generator.permutation": lambda: default_rng().permutation(3),
    "Generator.permuted": lambda: default_rng().permuted(np.arange(3)),
    "Generator.shuffle": lambda: _shuffled(default_rng().shuffle, [0, 1, 2]),
    "Generator.choice without replacement": lambda: default_rng().choice(3, 3, replace=False),
    "argsort of noise": lambda: np.argsort(np.random.rand(3)),
}


def _shuffled(shuffle, things):
    shuffle(things)
    return things


@pytest.mark.parametrize("draw", ORDERS.values(), ids=ORDERS)
def test_orders_are_equally_likely(draw):
    assert law(lambda: tuple(int(i) for i in draw())) == halves(*permutations(range(3)))


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.choice(3, 2, replace=False, p=P),
        lambda: default_rng().choice(3, 2, replace=False, p=P),
        lambda: np.argsort(np.random.exponential(size=3) / P)[:2],
    ],
    ids=["choice", "Generator.choice", "argsort of a race"],
)
def test_draws_without_replacement_are_in_order(draw):
    found = law(lambda: tuple(int(i) for i in draw()))
    assert found == {(i, j): LAW[i] * LAW[j] / (1 - LAW[i]) for i, j in permutations(range(3), 2)}


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.randint(4),
        lambda: np.random.randint(0, 4, size=1)[0],
        lambda: default_rng().integers(4),
        lambda: default_rng().integers(0, 3, endpoint=True),
        lambda: default_rng().integers(1, 5, dtype=np.int32) - 1,
        lambda: int(np.random.rand() * 4),
        lambda: np.floor(np.random.rand() * 4),
        lambda: (np.random.rand(1) * 4).astype(int)[0],
        lambda: np.random.choice(4),
    ],
)
def test_integers_are_equally_likely(draw):
    assert law(lambda: int(draw())) == halves(0, 1, 2, 3)


def test_counts():
    assert law(lambda: int(np.random.binomial(2, 0.25))) == {0: F(9, 16), 1: F(6, 16), 2: F(1, 16)}
    assert law(lambda: tuple(np.random.multinomial(2, [0.25, 0.75]).tolist())) == {
        (0, 2): F(9, 16),
        (1, 1): F(6, 16),
        (2, 0): F(1, 16),
    }


def test_the_last_probability_of_a_multinomial_is_what_the_others_leave():
    assert law(lambda: int(np.random.multinomial(1, [0.25, 0.25]).argmax())) == {0: F(1, 4), 1: F(3, 4)}


def test_results_have_the_types_of_the_real_ones():
    def types():
        return tuple(
            type(x).__name__
            for x in (
                np.random.choice(2),
                np.random.choice(2, p=[0.5, 0.5]),
                np.random.randint(2),
                default_rng().integers(2),
                default_rng().choice(2, p=[0.5, 0.5]),
                np.random.choice(2, 1),
                np.random.multinomial(1, [1.0]),
                np.random.choice(["a", "a"]),
            )
        )

    assert set(law(types)) == {types()}


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.choice(2, p=[0.5, 0.25]),
        lambda: np.random.choice(2, p=[1.5, -0.5]),
        lambda: np.random.choice(2, 3, replace=False),
        lambda: np.random.multinomial(1, [0.75, 0.75, 0.0]),
        lambda: default_rng().choice([]),
    ],
)
def test_what_numpy_refuses_raises_as_in_numpy(draw):
    with pytest.raises(ValueError) as real:  # noqa: PT011
        draw()
    assert law(draw) == {Raised("ValueError", str(real.value)): 1}


REFUSED = {
    "normal": lambda: np.random.normal(),
    "standard_normal": lambda: default_rng().standard_normal(),
    "randn": lambda: np.random.randn(2),
    "poisson": lambda: np.random.poisson(1.0),
    "geometric": lambda: default_rng().geometric(0.5),
    "dirichlet": lambda: np.random.dirichlet([1.0, 1.0]),
    "laplace": lambda: np.random.laplace(),
    "bytes": lambda: np.random.bytes(2),
    "many integers": lambda: np.random.randint(2**31),
    "out=": lambda: default_rng().random(out=np.zeros(2)),
    "raw words": lambda: default_rng().bit_generator.random_raw(),
    "advance": lambda: default_rng().bit_generator.advance(1),
    "a bit generator for all": lambda: np.random.set_bit_generator(np.random.PCG64(0)),
    "entropy": lambda: np.random.SeedSequence(),
    "several laws": lambda: default_rng().multinomial(1, [[0.5, 0.5], [0.5, 0.5]]),
    "choice without shuffling": lambda: default_rng().choice(3, 2, replace=False, shuffle=False),
}


@pytest.mark.parametrize("draw", REFUSED.values(), ids=REFUSED)
def test_other_draws_are_refused_at_their_line(draw):
    message = refused(draw)
    assert message.startswith("not enumerable: ")
    assert "test_numpy_draws.py:" in message


def test_every_method_of_the_generators_is_known_or_refused():
    from rheo_proof.audit.numpy_draws import DRAWS
    from rheo_proof.audit.numpy_generators import AuditGenerator, AuditState

    for cls in (AuditGenerator, AuditState):
        real = cls.real
        names = [name for name in dir(real) if not name.startswith("_") and callable(getattr(real, name))]
        inherited = [name for name in names if getattr(cls, name) is getattr(real, name)]
        assert set(inherited) <= {"spawn", "get_state", "bit_generator"}
        assert len(set(names) - set(DRAWS)) > 20
