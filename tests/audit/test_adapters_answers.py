"""Adapters: how the emitted string is read from what a function returned, and what an answer must not be."""

from __future__ import annotations

import math

import pytest

from rheo_proof.audit.cases import Case, Request
from rheo_proof.audit.tables import table
from rheo_proof.exact.number import ONE
from tests.audit import on_lists
from tests.audit.audited import DYADIC, TENTHS, TINY, audited, installed, plain

__all__ = ["installed"]


def returning(make):
    """The ratio rule, its answer put into another form."""

    def verify(draft_tokens, draft_probs, target_probs):
        tokens = on_lists.chain(draft_tokens, draft_probs, target_probs)
        return make(tokens, draft_tokens, target_probs)

    return verify


@pytest.mark.parametrize(
    ("returns", "make"),
    [
        ("tokens", lambda s, x, p: tuple(s)),
        ("tokens", lambda s, x, p: [s]),
        ("tokens,length", lambda s, x, p: (s, len(s) - 1)),
        ("padded", lambda s, x, p: s + [-1] * (3 - len(s))),
        ("length+token", lambda s, x, p: (len(s) - 1, s[-1])),
        ("token,length", lambda s, x, p: ([s[-1]], [[len(s) - 1]])),
        ("node,token", lambda s, x, p: (len(s) - 2, s[-1])),
        ("position,token", lambda s, x, p: (len(s) - 1, s[-1])),
        ("path,token", lambda s, x, p: ([*range(len(s) - 1), -1], s[-1])),
        ("_,tokens", lambda s, x, p: (object(), s)),
        ("tokens", lambda s, x, p: [float(int(t)) for t in s]),
    ],
)
def test_the_same_string_is_read_from_every_form(returns, make):
    expected = audited(on_lists.chain, plain(), DYADIC, Request())
    found = audited(returning(make), plain(returns=returns), DYADIC, Request())
    assert found.failures == {}
    assert (found.law, found.accepted) == (expected.law, expected.accepted)


def test_a_returned_vector_is_drawn_from_exactly_whatever_its_sum():
    def verify(draft_tokens, draft_probs, target_probs):
        for i, x in enumerate(draft_tokens):
            if on_lists.uniform() * draft_probs[i][x] >= target_probs[i][x]:
                return i, on_lists.residual(target_probs[i], draft_probs[i])
        return 2, target_probs[2]

    expected = audited(on_lists.chain, plain(), DYADIC, Request())
    assert audited(verify, plain(returns="length,vector"), DYADIC, Request()).law == expected.law


@pytest.mark.parametrize(
    ("returns", "answer", "fault"),
    [
        ("tokens", [], "no token was emitted"),
        ("tokens", [0, 3], "token 3 is outside 0..2"),
        ("tokens", [0, -1], "token -1 is outside 0..2"),
        ("tokens", [0, 1, 2, 0], "4 tokens were emitted, at most 3 can be"),
        ("tokens", [0.5], "token: 0.5 is no whole number"),
        ("tokens", ["a"], "token: 'a' is no whole number"),
        ("tokens", None, "returned None for tokens"),
        ("tokens", [[0], [1]], "tokens: shape (2, 1), expected one axis"),
        ("padded", [0, -1, 1], "place 2 holds 1 after a place that holds -1"),
        ("padded", [-1, -1, -1], "no token was emitted"),
        ("length,token", (3, 0), "length 3 is outside 0..2"),
        ("length,token", 0, "returned a int, expected length, token"),
        ("length,token", (1,), "returned a tuple of 1, expected length, token"),
        ("tokens,length", ([0], 1), "the length is 1, but 1 tokens were emitted"),
        ("length,vector", (0, [0.0, 0.0, 0.0]), "the vector to draw from is all 0"),
        ("length,vector", (0, [0.5, -0.5, 1.0]), "the vector to draw from holds -0.5 at token 1"),
        ("length,vector", (0, [math.nan] * 3), "the vector to draw from holds nan at token 0"),
        ("length,vector", (0, [0.5, 0.5]), "the vector has 2 entries, expected 3"),
        ("path,token", ([1], 0), "path: node 1 is no child of node -1"),
        ("node,token", (2, 0), "node 2 is outside -1..1"),
    ],
)
def test_an_answer_that_is_no_string_is_an_outcome_that_says_why(returns, answer, fault):
    found = audited(lambda draft_tokens: answer, plain(returns=returns), TENTHS, Request())
    assert found.failures == {fault: ONE}


def test_nothing_is_decided_beyond_what_is_read():
    """A vectorised verifier that draws everything in advance, returned with more than is needed."""

    def verify(draft_tokens, draft_probs, target_probs):
        spare = [on_lists.sample(p) for p in target_probs]
        return 1, spare[1], spare

    assert audited(verify, plain(returns="length,token,_"), TENTHS, Request()).runs == 27


def test_strings_of_a_batch_are_read_one_request_at_a_time():
    case = Case(table("two awkward"))
    for request in plain(batched=True).requests(case):
        found = audited(on_lists.batch(on_lists.chain), plain(batched=True), case, request)
        single = Case(type(case.table)("one", "", 3, 1, case.table.rows[request.index : request.index + 1]))
        assert found.law == audited(on_lists.chain, plain(), single, Request()).law
    short = audited(lambda draft_tokens: [[0]], plain(batched=True), case, Request())
    assert set(short.failures) == {"tokens: shape (1, 1), expected 2 requests first"}


def test_without_a_bonus_accepted_tokens_are_counted_by_comparison():
    def verify(draft_tokens, draft_probs, target_probs):
        return on_lists.chain(draft_tokens, draft_probs, target_probs)[: len(draft_tokens)]

    def one(candidates, q, p):
        return [on_lists.recursive(candidates, q, p)]

    for function, adapter in ((verify, plain(bonus=False)), (one, plain("siblings", returns="tokens", bonus=False))):
        found = audited(function, adapter, DYADIC, Request())
        assert found.distance < TINY
        assert abs(found.accepted - adapter.baseline(DYADIC, Request()).ratio) < TINY
    assert audited(one, plain("siblings", returns="tokens"), DYADIC, Request()).accepted == 0


def test_nothing_may_follow_an_end_of_sequence():
    case = Case(table("R35"))

    def stops(draft_tokens, target_probs, eos):
        string = on_lists.certain_rule(draft_tokens, None, target_probs)
        out = []
        for token in string:
            out.append(int(token))
            if out[-1] == eos:
                break
        return out

    def goes_on(draft_tokens, target_probs, eos):
        return on_lists.certain_rule(draft_tokens, None, target_probs)

    assert case not in plain().cases(("float32",), ("R35",))
    right, wrong = (audited(f, plain(roles={"eos": "eos"}), case, Request()) for f in (stops, goes_on))
    assert right.distance == 0
    assert wrong.failures == {"tokens follow the end of sequence 1": ONE / 2}
