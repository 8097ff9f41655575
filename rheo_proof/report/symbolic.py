"""What `rheo-prove symbolic` prints and writes: statements with quantifiers, refutations, and what is not proved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from rheo_proof.exact.files import write_model
from rheo_proof.exact.model import key
from rheo_proof.exact.number import NUMBER_TYPE, to_fraction
from rheo_proof.report.console import describe, laws, number, table
from rheo_proof.theorems.statements import Statement

PLACES = {"node": "one node", "tree": "whole tree"}
LIFT = (
    "From one node to all trees: not computed here. It is the induction of the theorem (docs/theorem.md, sections 3 "
    "to 6), on paper, for constructions that are predictable; RRSw needs heads inserted before the sampled slot."
)


def show_statements(console: Console, statements: Sequence[Statement]) -> None:
    """One row for each statement."""
    shown = table("rule", "statement", "quantifiers", "regions", "up to order", "verdict", "time")
    for s in statements:
        shapes = "-" if s.shapes is None else f"{s.shapes:,}"
        lines = s.quantifiers.replace("; ", ";\n")
        row = (s.rule, PLACES[s.place], lines, f"{s.regions:,}", shapes, s.verdict, f"{s.seconds:.2f} s")
        shown.add_row(*row)
    for column in shown.columns[1:3]:
        column.justify = "left"
    console.print(shown)


def show_refutation(console: Console, statement: Statement) -> None:
    """The region, the identity that fails in it, a point, and the exact prover's verdict there."""
    found, p = statement.refutation, statement.parameters
    assert found is not None
    assert p is not None
    console.print(f"{statement.rule} is refuted", style="bold red")
    console.print(f"Region: {', '.join(found.region) or 'everywhere'}", soft_wrap=True)
    console.print(f"There Pr[output starts with {key(found.string)}] is off by {found.difference}", soft_wrap=True)
    at = ", ".join(f"{name} = {value}" for name, value in found.point.items())
    console.print(f"A rational point in it: {at}", soft_wrap=True)
    console.print(f"The difference there: {number(to_fraction(found.value))}")
    shown = table("prefix", "target p", "draft q")
    for row in laws(found.model, p.depth):
        shown.add_row(*row)
    console.print(shown)
    wrong = found.wrong
    console.print(
        f"The exact prover at that point ({describe(p)}, m = {p.head}, verify {p.verify}), both enumerators: biased, "
        f"TV {number(to_fraction(found.tv))}, first wrong at {key(wrong.string)}: "
        f"expected {wrong.expected}, actual {wrong.actual}.",
        soft_wrap=True,
    )


def closing(statements: Sequence[Statement], verdict: str, fault: bool, missing: Sequence[str] = ()) -> list[str]:
    """The last lines: what has been proved for which quantifiers, what was assumed for it, and what is not proved.

    `missing`: statements that there are none of, and why.
    """
    lines = [] if fault else [*proved(statements), *missing]
    for s in statements:
        if s.verdict == "undecided":
            why = s.stopped or f"{s.open} regions are neither proved, nor refuted, nor shown to be empty"
            lines.append(f"Undecided, {PLACES[s.place]}: {s.rule}: {why}.")
    if not fault:
        lines.append(LIFT)
        lines.append(
            "Not covered: other V, and for trees other draft models and sizes; floating point and kernels of a decoder."
        )
    empty, checked = sum(s.empty for s in statements), sum(s.checked for s in statements)
    if empty:
        lines.append(f"Left out: {empty:,} regions that a linear program proves empty.")
    if checked:
        lines.append(f"Run again with plain numbers at {checked:,} points of proved regions: nothing is wrong there.")
    lines.append(
        f"Arithmetic: polynomials over the rationals (sympy), linear programs in exact rationals ({NUMBER_TYPE})."
    )
    return [*lines, last(verdict, fault)]


def proved(statements: Sequence[Statement]) -> list[str]:
    """What has been proved, and what was assumed for it."""
    lines = []
    for place, what in PLACES.items():
        found = [s for s in statements if s.place == place and s.verdict == "proved"]
        scope = {
            "node": "for every target law p and every tail law t, zeros and p = t included",
            "tree": "for every target at every prefix, with the draft model and the sizes of the table",
        }[place]
        for assumed in dict.fromkeys(s.assumed for s in found):
            names = ", ".join(dict.fromkeys(s.rule for s in found if s.assumed == assumed))
            given = f"; assumed, not proved: {assumed}" if assumed else ""
            lines.append(f"Proved, {what}: {names}; {scope}{given}.")
    return lines


def last(verdict: str, fault: bool) -> str:
    """The verdict."""
    if fault and verdict == "undecided":
        return "NOT REFUTED: no region in which it is wrong was found at these sizes."
    return {"proved": "PROVED.", "refuted": "REFUTED: biased.", "undecided": "NOT DECIDED."}[verdict]


def symbolic_as_json(statements: Sequence[Statement], verdict: str, missing: Sequence[str] = ()) -> dict[str, Any]:
    """Everything that is printed, fractions as strings."""
    return {
        "verdict": verdict,
        "statement": "all targets",
        "lift": LIFT,
        "missing": list(missing),
        "statements": [
            {
                "rule": s.rule,
                "place": s.place,
                "quantifiers": s.quantifiers,
                "verdict": s.verdict,
                "assumed": s.assumed or None,
                "why": s.stopped or None,
                "regions": s.regions,
                "up_to_order": s.shapes,
                "shown_empty": s.empty,
                "undecided": s.open,
                "points_checked": s.checked,
                "seconds": round(s.seconds, 6),
                "refutation": _refutation(s),
            }
            for s in statements
        ],
    }


def _refutation(statement: Statement) -> dict[str, Any] | None:
    found, p = statement.refutation, statement.parameters
    if found is None or p is None:
        return None
    wrong = found.wrong
    return {
        "region": list(found.region),
        "string": key(found.string),
        "difference": found.difference,
        "point": {name: str(value) for name, value in found.point.items()},
        "value": str(found.value),
        "scheme": p.as_json(),
        "model": write_model(found.model),
        "tv": str(found.tv),
        "counterexample": {
            "string": key(wrong.string),
            "expected": str(wrong.expected),
            "actual": str(wrong.actual),
        },
    }
