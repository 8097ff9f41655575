"""The exploration is complete, repeatable, and loud when it is not."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress

import pytest

from rheo_proof.audit.arithmetic import apply
from rheo_proof.audit.errors import AuditError, NotEnumerable, Unsound
from rheo_proof.audit.exploring import Raised, Run, current, explore
from rheo_proof.exact.errors import LimitReached
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import ONE, Q


def test_draws_without_replacement_are_ordered_and_lazy():
    def program(run: Run) -> tuple[int, int]:
        first, second = run.ordered([1, 2, 3], 2)
        b = int(second)
        return int(first), b

    law = explore(program).law
    assert law[2, 0] == Q(3, 6) * Q(1, 3)
    assert len(law) == 6


def test_nothing_is_decided_that_nobody_looks_at():
    def program(run: Run) -> bool:
        run.categorical([1, 1, 1])
        run.uniform()
        unasked = apply("lt", run.uniform(), 0.5)
        assert not unasked.settled
        return bool(run.uniform() < 0.5)

    found = explore(program)
    assert found.runs == 2
    assert (found.usage.drawn, found.usage.used, found.usage.unused) == (4, 1, 3)


def test_variables_looked_at_twice_and_in_both_phases_are_counted():
    def program(run: Run) -> None:
        u, v = run.uniform(), run.uniform()
        run.phase = "draft"
        bool(u < 0.5)
        run.phase = "verify"
        bool(u < 0.25)
        bool(v < 0.25)

    usage = explore(program).usage
    assert (usage.used_twice, usage.shared) == (1, 1)


def test_one_position_of_a_stream_is_one_variable():
    def program(run: Run) -> bool:
        return bool(run.uniform("a") < 0.5) == bool(run.uniform("a") < 0.5)

    assert explore(program).law == {True: ONE}
    assert len(explore(lambda run: bool(run.uniform("a") < 0.5) == bool(run.uniform("b") < 0.5)).law) == 2


def test_different_draws_from_one_state_are_refused_as_shared_noise():
    def program(run: Run) -> None:
        run.uniform("a")
        run.categorical([1, 1], "a")

    with pytest.raises(NotEnumerable, match="share their noise") as refused:
        explore(program)
    assert refused.value.shared


def test_an_exception_is_an_outcome_with_its_probability():
    def program(run: Run) -> str:
        if run.uniform() < 0.25:
            raise ValueError("no")
        return "yes"

    assert explore(program).law == {Raised("ValueError", "no"): Q(1, 4), "yes": Q(3, 4)}


def test_a_refusal_survives_code_that_catches_everything():
    def program(run: Run) -> str:
        try:
            return str(complex(run.uniform()))
        except BaseException:
            return "swallowed"

    with pytest.raises(NotEnumerable):
        explore(program)


def test_randomness_that_was_not_taken_away_is_noticed():
    generator = random.Random(0)

    def program(run: Run) -> bool:
        return bool(run.uniform() < generator.random()) and bool(run.uniform() < 0.5)

    with pytest.raises(Unsound, match="the same beginning of a run"):
        explore(program)


def test_state_kept_between_calls_is_noticed():
    calls: Counter[str] = Counter()

    def program(run: Run) -> None:
        calls["n"] += 1
        if calls["n"] == 1:
            bool(run.uniform() < 0.5)

    with pytest.raises(Unsound, match="cannot be repeated"):
        explore(program)


def test_branches_that_do_not_sum_to_one_are_loud_even_when_caught():
    def program(run: Run) -> None:
        with suppress(Exception):
            run.choose([Q(1, 2), Q(1, 3)], "a broken draw")

    with pytest.raises(Unsound, match="a broken draw"):
        explore(program)


def test_limits_end_an_exploration():
    def program(run: Run) -> tuple[bool, ...]:
        return tuple(bool(run.uniform() < 0.5) for _ in range(8))

    with pytest.raises(LimitReached):
        explore(program, Limits(classes=100))


def test_the_end_zero_of_a_uniform_is_found_by_the_boundary_search_only():
    def program(run: Run) -> str:
        return "accepted" if run.uniform() <= 0.0 else "rejected"

    assert set(explore(program).law) == {"rejected"}
    assert set(explore(program, boundary=True).law) == {"rejected", "accepted"}
    assert set(explore(lambda run: bool(run.uniform() >= 1.0), boundary=True).law) == {False}
    assert set(explore(lambda run: bool(run.uniform(closed=True) >= 1.0), boundary=True).law) == {False, True}


def test_there_is_no_run_outside_of_an_exploration():
    assert explore(lambda run: current() is run).law == {True: ONE}
    with pytest.raises(AuditError):
        current()


@pytest.mark.parametrize("weights", [[], [0, 0], [-1, 2], [float("nan"), 1], [float("inf"), 1]])
def test_weights_that_are_none_raise_in_the_audited_code(weights):
    law = explore(lambda run: run.categorical(weights)).law
    assert [outcome.kind for outcome in law] == ["ValueError"]


def test_decisions_name_the_line_of_the_audited_code():
    leaf = explore(lambda run: bool(run.uniform() < 0.5)).leaves[0]
    assert leaf.decisions[0].site.file == __file__


def test_a_limit_names_the_line_with_the_most_branches():
    def program(run: Run) -> int:
        bool(run.uniform() < 0.5)
        return int(run.categorical([1] * 200))

    with pytest.raises(LimitReached, match=r"more than 100 classes; most branches, 200, at .*test_exploring\.py:\d+"):
        explore(program, Limits(classes=100))


def test_a_loop_until_success_ends_the_audit_and_names_its_line():
    def program(run: Run) -> int:
        while True:
            if run.uniform() < 0.5 and run.uniform() < 0.0:
                return 1

    with pytest.raises(NotEnumerable, match=r"a loop over random numbers at .*test_exploring\.py:\d+"):
        explore(program)
