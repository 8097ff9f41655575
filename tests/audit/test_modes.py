"""Modes of an audit: what each decides, what it says with its verdict, and that none is taken without being asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheo_proof.audit import Verdict, audit
from rheo_proof.audit.boxes import unseen
from rheo_proof.audit.cases import Table
from rheo_proof.audit.contract import IMPOSSIBLE
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.modes import probes_for
from rheo_proof.audit.verdict import BIASED, BROKEN, LOSSLESS, NOT_REFUTED, UNDECIDED
from rheo_proof.report.audit import as_json, as_text, closing
from rheo_proof.stats.ledger import separate_ledger
from tests.audit import array_verifiers as verifiers
from tests.audit.array_verifiers import ONE_STEP, TWO_STEPS
from tests.cli.program import prove_here

HANDED = {"arrays": "numpy", "batched": True, "returns": "padded", "roles": {"uniforms": "uniforms[B,K+1]"}}
HIDDEN = {"arrays": "numpy", "batched": True, "returns": "padded"}
EPS = "1/4"
FILE = Path(verifiers.__file__)


def verdict_on(
    function: Callable[..., Any],
    mode: str,
    table: Table = ONE_STEP,
    options: dict[str, Any] = HANDED,
    **more: Any,
) -> Verdict:
    with separate_ledger():
        return audit(function, "chain", dtypes=["float32"], tables=[table], mode=mode, **options, **more)


# Piecewise


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (verifiers.handed, LOSSLESS),
        (verifiers.handed_and_wrong, BIASED),
        (verifiers.handed_and_reused, BIASED),
        (verifiers.product_of_coins, UNDECIDED),
        (verifiers.hidden_beside, UNDECIDED),
        (verifiers.compiled, LOSSLESS),
    ],
)
def test_each_function_of_uniforms_gets_its_kind(function: Callable[..., Any], kind: str) -> None:
    verdict = verdict_on(function, "piecewise", TWO_STEPS, eps=EPS)
    assert verdict.kind == kind
    agreed = kind != UNDECIDED  # nothing is said to have agreed where there was no law to agree with
    assert closing(verdict).endswith("survives with probability at most 1e-09.") is agreed
    assert ("assumes that no box hides a thinner feature" in closing(verdict)) is agreed
    assert ("no law was found" in closing(verdict)) is not agreed


@pytest.mark.parametrize("function", [verifiers.handed, verifiers.handed_and_reused])
def test_the_laws_are_those_of_the_exact_mode(function: Callable[..., Any]) -> None:
    [piecewise] = verdict_on(function, "piecewise", TWO_STEPS, eps=EPS).judged
    [exact] = verdict_on(function, "exact", TWO_STEPS).judged
    assert {string for string, mass in exact.law.items() if mass > 1e-6} <= set(piecewise.law)
    assert sum(abs(piecewise.law.get(s, 0) - exact.law.get(s, 0)) for s in {*piecewise.law, *exact.law}) < 1e-6
    assert abs(piecewise.accepted - exact.accepted) < Fraction(1, 10**6)
    assert piecewise.allowed < Fraction(1, 10**4)


@pytest.mark.parametrize(("function", "kind"), [(verifiers.raced, LOSSLESS), (verifiers.raced_and_wrong, BIASED)])
def test_exponentials_as_arguments_are_raced(function: Callable[..., Any], kind: str) -> None:
    roles = {"uniforms": "uniforms[K]", "exponentials": "exponentials[K+1,V]"}
    verdict = verdict_on(function, "piecewise", options={"arrays": "numpy", "roles": roles}, eps=EPS)
    assert verdict.kind == kind
    assert (verdict.counted.drawn, verdict.distance > Fraction(1, 10)) == (7, kind == BIASED)


def test_an_end_that_emits_the_impossible_is_found() -> None:
    verdict = verdict_on(verifiers.accepts_at_zero, "piecewise", eps=EPS)
    assert verdict.kind == BROKEN
    assert [finding.topic for finding in verdict.findings if not finding.remark] == [IMPOSSIBLE]
    assert verdict_on(verifiers.handed, "piecewise", eps=EPS).kind == LOSSLESS


def test_what_cannot_be_decided_says_why() -> None:
    [curved] = verdict_on(verifiers.product_of_coins, "piecewise", TWO_STEPS, eps=EPS).undecided
    assert "the regions are not boxes, as with a product" in curved.why
    [hidden] = verdict_on(verifiers.hidden_beside, "piecewise", TWO_STEPS, eps=EPS).undecided
    assert "randomness of its own" in hidden.why
    [late] = verdict_on(verifiers.handed, "piecewise", TWO_STEPS, timeout=0, eps=EPS).undecided
    assert late.why == "out of time"


def test_eps_is_what_the_points_must_not_miss() -> None:
    assert unseen(probes_for("1/20")) <= 0.05 < unseen(probes_for("1/20") - 1)
    assert "wrong by TV 0.05 survives" in verdict_on(verifiers.handed, "piecewise", eps="1/20").basis
    for eps in (0, "1/10000000", "small", 2):
        with pytest.raises(AuditError, match=r"eps|tolerance"):
            verdict_on(verifiers.handed, "piecewise", eps=eps)


# Sampled


def test_draws_give_no_more_than_not_refuted() -> None:
    verdict = verdict_on(verifiers.hidden, "sampled", options=HIDDEN, eps="0.12")
    assert (verdict.kind, verdict.status, verdict.lossless, verdict.passes) == (NOT_REFUTED, 3, False, True)
    text = closing(verdict)
    assert text.startswith("Not refuted: total variation below 0.12 on every table, at these error rates")
    assert text.endswith("or more on a table passes there with at most 0.001.")
    assert "LOSSLESS" not in as_text(verdict)


def test_draws_refute_a_fault_and_name_the_string_that_departs_most() -> None:
    verdict = verdict_on(verifiers.hidden_and_wrong, "sampled", options=HIDDEN, eps="0.12")
    assert (verdict.kind, verdict.status, verdict.passes) == (BIASED, 1, False)
    assert closing(verdict).startswith("Biased (statistically): one step/float32, the string ")
    shown = json.loads(json.dumps(as_json(verdict)))
    assert shown["mode"] == "sampled"
    assert [table["refuted"] for table in shown["sampled"]["tables"]] == [True]


def test_what_goes_with_exact_laws_is_refused_for_draws() -> None:
    for more in ({"tolerance": "1/10"}, {"declared": "a threshold"}):
        with pytest.raises(AuditError, match=f"{next(iter(more))}: goes with laws that are known"):
            verdict_on(verifiers.hidden, "sampled", options=HIDDEN, **more)


def test_global_generators_are_left_as_they_were() -> None:
    np.random.seed(5)
    expected = np.random.random()
    np.random.seed(5)
    verdict_on(verifiers.hidden_and_wrong, "sampled", options=HIDDEN, eps="0.12")
    assert np.random.random() == expected


# Choosing


def test_an_exact_audit_that_gets_stuck_names_the_modes_that_would_work() -> None:
    stuck = verdict_on(verifiers.product_of_coins, "auto", TWO_STEPS)
    assert (stuck.kind, stuck.mode) == (UNDECIDED, "exact")
    assert stuck.hint == "another mode can: sampled"
    assert "another mode can: sampled (--mode)" in as_text(stuck)
    hidden = verdict_on(verifiers.compiled, "auto", TWO_STEPS)
    assert hidden.hint == "another mode can: piecewise or sampled"


def test_a_mode_that_is_asked_for_gives_no_hint() -> None:
    assert verdict_on(verifiers.product_of_coins, "exact", TWO_STEPS).hint == ""
    assert verdict_on(verifiers.handed, "auto", TWO_STEPS).hint == ""


def test_unknown_modes_and_stray_eps_are_refused() -> None:
    with pytest.raises(AuditError, match="mode is 'quick', expected auto, exact, piecewise or sampled"):
        verdict_on(verifiers.handed, "quick", TWO_STEPS)
    with pytest.raises(AuditError, match="eps: goes with the modes piecewise and sampled"):
        verdict_on(verifiers.handed, "exact", TWO_STEPS, eps=EPS)


@pytest.mark.parametrize(
    ("function", "mode", "status"),
    [("handed_and_wrong", "piecewise", 1), ("hidden_beside", "piecewise", 3)],
)
def test_the_command_takes_a_mode(function: str, mode: str, status: int) -> None:
    run = prove_here(
        "audit", f"{FILE}:{function}", "--arrays", "numpy", "--set", "batched=True", "--returns", "padded", "--map",
        "uniforms=uniforms[B,K+1]", "--table", "R23", "--dtype", "float32", "--mode", mode, "--eps", EPS,
    )  # fmt: skip
    assert (run.status, run.err) == (status, "")
    words = "assumes" if status == 1 else "no law was found"
    assert f"piecewise-exact: {words}" in " ".join(run.out.split()).lower()
