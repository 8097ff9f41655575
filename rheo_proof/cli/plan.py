"""`rheo-prove plan`: how many draws a statistical check needs, and what each deliberate fault would need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from rheo_proof.exact.errors import InputError
from rheo_proof.report.console import describe, number, plain_console, table
from rheo_proof.report.json_file import check_target, write_json

if TYPE_CHECKING:
    from rheo_proof.stats.fixtures import Need
    from rheo_proof.stats.plan import Plan

LONG = 20
"""Fractions with more characters than this are shown as a decimal only; JSON has all of them."""


@click.command()
@click.option("--eps", required=True, metavar="TV", help="Smallest total variation to see: decimal or fraction.")
@click.option("--cells", required=True, type=click.IntRange(1, 10**6), help="Cells of positive probability.")
@click.option("--alpha", default="1e-9", show_default=True, help="Most false alarms: a correct sampler fails.")
@click.option("--beta", default="1e-3", show_default=True, help="Most misses: a sampler at distance TV passes.")
@click.option("--json", "json_path", metavar="FILE", help="Write the same as JSON, too.")
def plan(eps: str, cells: int, alpha: str, beta: str, json_path: str | None) -> None:
    """Plan a statistical check of a sampler: draws by method, and what each fault would need.

    Rates and power are proved, for any law on so many cells; docs/statistics.md has the formulas.
    """
    try:
        import numpy  # noqa: F401
        import scipy  # noqa: F401
    except ImportError:
        raise InputError("rheo-prove plan needs numpy, scipy; pip install 'rheo-proof[stats]'") from None
    from rheo_proof.stats.cells import level
    from rheo_proof.stats.fixtures import needs
    from rheo_proof.stats.plan import plan_draws

    if json_path is not None:
        if not json_path:
            raise InputError("--json is empty; give it a value or leave it out")
        check_target(json_path)
    levels = {name: level(text, f"--{name}") for name, text in (("eps", eps), ("alpha", alpha), ("beta", beta))}
    planned = plan_draws(cells, levels["eps"], levels["alpha"], levels["beta"])
    faults = needs(levels["alpha"], levels["beta"])
    out = plain_console()
    show_plan(out, planned, eps)
    show_needs(out, faults)
    if json_path:
        write_json(json_path, as_json(planned, faults))


def draws(planned: Plan) -> dict[str, int | None]:
    """The planned numbers by method."""
    one, two = planned.stages
    return {
        "asymptotic floor (F3), approximate": planned.floor,
        "G, Agrawal's bound (F2)": planned.single.g,
        "TV, McDiarmid's bound (F1)": planned.single.tv,
        "e-process (F4), cap": planned.cap,
        "two-stage (F5), stage 1": one.draws,
        "two-stage (F5), stage 2": two.draws,
    }


WHEN = (
    "for comparison only, never a plan",
    "fixed number of draws",
    "fixed number of draws",
    "stops as soon as the sampler is wrong beyond doubt",
    "always",
    "fresh draws, only if stage 1 rejects",
)


def show_plan(out: Console, planned: Plan, eps: str) -> None:
    """Draws by method, and which one is recommended."""
    shown = table("method", "draws", "when")
    shown.title = (
        f"Draws that refute TV >= {eps} on {planned.cells} cells, alpha {planned.alpha:g}, beta {planned.beta:g}"
    )
    for (method, n), when in zip(draws(planned).items(), WHEN, strict=True):
        shown.add_row(method, "-" if n is None else f"{n:,}", when)
    shown.columns[2].justify = "left"
    out.print(shown)
    out.print(f"Recommended for a sampler: the e-process, at most {planned.cap:,} draws.")
    out.print(f"Recommended for counts: {planned.single.test} on {planned.draws:,} draws.")


def show_needs(out: Console, faults: list[Need]) -> None:
    """What each fault would need on the fixture that shows it, and the fixtures."""
    shown = table("fault", "rule", "fixture", "cells", "TV of step laws", "impossible", "draws")
    shown.title = "What each fault would need"
    for need in faults:
        c = need.certificate
        tv, mass = number(c.tv, LONG), number(c.impossible, LONG)
        shown.add_row(need.fault, need.rule, need.fixture.name, str(c.cells), tv, mass, f"{c.needed:,}")
    shown.columns[1].justify = shown.columns[2].justify = "left"
    out.print()
    out.print(shown)
    for fixture in dict.fromkeys(need.fixture for need in faults):
        p = fixture.parameters
        out.print(
            f"{fixture.name}: model {fixture.family} {fixture.seed}, V = {fixture.vocab}, {describe(p)}, m = {p.head}"
        )
    out.print("impossible: mass on strings that the correct scheme never emits; one such draw refutes.")


def as_json(planned: Plan, faults: list[Need]) -> dict[str, Any]:
    """Everything that is printed, fractions as strings."""
    one, two = planned.stages
    return {
        "eps": planned.eps,
        "cells": planned.cells,
        "alpha": planned.alpha,
        "beta": planned.beta,
        "draws": {
            "floor": planned.floor,
            "g": planned.single.g,
            "tv": planned.single.tv,
            "cap": planned.cap,
            "two_stage": [one.draws, two.draws],
        },
        "recommended": {
            "sampler": {"method": "sequential", "draws": planned.cap},
            "counts": {"method": planned.single.test, "draws": planned.draws},
        },
        "faults": [
            {
                "fault": need.fault,
                "rule": need.rule,
                "fixture": need.fixture.name,
                "cells": need.certificate.cells,
                "tv": str(need.certificate.tv),
                "impossible": str(need.certificate.impossible),
                "draws": need.certificate.needed,
            }
            for need in faults
        ],
        "fixtures": [
            {
                "name": fixture.name,
                "family": fixture.family,
                "seed": fixture.seed,
                "vocab": fixture.vocab,
                "scheme": fixture.parameters.as_json(),
            }
            for fixture in dict.fromkeys(need.fixture for need in faults)
        ],
    }
