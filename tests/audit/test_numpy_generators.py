"""Generators are found wherever they are kept, equal states give equal noise, and nothing moves unnoticed."""

from __future__ import annotations

import copy
import functools
import pickle
from collections import deque
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.random import default_rng

from rheo_proof.audit.patches import installed
from tests.audit.sources import FAIR, alone, law, refused

SHARED = {True: 1}
GENERATOR = default_rng(1)
GENERATORS = {"a": (default_rng(2), [default_rng(3)])}
DRAW = GENERATOR.random
STATE = np.random.RandomState(4)
UNTOUCHED = default_rng(18)


@pytest.fixture(scope="module", autouse=True)
def _alone():
    """These tests install what they need."""
    with alone():
        yield


class Slotted:
    __slots__ = ("rng",)


@dataclass(frozen=True)
class Frozen:
    rng: np.random.Generator


class Holder:
    shared = default_rng(5)

    def __init__(self) -> None:
        self.rng = default_rng(6)
        self.draw = self.rng.random

    def method(self):
        return self.rng.random()


def places():
    """Where a generator can be kept, as functions that draw from it."""
    local, other = default_rng(7), default_rng(8)
    held, slotted, frozen = Holder(), Slotted(), Frozen(default_rng(9))
    slotted.rng = default_rng(10)
    space, queue = SimpleNamespace(rng=other), deque([default_rng(11)])

    def default(rng=default_rng(12)):  # noqa: B008
        return rng.random()

    def keyword(*, rng=default_rng(13)):  # noqa: B008
        return rng.random()

    return {
        "global": lambda: GENERATOR.random(),
        "global dictionary": lambda: GENERATORS["a"][0].random(),
        "list in a tuple": lambda: GENERATORS["a"][1][0].random(),
        "bound method": lambda: DRAW(),
        "RandomState": lambda: STATE.rand(),
        "class": lambda: Holder.shared.random(),
        "closure": lambda: local.random(),
        "instance": lambda: held.rng.random(),
        "bound method of an instance": lambda: held.draw(),
        "self": held.method,
        "slot": lambda: slotted.rng.random(),
        "frozen": lambda: frozen.rng.random(),
        "namespace": lambda: space.rng.random(),
        "queue": lambda: queue[0].random(),
        "default": default,
        "keyword": keyword,
        "partial": functools.partial(default_rng(14).uniform, 0.0, 1.0),
        "partial argument": functools.partial(lambda rng: rng.random(), default_rng(15)),
    }


def test_generators_are_found_where_they_are_kept_and_put_back():
    found = places()
    before = list(map(id, (DRAW, GENERATOR, STATE, GENERATORS["a"], Holder.shared)))
    with installed():
        for name, draw in found.items():
            assert law(lambda draw=draw: bool(draw() < 0.5)) == FAIR, name
        assert id(GENERATOR) not in before
    assert list(map(id, (DRAW, GENERATOR, STATE, GENERATORS["a"], Holder.shared))) == before
    assert all(type(draw()) is float for draw in found.values())


def test_generators_that_are_arguments():
    assert law(lambda rng: bool(rng.random() < 0.5), default_rng(0)) == FAIR
    assert law(lambda rngs: bool(rngs["a"][0].random() < 0.5), {"a": [np.random.RandomState(0)]}) == FAIR


def test_a_generator_of_before_is_not_moved_by_an_audit():
    rng = default_rng(16)
    state, everybodys = rng.bit_generator.state, np.random.get_state()[1].tolist()
    assert law(lambda: bool(rng.random() < 0.5) and bool(np.random.rand() < 0.5))[True] == 0.25
    assert rng.bit_generator.state == state
    assert np.random.get_state()[1].tolist() == everybodys


@pytest.fixture(scope="module")
def once():
    """Found and replaced once for all tests that say so."""
    with installed():
        yield


# A set is not searched, and neither is what C code holds.
HIDDEN = {default_rng(17)}
HIDDEN_DRAWS = {GENERATOR.random, np.random.rand}
MAKE = {default_rng}


class Made:
    make = staticmethod(default_rng)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: next(iter(HIDDEN)).random(),
        lambda: [draw() for draw in HIDDEN_DRAWS],
        lambda: Made.make(0).random(),
        lambda: next(iter(MAKE))().random(),
        lambda: type(GENERATOR).__mro__[2].random(GENERATOR),
        lambda: default_rng(0).bit_generator.ctypes.next_double(default_rng(0).bit_generator.ctypes.state),
        lambda: _next_double(GENERATOR),
        lambda: _next_double(default_rng(0)),
    ],
    ids=["set", "methods in a set", "static method", "constructor", "base class", "C pointer", "C", "C of a new one"],
)
def test_a_draw_that_is_not_intercepted_is_noticed(once, draw):
    assert "not intercepted" in refused(lambda: draw() is None)


def _next_double(rng):
    interface = rng.bit_generator.ctypes
    return interface.next_double(interface.state)


def equal(first, second):
    return bool(first.random() < 0.5) == bool(second.random() < 0.5)


def _restored():
    rng = default_rng(0)
    state = rng.bit_generator.state
    first = bool(rng.random() < 0.5)
    rng.bit_generator.state = state
    return first == bool(rng.random() < 0.5)


def _restored_globally():
    state = np.random.get_state()
    first = bool(np.random.rand() < 0.5)
    np.random.set_state(state)
    return first == bool(np.random.rand() < 0.5)


def _seeded_again():
    np.random.seed(3)
    first = bool(np.random.rand() < 0.5)
    np.random.seed(3)
    return first == bool(np.random.rand() < 0.5)


def _later():
    """The second number of one is the second of the other, though the first was thrown away."""
    first, second = default_rng(0), default_rng(0)
    numbers = first.random(2)
    second.random()
    return bool(numbers[1] < 0.5) == bool(second.random() < 0.5)


def _states():
    first, second = np.random.RandomState(3), np.random.RandomState(3)
    return bool(first.rand() < 0.5) == bool(second.random_sample() < 0.5)


def _global_and_own():
    np.random.seed(3)
    return bool(np.random.rand() < 0.5) == bool(np.random.RandomState(3).rand() < 0.5)


def _from_python():
    import random

    theirs = random.Random(3)
    ours = np.random.RandomState()
    words = theirs.getstate()[1]
    ours.set_state(("MT19937", np.array(words[:-1], dtype=np.uint32), words[-1]))
    return bool(theirs.random() < 0.5) == bool(ours.rand() < 0.5)


SAME = {
    "one seed": lambda: equal(default_rng(0), default_rng(0)),
    "two classes": lambda: equal(default_rng(0), np.random.Generator(np.random.PCG64(0))),
    "state put back": _restored,
    "global state put back": _restored_globally,
    "seeded again": _seeded_again,
    "second number": _later,
    "two RandomStates": _states,
    "global and own": _global_and_own,
    "carried over from Python": _from_python,
    "copy": lambda: (lambda rng: equal(rng, copy.deepcopy(rng)))(default_rng(0)),
    "pickle": lambda: (lambda rng: equal(rng, pickle.loads(pickle.dumps(rng))))(default_rng(0)),
    "copy of a global": lambda: equal(UNTOUCHED, copy.deepcopy(UNTOUCHED)),
    "spawned alike": lambda: equal(default_rng(0).spawn(1)[0], default_rng(0).spawn(1)[0]),
    "decided alike": lambda: default_rng(0).integers(2) == default_rng(0).integers(2),
    "scaled": lambda: bool(default_rng(0).random() < 0.5) == bool(default_rng(0).uniform(0.0, 4.0) < 2.0),
    "global of before": lambda: equal(UNTOUCHED, default_rng(18)),
}


@pytest.mark.parametrize("same", SAME.values(), ids=SAME)
def test_equal_states_give_equal_noise(once, same):
    assert law(same) == SHARED


COPIES = {
    "Generator": lambda: (lambda rng: (copy.copy(rng).random(), rng.random()))(default_rng(0)),
    "RandomState": lambda: (lambda rng: (copy.copy(rng).rand(), rng.rand()))(np.random.RandomState(0)),
}
REALLY = {name: len(set(numbers())) == 1 for name, numbers in COPIES.items()}
"""Whether a copy and the original give the same number, as found before anything is patched."""


@pytest.mark.parametrize("name", COPIES)
def test_a_shallow_copy_shares_its_noise_if_it_does_in_numpy(once, name):
    found = law(lambda: len({bool(u < 0.5) for u in COPIES[name]()}) == 1)
    assert found == (SHARED if REALLY[name] else FAIR)


def test_what_happens_between_runs_is_nobodys_business(once):
    bits = np.random.PCG64(0)
    real = type(GENERATOR).__mro__[2](bits)
    assert law(lambda: bool(np.random.rand() < 0.5)) == FAIR
    real.random()
    assert law(lambda: bool(np.random.rand() < 0.5)) == FAIR
    assert "not intercepted" in refused(lambda: real.random())


def _two_in_a_row():
    rng = default_rng(0)
    return equal(rng, rng)


OTHER = {
    "two seeds": lambda: equal(default_rng(0), default_rng(1)),
    "no seeds": lambda: equal(default_rng(), default_rng()),
    "no seeds, RandomState": lambda: equal(np.random.RandomState(), np.random.RandomState()),
    "two in a row": _two_in_a_row,
    "spawned": lambda: equal(*default_rng(0).spawn(2)),
    "spawned and parent": lambda: (lambda rng: equal(rng, rng.spawn(1)[0]))(default_rng(0)),
    "jumped": lambda: equal(*map(np.random.Generator, (np.random.PCG64(0), np.random.PCG64(0).jumped()))),
    "two algorithms": lambda: equal(*map(np.random.Generator, (np.random.PCG64(0), np.random.PCG64DXSM(0)))),
    "Philox": lambda: equal(*map(np.random.Generator, (np.random.Philox(0), np.random.Philox(1)))),
    "SFC64": lambda: equal(*map(np.random.Generator, (np.random.SFC64(0), np.random.SFC64(1)))),
    "MT19937": lambda: equal(*map(np.random.Generator, (np.random.MT19937(0), np.random.MT19937(1)))),
    "two decided in a row": lambda: (lambda rng: rng.integers(2) == rng.integers(2))(default_rng(0)),
}


@pytest.mark.parametrize("different", OTHER.values(), ids=OTHER)
def test_other_states_give_other_noise(once, different):
    assert law(different) == FAIR


@pytest.mark.parametrize(
    "mixed",
    [
        lambda: (default_rng(0).random() < 0.5, default_rng(0).integers(2)),
        lambda: (default_rng(0).integers(2), default_rng(0).random() < 0.5),
        lambda: (default_rng(0).choice(2, p=[0.5, 0.5]), default_rng(0).choice(2, p=[0.25, 0.75])),
        lambda: (
            default_rng(0).exponential(),
            default_rng(0).exponential(method="inv") if 0 else default_rng(0).random(),
        ),
        lambda: (default_rng(0).random(dtype=np.float32), default_rng(0).random()),
        lambda: (default_rng(0).permutation(2), default_rng(0).permutation(3)),
    ],
)
def test_different_draws_from_one_state_are_refused_as_shared(once, mixed):
    assert "share their noise" in refused(lambda: mixed() is None)


def test_draws_that_take_nothing_share_nothing(once):
    def nothing():
        rng = default_rng(0)
        certain = (
            rng.integers(1),
            rng.random(0).size,
            rng.choice(1),
            rng.permutation(1).tolist(),
            rng.binomial(2, 0.0),
        )
        return (*map(str, certain), bool(rng.random() < 0.5))

    assert {outcome[-1]: mass for outcome, mass in law(nothing).items()} == FAIR


def test_noise_that_is_drawn_again_in_another_phase_is_counted(once):
    from rheo_proof.audit.exploring import explore
    from rheo_proof.audit.patches import patched

    def program(run):
        with patched(run):
            run.phase = "draft"
            draft = int(default_rng(0).integers(3))
            run.phase = "verify"
            return draft == int(default_rng(0).integers(3))

    found = explore(program)
    assert (found.law, found.usage.shared) == ({True: 1}, 1)


def test_instances_pass_for_generators(once):
    def kinds():
        rng = default_rng(0)
        generator = isinstance(rng, np.random.Generator) and isinstance(GENERATOR, np.random.Generator)
        bits = isinstance(rng.bit_generator, np.random.PCG64) and isinstance(rng.bit_generator, np.random.BitGenerator)
        return generator, bits, default_rng(rng) is rng, isinstance(np.random.RandomState(0), np.random.RandomState)

    assert law(kinds) == {(True, True, True, True): 1}
