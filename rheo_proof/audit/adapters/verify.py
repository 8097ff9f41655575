"""The general adapter: a function that verifies drafts, described by its roles and by what it returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from rheo_proof.audit.arrays import Arrays
from rheo_proof.audit.baselines import Baseline, baseline
from rheo_proof.audit.cases import DTYPES, Case, Process, Request, Table, exactly
from rheo_proof.audit.drafters import Proposal, asked
from rheo_proof.audit.drafts import CHAIN, Drafting
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.exploring import Run
from rheo_proof.audit.inputs import Inputs, logit
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.reading import Returns
from rheo_proof.audit.rows import prefixes
from rheo_proof.audit.session import session
from rheo_proof.audit.signatures import Argument, arguments, call
from rheo_proof.audit.sources import RunSource, Source, pick
from rheo_proof.audit.tables import battery, named
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ZERO, Q

MOST_DRAFTS = 200
"""Drafts of one table of the battery."""


@dataclass(frozen=True)
class Verify:
    """An adapter for functions that are handed a draft and the rows of draft and target.

    `roles` is what the user says of parameters; others get roles by usual names, to which `names` adds those of this
    kind of function, or all of them by `order`. `axes` are the axes of roles that are written without; `batched` puts B
    first, in arguments and in what is returned. `drafter` is a function `(draft_model, K) -> (tokens, rows)` that
    drafts instead of us. `temperature` is handed over, with logits times T.
    """

    name: str = "chain"
    drafting: Drafting = CHAIN
    order: tuple[str, ...] = ("draft_tokens", "draft_probs", "target_probs")
    roles: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    returns: str = "tokens"
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    arrays: str = "torch"
    batched: bool = False
    bonus: bool = True
    prompt: int = 0
    constants: Mapping[str, Any] = field(default_factory=dict)
    temperature: Fraction = Fraction(1)
    target_process: Process | None = None
    draft_process: Process | None = None
    drafter: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        parts = self.answer.parts
        if "length" in parts and "best" not in parts and not self.drafting.chain:
            raise AuditError(f"returns {self.returns!r}: a length says nothing of a tree; expected node, path or best")
        if self.temperature <= 0:
            raise AuditError(f"temperature {self.temperature}: expected a positive number")
        if self.drafter is not None and (self.batched or not self.drafting.chain):
            raise AuditError("a drafter drafts a chain for one request")

    @property
    def answer(self) -> Returns:
        """What the function returns."""
        return Returns.read(self.returns, self.batched, self.bonus, self.prompt)

    def arguments_of(self, function: Callable[..., Any]) -> list[Argument]:
        """The arguments of a function with their roles. Raises `AuditError` if one has none."""
        found = arguments(function, self.roles, self.order, self.constants, self.names)
        return [a if a.role is None else replace(a, role=a.role.with_axes(self.axes, self.batched)) for a in found]

    def check(self, function: Callable[..., Any]) -> None:
        """Raise `AuditError` unless the function can be called like that, with arrays of this kind."""
        kinds = [a.role.kind for a in self.arguments_of(function) if a.role is not None]
        for kind in ("draft_model", "target_model"):
            if kind in kinds:
                raise AuditError(f"role {kind}: adapter {self.name} hands over rows; use adapter step")
        Arrays(self.arrays)

    def cases(self, dtypes: Iterable[str] = DTYPES, tables: Iterable[str | Table] | None = None) -> tuple[Case, ...]:
        """The cases that fit: of the battery and the public reports, or of tables named here."""
        dtypes = tuple(dtypes)
        found = (
            [case for case in battery(dtypes) if self._few_drafts(case)] if tables is None else named(tables, dtypes)
        )
        processed = [replace(case, processes=(self.target_process, self.draft_process)) for case in found]
        return tuple(case for case in processed if self._fits(case))

    def _few_drafts(self, case: Case) -> bool:
        """Whether an audit of all drafts takes seconds: larger tables have to be asked for by name."""
        nodes = case.length if self.drafting.chain else len(self.drafting.parents or ())
        return self.drafting.method == "fixed" or case.vocab**nodes <= MOST_DRAFTS

    def _fits(self, case: Case) -> bool:
        ends = {"eos", "done"} & {text.partition("[")[0] for text in (*self.order, *self.roles.values())}
        if (case.batch > 1 and not self.batched) or (case.table.eos is not None and not ends):
            return False
        return bool(self.requests(case))

    def requests(self, case: Case) -> tuple[Request, ...]:
        """What to explore, one by one: each request that is read, from each context where there is one level."""
        found = case.requests()
        if self.drafting.one_level and case.length > 1 and case.batch == 1:
            contexts = prefixes(case.vocab, case.length - 1)
            found = tuple(replace(request, context=u) for request in found for u in contexts)
        return tuple(r for r in found if self.drafting.fits(case, r.index, r.context))

    def program(self, function: Callable[..., Any], case: Case, request: Request) -> Callable[[Run], Outcome]:
        """One step of the function on this case, as a program of a run."""
        arrays, known = Arrays(self.arrays), self.arguments_of(function)

        def program(run: Run) -> Outcome:
            with session(run, function, *([self.drafter] if self.drafter else [])):
                return self._step(known, function, case, request, RunSource(run, arrays))

        return program

    def step(self, function: Callable[..., Any], case: Case, request: Request, source: Source) -> Outcome:
        """One call, its randomness taken from `source` as far as it is ours. Nothing is intercepted here."""
        return self._step(self.arguments_of(function), function, case, request, source)

    def _step(
        self, known: list[Argument], function: Callable[..., Any], case: Case, request: Request, source: Source
    ) -> Outcome:
        """The same with arguments that are known: reading a signature takes longer than many a call."""
        source.phase("draft")
        kinds = {a.role.kind for a in known if a.role is not None}
        reported = "draft_logits" if "draft_logits" in kinds else "draft_probs"
        proposal = self.proposed(case, request, source, reported)
        inputs = self.inputs(case, request, proposal, source)
        if proposal.rows is not None:
            inputs.given[reported] = proposal.rows
        values = {a.parameter: a.constant if a.role is None else inputs.value(a.parameter, a.role) for a in known}
        source.phase("verify")
        outcome = self.answer.outcome(call(function, known, values), inputs, source, case.vocab)
        return replace(outcome, changed=inputs.changed(), reported=proposal.reported)

    def proposed(self, case: Case, request: Request, source: Source, reported: str) -> Proposal:
        """A draft of the request that is read: drawn by us, or by the drafter."""
        if self.drafter is not None:
            return asked(self.drafter, case, request, source, reported.removeprefix("draft_"))
        draft = self.drafting.draw(case, request.index, request.context, lambda law, what: pick(source, law, what))
        return Proposal(draft)

    def inputs(self, case: Case, request: Request, proposal: Proposal, source: Source) -> Inputs:
        """What the arguments are made of: this draft, and fixed strings for the other requests."""
        drafts = tuple(
            proposal.draft if b == request.index else self.drafting.held(case, request, b) for b in range(case.batch)
        )
        return Inputs(case, request, self.drafting, drafts, source, float(self.temperature))

    def target(self, case: Case, request: Request) -> ToyModel:
        """What the emitted string, completed, has to follow."""
        return case.model(request.index, request.context)

    def baseline(self, case: Case, request: Request) -> Baseline:
        """What the ratio rule accepts, and the optimum."""
        return baseline(self.drafting, case, request)

    def slack(self, case: Case) -> Q:
        """A bound on the relative error of an entry of a row as it is handed over."""
        logits = any("logits" in text for text in (*self.order, *self.roles.values()))
        return max(case.deviation, logit_slack(case, float(self.temperature)) if logits else ZERO)


def logit_slack(case: Case, temperature: float = 1.0) -> Q:
    """Four times the largest error of a logit: it is rounded once to the type, and three times to double before.

    exp of a logit is off by at most twice that, for errors below 1, and the sum by as much.
    """
    logits = [
        abs(logit(x, case, temperature))
        for b in range(case.batch)
        for prefix in case.table.rows[b]
        for row in (case.target_row(b, prefix), case.draft_row(b, prefix))
        for x in row
        if x > 0
    ]
    largest = exactly(float(math.ceil(max(logits, default=0.0)) + 1))
    return 4 * largest * (case.unit + Q(3, 1 << 53)) / exactly(temperature)
