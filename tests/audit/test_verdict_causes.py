"""The line where a law departs, and what is to blame: tested on verifiers whose fault is known."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from rheo_proof.audit import contract as topics
from rheo_proof.audit.explaining import places
from rheo_proof.audit.exploring import Run, explore
from rheo_proof.audit.lines import ACCEPTANCE, BONUS, RECOVERY
from rheo_proof.audit.splitting import by_line, by_look, by_phase, split
from rheo_proof.audit.verdict import BIASED, BROKEN, LOSSLESS
from tests.audit import plain
from tests.audit.test_verdict_kinds import found, verdict_on

LINES = [
    (plain.inverted, ACCEPTANCE, "accepts by the wrong ratio"),
    (plain.from_target, RECOVERY, "draws from the target"),
    (plain.wrong_bonus, BONUS, "bonus from the row before"),
    (plain.one_coin, ACCEPTANCE, "the one coin"),
]


@pytest.mark.parametrize(("function", "what", "mark"), LINES, ids=lambda value: getattr(value, "__name__", ""))
def test_the_line_is_the_one_with_the_fault(function: Any, what: str, mark: str) -> None:
    departure = verdict_on(function, ("dyadic",)).departure
    assert departure is not None
    assert departure.site is not None
    assert (departure.what, departure.site.file, departure.site.line) == (what, plain.__file__, plain.line(mark))
    assert departure.source.endswith(f"# {mark}")


def test_a_line_that_decides_nothing_is_not_found() -> None:
    departure = verdict_on(plain.everything, ("R45",)).departure
    assert departure is not None
    assert departure.what == ACCEPTANCE
    assert departure.site is None, "everything is accepted: no line decides it"


def test_reuse_is_to_blame_only_if_fresh_numbers_repair_the_law() -> None:
    for function in (plain.coin_again, plain.one_coin):
        verdict = verdict_on(function, ("dyadic", "R20-given"))
        assert (verdict.kind, found(verdict)) == (BROKEN, {topics.TWICE})
    looked_at_often = verdict_on(plain.biased_inverse, ("dyadic",))
    assert looked_at_often.counted.used_twice
    assert (looked_at_often.kind, found(looked_at_often)) == (BIASED, set())


def test_a_drafter_that_reports_another_law_breaks_the_contract() -> None:
    honest = verdict_on(plain.right, ("dyadic",), drafter=plain.honest)
    assert (honest.kind, found(honest)) == (LOSSLESS, set())
    false = verdict_on(plain.right, ("dyadic",), drafter=plain.sharpened)
    assert (false.kind, found(false)) == (BROKEN, {topics.DRAFT_LAW})
    assert false.worst is not None
    [finding] = [f for f in false.findings if f.topic == topics.DRAFT_LAW]
    assert "reports" in finding.text


def test_a_false_report_breaks_the_contract_even_where_the_row_is_not_used() -> None:
    verdict = verdict_on(plain.match, ("dyadic",), drafter=plain.sharpened)
    assert (verdict.kind, found(verdict), verdict.distance) == (BROKEN, {topics.DRAFT_LAW}, 0)


def test_noise_that_is_shared_is_to_blame_where_the_law_is_wrong() -> None:
    def drafter(draft_model: Callable[..., Any], K: int) -> Any:
        generator = random.Random(7)
        return plain.drafting(
            draft_model, K, lambda q: q, lambda weights: plain.inverse_cdf(weights, generator.random())
        )

    def verifier(draft_tokens: list[int], draft_probs: plain.Rows, target_probs: plain.Rows) -> list[int]:
        generator = random.Random(7)
        for i, x in enumerate(draft_tokens):
            p, q = target_probs[i], draft_probs[i]
            if not generator.random() * q[x] < p[x]:
                return [*draft_tokens[:i], plain.draw(plain.residual(p, q))]
        return [*draft_tokens, plain.draw(target_probs[-1])]

    verdict = verdict_on(verifier, ("R29", "R29-other"), drafter=drafter)
    assert (verdict.kind, found(verdict)) == (BROKEN, {topics.SHARED})
    assert verdict_on(verifier, ("R29", "R29-other")).kind == LOSSLESS, "with a draft of our own nothing is shared"


def two_looks(run: Run) -> int:
    """Draws once and compares at two lines."""
    u = run.uniform()
    if u < 0.5:
        return 0
    return 1 if u < 0.75 else 2


def test_a_split_latent_is_fresh_for_each_use() -> None:
    def law(**how: Any) -> dict[object, str]:
        return {outcome: str(mass) for outcome, mass in explore(two_looks, **how).law.items()}

    fresh = {0: "1/2", 1: "3/8", 2: "1/8"}
    assert law() == {0: "1/2", 1: "1/4", 2: "1/4"}
    assert law(split=split(by_line)) == law(split=split(by_look)) == fresh
    assert law(split=split(by_look, frozenset({"u0"}))) == fresh
    assert law(split=split(by_look, frozenset({"u1"}))) == law()
    assert law(split=split(by_phase)) == law(), "one phase, one copy"


def test_places_of_comparisons_are_kept() -> None:
    [sites] = places(explore(two_looks).leaves).values()
    assert [site.function for site in sites] == ["two_looks", "two_looks"]


def test_two_draws_of_the_verifier_from_one_state_are_not_laid_at_the_drafts_door() -> None:
    def verifier(draft_tokens: list[int], draft_probs: plain.Rows, target_probs: plain.Rows) -> list[int]:
        coins, tokens = random.Random(7), random.Random(7)
        for i, x in enumerate(draft_tokens):
            p, q = target_probs[i], draft_probs[i]
            if not coins.random() * q[x] < p[x]:
                return [*draft_tokens[:i], tokens.randrange(len(p))]
        return [*draft_tokens, tokens.randrange(3)]

    verdict = verdict_on(verifier, ("R29",))
    assert (verdict.kind, found(verdict)) == (BROKEN, {topics.OVERLAP})
    [finding] = [each for each in verdict.findings if not each.remark]
    assert "draft" not in finding.topic + finding.text
    assert finding.text.startswith("two different draws from one state of a generator, the later one at ")
    assert __file__ in finding.text


def test_where_a_rejection_decides_the_token_its_line_is_named() -> None:
    def thrifty(draft_tokens: list[int], draft_probs: plain.Rows, target_probs: plain.Rows) -> list[int]:
        for i, x in enumerate(draft_tokens):
            p, q = target_probs[i], draft_probs[i]
            u = random.random()
            if not u * q[x] < p[x]:  # rejects, and so decides what is drawn
                return [*draft_tokens[:i], plain.inverse_cdf(plain.residual(p, q), u)]
        return [*draft_tokens, plain.draw(target_probs[-1])]

    departure = verdict_on(thrifty, ("dyadic",)).departure
    assert departure is not None
    assert departure.actual > departure.expected, "of two that are off alike, the one that is emitted too often"
    assert departure.source.endswith("# rejects, and so decides what is drawn")
