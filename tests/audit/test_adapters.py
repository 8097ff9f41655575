"""Adapters: which argument is what, how the emitted string is read, and what an answer must not be."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from rheo_proof.audit.adapters import NAMES, Verify, find
from rheo_proof.audit.baselines import baseline
from rheo_proof.audit.cases import Case, Request, exactly
from rheo_proof.audit.drafts import CHAIN, Draft, Drafting, siblings
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.exploring import current, explore
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.tables import BATTERY, table
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.number import ONE, ZERO, Q
from tests.audit import on_lists
from tests.audit.audited import audited, every, installed

__all__ = ["installed"]

TENTHS = Case(table("tenths"), "float64")
DYADIC = Case(table("dyadic"), "float64")
TINY = 1e-12


def plain(name="chain", **options):
    return find(name, arrays="list", **options)


def seen(function, adapter, case=TENTHS, request=None):
    """What the function was called with in the first run."""
    calls = []

    def spy(**arguments):
        calls.append(arguments)
        return function

    explore(adapter.program(spy, case, request or adapter.requests(case)[0]))
    return calls


def told(case, roles, returns=(0,), **options):
    """The arguments that a function with these roles gets, for each draft."""
    return seen(list(returns), Verify(arrays="list", roles=roles, **options), case)


# Roles


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
                from rheo_proof.audit.inputs import logit

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


# Signatures


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
        ({"arrays": "jax"}, "expected one of torch, numpy, list"),
        ({"returns": "strings"}, "no 'strings'"),
        ({"returns": "length"}, "expected tokens, padded, token or vector"),
        ({"returns": "best,token"}, "best needs length"),
        ({"temperature": 0}, "expected a positive number"),
        ({"drafting": siblings(2), "returns": "length,token"}, "a length says nothing of a tree"),
        ({"colour": 3}, "colour"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(AuditError, match=message):
        find("chain", **{"arrays": "list", **options}).check(on_lists.chain)


def test_no_adapter_is_found_under_a_wrong_name():
    assert all(find(name).name == name for name in NAMES)
    with pytest.raises(AuditError, match="no adapter 'chian'; there are chain, siblings"):
        find("chian")


# What is returned


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


# Drafts


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
    names = ["tenths", "thirds", "zeros"] if count == 3 else [t.name for t in BATTERY if t.length < 3]
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
    cases = adapter.cases(("float64",), ["tenths", "thirds", "zeros"])
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


# Rows that are processed, drafters


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


# Whole steps


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
