"""The adapter for whole steps: a function that is given both models, drafts and verifies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rheo_proof.audit.adapters.verify import logit_slack
from rheo_proof.audit.arrays import Arrays
from rheo_proof.audit.baselines import Baseline, baseline
from rheo_proof.audit.cases import DTYPES, Case, Request, Table
from rheo_proof.audit.drafts import CHAIN, Draft
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.exploring import Run
from rheo_proof.audit.inputs import PROMPT, Inputs
from rheo_proof.audit.models import FORMS, VALUES, models
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.reading import Returns
from rheo_proof.audit.roles import SCALARS
from rheo_proof.audit.session import session
from rheo_proof.audit.signatures import Argument, arguments, call
from rheo_proof.audit.sources import RunSource, Source
from rheo_proof.audit.tables import battery, named
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ZERO, Q


@dataclass(frozen=True)
class Step:
    """(prompt [S], draft model, target model, K) -> the prompt and the emitted string; with `tokens`, the latter alone.

    Models are called with all tokens so far; `form` says whether they return the last row or all of them, `values`
    whether probabilities or logits, `wrap` whether in an attribute `logits`. A function that loops is given its limits
    by `constants`, and `loops` says so: then nothing is known of how much should be accepted.
    """

    name: str = "step"
    order: tuple[str, ...] = ("input_ids", "draft_model", "target_model", "K")
    roles: Mapping[str, str] = field(default_factory=dict)
    returns: str = "sequence"
    arrays: str = "torch"
    form: str = "next"
    values: str = "probs"
    wrap: bool = False
    loops: bool = False
    constants: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.form not in FORMS or self.values not in VALUES:
            raise AuditError(
                f"models return {self.form!r} {self.values!r}: expected {' or '.join(FORMS)}, {' or '.join(VALUES)}"
            )
        self.answer  # noqa: B018

    @property
    def answer(self) -> Returns:
        """What the function returns."""
        whole = self.returns == "sequence"
        return Returns.read("tokens" if whole else self.returns, prompt=PROMPT if whole else 0)

    def arguments_of(self, function: Callable[..., Any]) -> list[Argument]:
        """The arguments of a function with their roles."""
        found = arguments(function, self.roles, self.order, self.constants)
        return [a if a.role is None else replace(a, role=a.role.with_axes({}, False)) for a in found]

    def check(self, function: Callable[..., Any]) -> None:
        """Raise `AuditError` unless the function can be called like that."""
        allowed = {"input_ids", "uniforms", "exponentials", *SCALARS} - {"done"}
        for a in self.arguments_of(function):
            if a.role is not None and a.role.kind not in allowed:
                raise AuditError(f"{a.parameter}: a step is given models, not {a.role.kind}")
        Arrays(self.arrays)

    def cases(self, dtypes: Iterable[str] = DTYPES, tables: Iterable[str | Table] | None = None) -> tuple[Case, ...]:
        """The cases of one request."""
        dtypes = tuple(dtypes)
        found = battery(dtypes) if tables is None else named(tables, dtypes)
        return tuple(case for case in found if case.batch == 1 and case.table.eos is None)

    def requests(self, case: Case) -> tuple[Request, ...]:
        """What to explore."""
        return case.requests()

    def program(self, function: Callable[..., Any], case: Case, request: Request) -> Callable[[Run], Outcome]:
        """One step, as a program of a run."""
        arrays, known = Arrays(self.arrays), self.arguments_of(function)

        def program(run: Run) -> Outcome:
            with session(run, function):
                return self._step(known, function, case, request, RunSource(run, arrays))

        return program

    def step(self, function: Callable[..., Any], case: Case, request: Request, source: Source) -> Outcome:
        """One call in which nothing is intercepted."""
        return self._step(self.arguments_of(function), function, case, request, source)

    def _step(
        self, known: list[Argument], function: Callable[..., Any], case: Case, request: Request, source: Source
    ) -> Outcome:
        """The same with arguments that are known: reading a signature takes longer than many a call."""
        options = {"form": self.form, "values": self.values, "wrap": self.wrap, "skip": PROMPT}
        inputs = Inputs(case, request, CHAIN, (Draft((), (), request.context),), source)
        inputs.given = dict(models(case, request, source, source.phase, **options))
        values = {a.parameter: a.constant if a.role is None else inputs.value(a.parameter, a.role) for a in known}
        source.phase("verify")
        outcome = self.answer.outcome(call(function, known, values), inputs, source, case.vocab)
        return replace(outcome, changed=inputs.changed())

    def target(self, case: Case, request: Request) -> ToyModel:
        """What the emitted string, completed, has to follow."""
        return case.model(request.index, request.context)

    def baseline(self, case: Case, request: Request) -> Baseline:
        """What is accepted of a chain."""
        return Baseline(ZERO, None, ZERO) if self.loops else baseline(CHAIN, case, request)

    def slack(self, case: Case) -> Q:
        """A bound on the relative error of an entry of a row as it is handed over."""
        return max(case.deviation, logit_slack(case) if self.values == "logits" else ZERO)


def step(**options: Any) -> Step:
    """An adapter for whole steps."""
    return Step(**options)
