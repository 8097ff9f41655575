"""How long an exact audit takes: one table, the whole battery, and one audited run beside an ordinary call.

    python benchmarks/audit.py [--quick] [--strict] [--markdown]

A row is a verifier of chains in one idiom. Seconds are of processor time. "largest" is the slowest table with V = 3 and
K = 2; "times a call" compares one audited run with one call of the same function on the same rows without an audit, in
the same process. `--quick` audits three tables in place of the battery. Exit status 1: a verifier is not found
lossless, or, with `--strict`, a table takes 2 seconds or the battery 60.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from rheo_proof.audit import audit
from rheo_proof.audit.verdict import LOSSLESS, Verdict

COLUMNS = ("idiom", "laws", "runs", "largest, s", "battery, s", "ms a run", "times a call")
QUICK = ("dyadic", "zeros", "two dyadic")
LARGEST_TABLE = 2.0
LARGEST_BATTERY = 60.0


def loops(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """torch, position by position."""
    emitted = []
    for i, x in enumerate(draft_tokens.tolist()):
        p, q = target_probs[i], draft_probs[i]
        if torch.rand(()) * q[x] < p[x]:
            emitted.append(x)
            continue
        return [*emitted, int(torch.multinomial(torch.clamp(p - q, min=0), 1))]
    return [*emitted, int(torch.multinomial(target_probs[len(draft_tokens)], 1))]


def vectors(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> torch.Tensor:
    """torch, all positions at once, an exponential race at each, padded with -1."""
    k = draft_tokens.shape[0]
    p = target_probs[:k].gather(1, draft_tokens[:, None])[:, 0]
    q = draft_probs.gather(1, draft_tokens[:, None])[:, 0]
    n = (torch.rand(k) < p / q).int().cumprod(0).sum()
    rest = torch.cat([torch.relu(target_probs[:k] - draft_probs), target_probs[k:]])
    last = (rest / torch.empty_like(rest).exponential_()).argmax(-1)
    place = torch.arange(k + 1)
    padded = torch.cat([draft_tokens, torch.tensor([-1])])
    return torch.where(place < n, padded, torch.where(place == n, last, torch.tensor(-1)))


def numpys(draft_tokens: Any, draft_probs: Any, target_probs: Any) -> list[int]:
    """NumPy, with the inverse CDF."""
    emitted = []
    for i, x in enumerate(draft_tokens):
        if np.random.random() * draft_probs[i][x] < target_probs[i][x]:
            emitted.append(int(x))
            continue
        cdf = np.cumsum(np.maximum(target_probs[i] - draft_probs[i], 0))
        return [*emitted, int(np.searchsorted(cdf, np.random.random() * cdf[-1], side="right"))]
    return [*emitted, int(np.random.choice(len(target_probs[-1]), p=target_probs[-1] / target_probs[-1].sum()))]


def plain(draft_tokens: list[int], draft_probs: list[list[float]], target_probs: list[list[float]]) -> list[int]:
    """Python alone."""
    emitted = []
    for x, q, p in zip(draft_tokens, draft_probs, target_probs, strict=False):
        if random.random() * q[x] < p[x]:
            emitted.append(x)
            continue
        rest = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
        return emitted + random.choices(range(len(p)), rest)
    return emitted + random.choices(range(len(target_probs[-1])), target_probs[-1])


class Idiom(NamedTuple):
    """A verifier, the arrays it takes, what makes them of nested lists, and what it returns."""

    function: Callable[..., Any]
    arrays: str
    make: Callable[[Any], Any]
    returns: str = "tokens"


IDIOMS = {
    "torch, loops": Idiom(loops, "torch", torch.tensor),
    "torch, vectors": Idiom(vectors, "torch", torch.tensor, "padded"),
    "NumPy": Idiom(numpys, "numpy", np.array),
    "Python": Idiom(plain, "list", lambda x: x),
}


class Measured(NamedTuple):
    """One idiom: the verdict, seconds of the slowest table and of all, seconds of one ordinary call."""

    verdict: Verdict
    largest: float
    battery: float
    call: float

    @property
    def slow(self) -> bool:
        """Whether it takes longer than it may."""
        return self.largest >= LARGEST_TABLE or self.battery >= LARGEST_BATTERY

    def row(self, name: str) -> list[str]:
        """The cells of a row."""
        verdict = self.verdict
        run = self.battery / verdict.runs
        return [
            name,
            str(len(verdict.judged)),
            f"{verdict.runs:,}",
            f"{self.largest:.2f}",
            f"{self.battery:.1f}",
            f"{run * 1000:.2f}",
            f"{run / self.call:.0f}",
        ]


def measure(idiom: Idiom, tables: Sequence[str] | None) -> Measured:
    """Audit and time. Raises `AssertionError` unless the verifier is lossless."""
    marks: list[float] = []
    verdict = audit(
        idiom.function,
        "chain",
        arrays=idiom.arrays,
        returns=idiom.returns,
        tables=tables,
        told=lambda done, total: marks.append(time.process_time()),
    )
    marks.append(time.process_time())
    assert verdict.kind == LOSSLESS, f"{idiom.function.__name__}: {verdict.kind}"
    # Finding what has to be replaced comes before the first mark, and belongs to the battery, not to a table.
    sizes = [(judged.case.vocab, judged.case.length) for judged in verdict.judged]
    assert (3, 2) in sizes
    largest = max(b - a for a, b in pairwise(marks))
    return Measured(verdict, largest, marks[-1] - marks[0], call_of(idiom))


def call_of(idiom: Idiom) -> float:
    """Seconds of one ordinary call with V = 3 and K = 2."""
    q, p = [[0.25, 0.5, 0.25]] * 2, [[0.5, 0.25, 0.25]] * 3
    arguments = [idiom.make(x) for x in ([1, 2], q, p)]
    calls = 300
    begin = time.process_time()
    for _ in range(calls):
        idiom.function(*arguments)
    return (time.process_time() - begin) / calls


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time exact audits.")
    parser.add_argument("--quick", action="store_true", help="three tables in place of the battery")
    parser.add_argument("--strict", action="store_true", help="fail beyond 2 s for a table or 60 s for the battery")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args(arguments)
    found = {name: measure(idiom, QUICK if options.quick else None) for name, idiom in IDIOMS.items()}
    rows = [each.row(name) for name, each in found.items()]
    if options.markdown:
        lines = [list(COLUMNS), ["---"] + ["---:"] * (len(COLUMNS) - 1), *rows]
        print(*(f"| {' | '.join(line)} |" for line in lines), sep="\n")
    else:
        table = Table(*COLUMNS)
        for row in rows:
            table.add_row(*row)
        Console().print(table)
    slow = [name for name, each in found.items() if each.slow]
    if slow and options.strict:
        print(f"too slow: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
