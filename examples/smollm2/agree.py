"""Whether a measurement of your own repeats the page's: `python agree.py again-*.json`.

For each claim, at each size N, the difference in your files and the one in results/, and how far they are apart in
combined standard errors. Errors are over prompts, so with another head trained by the same commands the two may differ
by more; and the differences of one file are correlated, since all are taken on the same contexts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
from claims import CLAIMS, Claim, found
from clustered import Mean
from inputs import FILE
from report import row, shown
from results import Part, acceptance, parts_of

FAR = 2.0
"""Combined standard errors, beyond which one difference in twenty is by chance."""


class Pair(NamedTuple):
    """A difference here and there, of one claim at one size."""

    claim: Claim
    size: int
    there: Mean
    here: Mean

    @property
    def apart(self) -> float:
        """In combined standard errors; 0 where both are one number without an error."""
        distance, error = self.here.mean - self.there.mean, math.hypot(self.here.error, self.there.error)
        return distance / error if error else math.copysign(math.inf, distance) if distance else 0.0


def pairs(parts: Sequence[Part], page: Sequence[Part]) -> Iterator[Pair]:
    """Every difference that was measured here and there, once."""
    seen = set()
    for claim in CLAIMS:
        of = (claim.better, claim.worse, claim.temperature)
        if of not in seen:
            here, there = found(claim, parts).together, found(claim, page).together
            yield from (Pair(claim, n, there[n], here[n]) for n in here if n in there)
        seen.add(of)


def table(compared: Sequence[Pair]) -> list[str]:
    lines = [row("claim", "T", "N", "page", "here", "apart"), row("---", *["---:"] * 5)]
    for pair in compared:
        values = (shown(pair.there, True), shown(pair.here, True), f"{pair.apart:+.1f}")
        lines.append(row(pair.claim.text, pair.claim.temperature, str(pair.size), *values))
    return lines


class Distances(NamedTuple):
    """How many differences were compared, how many are far apart, the largest distance, the root of the mean square."""

    differences: int
    far: int
    largest: float
    root: float

    @classmethod
    def of(cls, compared: Sequence[Pair]) -> Distances:
        apart = [abs(pair.apart) for pair in compared]
        root = math.sqrt(math.fsum(x * x for x in apart) / len(apart))
        return cls(len(apart), sum(x > FAR for x in apart), max(apart), root)


def summary(compared: Sequence[Pair]) -> str:
    differences, far, largest, root = Distances.of(compared)
    return (
        f"{differences} differences, {far} of them more than {FAR:g} combined standard errors apart; the largest "
        f"{largest:.1f}, root mean square {root:.1f}"
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, required=True, type=FILE)
def main(files: tuple[Path, ...]) -> None:
    """Compare what FILES say about each claim with what the page says."""
    compared = list(pairs(parts_of(files), parts_of(acceptance())))
    if not compared:
        raise click.UsageError(f"{', '.join(map(str, files))}: nothing in it that the page compares")
    if any(math.isnan(pair.apart) for pair in compared):
        raise click.UsageError(f"{', '.join(map(str, files))}: a single prompt has no error, expected two or more")
    click.echo("\n".join((*table(compared), "", summary(compared))))


if __name__ == "__main__":
    main()
