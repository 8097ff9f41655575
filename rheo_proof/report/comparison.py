"""A comparison as a table on the console and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rich.console import Console

from rheo_proof.exact.number import NUMBER_TYPE
from rheo_proof.report.console import decimal, describe, number, table
from rheo_proof.schemes.registry import REDRAWING
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems.comparison import Row, ranked
from rheo_proof.theorems.instances import Source
from rheo_proof.theorems.sweep import Sweep
from rheo_proof.theorems.zoo import EVERY

SHORT = 8
"""Fractions with more characters than this are shown as a decimal only, so that a row stays on one line."""


def verdict(row: Row) -> str:
    """The verdict; "lossless here" of what is not lossless in general."""
    return f"{row.verdict} here" if row.verdict == "lossless" != row.expected else row.verdict


def show_comparison(console: Console, rows: Sequence[Row]) -> None:
    """One row for each scheme, lossless ones with the most tokens first; then why some have no numbers."""
    shown = table("scheme", "verdict", "TV", "E[tau]+1", "accepted", "kept", "to bound", "classes", "time")
    for row in ranked(rows):
        if row.found is None:
            shown.add_row(row.name, row.verdict)
            continue
        distance = "-" if row.distance is None else number(row.distance, SHORT)
        shown.add_row(
            row.name,
            verdict(row),
            "-" if row.found.tv is None else number(row.found.tv, SHORT),
            "-" if row.tokens is None else number(row.tokens, SHORT),
            " ".join(decimal(rate) for rate in row.found.acceptance),
            "-" if row.bound.kept is None else decimal(row.bound.kept),
            distance + ("*" if row.distance is not None and row.bound.kind == "chained" else ""),
            f"{row.found.classes:,}",
            f"{row.found.seconds:.2f} s",
        )
    shown.columns[0].no_wrap = True
    shown.columns[1].justify = "left"
    console.print(shown)
    for row in rows:
        if row.why:
            console.print(f"{row.name}: {row.why}.", soft_wrap=True)


def show_covered(console: Console, rows: Sequence[Row], source: Source, parameters: Parameters) -> None:
    """The last lines: what the columns mean, what was covered and what was not."""
    name = source.name or f"{source.family} {source.seed}"
    decided = sum(row.found is not None and row.verdict != "undecided" for row in rows)
    wrong = [row.name for row in rows if not row.as_it_ought]
    here = [f"{row.name} ({row.expected})" for row in rows if verdict(row) == "lossless here"]
    if wrong:
        console.print(f"Biased, although expected to be lossless: {', '.join(wrong)}.")
    if here:
        console.print(f"Lossless here, not in general: {', '.join(here)}.")
    kinds = {row.bound.kind for row in rows if row.distance is not None}
    starred = "; with * that of chained strings, which may be too large" if "chained" in kinds else ""
    console.print(
        "TV: exact distance of the output from the target. accepted: Pr[tau >= l] for each level l. kept: expected "
        "number of different strings in the draft tree. to bound: what the best lossless verification of the same "
        f"trees could add, at most, by the value of a linear program{starred}. classes: of draft trees. time: drafting "
        "counts for the first scheme that uses it."
    )
    if any(row.name in REDRAWING and row.found for row in rows):
        console.print(f"No bound for {', '.join(REDRAWING)}: it draws tokens that were not drafted.")
    reads = _read_by(rows)
    size = f"V = {source.vocab}, {describe(parameters, reads)}"
    size += f", m = {parameters.head}" if "head" in reads else ""
    for slots in sorted({row.parameters.slots for row in rows} - {parameters.slots}):
        others = ", ".join(row.name for row in rows if row.parameters.slots == slots)
        console.print(f"K = {slots}, whatever is asked for: {others}.")
    console.print(
        f"Covered: {decided} of {len(rows)} schemes decided on one model ({name}), {size}, as far as a scheme reads "
        f"them; exact rationals ({NUMBER_TYPE})."
    )
    console.print(
        "Not covered: other models and sizes, on which the order may be another; the time that drafting and "
        "verification take in an engine, which is no part of E[tau]."
    )


def _read_by(rows: Sequence[Row]) -> frozenset[str]:
    """The parameters that at least one of the schemes reads."""
    return frozenset().union(*(EVERY[row.name].reads for row in rows))


def comparison_as_json(rows: Sequence[Row], source: Source, parameters: Parameters, model: Any) -> dict[str, Any]:
    """Everything that is printed, fractions as strings, in the order of the table."""
    return {
        "model": model,
        "family": source.family,
        "seed": source.seed,
        "name": source.name,
        "vocab": source.vocab,
        "scheme": parameters.as_json(_read_by(rows)),
        "rows": [_row(row) for row in ranked(rows)],
    }


def _row(row: Row) -> dict[str, Any]:
    found = row.found
    return {
        "name": row.name,
        "expected": row.expected,
        "verdict": verdict(row),
        "why": row.why or None,
        "tv": text(found.tv if found else None),
        "expected_tokens": text(row.tokens),
        "acceptance": [str(rate) for rate in found.acceptance] if found else [],
        "bound": text(row.bound.value),
        "bound_kind": row.bound.kind,
        "distance": text(row.distance),
        "kept": text(row.bound.kept),
        "classes": found.classes if found else 0,
        "seconds": round(found.seconds, 6) if found else 0,
        "scheme": row.parameters.as_json(EVERY[row.name].reads),
    }


def text(value: Fraction | None) -> str | None:
    """A fraction as a string."""
    return None if value is None else str(value)


@dataclass(frozen=True)
class Curves:
    """The curves of a sweep, `drawn` with a mean for each point over `count` models from seed `first` on."""

    kind: str
    sweep: Sweep
    drawn: Mapping[str, Sequence[Fraction]]
    vocab: int
    base: Parameters
    count: int
    first: int


def show_sweep(console: Console, curves: Curves) -> None:
    """A row for each curve, a column for each point, and what was covered."""
    sweep, first = curves.sweep, curves.first
    shown = table("mean E[tau]+1", *(point.label for point in sweep.points), title=f"Swept: {sweep.axis}")
    for label, values in curves.drawn.items():
        shown.add_row(label, *map(decimal, values))
    console.print(shown)
    console.print(
        f"Covered: {len(curves.drawn)} curves, each point the exact mean over {curves.count} models (seeds {first} to "
        f"{first + curves.count - 1}), rounded here; {sweep.models}; V = {curves.vocab}, {describe(curves.base)}, "
        f"unless swept; every law decided lossless; exact rationals ({NUMBER_TYPE})."
    )
    console.print("Not covered: other models and sizes; what drafting and verification cost in an engine.")


def sweep_as_json(curves: Curves) -> dict[str, Any]:
    """The curves, means as fractions."""
    sweep = curves.sweep
    return {
        "sweep": curves.kind,
        "axis": sweep.axis,
        "models": sweep.models,
        "count": curves.count,
        "seed": curves.first,
        "vocab": curves.vocab,
        "scheme": curves.base.as_json(),
        "points": [point.label for point in sweep.points],
        "curves": {label: list(map(str, values)) for label, values in curves.drawn.items()},
    }
