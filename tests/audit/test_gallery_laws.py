"""The gallery's own promises: its laws are what brute force gives, every section is there, strangers are strangers."""

from __future__ import annotations

import ast
from fractions import Fraction
from pathlib import Path

import pytest

from tests.audit import brute
from tests.audit.fault import HALF, NEAR, P0, Q0, Q1, Fault, row
from tests.audit.gallery import GALLERY
from tests.audit.gallery_correct import CORRECT, WRONG
from tests.audit.gallery_laws import BLOCK_P, BLOCK_Q

STRANGERS = sorted((Path(__file__).parent / "strangers").glob("*.py"))
SECTIONS = (
    "R01 R02 R03 R06 R09 R10 R11 R12 R13 R14 R15 R16 R17a R17b R18 R19 R20a R20b R20c R21 R23 R25 R26 R28 R29 R30 "
)
SECTIONS += "R33 R34 R35a R35b R39 R40 R41 R42 R43 R45"
KINDS = {"biased", "contract broken", "lossy by design"}
DECIMALS = Fraction(6, 10_000)  # of laws that are known as decimals: three digits

every_fault = pytest.mark.parametrize("fault", GALLERY, ids=lambda fault: f"{fault.section}-{fault.name}")


def test_every_kind_of_fault_is_there() -> None:
    assert {fault.section for fault in GALLERY} == set(SECTIONS.split())
    assert {fault.verdict for fault in GALLERY} == KINDS
    assert len({verifier.name for verifier in CORRECT}) == len(CORRECT) >= 12


@every_fault
def test_the_law_of_a_fault_is_that_of_brute_force(fault: Fault) -> None:
    found, law = fault.brute(), {outcome: mass for outcome, mass in fault.actual.items() if mass}
    assert abs(sum(law.values()) - 1) <= (0 if fault.exact else 2 * DECIMALS)
    assert found.keys() == law.keys()
    if fault.exact:
        assert found == law
        assert brute.variation(fault.expected, fault.actual) == fault.tv > 0
    else:
        assert max(abs(found[x] - law[x]) for x in law) < DECIMALS
        assert abs(brute.variation(fault.expected, found) - fault.tv) < DECIMALS


@pytest.mark.parametrize("path", STRANGERS, ids=lambda path: path.stem)
def test_strangers_import_nothing_of_ours(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    found = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    found |= {str(node.module).split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
    assert found <= {"bisect", "itertools", "math", "numpy", "random", "torch", "warnings"}
    assert found


def test_brute_force_finds_the_target_where_nothing_is_wrong() -> None:
    """And sees that it is not where something is: the same programs, one of their parts exchanged."""
    assert brute.token(P0, Q0) == brute.table(P0) != brute.token(P0, Q0, rest=P0)
    assert brute.one_hot_rule(P0, Q0) == brute.table(P0)
    exact = {(x, y): a * b for x, a in enumerate(BLOCK_P[0]) for y, b in enumerate(BLOCK_P[1])}
    assert brute.block(BLOCK_P, BLOCK_Q, "block", "block") == exact != brute.block(BLOCK_P, BLOCK_Q, "block", "token")
    assert brute.siblings(P0, Q0, (1, 2), dense=False) == brute.table(P0) != brute.siblings(P0, Q0, (1, 2), dense=True)


def test_a_block_rule_with_the_token_residual_is_right_with_two_tokens() -> None:
    """One-token residuals hide it, so a battery needs three."""
    for k in range(1, 8):
        p = (row(f"{k}/9", f"{9 - k}/9"), row(f"{9 - k}/11", f"{2 + k}/11"))
        exact = {(x, y): a * b for x, a in enumerate(p[0]) for y, b in enumerate(p[1])}
        assert brute.block(p, (NEAR, HALF), "block", "token") == exact


def test_two_clocks_that_race_again_are_integrated_to_the_law_of_the_first_race() -> None:
    """Whatever the second race is, its winners share what the first one has."""
    q, rest = row("1/2", "1/4", "1/4"), row("0", "7/8", "1/8")
    wins = brute.first_of_two_races(q, rest, 0)
    assert sum(wins.values()) == q[0]
    assert wins[1] != q[0] * rest[1]  # not the law of a fresh race


@pytest.mark.parametrize(
    ("p", "q", "match", "ratio"),
    [(P0, Q1, "41/100", "9/10"), (P0, P0, "19/50", "1"), (P0, Q0, "29/100", "7/10")],
)
def test_matching_accepts_less_than_the_ratio_rule(
    p: list[Fraction], q: list[Fraction], match: str, ratio: str
) -> None:
    """What R42 and R43 cost, enumerated: a draft is accepted if it is the target's own sample, or by min(1, p / q)."""

    def accepted(chance: list[Fraction]) -> Fraction:
        law = brute.law(lambda pick: brute.coin(pick, chance[pick(q)]))
        return law[True]

    assert accepted(p) == Fraction(match)
    assert accepted([a / b for a, b in zip(p, q, strict=True)]) == Fraction(ratio)


@pytest.mark.parametrize(("rows", "within"), [(["1/4"] * 4, "175/256"), (["0", "0", "0", "1/4"], "1/4")])
def test_how_often_a_text_ends_within_four_tokens(rows: list[str], within: str) -> None:
    """R35b: the end has 1/4 at each position; or the same with three positions of four masked."""

    def ends(pick: brute.Pick) -> bool:
        return any(brute.coin(pick, Fraction(chance)) for chance in rows)

    assert brute.law(ends)[True] == Fraction(within)


def test_every_wrong_tree_is_played() -> None:
    assert len(WRONG) >= 2
