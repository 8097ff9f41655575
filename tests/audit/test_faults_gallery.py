"""The faults of other people's verifiers: their exact laws found by the auditor, none of them called lossless.

And no false alarm: the twins without the fault, and correct verifiers in many idioms, are lossless.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from rheo_proof.audit.auditing import audit
from rheo_proof.audit.contract import DRAFT_LAW, IMPOSSIBLE
from rheo_proof.audit.exploring import Raised
from rheo_proof.audit.tables import table
from rheo_proof.audit.verdict import BIASED, BROKEN, LOSSLESS, SLOWER, Verdict
from tests.audit import own_decoders
from tests.audit.audits import how, small
from tests.audit.brute import Law
from tests.audit.enumerated import law_of
from tests.audit.fault import Fault
from tests.audit.gallery import GALLERY
from tests.audit.gallery_correct import CORRECT, WRONG, Right
from tests.audit.strangers import coins, rules

DECIMALS = Fraction(6, 10_000)
FINE = {LOSSLESS, SLOWER}
WHOLE = (
    "filter_on_the_bonus_row_only",
    "target_after_rejection",
    "same_seed_for_draft_and_coin",
    "argmax_then_compare",
)
"""Faults of four families that do without torch, for the whole battery; tensors cost ten times as much."""

every_fault = pytest.mark.parametrize("fault", GALLERY, ids=lambda fault: f"{fault.section}-{fault.name}")
every_pair = pytest.mark.parametrize(
    "fault", list({f.name: f for f in GALLERY}.values()), ids=lambda fault: f"{fault.section}-{fault.name}"
)
every_correct = pytest.mark.parametrize("right", CORRECT, ids=lambda right: right.name)


def same(found: Law, law: Law, exact: bool) -> bool:
    law = {outcome: mass for outcome, mass in law.items() if mass}
    return found == law if exact else all(abs(found.get(x, 0) - mass) < DECIMALS for x, mass in law.items())


def swept(function: Callable[..., Any], **limits: Any) -> Verdict:
    return audit(function, **(how(function).arguments() | limits))


# Laws


@every_fault
def test_the_auditor_finds_the_law_of_a_fault_and_of_its_twin(fault: Fault) -> None:
    assert same(law_of(fault, fault.faulty), fault.actual, fault.exact)
    law = law_of(fault, fault.twin)
    if fault.section == "R25":  # there is no right answer to a row of nan
        assert [type(outcome) for outcome in law] == [Raised]
    else:
        assert same(law, fault.expected, fault.exact)


@every_correct
def test_the_auditor_finds_the_target_in_a_correct_verifier(right: Right) -> None:
    assert law_of(right, right.verifier) == right.law


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_and_not_in_a_wrong_one(wrong: Right) -> None:
    assert law_of(wrong, wrong.verifier) != wrong.law


# Verdicts, on the tables of a section


@every_pair
def test_the_sweep_finds_a_fault_and_spares_its_twin(fault: Fault) -> None:
    limits = {"tables": small(fault.section), "dtypes": ["float64"]}
    verdict = swept(fault.faulty, **limits)
    assert (verdict.kind, verdict.undecided) == (fault.verdict, ())
    assert swept(fault.twin, **limits).kind in FINE


@every_correct
def test_a_correct_verifier_is_lossless(right: Right) -> None:
    assert swept(right.verifier, tables=["R01"], dtypes=["float64"]).kind in FINE


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_a_wrong_tree_is_biased(wrong: Right) -> None:
    assert swept(wrong.verifier, tables=["tenths"], dtypes=["float64"]).kind == BIASED


# Verdicts, on the whole battery


@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_battery_spares_a_twin(name: str) -> None:
    """The faults themselves: their small tables are part of the battery, and a fault found on one of them stays."""
    fault = next(fault for fault in GALLERY if fault.name == name)
    verdict = swept(fault.twin)
    assert verdict.kind in FINE
    assert {judged.case.table for judged in verdict.judged} > {table(text) for text in small(fault.section)}


def test_the_whole_battery_finds_a_fault_on_most_of_its_tables() -> None:
    verdict = swept(rules.score_over_best_score)
    assert verdict.kind == BIASED
    assert sum(judged.departs for judged in verdict.judged) > len(verdict.judged) / 2


# A uniform that is exactly 0


@pytest.mark.parametrize(
    ("faulty", "twin"),
    [
        (coins.zero_coin_accepts, coins.zero_coin_rejects),
        (coins.gumbel_of_zero, coins.gumbel_of_no_zero),
    ],
)
def test_a_uniform_of_0_must_not_emit_what_the_target_never_does(
    faulty: Callable[..., Any], twin: Callable[..., Any]
) -> None:
    """Their laws are the target's: only the end of the range of a uniform tells them apart."""
    verdict = swept(faulty, tables=["zeros"], dtypes=["float64"])
    assert (verdict.kind, {finding.topic for finding in verdict.findings}) == (BROKEN, {IMPOSSIBLE})
    assert not any(judged.departs for judged in verdict.judged)
    assert swept(twin, tables=["zeros"], dtypes=["float64"]).kind in FINE


# Drafters that report rows, before a verifier that is right


def drafter(pick: Callable[[list[float]], int]) -> Callable[..., Any]:
    def draft(draft_model: Callable[..., list[float]], K: int) -> tuple[list[int], list[list[float]]]:
        tokens: list[int] = []
        rows: list[list[float]] = []
        for _ in range(K):
            rows.append(draft_model(tokens))
            tokens.append(pick(rows[-1]))
        return tokens, rows

    return draft


def argmax(row: list[float]) -> int:
    return row.index(max(row))


def sampled(row: list[float]) -> int:
    return random.choices(range(len(row)), row)[0]


def best_two(row: list[float]) -> int:
    least = sorted(row)[-2]
    return sampled([w if w >= least else 0.0 for w in row])


@pytest.mark.parametrize(("pick", "honest"), [(sampled, True), (argmax, False), (best_two, False)])
def test_a_drafter_that_does_not_draw_from_what_it_reports_breaks_the_contract(
    pick: Callable[[list[float]], int], honest: bool
) -> None:
    verdict = swept(rules.ratio, drafter=drafter(pick), tables=["tenths", "R01"], dtypes=["float64"])
    found = {finding.topic for finding in verdict.findings if not finding.remark}
    assert (verdict.kind, found) == ((LOSSLESS, set()) if honest else (BROKEN, {DRAFT_LAW}))


# Our own decoders


DECODERS = {"numpy": own_decoders.numpy_decoder, "torch": own_decoders.torch_decoder}


@pytest.mark.parametrize("rule", ["rheo", "rrsw", "match", "flow"])
@pytest.mark.parametrize("arrays", DECODERS)
def test_our_decoders_are_lossless(arrays: str, rule: str) -> None:
    options = {"arrays": arrays, "returns": "tokens", "constants": {"verify": rule}, "dtypes": ["float64"]}
    tables = ["R01", "tenths"] if arrays == "numpy" else ["R01"]
    assert audit(DECODERS[arrays], "step", tables=tables, **options).kind in FINE


@pytest.mark.parametrize("arrays", DECODERS)
def test_our_decoders_without_their_residual_are_not(arrays: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed coin, then a draw from the target: both decoders call `residual` for that."""
    verify = importlib.import_module({"numpy": "rheo_reference.verify", "torch": "rheo_gpu.verify"}[arrays])
    monkeypatch.setattr(verify, "residual", (lambda r, *_: r) if arrays == "numpy" else (lambda at, r, mass: r))
    options = {"arrays": arrays, "returns": "tokens", "dtypes": ["float64"]}
    assert audit(DECODERS[arrays], "step", tables=["R29"], **options).kind == BIASED
