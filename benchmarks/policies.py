"""How many states the adversary of `rheo-prove policies` has, and how long all of them take.

    python benchmarks/policies.py [--quick] [--markdown]

One model, random 0, one m, one rule a row. Counts are the same on every machine; seconds, of processor time, are not.
`--quick` leaves out the large sizes. Exit status 1: a rule is biased that must not be.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from rheo_proof.exact.families import family_model
from rheo_proof.exact.number import NUMBER_TYPE
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems.adversary import Adversary
from rheo_proof.theorems.induction import bounds

COLUMNS = ("rule", "V", "D", "K", "N", "m", "states", "strings", "seconds")


@dataclass(frozen=True)
class Case:
    """A rule, sizes, and m; None where the policy chooses it at every node."""

    rule: str = "rheo"
    vocab: int = 3
    depth: int = 2
    slots: int = 3
    nodes: int = 4
    head: int | None = 1
    whole_order: bool = False
    large: bool = False

    def adversary(self) -> Adversary:
        """The policies; RRSw has heads first."""
        heads = tuple(range(self.slots + 1)) if self.head is None else (self.head,)
        parameters = Parameters(depth=self.depth, slots=self.slots, nodes=self.nodes)
        return Adversary(self.rule, parameters, heads, self.rule == "rrsw", whole_order=self.whole_order)

    @property
    def name(self) -> str:
        """The rule, and whether nothing is merged."""
        return f"{self.rule}, whole order" if self.whole_order else self.rule


WIDE, DEEP = Case(vocab=4, nodes=5), Case(depth=3, nodes=5)
SECTIONS: dict[str, list[Case]] = {
    "Required sizes": [
        replace(case, rule=rule, head=m, large=True)
        for case in (DEEP, WIDE)
        for rule in ("rheo", "rrsw", "match", "flow", "dx")
        for m in (0, 1)
    ],
    "Growth in N": [replace(DEEP, head=m, nodes=n, large=n > 4) for m in (0, 1) for n in range(1, 7)],
    "Growth in V": [Case(vocab=v, head=m, large=v > 4) for m in (0, 1) for v in range(2, 7)],
    "Growth in D": [Case(depth=d, head=m, large=d > 3) for m in (0, 1) for d in range(1, 5)],
    "What a rule looks at": [
        *(Case(rule, head=m) for rule in ("rheo", "flow") for m in (0, 1)),
        *(Case("flow", head=m, whole_order=True) for m in (0, 1)),
        Case(head=None, large=True),
    ],
}


def measure(case: Case) -> list[str]:
    """The cells of a row. Raises `AssertionError` if the rule is biased."""
    begin = time.process_time()
    found = bounds(case.adversary().policies(family_model("random", 0, case.vocab, case.depth)))
    seconds = time.process_time() - begin
    assert found.lossless, f"{case} has the gap {found.gap}"
    m = "any" if case.head is None else str(case.head)
    sizes = [str(size) for size in (case.vocab, case.depth, case.slots, case.nodes)]
    return [case.name, *sizes, m, f"{found.states:,}", str(len(found.strings)), f"{seconds:.2f}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Count the states of the adversary.")
    parser.add_argument("--quick", action="store_true", help="leave out large instances")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args(arguments)
    notes = Console(stderr=True)
    tables: dict[str, list[list[str]]] = {}
    with Progress(console=notes, transient=True, disable=not notes.is_terminal) as progress:
        for title, cases in SECTIONS.items():
            chosen = [case for case in cases if not (options.quick and case.large)]
            rows = [measure(case) for case in progress.track(chosen, description=title)]
            if rows:
                tables[title] = rows
    for title, rows in tables.items():
        if options.markdown:
            lines = [list(COLUMNS), ["---"] + ["---:"] * (len(COLUMNS) - 1), *rows]
            print(f"{title} ({NUMBER_TYPE}):\n", *(f"| {' | '.join(line)} |" for line in lines), "", sep="\n")
        else:
            table = Table(*COLUMNS, title=title)
            for row in rows:
                table.add_row(*row)
            Console().print(table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    print(f"peak {peak:.0f} MiB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
