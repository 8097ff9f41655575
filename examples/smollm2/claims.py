"""The paper's claims beside what was measured: `python claims.py results.json ..` prints a table in Markdown.

A claim is, but for some, that one setting accepts more tokens than another. What is said about it follows from the
differences and their errors alone, at all sizes N that were measured:

    holds               at each N the difference has the claimed sign, at two standard errors or more
    holds in part       at some N it has, and at no N the opposite one
    does not hold       at some N it has the opposite sign, and at no N the claimed one
    mixed               at some N the one, at others the other
    cannot be told      at no N is the difference two standard errors

A claim of so many tokens or more is decided by what is left of the difference without them. A claim that there is no
difference does not hold if there is one, of two standard errors at some N, and holds if all differences, two standard
errors added, are below 0.02 tokens a step.

Files of several heads count together, a prompt being one cluster; a column shows each file by itself. Many differences
are looked at, so now and then one of twice its error is chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click
from clustered import Mean
from report import SIZES, row, shown
from results import Part, difference, read
from settings import DEPTH

ENOUGH = 2.0
SMALL = 0.02
"""Tokens a step, below which a difference is as good as none."""
APART = 30
"""The size N at which each file is shown by itself."""
HEADING = 2
"""Lines of a table before its rows."""

PROCESSED = "top-K processed|match"


@dataclass(frozen=True)
class Claim:
    """`better` accepts more tokens than `worse`, at a temperature, by more than `least`. `source`: who says so.

    `same`: that there is no difference between them.
    """

    text: str
    source: str
    temperature: str
    better: str
    worse: str
    least: float = 0.0
    same: bool = False


def _claims() -> Iterator[Claim]:
    m1, flow, eagle = "m=1|rheo", "m=1|flow", "top-K raw|match"
    m1_at_1, flow_at_1 = "m=1 draft at 1|rheo", "m=1 draft at 1|flow"
    paper, own, here = "paper", "this project", "here"
    hot, every, cold = ("1",), ("1", "0.8", "0.6"), ("0.8", "0.6")
    rows = (
        ("RheoSampling (m = 1) accepts more than EAGLE-3's top-K tree", paper, hot, m1, eagle),
        ("the same, by 0.14 tokens or more", "paper: 0.14 to 0.22", hot, m1, eagle, 0.14),
        ("RheoSampling (m = 1) accepts more than EAGLE-3's top-K tree", here, cold, m1, eagle),
        ("RheoSampling with a draft law at temperature 1 accepts more than EAGLE-3's tree", here, cold, m1_at_1, eagle),
        ("EAGLE-3's tree from raw scores accepts more than from the processed law", here, cold, eagle, PROCESSED),
        ("a draft law at temperature 1 is better than at the target's temperature, rheo", here, cold, m1_at_1, m1),
        ("m = 1 is better than m = 0", paper, hot, m1, "m=0|rheo"),
        ("m = 1 is better than m = 2", paper, hot, m1, "m=2|rheo"),
        ("m = 1 is better than m = 3", paper, hot, m1, "m=3|rheo"),
        ("optimal transport at each node accepts more than RRSw, m = 1", paper, hot, m1, "m=1|rrsw"),
        ("optimal transport at each node accepts more than RRSw, m = 1", here, cold, m1, "m=1|rrsw"),
        ("optimal transport at each node accepts more than RRSw, m = 2", paper, hot, "m=2|rheo", "m=2|rrsw"),
        ("FlowVerification accepts more on the same trees, m = 1", own, every, flow, m1),
        ("FlowVerification accepts more than EAGLE-3's tree", own, hot, flow, eagle),
        ("FlowVerification with a draft law at temperature 1 accepts more than EAGLE-3's", own, cold, flow_at_1, eagle),
        ("the tail proxy at full scale accepts more, rheo", own, hot, "m=1 tail 1|rheo", m1),
        ("the tail proxy at scale 1/2 accepts more, flow", own, hot, "m=1 tail 1/2|flow", flow),
        ("fills at half their value accept more, flow", own, hot, "m=1 fill 1/2|flow", flow),
        ("block verification accepts more on a chain", "arXiv 2403.10444", every, "chain|flow", "chain|rheo"),
    )
    for text, source, temperatures, *pair in rows:
        for temperature in temperatures:
            yield Claim(text, source, temperature, *pair)
    for size, source, cut in (("128", paper, m1), ("32", here, "m=1 sparse 32|rheo")):
        text = f"no difference between a draft law cut to its {size} best tokens and a full one"
        yield Claim(text, source, "1", cut, "m=1 sparse full|rheo", same=True)


CLAIMS = tuple(_claims())


class Found(NamedTuple):
    """Of one claim: the difference by size N on all contexts together, and at one size in each file by itself."""

    together: dict[int, Mean]
    apart: list[Mean]


def found(claim: Claim, parts: Sequence[Part]) -> Found:
    """What was measured, at the claim's temperature, wherever both settings were; a chain has one size."""
    there = [part for part in parts if part.temperature == claim.temperature]
    chain = claim.better.startswith("chain")
    together: dict[int, Mean] = {}
    apart: list[Mean] = []
    for n in (DEPTH,) if chain else SIZES:
        pair = f"{claim.better}|{n}", f"{claim.worse}|{n}"
        if both := [part for part in there if part.has(*pair)]:
            together[n] = difference(both, *pair)
            if chain or n == APART:
                apart = [part.difference(*pair) for part in both]
    return Found(together, apart)


def verdict(found: Sequence[Mean], same: bool = False) -> str:
    """What follows from differences and errors; see the head of this file. `same`: the claim is of no difference.

    >>> verdict([Mean(0.3, 0.1, 9, 9), Mean(0.1, 0.1, 9, 9)])
    'holds in part'
    >>> verdict([Mean(0.3, 0.1, 9, 9), Mean(0.1, 0.1, 9, 9)], same=True)
    'does not hold'
    """
    better = sum(mean.mean >= ENOUGH * mean.error for mean in found if mean.mean > 0)
    worse = sum(-mean.mean >= ENOUGH * mean.error for mean in found if mean.mean < 0)
    if same:
        small = all(abs(mean.mean) + ENOUGH * mean.error < SMALL for mean in found)
        return "does not hold" if better or worse else "holds" if small else "cannot be told"
    if better and worse:
        return "mixed"
    if better:
        return "holds" if better == len(found) else "holds in part"
    return "does not hold" if worse else "cannot be told"


def table(parts: Sequence[Part]) -> list[str]:
    """Lines of Markdown, a row for each claim that was measured."""
    sizes = [f"N = {n}" for n in SIZES]
    lines = [row("claim", "source", "T", *sizes, f"file by file, N = {APART}", "contexts", "")]
    lines.append(row(*["---"] * 3, *["---:"] * (len(SIZES) + 2), "---"))
    for claim in CLAIMS:
        together, apart = found(claim, parts)
        if not together:
            continue
        cells = [shown(together[n], True) if n in together else "" for n in SIZES]
        if not any(cells):
            cells[0] = f"{DEPTH} tokens: {shown(together[DEPTH], True)}"
        each = ", ".join(f"{mean.mean:+.3f}" for mean in apart)
        counts = str(max(mean.n for mean in together.values()))
        beyond = [mean._replace(mean=mean.mean - claim.least) for mean in together.values()]
        said = f"**{verdict(beyond, claim.same)}**"
        lines.append(row(claim.text, claim.source, claim.temperature, *cells, each, counts, said))
    return lines


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(files: tuple[Path, ...]) -> None:
    """Print what follows about each claim from FILES, all of them together."""
    results = [read(path) for path in files]
    for i, (path, one) in enumerate(zip(files, results, strict=True)):
        if one in results[:i]:
            raise click.UsageError(f"{path} repeats another file, expected different measurements")
    lines = table([part for _, parts in results for part in parts])
    if len(lines) == HEADING:
        temperatures = ", ".join(dict.fromkeys(claim.temperature for claim in CLAIMS))
        raise click.UsageError(
            f"{', '.join(map(str, files))}: no claim is about what was measured, expected a temperature of "
            f"{temperatures} and settings that a claim compares"
        )
    for path, (meta, parts) in zip(files, results, strict=True):
        for part in parts:
            contexts, prompts = len(part.prompts), len(set(part.prompts))
            head = f"{meta['head']['file']} {str(meta['head'].get('sha256'))[:12]}"
            click.echo(f"{path.name}: T = {part.temperature}, {contexts} contexts, {prompts} prompts, head {head}")
    click.echo("\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
