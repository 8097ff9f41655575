"""Each kind of verdict, on verifiers in plain Python, and what keeps it from being given wrongly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from rheo_proof.audit import Verdict, audit
from rheo_proof.audit import contract as topics
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.verdict import BIASED, BROKEN, LOSSLESS, LOSSY, SLOWER, UNDECIDED
from tests.audit import plain

TABLES = ("dyadic", "tenths", "zeros", "R45", "R20-given", "nan draft")


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
    (plain.nonsense, BROKEN, {topics.LENGTHS, topics.NAN}),
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
