"""The page about optimal acceptance: its examples run, and the numbers of its text are computed again."""

from __future__ import annotations

import doctest
import re
from fractions import Fraction
from pathlib import Path

import pytest

from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, Scheme, plain
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.theorems.transport import by_subsets, within
from tests.docs_fractions import require_text

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "transport.md"
BLOCKS = re.findall(r"^```pycon\n([\s\S]*?)^```", PAGE.read_text("utf-8"), re.MULTILINE)


def failures(blocks: list[str]) -> int:
    """How many examples of the page, run one after the other, print something else than it shows."""
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.REPORT_ONLY_FIRST_FAILURE)
    outcome = runner.run(test, out=lambda text: None)
    assert outcome.attempted > 30
    return outcome.failed


def test_the_examples_print_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert len(BLOCKS) > 8
    assert failures(BLOCKS) == 0


def test_an_example_with_another_number_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert failures([block.replace("139/140", "139/141") for block in BLOCKS]) > 0


def test_the_numbers_about_two_draws_are_right() -> None:
    p, tuples = toy(1).target(()), Iid(2, 1).tuples(toy(1).draft(()))
    cut = by_subsets(p, tuples)
    both, target = within(tuples, cut.inside), p.mass(cut.inside)
    accepted = law_by_classes(Scheme(Iid(2, 1), Rrs()), toy(1)).expected_tokens - 1
    assert cut.inside == (2,)
    assert accepted < Fraction(int(cut.acceptance.numerator), int(cut.acceptance.denominator))
    require_text(
        PAGE,
        f"both draws are token 2 with probability {both}, the target is 2 with probability {target} only",
        f"1 + {target} - {both} = {cut.acceptance}. Recursive rejection accepts {accepted} of these draws.",
    )


def test_a_fault_in_the_last_token_accepts_as_much_as_the_rule_itself() -> None:
    parameters, fault = Parameters(slots=2, head=1, depth=2, nodes=4), FAULTS["stale-bonus"]
    faulty = law_by_classes(fault.build(fault.fix(parameters)), toy(2))
    assert faulty.first_wrong(toy(2)) is not None
    assert faulty.acceptance(2) == law_by_classes(plain(parameters), toy(2)).acceptance(2)
    require_text(PAGE, "such as `stale-bonus`, passes all of them.")
