"""How far the class enumerator gets, and how much further than replay: everything measured in this one run.

    python benchmarks/enumerator.py [--quick] [--markdown] [--strict]

Instances run one at a time, each in a fresh process: caches empty, memory its own. Counts are the same on every
machine; seconds (of processor time) and memory are not. Exit status 1: a law is wrong, the two enumerators disagree, or
replay does not take 1000 times as long as classes; with `--strict` also when another requirement is not met.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import inf
from multiprocessing import get_context

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from rheo_proof.exact.classes import Classes, add, explore
from rheo_proof.exact.errors import LimitReached, SoundnessError
from rheo_proof.exact.families import family_model
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import NUMBER_TYPE, to_fraction
from rheo_proof.exact.program import Emission
from rheo_proof.exact.replay import replay
from rheo_proof.schemes.laws import DraftClasses, class_law, draft_classes, law_by_classes, run
from rheo_proof.schemes.scheme import Parameters, Scheme, plain

RATIO = 1000
REQUIRED = {"B": ("at most 1 s", 1.0, inf), "C": ("at most 20 s, 2 GiB", 20.0, 2048), "D": ("at most 0.5 s", 0.5, inf)}
COUNTS = ("draft classes", "walked, drafting", "walked, verifying", "assignments", "replay paths", "tv")
TIMES = ("drafting s", "law s", "verdict s", "peak MiB", "requirement")


@dataclass(frozen=True)
class Case:
    """One instance; drafting may walk `limit` classes, and verifying as many again."""

    name: str = "A"
    vocab: int = 5
    slots: int = 3
    head: int = 1
    beam: int = 3
    depth: int = 3
    nodes: int = 8
    family: str = "random"
    rule: str = "rheo"
    limit: int = 3500

    def large(self) -> bool:
        """Whether `--quick` leaves it out."""
        return self.vocab >= 30 or (self.head == 0 and (self.vocab > 5 or self.depth > 3 or self.nodes > 10))

    def load(self) -> tuple[Scheme, ToyModel]:
        """Drafting and verification; the toy model of seed 0, none of its laws made yet."""
        parameters = Parameters(self.slots, self.head, self.depth, self.beam, self.nodes, verify=self.rule)
        return plain(parameters), family_model(self.family, 0, self.vocab, self.depth)


A = Case()
B = Case("B", vocab=8, depth=4, nodes=10)
C = Case("C", vocab=50, slots=4, beam=4, nodes=12)
D = Case("D", head=0)
FIELDS = {"case": "name", "family": "family", "rule": "rule", "V": "vocab", "m": "head", "D": "depth", "N": "nodes"}
"""Columns that say which instance a row is about; whatever has no column is as in A."""


def varied(field: str, values: Sequence[int | str]) -> list[Case]:
    """A with one parameter changed, for m = 1 and m = 0; where m = 0 takes long, up to a limit or not at all."""
    cases = [Case(head=head, **{field: value}) for head in (1, 0) for value in values]  # type: ignore[arg-type]
    slow = [c for c in cases if c.head == 0 and (c.vocab >= 20 or c.depth == 5)]
    return [replace(c, limit=500) if c in slow else c for c in cases if c not in slow or c.vocab <= 20]


SECTIONS = {
    "Requirements": [replace(case, family=f) for case in (A, B, C, D) for f in ("random", "near", "peaked", "ties")],
    "Growth in V": varied("vocab", (4, 5, 8, 12, 20, 30, 50)),
    "Growth in D": varied("depth", (1, 2, 3, 4, 5)),
    "Growth in N": varied("nodes", (4, 6, 8, 10, 12, 14)),
    "Rules": varied("rule", ("match", "rheo", "rrsw", "flow")),
}
KEYS = {title: (title[-1], "m") for title in SECTIONS} | {"Requirements": ("case", "family"), "Rules": ("rule", "m")}


@dataclass(frozen=True)
class Row:
    """What was found for one instance: counts as in `COUNTS` as far as the limit allowed, seconds as in `TIMES`."""

    case: Case
    counts: tuple[int | None, ...]
    tv: Fraction | None = None
    seconds: tuple[float, ...] = ()
    mebibytes: float = 0
    why: str = ""
    ratio: float | None = None

    def count_cells(self) -> list[str]:
        """The same on every machine."""
        known = ["-" if count is None else f"{count:,}" for count in self.counts]
        known.append(self.why if self.tv is None else str(self.tv))
        return known + ["-"] * (len(COUNTS) - len(known))

    def time_cells(self) -> list[str]:
        """One measurement."""
        seconds = [f"{s:.3f}" if s < 10 else f"{s:.1f}" for s in self.seconds]
        seconds += ["-"] * (3 - len(seconds))
        return [*seconds, f"{self.mebibytes:.0f}" if self.mebibytes else "-", self.requirement()]

    def requirement(self) -> str:
        """What is required, and whether it is met."""
        if self.ratio is not None:
            what, met = f"at least {RATIO} times classes; {self.ratio:,.0f} times", self.ratio >= RATIO
        elif self.case.name in REQUIRED:
            what, most, peak = REQUIRED[self.case.name]
            met = self.tv is not None and sum(self.seconds) <= most and self.mebibytes <= peak
        else:
            return "-"
        return f"{what}: {'met' if met else 'NOT met'}"


def measure(case: Case) -> Row:
    """Draft classes, step law and verdict of one instance."""
    scheme, model = case.load()
    clock, counts = [time.process_time()], []
    try:
        drafted = draft_classes(scheme.drafting, model, Limits(case.limit))
        clock.append(time.process_time())
        counts += [drafted.count, drafted.walked]
        law, walked = class_law(scheme.verifying, model, drafted, Limits(case.limit))
        clock.append(time.process_time())
    except LimitReached as limit:
        return Row(case, tuple(counts), why=str(limit))
    tv, wrong = law.total_variation(model), law.first_wrong(model)
    clock.append(time.process_time())
    if (tv == 0) != (wrong is None):
        raise SoundnessError(f"{case}: the criterion says {wrong}, the distance is {tv}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    counts += [walked, drafted.assignments, replay_paths(scheme, model, drafted)]
    return Row(case, tuple(counts), tv, tuple(end - begin for begin, end in pairwise(clock)), peak)


def replay_paths(scheme: Scheme, model: ToyModel, drafted: DraftClasses) -> int:
    """How many paths replay runs: assignments of values to all draws and coins, those of verifying included."""
    start: Classes = {}
    for tree, entries in drafted.classes.items():
        state = scheme.verifying.start(model, tree)
        names = dict.fromkeys(var.name for var in state.variables())
        for known, weight in entries.items():
            beliefs = dict(known)
            add(start.setdefault(state, {}), tuple((name, beliefs[name]) for name in names), weight)
    finals, _ = explore(lambda s, chance: scheme.verifying.step(model, s, chance), start, Emission, Limits())
    return sum(weight.assignments for entries in finals.values() for weight in entries.values())


def measure_replay(case: Case, classes: Row, progress: Progress) -> Row:
    """Replay in full: its law must be that of classes, as rationals, and its paths as many as were counted."""
    scheme, model = case.load()
    paths, task = 0, progress.add_task("replay", total=classes.counts[-1])

    def on_path(count: int) -> None:
        nonlocal paths
        paths = count
        if count % 1000 == 0:
            progress.update(task, completed=count)

    begin = time.process_time()
    law, seconds = replay(lambda chance: run(scheme, model, chance), on_path), time.process_time() - begin
    by_classes = dict(law_by_classes(scheme, model).strings(case.vocab))
    if paths != classes.counts[-1] or {string: to_fraction(mass) for string, mass in law.items()} != by_classes:
        raise SoundnessError(f"{case}: replay and classes disagree, or {paths} paths are not as many as counted")
    named, ratio = replace(case, name=f"{case.name} by replay"), seconds / sum(classes.seconds[:2])
    return Row(named, (None,) * 4 + (paths,), classes.tv, (seconds,), ratio=ratio if case == A else None)


def measure_all(quick: bool, progress: Progress) -> dict[str, list[Row]]:
    """All sections, the fastest of several runs each. Replay is last: new processes start with our peak of memory."""
    rows: dict[str, list[Row]] = {}
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=None if quick else 1) as pool:

        def best(case: Case, repeats: int) -> Row:
            return min(pool.map(measure, [case] * (1 if quick else repeats)), key=lambda row: sum(row.seconds))

        for title, cases in SECTIONS.items():
            chosen = progress.track([case for case in cases if not (quick and case.large())], description=title)
            rows[title] = [best(case, 3 if title == "Requirements" else 2) for case in chosen]
        replayed = replace(A, name="A with D = 2", depth=2) if quick else A
        rows["Requirements"].append(measure_replay(replayed, best(replayed, 5), progress))
    return rows


def failures(rows: Sequence[Row], strict: bool) -> list[str]:
    """Why the run as a whole fails."""
    wrong = [f"{row.case}: the law is off by {row.tv}" for row in rows if row.tv]
    missed = [row for row in rows if "NOT met" in row.requirement() and (strict or row.ratio is not None)]
    return wrong + [f"{row.case}: {row.requirement()}" for row in missed]


def cells(title: str, row: Row) -> list[str]:
    """The cells of a row: which instance it is, counts, times."""
    return [str(getattr(row.case, FIELDS[key])) for key in KEYS[title]] + row.count_cells() + row.time_cells()


def as_markdown(title: str, rows: Sequence[Row]) -> str:
    """One section. What is the same on every machine stands on the left."""
    lines = [[*KEYS[title], *COUNTS, *TIMES], ["---"] * 2 + ["---:"] * (len(COUNTS + TIMES) - 1) + ["---"]]
    lines += [cells(title, row) for row in rows]
    used = [f"| {' | '.join(line if title == 'Requirements' else line[:-1])} |" for line in lines]
    return "\n".join([f"{title} ({NUMBER_TYPE}):", "", *used, ""])


def as_table(tables: dict[str, list[Row]]) -> Table:
    """All sections as one table for the console."""
    table = Table("instance", *COUNTS, *TIMES, title=NUMBER_TYPE, caption="\n".join(map(str, (A, B, C, D))))
    for title, rows in tables.items():
        table.add_section()
        for row in rows:
            first, second, *others = cells(title, row)
            table.add_row(f"{KEYS[title][0]} {first}, {KEYS[title][1]} {second}", *others)
    return table


def main(arguments: Sequence[str] | None = None) -> str | int:
    """Measure and print; why the run fails, or 0."""
    parser = argparse.ArgumentParser(description="Measure the class enumerator.")
    parser.add_argument("--quick", action="store_true", help="leave out large instances and most of replay")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--strict", action="store_true", help="exit status 1 also for seconds and memory")
    options = parser.parse_args(arguments)
    notes, out = Console(stderr=True), Console()
    with Progress(console=notes, transient=True, disable=not notes.is_terminal) as progress:
        tables = measure_all(options.quick, progress)
    if options.markdown:
        print(*(as_markdown(title, rows) for title, rows in tables.items()), sep="\n")
    else:
        (out if out.is_terminal else Console(width=220)).print(as_table(tables))
    return "\n".join(failures([row for rows in tables.values() for row in rows], options.strict)) or 0


if __name__ == "__main__":
    sys.exit(main())
