"""The module `random`: every function has its law or is refused, by whatever name or instance it is reached."""

from __future__ import annotations

import _random
import copy
import os
import pickle
import random
import secrets
import uuid
from fractions import Fraction
from itertools import permutations
from random import Random, choices, getrandbits, shuffle, uniform
from random import random as drawn_by_name

import pytest

from rheo_proof.audit.exploring import Raised
from tests.audit.sources import FAIR, ONE_OF_FOUR, halves, law, refused

F = Fraction
WEIGHTS = [2, 1, 1]
LAW = {0: F(1, 2), 1: F(1, 4), 2: F(1, 4)}
OWN = Random(1)
DRAW = OWN.random
KEPT = {"draw": [random.random, (OWN.getrandbits,)]}
UNTOUCHED = Random(2)


class Biased(Random):
    """A subclass that draws from its parent."""

    def random(self):
        return super().random() / 2


class Counting(Random):
    """A generator of its own, which is not random at all."""

    def getrandbits(self, k):
        return 1


QUARTERS = {
    "random": lambda: random.random() < 0.25,
    "by name": lambda: drawn_by_name() < 0.25,
    "uniform": lambda: random.uniform(1.0, 5.0) < 2.0,
    "uniform by name": lambda: uniform(0.0, 1.0) < 0.25,
    "instance": lambda: OWN.random() < 0.25,
    "method of an instance": lambda: DRAW() < 0.25,
    "in a list": lambda: KEPT["draw"][0]() < 0.25,
    "new instance": lambda: Random(3).random() < 0.25,
    "unseeded": lambda: Random().random() < 0.25,
    "subclass": lambda: Biased(3).random() < 0.125,
    "reciprocal": lambda: 1 / random.random() > 4,
    "maximum in Python": lambda: max(random.random(), 0.125) < 0.25,
    "minimum in Python": lambda: min(0.75, random.random()) < 0.25,
    "absolute": lambda: abs(-random.random()) < 0.25,
    "power": lambda: random.random() ** 2 < 0.0625,
    "chained": lambda: 0.25 < random.random() <= 0.5,
    "integer": lambda: int(random.random() * 4) == 0,
    "floor": lambda: random.random() * 4 // 1 == 0,
    "truth": lambda: random.random() and random.random() < 0.25,
    "sorted": lambda: sorted([0.25, random.random()])[1] == 0.25,
    "imported in the run": lambda: __import__("random").random() < 0.25,
    "seeded": lambda: random.seed(5) is None and random.random() < 0.25,
}


@pytest.mark.parametrize("draw", QUARTERS.values(), ids=QUARTERS)
def test_a_uniform_is_split_where_it_is_compared(draw):
    assert law(lambda: bool(draw())) == ONE_OF_FOUR


DRAWS = {
    "choices": lambda: random.choices(range(3), WEIGHTS)[0],
    "choices by name": lambda: choices([0, 1, 2], weights=WEIGHTS)[0],
    "cumulative": lambda: random.choices(range(3), cum_weights=[2, 3, 4])[0],
    "several": lambda: random.choices(range(3), WEIGHTS, k=2)[1],
    "of an instance": lambda: Random(0).choices(range(3), [0.5, 0.25, 0.25])[0],
    "race": lambda: min(range(3), key=lambda i: random.expovariate(WEIGHTS[i])),
    "of four": lambda: (0, 0, 1, 2)[random.randrange(4)],
    "choice": lambda: random.choice([0, 0, 1, 2]),
    "randint": lambda: (0, 0, 1, 2)[random.randint(1, 4) - 1],
    "bits": lambda: (0, 0, 1, 2)[getrandbits(2)],
    "bits of an instance": lambda: (0, 0, 1, 2)[KEPT["draw"][1][0](2)],
    "inverse CDF": lambda: _inverse(random.random()),
}


def _inverse(u):
    total = 0.0
    for x, w in enumerate(WEIGHTS):
        total += w / 4
        if u < total:
            return x
    return 9


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_categorical_draw_has_its_weights(draw):
    assert law(lambda: int(draw())) == LAW


def _shuffled(shuffler):
    things = [0, 1, 2]
    shuffler(things)
    return things


@pytest.mark.parametrize(
    "draw",
    [lambda: _shuffled(random.shuffle), lambda: _shuffled(shuffle), lambda: random.sample(range(3), 3)],
    ids=["shuffle", "shuffle by name", "sample"],
)
def test_orders_are_equally_likely(draw):
    assert law(lambda: tuple(draw())) == halves(*permutations(range(3)))


REFUSED = {
    "gauss": lambda: random.gauss(0, 1),
    "normalvariate": lambda: random.normalvariate(0, 1),
    "betavariate": lambda: random.betavariate(1, 1),
    "triangular": lambda: random.triangular(),
    "randbytes": lambda: random.randbytes(1),
    "many bits": lambda: random.getrandbits(64),
    "more bits": lambda: random.getrandbits(65),
    "many integers": lambda: random.randrange(10**6),
    "random weights": lambda: random.choices([0, 1], [random.random(), 1]),
    "negative weights": lambda: random.choices([0, 1], [-1, 2]),
    "urandom": lambda: os.urandom(1),
    "secrets": lambda: secrets.randbelow(2),
    "secrets.choice": lambda: secrets.choice([0, 1]),
    "secrets.token_bytes": lambda: secrets.token_bytes(1),
    "SystemRandom": lambda: random.SystemRandom().random(),
    "SystemRandom.randrange": lambda: random.SystemRandom().randrange(2),
    "uuid": lambda: uuid.uuid4(),
    "seed from a random number": lambda: random.seed(random.random()),
    "bare generator": lambda: _random.Random(0).random(),
    "bare method": lambda: _random.Random.random(OWN),
}


@pytest.mark.parametrize("draw", REFUSED.values(), ids=REFUSED)
def test_other_draws_are_refused_at_their_line(draw):
    message = refused(lambda: draw() is None)
    assert message.startswith("not enumerable: ")
    assert "test_python_random.py:" in message


HIDDEN = {random.random, OWN.getrandbits}


@pytest.mark.parametrize(
    "draw",
    [
        lambda: [draw(1) if draw.__name__ == "getrandbits" else draw() for draw in HIDDEN],
        lambda: Biased.__mro__[2].random(OWN),
        lambda: Random.__mro__[1].random(random._inst),
        lambda: Random.__mro__[1].random(Random(0)),
    ],
    ids=["kept in a set", "bare method", "bare method of the module's", "bare method of a new one"],
)
def test_a_draw_that_is_not_intercepted_is_noticed(draw):
    before = random.getstate(), OWN.getstate()
    assert "not intercepted" in refused(lambda: draw() is None)
    assert (random.getstate(), OWN.getstate()) == before


def equal(first, second):
    return bool(first.random() < 0.5) == bool(second.random() < 0.5)


def _state_put_back():
    state = random.getstate()
    first = bool(random.random() < 0.5)
    random.setstate(state)
    return first == bool(random.random() < 0.5)


def _seeded_again():
    random.seed("x")
    first = bool(random.random() < 0.5)
    random.seed("x")
    return first == bool(random.random() < 0.5)


SAME = {
    "one seed": lambda: equal(Random(0), Random(0)),
    "state put back": _state_put_back,
    "seeded again": _seeded_again,
    "copy": lambda: (lambda rng: equal(rng, copy.deepcopy(rng)))(Random(0)),
    "pickle": lambda: (lambda rng: equal(rng, pickle.loads(pickle.dumps(rng))))(Random(0)),
    "global of before": lambda: equal(UNTOUCHED, Random(2)),
    "decided alike": lambda: Random(0).choices([0, 1]) == Random(0).choices([0, 1]),
    "integers": lambda: Random(0).randrange(2) == Random(0).randrange(2),
}
OTHER = {
    "two seeds": lambda: equal(Random(0), Random(1)),
    "no seeds": lambda: equal(Random(), Random()),
    "in a row": lambda: equal(random, random),
    "module and instance": lambda: equal(random, OWN),
}


@pytest.mark.parametrize("same", SAME.values(), ids=SAME)
def test_equal_states_give_equal_noise(same):
    assert law(same) == {True: 1}


@pytest.mark.parametrize("different", OTHER.values(), ids=OTHER)
def test_other_states_give_other_noise(different):
    assert law(different) == FAIR


@pytest.mark.parametrize(
    "mixed",
    [
        lambda: (Random(0).random(), Random(0).randrange(2)),
        lambda: (Random(0).choices([0, 1], [1, 2]), Random(0).choices([0, 1], [2, 1])),
        lambda: (Random(0).random(), Random(0).expovariate(1)),
        lambda: (Random(0).getrandbits(1), Random(0).getrandbits(2)),
    ],
)
def test_different_draws_from_one_state_are_refused_as_shared(mixed):
    assert "share their noise" in refused(lambda: mixed() is None)


def test_a_subclass_with_bits_of_its_own_is_not_random():
    class Later(Random):
        def random(self):
            return 0.75

    assert law(lambda: (Counting(0).randrange(4), Later(0).choices([0, 1, 2, 3])[0], Later(0).uniform(0, 4))) == {
        (1, 3, 3.0): 1
    }


def test_errors_are_those_of_the_module():
    assert set(law(lambda: random.choices([], k=1))) == {Raised("IndexError", "list index out of range")}
    assert set(law(lambda: random.choices([1, 2], [1]))) == {
        Raised("ValueError", "The number of weights does not match the population")
    }
    assert {outcome.kind for outcome in law(lambda: random.choices([1], [0]))} == {"ValueError"}
    assert {outcome.kind for outcome in law(lambda: random.randrange(0))} == {"ValueError"}


def test_the_module_is_whole_again_and_has_not_moved():
    rng, state = Random(7), random.getstate()
    assert law(lambda: bool(rng.random() < 0.5) and bool(random.random() < 0.5))[True] == F(1, 4)
    assert rng.random() == Random(7).random()
    assert random.getstate() == state
