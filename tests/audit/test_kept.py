"""A function that keeps something of one call for the next ends an audit without an answer, never with a crash."""

from __future__ import annotations

import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from rheo_proof.audit import audit
from rheo_proof.audit.adapters import find
from rheo_proof.audit.errors import AuditError, NotEnumerable, Unsound
from rheo_proof.audit.exploring import Run, explore
from rheo_proof.audit.modes import others
from rheo_proof.audit.session import installation, session
from rheo_proof.audit.torch_run import tensor_of
from rheo_proof.audit.verdict import UNDECIDED

SMALL = {"tables": ["dyadic"], "dtypes": ["float32"]}
NOT_DECIDED = 3
HIDDEN = random.Random(1)
KEPT: dict[object, object] = {}


@pytest.fixture(autouse=True)
def _nothing_kept():
    KEPT.clear()


def tokens(draft_tokens, draft_probs, target_probs, u):
    """The ratio rule, with uniforms of the function `u`."""
    for i, x in enumerate(map(int, draft_tokens)):
        if not u() * draft_probs[i, x] < target_probs[i, x]:
            residual = (target_probs[i] - draft_probs[i]).clamp(min=0)
            return [*map(int, draft_tokens[:i]), int(torch.multinomial(residual, 1))]
    return [*map(int, draft_tokens), int(torch.multinomial(target_probs[-1], 1))]


def keeps_its_rows(draft_tokens, draft_probs, target_probs):
    rows = KEPT.setdefault(tuple(map(int, draft_tokens)), target_probs.clone())
    return tokens(draft_tokens, draft_probs, rows, lambda: torch.rand(()))


def keeps_a_tensor(draft_tokens, draft_probs, target_probs):
    return tokens(draft_tokens, draft_probs, target_probs, lambda: KEPT.setdefault("u", torch.rand(())))


def keeps_a_number(draft_tokens, draft_probs, target_probs):
    return tokens(draft_tokens, draft_probs, target_probs, lambda: KEPT.setdefault("u", random.random()))


def keeps_an_array(draft_tokens, draft_probs, target_probs):
    return tokens(draft_tokens, draft_probs, target_probs, lambda: KEPT.setdefault("u", np.random.rand(1))[0].item())


KEEPERS = [keeps_its_rows, keeps_a_tensor, keeps_a_number, keeps_an_array]


@pytest.mark.parametrize("calls", [0, 5])
@pytest.mark.parametrize("function", KEEPERS)
def test_what_is_kept_from_an_earlier_run_is_not_decided(function, calls):
    verdict = audit(function, "chain", calls=calls, **SMALL)
    assert (verdict.kind, verdict.status) == (UNDECIDED, NOT_DECIDED)
    assert "earlier run" in verdict.undecided[0].why or "from one call to the next" in verdict.undecided[0].why


def keeps_until_it_is_called(draft_tokens, draft_probs, target_probs):
    """Right while it is enumerated, with fresh rows in every run; ordinary calls meet the rows of the last run."""
    if type(draft_probs) is not torch.Tensor:
        KEPT["rows"] = target_probs.clone()
    return tokens(draft_tokens, draft_probs, KEPT["rows"], lambda: torch.rand(()))


def test_ordinary_calls_that_meet_something_kept_are_not_decided():
    verdict = audit(keeps_until_it_is_called, "chain", calls=5, **SMALL)
    assert (verdict.kind, verdict.status) == (UNDECIDED, NOT_DECIDED)
    assert verdict.undecided[0].why.startswith("in an ordinary call: not enumerable")


def keeps_a_number_until_it_is_called(draft_tokens, draft_probs, target_probs):
    def u():
        if type(draft_probs) is not torch.Tensor:
            KEPT["u"] = random.random()
        return KEPT["u"]

    return tokens(draft_tokens, draft_probs, target_probs, u)


def test_ordinary_calls_that_meet_a_number_that_was_kept_are_not_decided():
    verdict = audit(keeps_a_number_until_it_is_called, "chain", calls=5, **SMALL)
    assert (verdict.kind, verdict.status) == (UNDECIDED, NOT_DECIDED)


@pytest.fixture
def stale():
    """A tensor and a random number of a run that is over."""
    found = SimpleNamespace()

    def program(run: Run) -> int:
        with session(run):
            found.rows, found.u = tensor_of([0.25, 0.75]), run.uniform()
        return 0

    explore(program)
    return found


@pytest.mark.parametrize("mode", ["sampled", "piecewise"])
def test_no_other_mode_crashes_on_something_kept(stale, mode):
    def rows(draft_tokens, draft_probs, target_probs, uniforms):
        return [int((stale.rows > 0).sum())]

    def number(draft_tokens, draft_probs, target_probs, uniforms):
        return [int(stale.u < 0.5)]

    for function in (rows, number):
        verdict = audit(function, "chain", mode=mode, eps=0.1, **SMALL)
        assert (verdict.kind, verdict.status) == (UNDECIDED, NOT_DECIDED)


@pytest.mark.parametrize("error", [AuditError("x"), NotEnumerable("x", None), Unsound("x"), SystemExit(0)])
def test_the_search_for_another_mode_survives_whatever_the_function_ends_with(error):
    def ends(draft_tokens, draft_probs, target_probs):
        raise error

    adapter = find("chain")
    case = adapter.cases(("float32",), ["dyadic"])[0]
    assert "sampled" not in list(others(ends, adapter, case, adapter.requests(case)[0]))


def leaves(draft_tokens, draft_probs, target_probs):
    sys.exit(0)


@pytest.mark.parametrize("mode", ["auto", "piecewise"])
def test_a_function_that_leaves_the_program_is_not_taken_for_proved(mode):
    with pytest.raises(AuditError, match="never gives a usable answer: raises SystemExit"):
        audit(leaves, "chain", mode=mode, **SMALL)


def test_draws_of_a_function_that_leaves_the_program_refute_it():
    assert audit(leaves, "chain", mode="sampled", eps=0.2, **SMALL).status == 1


def test_a_draw_out_of_sight_is_noticed_when_the_function_leaves_the_program():
    def program(run: Run) -> None:
        with session(run, leaves):
            random.Random.__mro__[1].random(HIDDEN)
            sys.exit(0)

    with installation(), pytest.raises(NotEnumerable, match="not intercepted"):
        explore(program)
