"""Schemes side by side on one model: verdict, expected tokens, acceptance by level, and how far from the optimum.

The optimum is that of the scheme's own drafting: the most that any lossless verification of its trees can reach
(docs/transport.md). A lossless scheme above that bound would refute the bound or the verdict, so it is never shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rheo_proof.exact.errors import InputError, LimitReached, SoundnessError
from rheo_proof.exact.number import ZERO, to_fraction
from rheo_proof.schemes.laws import DraftClasses
from rheo_proof.schemes.registry import LOSSY, REDRAWING, ZOO
from rheo_proof.schemes.scheme import SCHEMES, Parameters
from rheo_proof.theorems.bounds import Trees, chained_bound, trees_of
from rheo_proof.theorems.instances import Bench, Effort, Entry, Result, Source
from rheo_proof.theorems.prices import program_bound
from rheo_proof.theorems.zoo import EVERY, PLANNED, look_up

DEFAULT = (*SCHEMES, *ZOO, *PLANNED, *LOSSY)
"""What is compared unless somebody says otherwise: everything but harmless variations and faults."""

MOST_TREES = 20_000
"""Drafting methods with more trees, tokens filled in, get no bound."""

PROGRAM_TREES = 1_000
"""Up to so many trees the bound is that of the linear program, else that of chained strings."""


@dataclass(frozen=True)
class Bound:
    """E[tau] + 1 of a lossless verification is at most `value`; `kind` says why: `program`, `chained`, or `none`.

    `chained` also stands for the rare case that rounding the prices left the program with the larger bound.
    `kept` is the expected number of different strings in the tree.
    """

    kind: str
    value: Fraction | None = None
    kept: Fraction | None = None


NO_BOUND = Bound("none")


@dataclass(frozen=True)
class Row:
    """One scheme: what was found, or why nothing was."""

    name: str
    parameters: Parameters
    found: Result | None
    bound: Bound = NO_BOUND
    why: str = ""

    @property
    def expected(self) -> str:
        """What the scheme ought to be."""
        return EVERY[self.name].expected

    @property
    def verdict(self) -> str:
        """That of the result; `not applicable` without one."""
        return self.found.verdict if self.found else "not applicable"

    @property
    def tokens(self) -> Fraction | None:
        """E[tau] + 1."""
        return self.found.expected_tokens if self.found else None

    @property
    def distance(self) -> Fraction | None:
        """What is missing to the bound, which speaks of lossless schemes only."""
        if self.tokens is None or self.bound.value is None or self.verdict != "lossless":
            return None
        return self.bound.value - self.tokens

    @property
    def as_it_ought(self) -> bool:
        """False only for a scheme that ought to be lossless and is not; others may be lossless on some models."""
        return self.verdict != "biased" or self.expected != "lossless"


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The schemes to compare, each once. Raises `InputError` for an unknown name.

    >>> chosen(["rheo", "flow", "rheo"])
    ('rheo', 'flow')
    """
    for name in names:
        look_up(name, dict(EVERY), "scheme")
    return tuple(dict.fromkeys(names)) or DEFAULT


def compare(
    source: Source, names: Sequence[str], parameters: Parameters, effort: Effort | None = None
) -> Iterator[Row]:
    """A row for each scheme, in the order of the names.

    >>> source = Source("random", 0, 3, 1)
    >>> [row] = compare(source, ["greedy"], Parameters(slots=2, depth=1))
    >>> row.verdict, str(row.tokens), row.bound.kind, str(row.distance)
    ('lossless', '2', 'program', '0')
    """
    bench = Bench(source, effort or Effort())
    bounds: dict[Any, Bound] = {}
    for name in names:
        fixed = EVERY[name].fix(parameters)
        try:
            entry = Entry.of(name, parameters)
            result = bench.decide(entry)
            bound = _bound(bench, entry, bounds) if result.verdict == "lossless" else NO_BOUND
        except InputError as reason:
            yield Row(name, fixed, None, why=str(reason))
            continue
        row = Row(name, fixed, result, bound, result.why)
        if row.distance is not None and row.distance < 0:
            raise SoundnessError(f"{name} is lossless and has {row.tokens} tokens, more than the bound {bound.value}")
        yield row


def _bound(bench: Bench, entry: Entry, known: dict[Any, Bound]) -> Bound:
    """The bound of its drafting, computed once for all schemes that draft alike."""
    scheme = entry.scheme()
    if entry.name in REDRAWING:
        return NO_BOUND
    if scheme.drafting not in known:
        known[scheme.drafting] = bound_of(bench, bench.drafts(scheme))
    return known[scheme.drafting]


def bound_of(bench: Bench, drafted: DraftClasses) -> Bound:
    """The smaller bound of the linear program, where the trees are few and scipy is there, and of chained strings."""
    limits = bench.effort.limits()
    limits.classes = min(MOST_TREES, limits.classes or MOST_TREES)
    try:
        trees = trees_of(drafted, limits)
    except LimitReached:
        return NO_BOUND
    kept = to_fraction(sum((mass * len(tree) for tree, mass in trees.items()), ZERO))
    chained, value = chained_bound(trees, bench.model), program(trees, bench)
    if value is None or chained < value:
        return Bound("chained", chained + 1, kept)
    return Bound("program", value + 1, kept)


def program(trees: Trees, bench: Bench) -> Fraction | None:
    """The bound that rounded prices of the linear program prove; None without scipy or for too many trees."""
    if len(trees) > PROGRAM_TREES:
        return None
    try:
        return program_bound(trees, bench.model).bound
    except InputError:  # scipy is not installed
        return None


def ranked(rows: Sequence[Row]) -> list[Row]:
    """Lossless ones first, the most tokens first; then what is lossy or biased, then what has no number."""
    order = {"lossless": 0, "lossy by design": 1, "biased": 2}
    return sorted(rows, key=lambda row: (order.get(row.verdict, 3), -(row.tokens or 0), row.name))


def status(rows: Sequence[Row]) -> int:
    """1 if a scheme that ought to be lossless is not, 3 if one was not decided within the limits, else 0."""
    if not all(row.as_it_ought for row in rows):
        return 1
    return 3 if any(row.verdict == "undecided" for row in rows) else 0
