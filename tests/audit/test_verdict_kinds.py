"""Each kind of verdict, on verifiers in plain Python, and what keeps it from being given wrongly."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from rheo_proof.audit import Verdict, audit
from rheo_proof.audit import contract as topics
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.verdict import BIASED, BROKEN, LOSSLESS, LOSSY, SLOWER, UNDECIDED
from rheo_proof.report.audit import closing
from tests.audit import plain

TABLES = ("dyadic", "zeros", "R20-given", "nan draft")


def verdict_on(function: Callable[..., Any], tables: tuple[str, ...] = TABLES, **options: Any) -> Verdict:
    """The verdict on a few tables, in double precision unless told otherwise."""
    return audit(function, "chain", **{"arrays": "list", "dtypes": ["float64"], "tables": tables, **options})


def found(verdict: Verdict) -> set[str]:
    """The topics of findings that are no remarks."""
    return {finding.topic for finding in verdict.findings if not finding.remark}


KINDS = [
    (plain.right, LOSSLESS, set()),
    (plain.inverse, LOSSLESS, set()),
    (plain.guarded, LOSSLESS, set()),
    (plain.match, SLOWER, set()),
    (plain.everything, BIASED, {topics.IMPOSSIBLE, topics.NAN}),
    (plain.inverted, BIASED, {topics.IMPOSSIBLE}),
    (plain.from_target, BIASED, set()),
    (plain.wrong_bonus, BIASED, {topics.IMPOSSIBLE}),
    (plain.biased_inverse, BIASED, set()),
    (plain.strong_guard, BIASED, set()),
    (plain.coin_again, BROKEN, {topics.TWICE}),
    (plain.one_coin, BROKEN, {topics.TWICE}),
    (plain.endpoint, BROKEN, {topics.IMPOSSIBLE}),
    (plain.overwriting, BROKEN, {topics.CHANGED}),
    (plain.through_nan, BROKEN, {topics.NAN}),
    (plain.minus_one, BROKEN, {topics.LENGTHS, topics.NAN}),
    (plain.raising, BROKEN, {topics.FAILING}),
    (plain.product, UNDECIDED, set()),
]


@pytest.mark.parametrize(("function", "kind", "topic"), KINDS, ids=lambda value: getattr(value, "__name__", ""))
def test_each_verifier_gets_its_kind_and_its_findings(function: Any, kind: str, topic: set[str]) -> None:
    verdict = verdict_on(function)
    assert (verdict.kind, found(verdict)) == (kind, topic)
    assert (verdict.worst is None) == (
        kind in (LOSSLESS, SLOWER, UNDECIDED) or not any(j.departs for j in verdict.judged)
    )
    assert verdict.lossless == (kind in (LOSSLESS, SLOWER))


def test_dyadic_rows_give_equality_and_awkward_ones_a_bound() -> None:
    exact, rounded = verdict_on(plain.right, ("dyadic",)), verdict_on(plain.right, ("tenths",))
    assert (exact.distance, exact.exact) == (0, len(exact.judged))
    assert 0 < rounded.distance < min(judged.allowed for judged in rounded.judged) < Fraction(1, 10**12)
    assert rounded.exact == 0
    assert "LOSSLESS, exactly." in closing(exact)
    assert "up to rounding" in closing(rounded)
    single = verdict_on(plain.right, ("tenths",), dtypes=["float32"])
    assert single.kind == LOSSLESS
    assert Fraction(1, 10**6) < single.judged[0].allowed < Fraction(1, 10**4), "float32 says less, and says so"


def test_a_small_guard_is_said_to_be_one_and_a_large_one_is_a_bias() -> None:
    small, large = verdict_on(plain.guarded, ("dyadic",)), verdict_on(plain.strong_guard, ("dyadic",))
    assert small.kind == LOSSLESS
    assert small.guarded
    assert "numeric guard" in closing(small)
    assert large.kind == BIASED
    assert Fraction(1, 10**6) < large.distance < Fraction(1, 10**3)


def test_a_tolerance_that_is_asked_for_turns_a_bias_into_a_qualified_yes() -> None:
    verdict = verdict_on(plain.strong_guard, ("dyadic",), tolerance="1/1000")
    assert verdict.lossless
    assert "up to the tolerance asked for" in closing(verdict)
    assert verdict_on(plain.strong_guard, ("dyadic",), tolerance=1e-5).kind == BIASED


def test_a_declared_loss_is_lossy_by_design_and_still_measured() -> None:
    bare = verdict_on(plain.typical, ("dyadic", "tenths"))
    told = verdict_on(plain.typical, ("dyadic", "tenths"), declared="typical acceptance, threshold 0.09")
    assert (bare.kind, told.kind) == (BIASED, LOSSY)
    assert told.distance == bare.distance > Fraction(1, 10)
    assert "typical acceptance, threshold 0.09" in closing(told)
    assert verdict_on(plain.right, ("dyadic",), declared="a threshold").kind == LOSSLESS, "a declaration proves nothing"


def test_a_declared_mixture_is_the_target_and_another_weight_is_not() -> None:
    half = verdict_on(plain.mixture, ("dyadic",), declared="mix 1/2")
    assert (half.kind, half.distance, half.exact) == (LOSSY, 0, 1)
    assert half.lost == verdict_on(plain.mixture, ("dyadic",)).distance > Fraction(1, 20)
    assert verdict_on(plain.mixture, ("dyadic",), declared="mix 1/3").kind == BIASED
    assert verdict_on(plain.right, ("dyadic",), declared="mix 0.5").kind == BIASED


def test_an_input_may_be_changed_where_that_is_allowed() -> None:
    assert verdict_on(plain.overwriting, ("dyadic",)).kind == BROKEN
    assert verdict_on(plain.overwriting, ("dyadic",), allow_in_place=True).kind == LOSSLESS


def test_what_is_not_enumerated_is_never_lossless() -> None:
    verdict = verdict_on(plain.product)
    assert (verdict.kind, verdict.status, verdict.judged) == (UNDECIDED, 3, ())
    [why] = {one.why for one in verdict.undecided}
    assert f"product of two random numbers at {plain.__file__}:{plain.line('a product')}" in why
    short = verdict_on(plain.right, max_runs=2)
    assert (short.kind, short.status) == (UNDECIDED, 3)
    assert all(re.match(r"more than [12] runs", one.why) for one in short.undecided)
    some = verdict_on(plain.right, ("R20-given", "dyadic"), max_runs=20)
    assert some.judged
    assert some.undecided
    assert some.kind == UNDECIDED
    assert verdict_on(plain.right, timeout=0).kind == UNDECIDED


def test_a_search_at_the_ends_that_gets_stuck_is_never_lossless() -> None:
    """The law of `endpoint` is right: only what is possible at u = 0 speaks against it."""
    whole = verdict_on(plain.endpoint, ("zeros",))
    assert (whole.kind, found(whole)) == (BROKEN, {topics.IMPOSSIBLE})
    stuck = verdict_on(plain.endpoint, ("zeros",), max_runs=whole.judged[0].runs)
    assert (stuck.kind, stuck.status, stuck.lossless) == (UNDECIDED, 3, False)
    assert stuck.undecided[0].why.startswith("with a uniform at an end of its range: more than")
    assert verdict_on(plain.right, ("zeros",), max_runs=whole.judged[0].runs).kind == UNDECIDED


def test_tables_without_a_law_prove_nothing() -> None:
    verdict = verdict_on(plain.right, ("nan draft", "nan target"))
    assert (verdict.kind, verdict.judged, verdict.undecided) == (UNDECIDED, (), ())
    assert closing(verdict) == "NOT ENUMERABLE: these tables have no law."
    assert verdict_on(plain.everything, ("nan draft",)).kind == BROKEN


def test_failures_do_not_hide_a_bias_beside_them() -> None:
    def both(draft_tokens: list[int], draft_probs: plain.Rows, target_probs: plain.Rows) -> list[int]:
        if random.random() < 0.125:
            raise RuntimeError("out of luck")
        return plain.from_target(draft_tokens, draft_probs, target_probs)

    verdict = verdict_on(both, ("dyadic",))
    assert (verdict.kind, found(verdict)) == (BIASED, {topics.FAILING})
    assert verdict_on(plain.raising, ("dyadic",)).kind == BROKEN


def test_a_refutation_stands_though_other_cases_are_open() -> None:
    verdict = verdict_on(plain.from_target, ("R45", "dyadic"), max_runs=20)
    assert verdict.undecided
    assert verdict.kind == BIASED


def test_a_function_that_keeps_something_between_calls_is_not_enumerable() -> None:
    calls: list[int] = []

    def counting(draft_tokens: list[int], draft_probs: plain.Rows, target_probs: plain.Rows) -> list[int]:
        calls.append(1)
        return plain.right(draft_tokens, draft_probs, target_probs) if len(calls) % 2 else [plain.draw([0.5, 0.5])]

    verdict = verdict_on(counting, ("dyadic",))
    assert verdict.kind == UNDECIDED
    assert "keeps something from one call to the next" in verdict.undecided[0].why


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"adapter": "chains"}, "no adapter 'chains'"),
        ({"tables": ["dyadics"]}, "no table 'dyadics'"),
        ({"dtypes": ["float16"]}, "float16"),
        ({"arrays": "jax"}, "adapter chain, arrays: 'jax' is no value for it; expected torch, numpy or list"),
        ({"returns": "string"}, "no 'string'"),
        ({"roles": {"draft_tokens": "tokens"}}, "tokens"),
        ({"roles": {"nobody": "draft_tokens"}}, "no parameter 'nobody'"),
        ({"tolerance": 2}, "tolerance"),
        ({"tolerance": "much"}, "tolerance"),
        ({"declared": " "}, "declared"),
        ({"declared": "mix 3/2"}, "mix 3/2"),
        ({"colour": "red"}, "colour"),
        ({"tables": ["two dyadic"]}, "table 'two dyadic' does not fit adapter chain: it is 2 requests in one call"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(options: dict[str, Any], words: str) -> None:
    given = {"adapter": "chain", "arrays": "list", **options}
    with pytest.raises(AuditError) as refused:
        audit(plain.right, **given)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_function_that_never_gives_a_usable_answer_is_unusable_and_not_refuted() -> None:
    with pytest.raises(AuditError, match="nonsense never gives a usable answer: token: "):
        verdict_on(plain.nonsense)
    with pytest.raises(AuditError, match="raises TypeError: 'float' object"):
        verdict_on(lambda draft_tokens, draft_probs, target_probs: target_probs[0][0][0])


def test_a_function_with_another_signature_is_refused() -> None:
    with pytest.raises(AuditError, match="has no role"):
        verdict_on(lambda first, second: [0])
    with pytest.raises(AuditError, match="cannot be called"):
        audit(3)  # type: ignore[arg-type]
