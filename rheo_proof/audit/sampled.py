"""The statistical mode: a function that draws out of sight is run as it is, and its draws are tested.

Each run draws the draft with exact dice (or lets the function's drafter do it), calls the function on plain arguments
and completes what it emits with draws from the target: a lossless function gives strings with the target's law. The
tests are those of `rheo_proof.stats`: planned draws, a false-alarm rate that is divided over the tables, and a power
that is proved. Nothing that this mode says is a proof of losslessness.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from rheo_proof.audit.adapters.adapter import Adapter
from rheo_proof.audit.arrays import Arrays
from rheo_proof.audit.cases import Case, Request
from rheo_proof.audit.errors import FAILURES, AuditError, Unsound
from rheo_proof.audit.exploring import Raised
from rheo_proof.audit.judging import failure
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.plain import Plain, Rolled, own_states, seed_globals
from rheo_proof.audit.tiling import can_tile, together
from rheo_proof.audit.words import shown
from rheo_proof.exact.model import ToyModel, key
from rheo_proof.exact.number import Q, to_fraction
from rheo_proof.exact.step import continuation, target_probability
from rheo_proof.stats.asserts import assert_law_equal
from rheo_proof.stats.binomial import Cell, worst_cells
from rheo_proof.stats.cells import level
from rheo_proof.stats.plan import ALPHA, BETA
from rheo_proof.stats.verdict import LawMismatch, Verdict, in_words

EPS = "1/20"
"""The total variation distance that is refuted, unless another one is asked for."""
AT_ONCE = 256
"""Most copies of a request in one call."""


@dataclass(frozen=True)
class SampledTable:
    """What the draws of one request of one case say. `worst`: the cell with the smallest exact p-value."""

    case: Case
    request: Request
    found: Verdict
    refuted: bool
    worst: Cell

    @property
    def name(self) -> str:
        """The case, and which of its requests where there are several."""
        return table_name(self.case, self.request)

    def line(self) -> str:
        """One line of the report."""
        low, high = self.found.tv_interval
        seen = f"{self.name}: {self.found.draws:,} draws, TV {self.found.tv:.4f} [{low:.4f}, {high:.4f}]"
        return f"{seen}, p-value bound {in_words(self.found.log_p)}" if self.refuted else seen

    def departure(self) -> str:
        """The cell that departs most."""
        cell, drawn, expected, _ = self.worst
        probability = self.found.target.probability(cell)
        return (
            f"{cell_shown(cell)} was drawn {drawn:,} times in {self.found.draws:,}, expected {expected:,.1f} "
            f"(probability {shown(to_fraction(probability))})"
        )


@dataclass(frozen=True)
class SampledReport:
    """What the draws say of a battery, at stated error rates; `alpha` is that of the whole battery."""

    tables: tuple[SampledTable, ...]
    eps: float
    alpha: float
    beta: float

    @property
    def refuted(self) -> tuple[SampledTable, ...]:
        """The tables that the function failed."""
        return tuple(table for table in self.tables if table.refuted)

    @property
    def levels(self) -> str:
        """The error rates in words."""
        alarm = f"a lossless function is called biased with probability at most {self.alpha:g} on all tables together"
        if self.refuted:
            return alarm
        return f"{alarm}; one at a distance of {self.eps:g} or more on a table passes there with at most {self.beta:g}"

    @property
    def headline(self) -> str:
        """The verdict, which is never more than the draws can say."""
        if self.refuted:
            first = self.refuted[0]
            return f"biased (statistically): {first.name}, {first.departure()}"
        return f"not refuted: total variation below {self.eps:g} on every table, at these error rates"

    def lines(self) -> list[str]:
        """The verdict, its error rates, and a line for each table."""
        return [self.headline, self.levels, *(table.line() for table in self.tables)]

    def as_plain(self) -> dict[str, Any]:
        """Numbers, strings and lists, for JSON."""
        tables = [
            {
                "table": table.name,
                "refuted": table.refuted,
                "draws": table.found.draws,
                "planned": table.found.planned,
                "alpha": table.found.alpha,
                "tv": table.found.tv,
                "p_value_bound": in_words(table.found.log_p),
                "departs_most": table.departure(),
            }
            for table in self.tables
        ]
        return {"eps": self.eps, "alpha": self.alpha, "beta": self.beta, "tables": tables}


def sampled_audit(
    function: Callable[..., Any],
    adapter: Adapter,
    todo: Sequence[tuple[Case, Request]],
    *,
    eps: Any = EPS,
    alpha: Any = ALPHA,
    beta: Any = BETA,
    name: str = "audit",
    told: Callable[[int, int], None] | None = None,
    watch: Callable[[], None] = lambda: None,
) -> SampledReport:
    """Test the strings that a function emits, for every case and request that has a target law.

    A lossless function fails anywhere with probability at most `alpha`, which is divided over the tables and spent from
    the budget of the run (`stats.ledger`); one at distance `eps` or more on a table passes there with probability at
    most `beta`. Random numbers hang on `name` and the root seed, as far as the function draws from the global
    generators of `random`, NumPy and torch. `told` is called with the number of tables done and their total, `watch`
    before each call of the function; it may raise. Raises `AuditError` where there is no law to test.
    """
    adapter.check(function)
    pairs = [(case, request) for case, request in todo if not case.refusal]
    if not pairs:
        raise AuditError("no case has a law that could be tested")
    whole, power = level(alpha, "alpha"), level(beta, "beta")
    tables = []
    with own_states():
        for done, (case, request) in enumerate(pairs):
            if told is not None:
                told(done, len(pairs))
            strings = Strings(function, adapter, case, request, watch)
            label = f"{name}, {table_name(case, request)}"
            found, refuted = checked(strings, string_law(strings.model), eps, whole / len(pairs), power, label)
            tables.append(SampledTable(case, request, found, refuted, worst_cells(found.counts, found.target, 1)[0]))
    return SampledReport(tuple(tables), level(eps, "eps"), whole, power)


def checked(
    sampler: Callable[[Any, int], list[Hashable]],
    law: dict[Hashable, Q],
    eps: Any,
    alpha: float,
    beta: float,
    name: str,
) -> tuple[Verdict, bool]:
    """The verdict of the sequential check, and whether it refutes."""
    try:
        return assert_law_equal(sampler, law, eps=eps, alpha=alpha, beta=beta, name=name), False
    except LawMismatch as error:
        found: Verdict = error.verdict
        return found, True


def string_law(model: ToyModel) -> dict[Hashable, Q]:
    """The target's law of strings one token longer than a model is deep; strings of probability 0 included."""
    return {string: target_probability(model, string) for string in product(range(model.vocab), repeat=model.depth + 1)}


class Strings:
    """Draws of completed strings: what the function emitted, and from there on the target, to one length.

    An outcome that is no emitted string is a cell of its own, of probability 0.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        adapter: Adapter,
        case: Case,
        request: Request,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        self.watch = watch
        self.function, self.adapter, self.case, self.request = function, adapter, case, request
        self.model = adapter.target(case, request)
        self.arrays = Arrays(getattr(adapter, "arrays", "torch"), audited=False)
        self.tiles = can_tile(adapter)

    def __call__(self, generator: Any, n: int) -> list[Hashable]:
        seed_globals(int(generator.integers(1 << 62)))
        dice = random.Random(int(generator.integers(1 << 62)))
        drawn: list[Hashable] = []
        while len(drawn) < n:
            sources = [Rolled(self.case.dtype, dice, self.arrays) for _ in range(min(AT_ONCE, n - len(drawn)))]
            drawn += [self.completed(outcome, source) for outcome, source in self.outcomes(sources)]
        return drawn

    def outcomes(self, sources: Sequence[Rolled]) -> Iterator[tuple[Outcome | Raised, Rolled]]:
        """One outcome for each source; in one call where the function takes batches and does not raise."""
        self.watch()
        if self.tiles and len(sources) > 1:
            try:
                yield from zip(
                    together(self.function, self.adapter, self.case, self.request, sources), sources, strict=True
                )
                return
            except (AuditError, Unsound):
                raise
            except FAILURES:  # One copy of many: each is called by itself, to see which.
                self.tiles = False
        for source in sources:
            self.watch()
            try:
                yield self.adapter.step(self.function, self.case, self.request, source), source
            except (AuditError, Unsound):
                raise
            except FAILURES as error:
                yield Raised(type(error).__name__, str(error)), source

    def completed(self, outcome: Outcome | Raised, source: Plain) -> Hashable:
        """The string of an outcome, completed to the length of the law."""
        if isinstance(outcome, Raised) or outcome.fault:
            return failure(outcome)
        string = outcome.tokens[: self.model.depth + 1]
        while len(string) <= self.model.depth:
            law = continuation(self.model, string)
            string += (law.support[source.choose([law[x] for x in law.support], "completion")],)
        return string


def table_name(case: Case, request: Request) -> str:
    """The case, and which of its requests where there are several."""
    where = f", request {request.index} (variant {request.variant})" if case.batch > 1 else ""
    return f"{case.name}{where}" + (f", after {key(request.context)}" if request.context else "")


def cell_shown(cell: Hashable) -> str:
    """A string of tokens as it is written elsewhere; any other cell as itself."""
    return f"the string {key(cell)}" if isinstance(cell, tuple) else f"an answer that {cell}"
