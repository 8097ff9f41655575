"""The statistical mode: faults are refuted at planned draws, their twins are not, and nothing is called lossless."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from rheo_proof.audit.adapters import find
from rheo_proof.audit.cases import Table
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.sampled import SampledReport, sampled_audit
from rheo_proof.audit.tiling import can_tile
from rheo_proof.stats.ledger import separate_ledger
from rheo_proof.stats.plan import plan_draws
from tests.audit import array_verifiers as verifiers
from tests.audit.array_verifiers import ONE_STEP, TWO_STEPS, neighbour

ADAPTER = find("chain", arrays="numpy", batched=True, returns="padded")
ONE_BY_ONE = find("chain", arrays="numpy", returns="padded")
EPS = 0.12
"""The fault of `hidden_and_wrong` is at a distance of 1/8 on both tables."""


TWO_REQUESTS = Table("two requests", "", 3, 1, (ONE_STEP.rows[0], neighbour(ONE_STEP)), read=(0, 1))


def requests(*tables: Any, adapter: Any = ADAPTER) -> list[Any]:
    return [(case, request) for case in adapter.cases(("float32",), tables) for request in adapter.requests(case)]


def report(
    function: Callable[..., Any], *tables: Any, adapter: Any = ADAPTER, eps: float = EPS, **options: Any
) -> SampledReport:
    with separate_ledger():
        return sampled_audit(function, adapter, requests(*tables, adapter=adapter), eps=eps, **options)


def single(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function for one request made of one for batches."""

    def verify(draft_tokens: Any, draft_probs: Any, target_probs: Any) -> Any:
        return function(draft_tokens[None], draft_probs[None], target_probs[None])[0]

    return verify


def test_a_right_verifier_is_not_refuted_after_all_planned_draws() -> None:
    found = report(verifiers.hidden, ONE_STEP, TWO_STEPS)
    assert found.refuted == ()
    assert len(found.tables) == 2
    for table in found.tables:
        assert table.found.draws == plan_draws(table.found.target, EPS, 1e-9 / 2).cap
    assert found.headline.startswith("not refuted: total variation below 0.12 on every table, at these error rates")
    assert "lossless" not in found.headline


@pytest.mark.parametrize("table", [ONE_STEP, TWO_STEPS], ids=["one", "two"])
def test_a_fault_is_refuted_before_the_draws_run_out(table: Table) -> None:
    found = report(verifiers.hidden_and_wrong, table)
    assert [refuted.case.table.name for refuted in found.refuted] == [table.name]
    [refuted] = found.refuted
    assert refuted.found.draws < refuted.found.planned
    assert found.headline.startswith(f"biased (statistically): {table.name}/float32, the string ")
    assert f"was drawn {refuted.worst.drawn:,} times in {refuted.found.draws:,}" in found.headline


def test_rows_that_leak_into_each_other_show_though_the_batch_is_copied() -> None:
    assert can_tile(ADAPTER)
    assert report(verifiers.hidden, TWO_REQUESTS, eps=0.3).refuted == ()
    assert len(report(verifiers.hidden_and_swapped, TWO_REQUESTS, eps=0.3).refuted) == 2


def test_functions_for_one_request_are_called_one_by_one() -> None:
    assert not can_tile(ONE_BY_ONE)
    assert report(single(verifiers.hidden), TWO_STEPS, adapter=ONE_BY_ONE, eps=0.3).refuted == ()
    found = report(single(verifiers.hidden_and_raising), TWO_STEPS, adapter=ONE_BY_ONE, eps=0.3)
    assert "an answer that raises IndexError: no row for the bonus token was drawn" in found.headline
    assert found.refuted[0].worst.expected == 0


def test_uniforms_as_arguments_are_drawn() -> None:
    adapter = find("chain", arrays="numpy", batched=True, returns="padded", roles={"uniforms": "uniforms[B,K+1]"})
    assert report(verifiers.handed, ONE_STEP, adapter=adapter).refuted == ()
    assert report(verifiers.handed_and_wrong, ONE_STEP, adapter=adapter).refuted


def test_the_false_alarm_rate_is_divided_over_the_battery_and_spent() -> None:
    todo = requests(ONE_STEP, TWO_STEPS, "nan draft")
    with separate_ledger() as ledger:
        found = sampled_audit(verifiers.hidden_and_wrong, ADAPTER, todo, eps=EPS, alpha=1e-6)
    assert ledger.spent == {Fraction("5e-7"): 2}
    assert found.alpha == 1e-6
    assert len(found.tables) == 2, "rows of nan have no law to test"
    assert found.levels.endswith("biased with probability at most 1e-06 on all tables together")


def test_the_same_name_draws_the_same_numbers() -> None:
    first, second = (report(verifiers.hidden_and_wrong, ONE_STEP, name="a name") for _ in range(2))
    other = report(verifiers.hidden_and_wrong, ONE_STEP, name="another name")
    assert first.lines() == second.lines()
    assert first.lines() != other.lines()


def test_a_battery_without_a_law_is_refused() -> None:
    with pytest.raises(AuditError, match="no case has a law"):
        report(verifiers.hidden, "nan draft")
