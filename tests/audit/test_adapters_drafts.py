"""Adapters: drafts and their laws, candidates and trees, drafters, whole steps, and what can be expected."""

from __future__ import annotations

import pytest

from rheo_proof.audit.baselines import baseline
from rheo_proof.audit.cases import Case, Request
from rheo_proof.audit.drafts import CHAIN, Draft, Drafting
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.exploring import current, explore
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.tables import BATTERY, table
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.number import ONE, ZERO, Q
from tests.audit import on_lists
from tests.audit.audited import DYADIC, TENTHS, TINY, audited, every, installed, plain

__all__ = ["installed"]


def test_drafts_of_a_tree_have_the_law_of_their_method():
    parents = (-1, -1, 0)
    q, u = TENTHS.draft(0, ()), TENTHS.draft(0, (1,))
    iid = Drafting(parents).law(TENTHS, Request())
    assert iid[Draft((1, 2, 0), parents)] == q[1] * q[2] * u[0]
    distinct = Drafting(parents, "distinct").law(TENTHS, Request())
    assert distinct[Draft((1, 2, 0), parents)] == q[1] * (q[2] / (1 - q[1])) * u[0]
    fixed = Drafting(parents, "fixed").law(TENTHS, Request())
    best = sorted(range(3), key=lambda x: -q[x])
    assert [draft.tokens[:2] for draft in fixed] == [tuple(best[:2])]
    assert sum(iid.values()) == sum(distinct.values()) == ONE


def test_siblings_that_cannot_be_distinct_are_left_out():
    names = {case.table.name for case in plain("siblings", method="distinct").cases()}
    assert "tenths" in names
    assert "given" not in names
    assert "given" in {case.table.name for case in plain("siblings").cases()}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_recursive_rejection_of_independent_candidates_is_right_everywhere(count):
    adapter = plain("siblings", count=count)
    names = ["tenths", "thirds", "zeros"] if count == 3 else [t.name for t in BATTERY if t.length < 3 and t.vocab < 4]
    cases = [case for case in adapter.cases(("float64",), names) if case.batch == 1]
    answers = every(on_lists.recursive, adapter, cases)
    assert len(answers) >= 12
    for (case, request), answer in answers.items():
        assert answer.distance < TINY, (case.name, request)
        known = adapter.baseline(case, request)
        assert answer.accepted >= known.ratio - TINY
        assert known.optimum >= known.ratio
    stale = every(on_lists.recursive_stale, adapter, cases)
    assert (max(answer.distance for answer in stale.values()) > 0.01) is (count > 1)


def test_candidates_that_are_fixed_are_right_by_breaking_sticks_and_wrong_by_the_draft_row():
    adapter = plain("siblings", method="fixed")
    for (case, request), answer in every(
        on_lists.sticks, adapter, adapter.cases(("float64",), ["tenths", "R41"])
    ).items():
        assert answer.distance < TINY
        assert abs(answer.accepted - adapter.baseline(case, request).ratio) < TINY
    wrong = every(lambda candidates, p: on_lists.recursive(candidates, [1 / 3] * 3, p), adapter, [TENTHS])
    assert max(answer.distance for answer in wrong.values()) > 0.01


@pytest.mark.parametrize("method", ["iid", "fixed"])
def test_trees_are_verified_level_by_level(method):
    adapter = plain("tree", parents=(-1, -1, 0), method=method)
    cases = adapter.cases(("float64",), ["tenths", "zeros"])
    for (case, request), answer in every(on_lists.tree, adapter, cases).items():
        assert answer.distance < TINY, case.name
        assert abs(answer.accepted - adapter.baseline(case, request).ratio) < TINY
    wrong = every(on_lists.tree_without_residual, adapter, cases)
    assert min(answer.distance for answer in wrong.values()) > 0.01


def test_the_baseline_of_a_chain_is_the_product_form_and_its_optimum_that_of_blocks():
    p = [[TENTHS.target(0, u)[x] for x in range(3)] for u in ((), (0,), (1,), (2,))]
    q = [[TENTHS.draft(0, u)[x] for x in range(3)] for u in ((), (0,), (1,), (2,))]
    overlap = [sum(map(min, a, b)) for a, b in zip(p, q, strict=True)]
    ratio = overlap[0] + sum(min(p[0][x], q[0][x]) * overlap[x + 1] for x in range(3))
    found = baseline(CHAIN, TENTHS, Request())
    assert found.ratio == ratio
    best = overlap[0] + sum(
        min(min(p[0][x], q[0][x]) * p[x + 1][y], q[0][x] * q[x + 1][y]) for x in range(3) for y in range(3)
    )
    assert found.optimum == best


def top_two(law):
    kept = sorted(law, reverse=True)[:2]
    return normalised([mass if mass in kept else ZERO for mass in law])


def test_a_function_may_be_meant_to_process_its_rows():
    def verify(draft_tokens, draft_probs, target_probs):
        cut = [[float(x) for x in top_two(Law([Q(*m.as_integer_ratio()) for m in row]))] for row in target_probs]
        return on_lists.chain(draft_tokens, draft_probs, cut)

    case = Case(table("dyadic"), "float64")
    meant = plain(target_process=top_two).cases(("float64",), ["dyadic"])[0]
    assert audited(verify, plain(target_process=top_two), meant, Request()).distance < TINY
    assert audited(verify, plain(), case, Request()).distance > 0.05


def honest(draft_model, K):
    tokens, rows = [], []
    for _ in range(K):
        row = draft_model(tokens)
        tokens.append(int(on_lists.sample(row)))
        rows.append(row)
    return tokens, rows


def greedy(draft_model, K):
    """R01, R02: the best token, with the whole row."""
    tokens, rows = [], []
    for _ in range(K):
        row = draft_model(tokens)
        tokens.append(row.index(max(row)))
        rows.append(row)
    return tokens, rows


def test_a_drafter_of_the_user_is_asked_and_what_it_reports_is_kept():
    for name in ("R01", "tenths"):
        case = Case(table(name), "float64")
        right = audited(on_lists.chain, plain(drafter=honest), case, Request())
        assert right.law == audited(on_lists.chain, plain(), case, Request()).law
        wrong = audited(on_lists.chain, plain(drafter=greedy), case, Request())
        assert wrong.distance > 0.1
    found = explore(plain(drafter=greedy).program(on_lists.chain, case, Request()))
    for outcome in found.law:
        assert isinstance(outcome, Outcome)
        rows = [case.draft_row(0, outcome.drafted[:k]) for k in range(2)]
        assert outcome.drafted == tuple(row.index(max(row)) for row in rows)
        assert [tuple(map(float, row)) for row in outcome.reported] == rows


def test_a_drafter_that_returns_something_else_is_refused():
    for drafter, message in (
        (lambda draft_model, K: [0], "expected tokens and rows"),
        (lambda draft_model, K: [0, 1], "returned the tokens 0, expected a list"),
        (lambda draft_model, K: ([0, 1], [[1.0, 0.0, 0.0]]), r"rows of shape \(1, 3\) for 2 tokens"),
        (lambda draft_model, K, target_probs: 0, "a drafter has no target_probs"),
    ):
        with pytest.raises(AuditError, match=message):
            explore(plain(drafter=drafter).program(on_lists.chain, TENTHS, Request()))


def test_noise_shared_by_drafter_and_verifier_is_counted_as_shared():
    kept = {}

    def drafter(draft_model, K):
        tokens, rows = [], []
        for k in range(K):
            row, u = draft_model(tokens), current().uniform()
            kept[k] = u
            tokens.append(0 if u < row[0] else 1 if u < row[0] + row[1] else 2)
            rows.append(row)
        return tokens, rows

    def reuses(draft_tokens, draft_probs, target_probs):
        for i, x in enumerate(draft_tokens):
            if not kept[i] * draft_probs[i][x] < target_probs[i][x]:
                return [*draft_tokens[:i], on_lists.sample(on_lists.residual(target_probs[i], draft_probs[i]))]
        return [*draft_tokens, on_lists.sample(target_probs[2])]

    shared = explore(plain(drafter=drafter).program(reuses, TENTHS, Request()))
    assert shared.usage.shared > 0
    fresh = explore(plain(drafter=drafter).program(on_lists.chain, TENTHS, Request()))
    assert fresh.usage.shared == 0


def step(prefix, draft_model, target_model, K):
    tokens = list(prefix)
    rows = []
    for _ in range(K):
        rows.append(draft_model(tokens))
        tokens.append(int(on_lists.sample(rows[-1])))
    draft = tokens[len(prefix) :]
    p = [target_model(tokens[: len(prefix) + i]) for i in range(K + 1)]
    return [*prefix, *on_lists.chain(draft, rows, p)]


def step_with_all_rows(prefix, draft_model, target_model, K):
    tokens = list(prefix)
    for _ in range(K):
        tokens.append(int(on_lists.sample(draft_model([tokens]).logits[0][-1])))
    n = len(prefix)
    q, p = draft_model([tokens]).logits[0][n - 1 : -1], target_model([tokens]).logits[0][n - 1 :]
    return on_lists.chain(tokens[n:], q, p)


def step_off_by_one(prefix, draft_model, target_model, K):
    """The target rows are those of one position before."""
    tokens = list(prefix)
    for _ in range(K):
        tokens.append(int(on_lists.sample(draft_model([tokens]).logits[0][-1])))
    n = len(prefix)
    q, p = draft_model([tokens]).logits[0][n - 1 : -1], target_model([tokens]).logits[0][n - 2 :]
    return on_lists.chain(tokens[n:], q, p)


def test_a_whole_step_is_given_models_and_a_prompt():
    adapter = plain("step")
    answers = every(step, adapter, adapter.cases(("float64",), ["dyadic", "tenths", "zeros", "long"]))
    for (case, request), answer in answers.items():
        assert answer.distance < TINY
        assert abs(answer.accepted - adapter.baseline(case, request).ratio) < TINY


def test_models_may_return_all_rows_wrapped():
    adapter = plain("step", returns="tokens", form="all", wrap=True)
    cases = adapter.cases(("float64",), ["dyadic", "tenths"])
    assert all(answer.distance < TINY for answer in every(step_with_all_rows, adapter, cases).values())
    assert all(answer.distance > 0.05 for answer in every(step_off_by_one, adapter, cases).values())


def test_a_step_that_loops_may_emit_more_and_nothing_is_expected_of_its_acceptance():
    def loop(prefix, draft_model, target_model, K, N):
        tokens = list(prefix)
        while len(tokens) < len(prefix) + N:
            tokens = [int(t) for t in step(tokens, draft_model, target_model, K)]
        return tokens

    adapter = plain("step", loops=True, constants={"N": 2, "K": 1})
    found = audited(loop, adapter, Case(table("dyadic"), "float64"), Request())
    assert found.distance == 0
    assert {len(string) for string in found.law} == {2, 3}
    assert adapter.baseline(DYADIC, Request()).ratio == 0


def test_a_step_is_given_no_rows():
    with pytest.raises(AuditError, match="a step is given models, not target_probs"):
        plain("step").check(lambda prefix, target_probs: 0)
    with pytest.raises(AuditError, match="expected next or all"):
        plain("step", form="last")
