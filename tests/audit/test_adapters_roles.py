"""Adapters: which argument of a function is what, and what it is given."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from rheo_proof.audit.adapters import NAMES, Verify, find
from rheo_proof.audit.cases import Case, Request, exactly
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.inputs import logit
from rheo_proof.audit.tables import table
from rheo_proof.exact.number import Q
from tests.audit import on_lists
from tests.audit.audited import DYADIC, TENTHS, TINY, audited, every, installed, plain, told

__all__ = ["installed"]


def test_rows_of_a_chain_are_those_of_its_own_prefixes():
    calls = told(TENTHS, {"x": "draft_tokens", "q": "draft_probs", "p": "target_probs", "a": "target_probs[K,V]"})
    assert len(calls) == 9
    for call in calls:
        x = tuple(call["x"])
        assert call["q"] == [list(TENTHS.draft_row(0, x[:i])) for i in range(2)]
        assert call["p"] == [list(TENTHS.target_row(0, x[:i])) for i in range(3)]
        assert call["a"] == call["p"][:2]


def test_axes_may_be_added_repeated_or_left_out():
    roles = {
        "a": "draft_tokens[1,K]",
        "b": "draft_tokens[K,1]",
        "p": "target_probs[V]",
        "s": "input_ids[1,S]",
        "k": "K",
    }
    for call in told(TENTHS, roles):
        x = [row[0] for row in call["b"]]
        assert call["a"] == [x]
        assert call["p"] == list(TENTHS.target_row(0, ()))
        assert call["s"][0][2:] == x
        assert len(call["s"][0]) == 4
        assert call["k"] == 2


def test_logits_give_the_row_again_at_the_temperature_they_are_for():
    roles = {"logits": "target_logits", "temperature": "temperature"}
    checked = 0
    for case in (TENTHS, Case(table("zeros")), Case(table("peaked"))):
        for call in told(case, roles, temperature=Fraction(1, 2)):
            assert call["temperature"] == 0.5
            for row in call["logits"]:
                powers = [math.exp(x / 0.5) for x in row]
                rows = [case.target_row(0, u) for u in case.model(0).reachable()]
                off = [max(abs(a / sum(powers) - b) for a, b in zip(powers, row, strict=True)) for row in rows]
                assert min(off) < 1e-6
                checked += 1
    assert checked > 50


def test_the_slack_of_logits_bounds_what_rounding_them_does_to_a_row():
    adapter = plain("hf")
    for name in ("tenths", "peaked", "R09"):
        case = Case(table(name), "float32")
        slack = adapter.slack(case)
        assert slack < Q(1, 10**4)
        for u in case.model(0).reachable():
            for x, mass in zip(case.target_row(0, u), case.target(0, u), strict=True):
                back = exactly(math.exp(logit(x, case) - case.table.shift))
                assert abs(back - mass) <= slack * mass


def test_a_bonus_token_has_the_last_target_row_and_is_undecided_until_it_is_read():
    def unread(draft_tokens, bonus_token):
        return [draft_tokens[0]]

    def read(draft_tokens, bonus_token):
        return [*draft_tokens, bonus_token]

    adapter = plain(bonus=False)
    assert audited(unread, adapter, TENTHS, Request()).runs == 9
    found = audited(read, adapter, TENTHS, Request())
    assert found.runs == 27
    for x in range(3):
        for y in range(3):
            pair = TENTHS.draft(0, ())[x] * TENTHS.draft(0, (x,))[y]
            assert [found.law[x, y, z] for z in range(3)] == [pair * m for m in TENTHS.target(0, (x, y))]


def test_uniforms_and_exponentials_may_be_arguments():
    def verify(draft_tokens, draft_probs, target_probs, uniforms, noise):
        for i, x in enumerate(draft_tokens):
            if uniforms[i] * draft_probs[i][x] >= target_probs[i][x]:
                left = on_lists.residual(target_probs[i], draft_probs[i])
                race = [e / m if m else math.inf for e, m in zip(noise[i], left, strict=True)]
                best = 0
                for y in (1, 2):
                    if not left[best] or (left[y] and race[y] < race[best]):
                        best = y
                return [*draft_tokens[:i], best]
        return [*draft_tokens, on_lists.sample(target_probs[2])]

    roles = {"uniforms": "uniforms[K]", "noise": "exponentials[K,V]"}
    for case, answer in every(verify, plain(roles=roles), [TENTHS, DYADIC]).items():
        assert answer.distance < TINY, case


def test_a_function_that_changes_its_arguments_is_seen_and_the_next_run_starts_afresh():
    def writes(draft_tokens, draft_probs, target_probs):
        target_probs[0][draft_tokens[0]] = 0.0
        return [0]

    def reorders(draft_tokens, draft_probs, target_probs):
        draft_probs.reverse()
        return [0]

    assert audited(writes, plain(), TENTHS, Request()).changed == {"target_probs"}
    assert audited(reorders, plain(), TENTHS, Request()).changed == {"draft_probs"}
    assert audited(on_lists.chain, plain(), TENTHS, Request()).changed == set()


def test_random_arguments_that_are_decided_are_not_changed_but_those_written_over_are():
    def looks(draft_tokens, uniforms):
        return [int(uniforms[0] < 0.5)]

    def writes(draft_tokens, uniforms):
        uniforms[0] = 0.5
        return [0]

    assert audited(looks, plain(), TENTHS, Request()).changed == set()
    assert audited(writes, plain(), TENTHS, Request()).changed == {"uniforms"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("target_prob[", "is not a role"),
        ("targets", "no role 'targets'; there are draft_tokens"),
        ("target_probs[X]", "no axis 'X'"),
        ("K[B]", "is a single value"),
    ],
)
def test_a_role_that_is_none_is_refused_in_one_line(text, message):
    with pytest.raises(AuditError, match=message.replace("[", r"\[")) as error:
        Verify(roles={"a": text}, arrays="list").check(lambda a: a)
    assert "\n" not in str(error.value)


def test_parameters_are_known_by_name_in_any_order():
    def verify(target_probs, q, draft_token_ids, *, rng=None):
        assert rng is None
        return on_lists.chain(draft_token_ids, q, target_probs)

    assert audited(verify, plain(), DYADIC, Request()).distance == 0


def test_parameters_with_other_names_are_known_by_their_place():
    assert audited(lambda a, b, c: on_lists.chain(a, b, c), plain(), DYADIC, Request()).distance == 0
    assert audited(lambda *a: on_lists.chain(*a), plain(), DYADIC, Request()).distance == 0


def test_methods_callable_objects_and_modules_with_forward_are_functions():
    class Sampler:
        def verify(self, draft_tokens, draft_probs, target_probs):
            return on_lists.chain(draft_tokens, draft_probs, target_probs)

        __call__ = verify

    class Module:
        def __call__(self, *a, **k):
            return self.forward(*a, **k)

        def forward(self, draft_tokens, draft_probs, target_probs):
            return on_lists.chain(draft_tokens, draft_probs, target_probs)

    for function in (Sampler().verify, Sampler(), Module()):
        assert audited(function, plain(), DYADIC, Request()).distance == 0


def test_constants_are_passed_as_they_are():
    def verify(draft_tokens, draft_probs, target_probs, threshold, mode="a"):
        assert (threshold, mode) == (0.25, "b")
        return on_lists.chain(draft_tokens, draft_probs, target_probs)

    adapter = plain(constants={"threshold": 0.25, "mode": "b"})
    assert audited(verify, adapter, DYADIC, Request()).failures == {}


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (lambda draft_tokens, what, p, q: 0, {}, "parameter 'what' has no role"),
        (lambda draft_tokens: 0, {"roles": {"x": "K"}}, "has no parameter 'x'; it has draft_tokens"),
        (lambda draft_model, draft_tokens: 0, {}, "hands over rows; use adapter step"),
        (iter, {}, "parameters are not known"),
    ],
)
def test_a_function_that_does_not_fit_is_refused_before_anything_runs(function, options, message):
    with pytest.raises(AuditError, match=message) as error:
        plain(**options).check(function)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arrays": "jax"}, "expected torch, numpy or list"),
        ({"returns": "strings"}, "no 'strings'"),
        ({"returns": "length"}, "expected tokens, padded, token or vector"),
        ({"returns": "best,token"}, "best needs length"),
        ({"temperature": 0}, "expected a number from 1/100 to 100"),
        ({"parents": (-1, -1), "returns": "length,token"}, "a length says nothing of a tree"),
        ({"colour": 3}, "colour"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(AuditError, match=message):
        find("tree" if "parents" in options else "chain", **{"arrays": "list", **options}).check(on_lists.chain)


def test_no_adapter_is_found_under_a_wrong_name():
    assert all(find(name).name == name for name in NAMES)
    with pytest.raises(AuditError, match="no adapter 'chian'; there are chain, siblings"):
        find("chian")
