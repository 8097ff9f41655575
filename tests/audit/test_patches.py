"""What is patched for an audit, and that all of it is as before afterwards."""

from __future__ import annotations

import builtins
import math
import os
import random
import secrets
from contextlib import suppress
from math import exp, log
from random import random as drawn_by_name

import numpy as np
import pytest

from rheo_proof.audit import python_float
from rheo_proof.audit.errors import AuditError, NotEnumerable, Unsound
from rheo_proof.audit.exploring import Raised, explore
from rheo_proof.audit.patches import Patches, installed, patched
from rheo_proof.audit.scalars import Cell, Lazy, Scalar
from tests.audit.sources import FAIR, ONE_OF_FOUR, alone, law, refused


@pytest.fixture(scope="module", autouse=True)
def _alone():
    """These tests install what they need."""
    with alone():
        yield


class Sampler:
    """Draws in a method."""

    def draw(self):
        return float(np.random.rand(1)) < 0.25


def as_a_float():
    return float(random.random()) < 0.25


def test_a_module_with_a_float_of_its_own_keeps_it():
    exec("def float(x):\n    return 7\ndef f(x):\n    return float(x)", scope := {})
    with installed():
        assert scope["f"](1) == 7


def state_of_the_world():
    """Everything that an installation touches, or could."""
    places = (random.random, random.choices, random.getrandbits, math.log, log, exp, os.urandom, np.array, np.asarray)
    numpys = (np.random.rand, np.random.default_rng, np.random.Generator, np.random.RandomState, np.random.PCG64)
    classes = [dict(vars(cls)) for cls in (random.Random, random.SystemRandom, Cell, Lazy, Scalar)]
    return (
        [*map(id, (*places, *numpys, drawn_by_name, np.random.mtrand._rand, secrets.randbits))],
        classes,
        [function.__code__ for function in (as_a_float, Sampler.draw)],
        sorted(vars(builtins)),
        random.getstate(),
        np.random.get_state()[1].tolist(),
        np.random.get_state()[2],
    )


class Stopped(BaseException):
    """Not an `Exception`."""


@pytest.mark.parametrize("error", [None, ValueError("x"), KeyboardInterrupt(), Stopped()], ids=repr)
def test_everything_is_as_before_however_it_ends(error):
    before = state_of_the_world()

    def program(run):
        with patched(run):
            as_a_float()
            np.random.rand()
            random.shuffle([0, 1])
            np.random.seed(3)
            random.seed(3)
            if error is not None:
                raise error

    with suppress(Stopped, KeyboardInterrupt), installed():
        explore(program)
    assert state_of_the_world() == before


def test_everything_is_as_before_when_the_installation_fails(monkeypatch):
    before = state_of_the_world()

    def broken(functions):
        raise RuntimeError("no")

    monkeypatch.setattr(python_float, "patch_calls", broken)
    with pytest.raises(RuntimeError), Patches():
        pass
    assert state_of_the_world() == before
    monkeypatch.undo()
    assert law(lambda: bool(as_a_float())) == ONE_OF_FOUR


def test_everything_is_as_before_after_a_refusal():
    before = state_of_the_world()
    assert "normal" in refused(lambda: np.random.normal())
    assert state_of_the_world() == before


def test_outside_of_a_run_all_sources_are_real():
    with installed():
        values = (
            random.random(),
            np.random.rand(),
            np.random.default_rng(0).normal(),
            random.gauss(0, 1),
            os.urandom(2),
        )
        assert list(map(type, values)) == [float, float, float, float, bytes]
        assert np.random.default_rng(0).random() == 0.6369616873214543
        assert np.random.RandomState(0).rand() == 0.5488135039273248
        assert random.Random(0).random() == 0.8444218515250481
        assert random.Random(0).choices([1, 2], [1, 1], k=3) == [2, 2, 1]
        assert np.array([1, 2]).dtype == np.int64
        assert math.log(1.0) == 0.0


def test_a_generator_made_in_a_run_is_a_real_one_after_it():
    kept = []

    def program(run):
        with patched(run):
            kept.append(np.random.default_rng(0))
            kept.append(random.Random(0))
            return 0

    with installed():
        explore(program)
    assert kept[0].random() == np.random.default_rng(0).random()
    assert kept[1].random() == random.Random(0).random()


def test_one_audit_at_a_time():
    with installed() as outer, installed() as inner:
        assert inner is outer
        with pytest.raises(AuditError, match="in progress"), Patches():
            pass


def test_a_second_function_in_the_same_run_draws_from_the_same_sources():
    def program(run):
        with patched(run), patched(run):
            first = np.random.default_rng(0).random()
            return bool(first < 0.5) == bool(np.random.default_rng(0).random() < 0.5)

    with installed():
        assert explore(program).law == {True: 1}


def test_every_run_starts_from_the_same_states():
    def program(run):
        with patched(run):
            state = random.getstate(), np.random.get_state()[1].tolist()
            bool(np.random.rand() < 0.5)
            bool(random.random() < 0.5)
            return hash(str(state))

    with installed():
        assert len(explore(program).law) == 1


def test_an_exception_of_the_code_does_not_hide_a_draw_that_was_not_intercepted():
    hidden = {np.random.Generator}

    def raises():
        next(iter(hidden)).random(np.random.default_rng(0))
        raise ValueError

    assert "not intercepted" in refused(raises)
    assert set(law(lambda: [][0])) == {Raised("IndexError", "list index out of range")}


def test_nothing_random_is_left_when_the_code_swallows_everything():
    def swallows():
        try:
            return float(np.zeros(1).__setitem__(0, random.random()))
        except BaseException:
            return 0.0

    with pytest.raises(NotEnumerable):
        law(swallows)


def test_a_random_number_that_is_kept_for_the_next_run_is_noticed():
    kept = []

    def keeps():
        u = random.random()
        kept.append(u)
        if random.random() < 0.5:
            return 0
        return 1 + bool(kept[0] < 0.25)

    def caches():
        if not kept:
            kept.append(int(np.random.choice(2)))
        return kept[0]

    for function in (keeps, caches):
        kept.clear()
        with pytest.raises(Unsound, match=r"earlier run|cannot be repeated"):
            law(function)


def test_a_fair_coin_by_every_road_at_once():
    coins = [random.Random(i) for i in range(2)]

    def toss(rng=np.random.default_rng(3)):  # noqa: B008
        return (bool(coins[0].random() < 0.5) + int(rng.integers(2)) + bool(drawn_by_name() < 0.5)) % 2 == 0

    assert law(toss) == FAIR
