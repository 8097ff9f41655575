"""The battery of the auditor: what is handed over, what is exactly expected, and that faults show on it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest

from rheo_proof.audit.adapters import chain as chain_adapter
from rheo_proof.audit.adapters import find
from rheo_proof.audit.cases import DTYPES, UNITS, Case, Request, exactly, rounded
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.rows import prefixes
from rheo_proof.audit.tables import BATTERY, battery, table
from rheo_proof.audit.toys import TOYS
from rheo_proof.exact.number import ONE, ZERO, Q
from tests.audit import on_lists
from tests.audit.audited import audited, every, installed

__all__ = ["installed"]

CHAIN = chain_adapter(arrays="list")
BATCHED = chain_adapter(arrays="list", batched=True)


def positions(case):
    return [(b, u) for b in range(case.batch) for u in prefixes(case.vocab, case.length)]


def test_rows_are_rounded_to_the_type_and_then_taken_exactly():
    import numpy

    checked = 0
    for case in battery():
        for b, u in positions(case):
            for row, meant in zip((case.target_row(b, u), case.draft_row(b, u)), case.table.pair(b, u), strict=True):
                expected = numpy.array([float(x) for x in meant], dtype=case.dtype)
                assert [float(x) for x in expected] == list(row) or math.isnan(row[0])
                checked += 1
    assert checked > 500


def test_a_law_is_the_handed_row_divided_by_its_sum():
    case = Case(table("tenths"), "float32")
    row = [exactly(x) for x in case.target_row(0, ())]
    assert sum(row) != ONE
    assert list(case.target(0, ())) == [x / sum(row) for x in row]
    assert ZERO < case.deviation <= case.vocab * case.unit


def test_dyadic_rows_are_never_rounded_by_a_ratio_rule():
    """Also by one that computes in single precision all along, as the twin with tenths does not survive."""

    def deviates(case):
        f = lambda x: rounded(x, "float32")  # noqa: E731
        for b, u in positions(case):
            p, q = case.target_row(b, u), case.draft_row(b, u)
            left = [max(a - c, 0.0) for a, c in zip(p, q, strict=True)]
            total = sum(map(exactly, left))
            quotients = [(exactly(a), exactly(c)) for a, c in zip(p, q, strict=True) if c]
            quotients += [(exactly(x), total) for x in left if total]
            if case.deviation or any(exactly(f(Fraction(a / c))) != a / c for a, c in quotients):
                return True
        return False

    dyadic = [case for case in battery() if "dyadic" in case.tags]
    assert len(dyadic) == 6
    assert not any(map(deviates, dyadic))
    assert deviates(Case(table("tenths"), "float32"))


@pytest.mark.parametrize("name", ["dyadic", "tenths", "thirds", "zeros", "peaked", "two dyadic", "two awkward"])
def test_no_row_can_be_taken_for_another_that_a_slip_would_read(name):
    """Other request, other depth, other last token: all their pairs of rows differ, and so do the draft rows read."""
    case = Case(table(name))
    pairs = {at: (case.target_row(*at), case.draft_row(*at)) for at in positions(case)}
    assert len(set(pairs.values())) == len(pairs)
    for b, u in pairs:
        if len(u) < case.length:
            for x, y in combinations(range(case.vocab), 2):
                assert case.target_row(b, (*u, x)) != case.target_row(b, (*u, y))
        for other in range(b):
            assert case.target_row(b, u) != case.target_row(other, u)
        if u:
            assert case.target_row(b, u) != case.target_row(b, u[:-1])
        if u and len(u) < case.length:
            assert case.draft_row(b, u) != case.draft_row(b, u[:-1])


def test_the_battery_has_what_faults_hide_from():
    cases = [Case(t) for t in BATTERY]
    tags = set().union(*(case.tags for case in cases))
    assert tags >= {"dyadic", "awkward", "zeros", "ties", "equal", "one-hot", "peaked", "disjoint", "nan", "batch"}
    assert {case.batch for case in cases} == {1, 2, 3}
    assert {case.dtype for case in battery()} == set(DTYPES) == set(UNITS)
    wide = [c for c in cases if c.length >= 2 and c.vocab >= 3 and c.batch == 1 and "nan" not in c.tags]
    assert len(wide) >= 10
    residuals = [
        sum(1 for a, c in zip(case.target_row(0, u), case.draft_row(0, u), strict=True) if a > c)
        for case in wide
        for u in prefixes(case.vocab, case.length - 1)
    ]
    assert sum(1 for size in residuals if size >= 2) >= 10


@pytest.mark.parametrize(("name", "place"), [("first of two", 0), ("middle of three", 1)])
def test_a_quiet_request_costs_no_branch_and_differs_from_the_one_that_is_read(name, place):
    case = Case(table(name))
    for b in {*range(case.batch)} - {place}:
        for u in prefixes(2, 2):
            if len(u) == 2:
                assert len(case.target(b, u).support) == 1
            else:
                assert case.target_row(b, u) == case.draft_row(b, u)
            assert case.target_row(b, u) != case.target_row(place, u)
    alone = audited(
        on_lists.chain, CHAIN, Case(replace(case.table, rows=case.table.rows[place : place + 1])), Request()
    )
    requests = BATCHED.requests(case)
    assert len(requests) == 2
    assert BATCHED.drafting.held(case, requests[0], 1 - place) != BATCHED.drafting.held(case, requests[1], 1 - place)
    for request in requests:
        answer = audited(on_lists.batch(on_lists.chain), BATCHED, case, request)
        assert (answer.law, answer.runs) == (alone.law, alone.runs)


def test_the_ratio_rule_has_exactly_the_target_law_on_dyadic_tables_and_nearly_on_the_others():
    for adapter, function in ((CHAIN, on_lists.chain), (BATCHED, on_lists.batch(on_lists.chain))):
        answers = every(function, adapter, [c for c in adapter.cases() if adapter is CHAIN or c.batch > 1])
        assert len(answers) > 6
        for (case, request), answer in answers.items():
            assert answer.distance is not None
            assert answer.distance <= (0 if "dyadic" in case.tags else 4 * case.unit), case.name
            baseline = adapter.baseline(case, request)
            assert abs(answer.accepted - baseline.ratio) <= 16 * case.unit
            assert baseline.optimum is not None
            assert baseline.ratio <= baseline.optimum <= baseline.drafted


@pytest.mark.parametrize(
    ("fault", "name", "distance"),
    [
        ("chain_from_target", "R23", "3/20"),
        ("accept_all", "R19", "3/10"),
        ("inverted", "R18", "3/10"),
        ("accept_all", "R01", "1/10"),
        ("one_uniform", "R30", "1/4"),
        ("block_with_token_residual", "R20", "3/200"),
    ],
)
def test_public_faults_have_the_distances_of_their_reports(fault, name, distance):
    case = Case(table(name), "float64")
    first = audited(getattr(on_lists, fault), CHAIN, case, CHAIN.requests(case)[0])
    law: dict[tuple[int, ...], Q] = {}
    depth = 1 if fault in ("chain_from_target", "accept_all", "inverted") else 2
    assert first.distance is not None
    if depth == 2:
        assert abs(first.distance - Fraction(distance)) < 1e-12
        return
    for string, mass in first.law.items():
        law[string[:1]] = law.get(string[:1], ZERO) + mass
    off = sum(abs(law.get((x,), ZERO) - case.target(0, ())[x]) for x in range(case.vocab)) / 2
    assert abs(off - Fraction(distance)) < 1e-12


@pytest.mark.parametrize(
    "fault", ["chain_from_target", "accept_all", "inverted", "one_uniform", "block_with_token_residual"]
)
def test_every_fault_shows_on_some_table_of_the_battery_that_is_no_toy(fault):
    cases = [c for c in CHAIN.cases(("float32",)) if "toy" not in c.tags]
    far = [case.name for (case, _), a in every(getattr(on_lists, fault), CHAIN, cases).items() if a.distance > 1e-3]
    assert len(far) >= 2


def test_a_batch_with_exchanged_rows_is_far_off_for_each_request():
    cases = [case for case in BATCHED.cases() if case.batch > 1]
    answers = every(on_lists.exchanged, BATCHED, cases)
    assert len(answers) >= 12
    assert all(answer.distance > Fraction(1, 20) for answer in answers.values())


def test_rows_of_nan_are_no_law_and_ask_for_a_refusal():
    cases = [case for case in battery() if case.refusal]
    assert len(cases) == 4
    for case in cases:
        with pytest.raises(AuditError, match="is no law"):
            (case.target if "target" in case.table.name else case.draft)(0, ())
        answer = audited(on_lists.chain, CHAIN, case, CHAIN.requests(case)[0])
        assert set(answer.failures) == {"ValueError"}
        assert sum(answer.failures.values()) == ONE
    accepting = audited(on_lists.accept_all, CHAIN, Case(table("nan draft")), CHAIN.requests(cases[0])[0])
    assert not accepting.failures


def test_a_residual_that_rounding_left_empty_is_reached_with_a_tiny_probability():
    case = Case(table("short"))
    answer = audited(on_lists.chain, CHAIN, case, CHAIN.requests(case)[0])
    assert ZERO < sum(answer.failures.values()) < Q(1, 10**7)


def test_every_report_with_a_toy_is_found_by_its_number():
    assert {f"R{n:02}" for n in (1, 2, 3, 6, 9, 10, 12, 14, 16, 17, 18, 19, 20, 23, 26, 28, 29, 30, 33, 35, 39)} <= set(
        TOYS
    )
    with pytest.raises(AuditError, match="no table 'R99'; there are dyadic"):
        table("R99")


def test_logits_of_the_report_on_half_precision_are_those_of_the_report():
    from rheo_proof.audit.inputs import logit

    case = Case(table("R09"), "float32")
    assert [round(logit(x, case), 4) for x in case.draft_row(0, ())] == [20.06, 20.0]


def test_a_table_made_for_one_type_is_not_run_in_another_when_it_is_asked_for() -> None:
    """`short` is short of 1 by a rounding of float32; in float64 that is no row, and right samplers refuse it."""
    for adapter in (find("chain"), find("step", returns="tokens")):
        names = {case.name for case in adapter.cases(("float32", "float64"), ["short", "shorter", "zeros"])}
        assert names == {"short/float32", "shorter/float64", "zeros/float32", "zeros/float64"}
