"""Ordinary calls beside the enumerated law: who behaves otherwise in an audit is not believed; who does not, is."""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import random
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_proof.audit import audit
from rheo_proof.audit.calls import LEVEL, compared, evidence
from rheo_proof.audit.cases import Table
from rheo_proof.audit.verdict import BIASED, LOSSLESS, UNDECIDED
from rheo_proof.exact.number import Q
from tests.audit.strangers import correct

SMALL = {"tables": ["tenths"], "dtypes": ["float64"], "calls": 400}
CORRECT = {
    "vectorised": ("torch", "padded"),
    "loops": ("torch", "length,token"),
    "numpy_chain": ("numpy", "tokens"),
    "pure_python": ("list", "tokens"),
}


def drawn(u, weights):
    total = 0.0
    for x, w in enumerate(weights):
        total += w
        if u * sum(weights) < total:
            return x
    return len(weights) - 1


def chain(draft_tokens, draft_probs, target_probs, accepts):
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not accepts(random.random(), p[x], q[x]):
            return [*draft_tokens[:i], drawn(random.random(), [max(0.0, a - b) for a, b in zip(p, q, strict=True)])]
    return [*draft_tokens, drawn(random.random(), target_probs[-1])]


def right(draft_tokens, draft_probs, target_probs):
    return chain(draft_tokens, draft_probs, target_probs, lambda u, p, q: u * q < p)


def looks_at_the_type(draft_tokens, draft_probs, target_probs):
    """Right in an audit, where no number is a float to `type`; accepts everything outside."""
    return chain(draft_tokens, draft_probs, target_probs, lambda u, p, q: type(u) is float or u * q < p)


def writes_where_it_can(draft_tokens, draft_probs, target_probs):
    """Right in an audit, where JSON cannot write a random number; accepts everything outside."""

    def accepts(u, p, q):
        with contextlib.suppress(TypeError):
            return len(json.dumps(u)) > 0
        return u * q < p

    return chain(draft_tokens, draft_probs, target_probs, accepts)


def wrong(draft_tokens, draft_probs, target_probs):
    return chain(draft_tokens, draft_probs, target_probs, lambda u, p, q: u * p < q)


def seeds_itself(draft_tokens, draft_probs, target_probs):
    random.seed(1)
    return right(draft_tokens, draft_probs, target_probs)


@pytest.mark.parametrize("function", [looks_at_the_type, writes_where_it_can])
def test_a_function_that_behaves_otherwise_in_an_audit_is_not_believed(function):
    assert audit(function, "chain", arrays="list", **{**SMALL, "calls": 0}).kind == LOSSLESS
    verdict = audit(function, "chain", arrays="list", **SMALL)
    assert verdict.kind == UNDECIDED
    assert "400 ordinary calls contradict the enumerated law" in verdict.undecided[0].why


def certain_outside(draft_tokens, draft_probs, target_probs):
    """Outside of an audit there is one answer for each draft, though random numbers are drawn."""
    found = right(draft_tokens, draft_probs, target_probs)
    with contextlib.suppress(TypeError):
        return [*draft_tokens, 0 * len(json.dumps(random.random()))]
    return found


def test_one_answer_for_each_draft_is_no_seed_where_the_generator_goes_on():
    verdict = audit(certain_outside, "chain", arrays="list", **SMALL)
    assert verdict.kind == UNDECIDED
    assert "ordinary calls contradict the enumerated law" in verdict.undecided[0].why


def test_a_branch_that_calls_never_meet_is_no_seed():
    """The draft is all but certain to be accepted, and the bonus token is certain."""
    rows = ((Q(1), Q(0)), (Q(1), Q(0)))
    almost = ((1 - Q(1, 1 << 20), Q(1, 1 << 20)), (Q(1), Q(0)))
    table = Table("almost", "hardly ever rejected", 2, 1, ({(): almost, (0,): rows, (1,): rows},))
    verdict = audit(right, "chain", arrays="list", **{**SMALL, "tables": [table]})
    assert (verdict.kind, verdict.findings) == (LOSSLESS, ())
    assert len(verdict.judged[0].law) > 1


def test_right_and_wrong_functions_do_in_calls_what_was_enumerated():
    assert audit(right, "chain", arrays="list", **SMALL).kind == LOSSLESS
    assert audit(wrong, "chain", arrays="list", **SMALL).kind == BIASED


@pytest.mark.parametrize("name", CORRECT)
def test_no_correct_stranger_is_contradicted(name):
    arrays, returns = CORRECT[name]
    verdict = audit(getattr(correct, name), "chain", arrays=arrays, returns=returns, **SMALL)
    assert verdict.kind == LOSSLESS, verdict.undecided


def seeds_itself_and_is_wrong(draft_tokens, draft_probs, target_probs):
    """Right in an audit alone."""
    random.seed(str(draft_tokens))
    right_there = type(random.random()) is not float
    return (right if right_there else wrong)(draft_tokens, draft_probs, target_probs)


@pytest.mark.parametrize("function", [seeds_itself, seeds_itself_and_is_wrong])
def test_calls_that_repeat_themselves_decide_nothing(function):
    verdict = audit(function, "chain", arrays="list", **SMALL)
    assert (verdict.kind, verdict.status) == (UNDECIDED, 3)
    assert "one answer for each draft" in verdict.undecided[0].why
    assert audit(seeds_itself, "chain", arrays="list", **{**SMALL, "calls": 0}).kind == LOSSLESS


ELSEWHERE = """
import random, types
from rheo_proof.audit import audit

def residual(p, q):
    return [max(a - b, 0.0) for a, b in zip(p, q)]

def verify(draft_tokens, draft_probs, target_probs):
    if isinstance(random.random, types.BuiltinFunctionType):
        return [max(range(len(target_probs[0])), key=lambda x: target_probs[0][x])]
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * q[x] < p[x]:
            return [*draft_tokens[:i], *random.choices(range(len(p)), residual(p, q))]
    return [*draft_tokens, *random.choices(range(len(p)), target_probs[-1])]

for calls in (0, 400):
    verdict = audit(verify, "chain", arrays="list", tables=["dyadic"], dtypes=["float64"], calls=calls)
    print(verdict.kind, verdict.status)
"""


def test_a_source_that_is_looked_at_is_the_real_one_in_ordinary_calls(tmp_path):
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE)
    command = [sys.executable, str(tmp_path / "elsewhere.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.stdout.splitlines(), done.stderr) == (["lossless 0", "not enumerable 3"], "")


def test_generators_of_the_process_are_left_as_they_were():
    numpy = importlib.import_module("numpy")
    before = random.getstate(), numpy.random.get_state()[1].tobytes()
    audit(right, "chain", arrays="list", **SMALL)
    assert (random.getstate(), numpy.random.get_state()[1].tobytes()) == before


@given(st.integers(2, 40), st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20))
def test_the_bound_is_above_the_exact_tail(n, p):
    """exp(-evidence) bounds the binomial tail from the count on, away from its mean."""
    for seen in range(n + 1):
        tail = [k for k in range(n + 1) if (k >= seen if seen > n * p else k <= seen)]
        exact = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in tail)
        assert float(exact) <= math.exp(-evidence(seen, n, float(p))) * (1 + 1e-4)


def test_impossible_answers_contradict_and_one_slip_of_the_grid_does_not():
    law = {"a": Q(1), "b": Q(0)}
    assert compared(Counter(a=399, b=1), law, 400) is None
    found = compared(Counter(a=390, b=10), law, 400)
    assert found is not None
    assert (found.answer, found.seen) in (("b", 10), ("a", 390))
    assert LEVEL < 1e-9
