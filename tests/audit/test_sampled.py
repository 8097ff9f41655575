"""The statistical mode: faults are refuted at planned draws, their twins are not, and nothing is called lossless."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rheo_proof.audit.adapters import find
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.sampled import SampledReport, sampled_audit
from rheo_proof.audit.tiling import can_tile
from rheo_proof.stats.ledger import separate_ledger
from rheo_proof.stats.plan import plan_draws
from tests.audit import array_verifiers as verifiers

ADAPTER = find("chain", arrays="numpy", batched=True, returns="padded")
ONE_BY_ONE = find("chain", arrays="numpy", returns="padded")
EPS = 0.1


def report(function: Callable[..., Any], *tables: str, adapter: Any = ADAPTER, **options: Any) -> SampledReport:
    with separate_ledger():
        return sampled_audit(function, adapter, adapter.cases(("float32",), tables), eps=EPS, **options)


def single(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function for one request made of one for batches."""

    def verify(draft_tokens: Any, draft_probs: Any, target_probs: Any) -> Any:
        return function(draft_tokens[None], draft_probs[None], target_probs[None])[0]

    return verify


def test_a_right_verifier_is_not_refuted_after_all_planned_draws() -> None:
    found = report(verifiers.hidden, "dyadic", "tenths")
    assert found.refuted == ()
    for table in found.tables:
        assert table.found.draws == plan_draws(table.found.target, EPS, 1e-9 / 2).cap
    assert found.headline.startswith("not refuted: total variation below 0.1 on every table, at these error rates")
    assert "lossless" not in found.headline


@pytest.mark.parametrize("table", ["dyadic", "tenths"])
def test_a_fault_is_refuted_before_the_draws_run_out(table: str) -> None:
    found = report(verifiers.hidden_and_wrong, table)
    assert [refuted.case.table.name for refuted in found.refuted] == [table]
    [refuted] = found.refuted
    assert refuted.found.draws < refuted.found.planned
    assert found.headline.startswith(f"biased (statistically): {table}/float32, the string ")
    assert f"was drawn {refuted.worst.drawn:,} times in {refuted.found.draws:,}" in found.headline


def test_rows_that_leak_into_each_other_show_though_the_batch_is_copied() -> None:
    assert can_tile(ADAPTER)
    assert report(verifiers.hidden, "company").refuted == ()
    assert len(report(verifiers.hidden_and_swapped, "company").refuted) == 2


def test_functions_for_one_request_are_called_one_by_one() -> None:
    assert not can_tile(ONE_BY_ONE)
    assert report(single(verifiers.hidden), "R23", adapter=ONE_BY_ONE).refuted == ()
    assert report(single(verifiers.hidden_and_wrong), "R23", adapter=ONE_BY_ONE).refuted


def test_a_verifier_that_raises_is_refuted_by_that() -> None:
    found = report(verifiers.hidden_and_raising, "dyadic")
    assert "an answer that raises IndexError: no row for the bonus token was drawn" in found.headline
    assert found.refuted[0].worst.expected == 0


def test_uniforms_as_arguments_are_drawn() -> None:
    adapter = find("chain", arrays="numpy", batched=True, returns="padded", roles={"uniforms": "uniforms[B,K+1]"})
    assert report(verifiers.handed, "dyadic", adapter=adapter).refuted == ()
    assert report(verifiers.handed_and_wrong, "dyadic", adapter=adapter).refuted


def test_the_false_alarm_rate_is_divided_over_the_battery_and_spent() -> None:
    cases = ADAPTER.cases(("float32",), ("dyadic", "tenths", "nan draft"))
    with separate_ledger() as ledger:
        found = sampled_audit(verifiers.hidden_and_wrong, ADAPTER, cases, eps=EPS, alpha=1e-6)
    assert ledger.spent == {pytest.approx(5e-7): 2}
    assert found.alpha == 1e-6
    assert len(found.tables) == 2, "rows of nan have no law to test"
    assert "at most 1e-06 on all 2 tables together" in found.levels


def test_the_same_name_draws_the_same_numbers() -> None:
    first, second = (report(verifiers.hidden_and_wrong, "dyadic", name="a name") for _ in range(2))
    other = report(verifiers.hidden_and_wrong, "dyadic", name="another name")
    assert first.lines() == second.lines()
    assert first.lines() != other.lines()


def test_a_battery_without_a_law_is_refused() -> None:
    with pytest.raises(AuditError, match="no case of the battery has a law"):
        report(verifiers.hidden, "nan draft")
