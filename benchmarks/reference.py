"""The NumPy decoder: batched simulation against steps one by one, and a step on a large vocabulary against its floor.

    python benchmarks/reference.py [--quick] [--strict]

Everything is measured in this one run, in seconds of processor time, the two sides of a ratio in turns; the fastest of
several repetitions counts. Exit status 1: a batched string is not that of its step; with `--strict` also when a
requirement is not met.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any
from unittest.mock import patch

import numpy as np
from rheo_reference import Config, Processing, Tapes, decode_step, laws
from rheo_reference.batch import Models, simulate
from rheo_reference.laws import Prefix, best, process
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

RULES = ("rheo", "rrsw", "match", "flow")
TIMES_SCALAR, STEPS_PER_SECOND, TIMES_FLOOR = 50, 200_000, 1.5

TOY = Config(slots=3, head=1, depth=3, nodes=8, sparse=None, target=None, draft=None)
TOY_VOCAB = 5
LARGE = Config(slots=10, head=1, depth=8, nodes=60, sparse=128)


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    batched: int = 100_000
    scalar: int = 400
    vocab: int = 128_000
    steps: int = 3
    repeats: int = 5


QUICK = Sizes(batched=2_000, scalar=20, vocab=2_000, steps=1, repeats=1)


@dataclass(frozen=True)
class Row:
    """One measurement: what, both sides of its ratio, the ratio, and what is required of it."""

    what: str
    ours: str
    other: str
    ratio: float
    required: str
    met: bool
    wrong: int = 0

    def cells(self) -> list[str]:
        """One line of the table."""
        ratio = f"{self.ratio:.2f}" if self.ratio < 10 else f"{self.ratio:.0f}"
        return [self.what, self.ours, self.other, ratio, self.required, "met" if self.met else "NOT met"]


def seconds(work: Callable[[], Any]) -> float:
    """Processor time."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def toy() -> tuple[Models, Callable[..., Any], Callable[..., Any]]:
    """Random laws, as tables and as models."""
    rng = np.random.default_rng(0)
    sizes = [sum(TOY_VOCAB**length for length in range(TOY.depth + extra)) for extra in (1, 0)]
    tables = [rng.dirichlet(np.ones(TOY_VOCAB), size) for size in sizes]

    def number(prefix: Prefix) -> int:
        row = 0
        for token in prefix:
            row = row * TOY_VOCAB + 1 + token
        return row

    target, draft = ((lambda us, table=table: table[[number(u) for u in us]]) for table in tables)
    return Models(*tables), target, draft


def simulation(rule: str, sizes: Sizes) -> Row:
    """Steps per second, all at once and one by one; the strings of the latter are compared."""
    config = replace(TOY, verify=rule)
    models, target, draft = toy()
    tapes = Tapes.fill(np.random.default_rng(1), config, sizes.batched)
    batched = scalar = inf
    strings: list[Prefix] = []

    def one_by_one() -> None:
        strings[:] = [decode_step(target, draft, (), config, tapes[i]).tokens for i in range(sizes.scalar)]

    for _ in range(sizes.repeats):
        batched = min(batched, seconds(lambda: simulate(models, config, tapes)) / sizes.batched)
        scalar = min(scalar, seconds(one_by_one) / sizes.scalar)
    at_once = simulate(models, config, tapes)
    wrong = sum(at_once[i] != string for i, string in enumerate(strings))
    required, met = f"at least {TIMES_SCALAR}", scalar / batched >= TIMES_SCALAR
    if rule == "rheo":
        required += f", {STEPS_PER_SECOND:,} steps/s"
        met &= 1 / batched >= STEPS_PER_SECOND
    ours, other = f"{1 / batched:,.0f} steps/s", f"{1 / scalar:,.0f} steps/s"
    return Row(f"batched {rule} : one by one", ours, other, scalar / batched, required, met, wrong)


def large_vocabulary(rule: str, dtype: str, sizes: Sizes) -> Row:
    """A step on models that cost nothing : the softmaxes of all laws that it reads, and top-k of those of the draft."""
    config = replace(LARGE, verify=rule, dtype=dtype)
    rng = np.random.default_rng(0)
    base = rng.normal(scale=3, size=sizes.vocab)
    tables = [(base + rng.normal(scale=0.6, size=(config.nodes + 1, sizes.vocab))).astype(dtype) for _ in range(2)]
    tapes = Tapes.fill(np.random.default_rng(1), config, sizes.steps)
    drafted = 0

    def target(prefixes: Sequence[Prefix]) -> Any:
        return tables[0][: len(prefixes)]

    def draft(prefixes: Sequence[Prefix]) -> Any:
        nonlocal drafted
        drafted += len(prefixes)
        return tables[1][: len(prefixes)]

    def step(i: int) -> None:
        decode_step(target, draft, (), config, tapes[i])

    def floor(from_draft: int, from_target: int) -> None:
        for i in range(from_draft):
            best(process(tables[1][i % len(tables[1])], Processing(), dtype), LARGE.sparse or sizes.vocab)
        for i in range(from_target):
            process(tables[0][i % len(tables[0])], Processing(), dtype)

    ours = least = 0.0
    for i in range(sizes.steps):
        drafted = 0
        with patch.object(laws, "process", wraps=process) as spy:
            step(i)
        read = (drafted, spy.call_count - drafted)
        times = [(seconds(lambda: step(i)), seconds(lambda: floor(*read))) for _ in range(sizes.repeats)]  # noqa: B023
        ours += min(time for time, _ in times) / sizes.steps
        least += min(time for _, time in times) / sizes.steps
    what = f"step {rule}, V = {sizes.vocab:,}, {dtype} : floor"
    cells = f"{1000 * ours:.0f} ms", f"{1000 * least:.0f} ms"
    return Row(what, *cells, ours / least, f"below {TIMES_FLOOR}", ours < TIMES_FLOOR * least)


def measure(sizes: Sizes, progress: Progress) -> list[Row]:
    """All rows."""
    large = [(rule, dtype) for dtype in ("float64", "float32") for rule in RULES]
    rows = [simulation(rule, sizes) for rule in progress.track(RULES, description="simulation")]
    return rows + [large_vocabulary(*case, sizes) for case in progress.track(large, description="large vocabulary")]


def failures(rows: Sequence[Row], strict: bool) -> list[str]:
    """Why the run as a whole fails."""
    wrong = [f"{row.what}: {row.wrong} strings differ" for row in rows if row.wrong]
    return wrong + [f"{row.what}: {row.ratio:.2f}, NOT met" for row in rows if strict and not row.met]


def main(arguments: Sequence[str] | None = None) -> str | int:
    """Measure and print; why the run fails, or 0."""
    parser = argparse.ArgumentParser(description="Measure the NumPy decoder.")
    parser.add_argument("--quick", action="store_true", help="few steps and a small vocabulary; ratios mean little")
    parser.add_argument("--strict", action="store_true", help="exit status 1 also where a requirement is not met")
    options = parser.parse_args(arguments)
    notes, out = Console(stderr=True), Console()
    with Progress(console=notes, transient=True, disable=not notes.is_terminal) as progress:
        rows = measure(QUICK if options.quick else Sizes(), progress)
    title = f"toy model: V = {TOY_VOCAB}, K = {TOY.slots}, D = {TOY.depth}, N = {TOY.nodes}, m = {TOY.head}; large: "
    title += f"S = {LARGE.sparse}, K = {LARGE.slots}, D = {LARGE.depth}, N = {LARGE.nodes}, m = {LARGE.head}"
    table = Table("what : compared with", "", "compared with", "ratio", "required", "", title=title)
    for row in rows:
        table.add_row(*row.cells())
    (out if out.is_terminal else Console(width=140)).print(table)
    return "\n".join(failures(rows, options.strict)) or 0


if __name__ == "__main__":
    sys.exit(main())
