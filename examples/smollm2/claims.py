"""The paper's claims beside what was measured: `python claims.py results.json ..` prints a table in Markdown.

A claim is that one setting accepts more tokens than another. What is said about it follows from the differences and
their errors alone, at all sizes N that were measured:

    holds               at each N the difference has the claimed sign, at two standard errors or more
    holds in part       at some N it has, and at no N the opposite one
    does not hold       at some N it has the opposite sign, and at no N the claimed one
    mixed               at some N the one, at others the other
    cannot be told      at no N is the difference two standard errors

Many differences are looked at, so now and then one of twice its error is chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from clustered import Mean
from report import SIZES, row, shown
from results import Part, pooled, read

ENOUGH = 2.0


@dataclass(frozen=True)
class Claim:
    """`better` accepts more tokens than `worse`, at a temperature. `source`: who says so, and how much."""

    text: str
    source: str
    temperature: str
    better: str
    worse: str


M1, M1_RAW = "m=1|rheo", "m=1 draft at 1|rheo"
PAPER = "paper"
CLAIMS = (
    Claim(
        "RheoSampling (m = 1) accepts more than EAGLE-3's top-K tree", "paper: 0.14 to 0.22", "1", M1, "top-K raw|match"
    ),
    Claim("the same, a colder law than the paper's main one", "here", "0.8", M1, "top-K raw|match"),
    Claim("the same", "here", "0.6", M1, "top-K raw|match"),
    Claim("the same, with a draft law at temperature 1", "here", "0.8", M1_RAW, "top-K raw|match"),
    Claim("the same, with a draft law at temperature 1", "here", "0.6", M1_RAW, "top-K raw|match"),
    Claim("m = 1 is better than m = 0", PAPER, "1", M1, "m=0|rheo"),
    Claim("m = 1 is better than m = 2", PAPER, "1", M1, "m=2|rheo"),
    Claim("m = 1 is better than m = 3", PAPER, "1", M1, "m=3|rheo"),
    Claim("optimal transport at each node accepts more than RRSw, m = 1", PAPER, "1", M1, "m=1|rrsw"),
    Claim("the same, m = 2", PAPER, "1", "m=2|rheo", "m=2|rrsw"),
    Claim("FlowVerification accepts more on the same trees, m = 1", "this project", "1", "m=1|flow", M1),
    Claim("the same", "this project", "0.8", "m=1|flow", M1),
    Claim("the same", "this project", "0.6", "m=1|flow", M1),
    Claim("FlowVerification accepts more than EAGLE-3's tree", "this project", "1", "m=1|flow", "top-K raw|match"),
    Claim("the tail proxy at full scale accepts more, rheo", "this project", "1", "m=1 tail 1|rheo", M1),
    Claim("the tail proxy at scale 1/2 accepts more, flow", "this project", "1", "m=1 tail 1/2|flow", "m=1|flow"),
    Claim("fills at half their value accept more, flow", "this project", "1", "m=1 fill 1/2|flow", "m=1|flow"),
    Claim("block verification accepts more on a chain", "arXiv 2403.10444", "1", "chain|flow", "chain|rheo"),
    Claim("a full draft law accepts more than its 128 best tokens", "paper: no", "1", "m=1 sparse full|rheo", M1),
    Claim(
        "a full draft law accepts more than its 32 best tokens",
        "here",
        "1",
        "m=1 sparse full|rheo",
        "m=1 sparse 32|rheo",
    ),
)


def differences(claim: Claim, part: Part) -> dict[int, Mean]:
    """By size N; a chain has one size."""
    sizes = (7,) if claim.better.startswith("chain") else SIZES
    pairs = {n: (f"{claim.better}|{n}", f"{claim.worse}|{n}") for n in sizes}
    return {n: part.difference(*pair) for n, pair in pairs.items() if part.has(*pair)}


def verdict(found: Sequence[Mean]) -> str:
    """What follows from differences and errors; see the head of this file.

    >>> verdict([Mean(0.3, 0.1, 9, 9), Mean(0.1, 0.1, 9, 9)])
    'holds in part'
    """
    better = sum(mean.mean >= ENOUGH * mean.error for mean in found if mean.mean > 0)
    worse = sum(-mean.mean >= ENOUGH * mean.error for mean in found if mean.mean < 0)
    if better and worse:
        return "mixed"
    if better:
        return "holds" if better == len(found) else "holds in part"
    return "does not hold" if worse else "cannot be told"


def table(parts: Sequence[Part]) -> list[str]:
    """Lines of Markdown, a row for each claim that was measured."""
    by_temperature = {part.temperature: part for part in parts}
    lines = [row("claim", "source", "T", *(f"N = {n}" for n in SIZES), ""), row(*["---"] * 3, *["---:"] * 4, "---")]
    for claim in CLAIMS:
        part = by_temperature.get(claim.temperature)
        found = differences(claim, part) if part else {}
        if not found:
            continue
        cells = [shown(found[n], True) if n in found else "" for n in SIZES]
        if not any(cells):
            [(depth, mean)] = found.items()
            cells = [f"{depth} tokens: {shown(mean, True)}", "", "", ""]
        lines.append(row(claim.text, claim.source, claim.temperature, *cells, f"**{verdict(list(found.values()))}**"))
    return lines


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(files: tuple[Path, ...]) -> None:
    """Print what follows about each claim from FILES, all of them together."""
    found = [read(path) for path in files]
    for i, (path, one) in enumerate(zip(files, found, strict=True)):
        if one in found[:i]:
            raise click.UsageError(f"{path} repeats another file, expected different measurements")
    parts = pooled([parts for _, parts in found])
    heads = len({meta["head"]["sha256"] for meta, _ in found})
    for part in parts:
        contexts, prompts = len(part.prompts), len(set(part.prompts))
        click.echo(f"T = {part.temperature}: {contexts} contexts, {prompts} prompts, heads: {heads}\n")
    click.echo("\n".join(table(parts)))


if __name__ == "__main__":
    main()
