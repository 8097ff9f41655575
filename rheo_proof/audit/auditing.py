"""The audit: a function run over the battery, every answer judged, one verdict.

Each request of each case is explored once; where the target has zeros, once more with uniforms at the ends of their
range. For the smallest case whose law departs, `explaining.py` then looks for the line and for the cause.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from rheo_proof.audit import calls as ordinary
from rheo_proof.audit import contract
from rheo_proof.audit.adapters import NAMES, find
from rheo_proof.audit.adapters.adapter import Adapter
from rheo_proof.audit.alarm import alarm
from rheo_proof.audit.asking import all_fit, read
from rheo_proof.audit.calls import TABLES, Contradiction, contradiction
from rheo_proof.audit.cases import DTYPES, Case, Request, Table
from rheo_proof.audit.contract import Finding
from rheo_proof.audit.declaring import Declared, declared_as
from rheo_proof.audit.errors import AuditError, NotEnumerable, Unsound
from rheo_proof.audit.explaining import causes, line
from rheo_proof.audit.exploring import Exploration, Usage, explore
from rheo_proof.audit.judging import GUARD, Judged, judge
from rheo_proof.audit.naming import name_of
from rheo_proof.audit.session import installation
from rheo_proof.audit.verdict import Counted, Undecided, Verdict, in_order, kind_of, smallest
from rheo_proof.exact.errors import LimitReached
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import ZERO, Q, to_fraction

MOST_RUNS = 10_000
"""Runs of one exploration, unless told otherwise."""

AFTER_A_LIMIT = 100
"""Once an exploration has reached its limit, the others are given this part of it: they will hardly be smaller."""

TAGS_OF_ENDS = ("zeros", "endpoint", "one-hot", "disjoint")
"""Cases with target zeros, on which uniforms are tried at the ends of their range."""


@dataclass
class Audit:
    """One audit in progress: what is asked, and what has been found so far.

    `name` is that of the adapter, `todo` what is explored, `options` what repeats the audit; `begun` is the clock then.
    """

    function: Callable[..., Any]
    adapter: Adapter
    name: str
    todo: Sequence[tuple[Case, Request]]
    options: dict[str, Any]
    begun: float
    told: Callable[[int, int], None] | None = None
    declared: Declared | None = None
    tolerance: Q = ZERO
    most_runs: int = MOST_RUNS
    deadline: float | None = None
    in_place: bool = False
    nan: bool = False
    calls: int = 0
    judged: list[Judged] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)
    to_call: list[tuple[Exploration, Case, Request]] = field(default_factory=list)
    called: int = 0
    limited: bool = False
    usage: Usage = field(default_factory=Usage)
    runs: int = 0
    refusals: int = 0

    def explore(self, case: Case, request: Request, **how: Any) -> Exploration:
        """The law of one request, within the limits. What the function warns of is nobody's business here."""
        program = self.adapter.program(self.function, case, request)
        limits = Limits(max(self.most_runs // (AFTER_A_LIMIT if self.limited else 1), 1), self.deadline)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return explore(program, limits, **how)
        except LimitReached:
            self.limited = True
            raise
        finally:
            self.runs += limits.spent

    def examine(self, case: Case, request: Request, called: bool = False) -> None:
        """One request of one case; if `called`, ordinary calls are compared with its law."""
        try:
            found = self.explore(case, request)
        except NotEnumerable as refused:
            self.undecided.append(Undecided(case.name, str(refused)))
            if refused.shared:
                # Whose draws they are, the draft's or the verifier's, is not known.
                text = f"{refused.operation}, the later one at {refused.site}"
                self.findings.append(Finding(contract.OVERLAP, text, case.name, cause=True))
            return
        except (LimitReached, Unsound) as limit:
            self.undecided.append(Undecided(case.name, str(limit).replace("classes", "runs")))
            return
        self.count(found.usage)
        if called:
            self.to_call.append((found, case, request))
        if case.refusal:
            self.refusals += 1
            if not self.nan and not self.unread(found, case, request):
                self.findings += contract.of_nan(found, case.name)
            return
        judged = self.judge(found, case, request)
        self.judged.append(judged)
        self.findings += [f for f in contract.of_law(judged) if f.topic != contract.CHANGED or not self.in_place]
        fault = contract.draft_fault(found, max(judged.allowed, to_fraction(GUARD)))
        if fault is not None:
            self.findings.append(contract.of_draft(fault, case.name))
        if not case.tags.isdisjoint(TAGS_OF_ENDS):
            self.findings += self.ends(judged)

    def call(self, found: Exploration, case: Case, request: Request) -> None:
        """Call the function as it is, with nothing taken away, and see whether it does what was enumerated."""
        self.called += self.calls
        try:
            said = contradiction(self.function, self.adapter, case, request, found.law, self.calls)
        except (NotEnumerable, Unsound) as refused:
            self.undecided.append(Undecided(case.name, f"in an ordinary call: {refused}"))
            return
        if said is not None:
            contradicted = isinstance(said, Contradiction)
            self.undecided.append(Undecided(case.name, str(said), contradicted))

    def judge(self, found: Exploration, case: Case, request: Request) -> Judged:
        """The law of an exploration against the target."""
        model, baseline = self.adapter.target(case, request), self.adapter.baseline(case, request)
        return judge(found, case, request, model, baseline, self.adapter.slack(case), self.tolerance, self.declared)

    def unread(self, found: Exploration, case: Case, request: Request) -> bool:
        """Whether the output has the target's law although a row is nan: then that row is a draft's, and unread."""
        try:
            return not self.judge(found, case, request).departs
        except AuditError:
            return False

    def ends(self, judged: Judged) -> list[Finding]:
        """What becomes possible when a uniform is exactly 0, or 1 where its source returns that."""
        try:
            ends = self.explore(judged.case, judged.request, boundary=True)
        except (NotEnumerable, LimitReached, Unsound) as stuck:
            why = f"with a uniform at an end of its range: {str(stuck).replace('classes', 'runs')}"
            self.undecided.append(Undecided(judged.case.name, why))
            return []
        return list(contract.of_boundary(ends, judged.model, judged))

    def count(self, usage: Usage) -> None:
        """Keep the largest counts, and where they come from."""
        for name in ("drawn", "used", "unused", "used_twice", "shared"):
            setattr(self.usage, name, max(getattr(self.usage, name), getattr(usage, name)))
        self.usage.twice_at.update(usage.twice_at)
        self.usage.shared_at.update(usage.shared_at)

    def over(self) -> Verdict:
        """All requests, one by one, and the verdict."""
        self.search()
        return self.finish()

    def search(self) -> None:
        """All requests, one by one."""
        lawful = [i for i, (case, _) in enumerate(self.todo) if not case.refusal]
        called = set(lawful[:: 1 + len(lawful) // TABLES][:TABLES]) if self.calls else set()
        for done, (case, request) in enumerate(self.todo):
            if self.told is not None:
                self.told(done, len(self.todo))
            self.examine(case, request, done in called)

    def finish(self) -> Verdict:
        """The verdict on everything that was found. Raises `AuditError` if the function never gave a usable answer."""
        if self.judged and all(judged.failing == 1 for judged in self.judged):
            text = next(iter(self.judged[0].failures))
            raise AuditError(
                f"{name_of(self.function)} never gives a usable answer: {text} (on {self.judged[0].case.name}, adapter "
                f"{self.name}); say what its parameters are and what it returns"
            )
        worst = smallest(self.judged)
        where = None
        if worst is not None:
            try:
                found = self.explore(worst.case, worst.request)
                self.findings += causes(found, lambda **how: self.again(worst, **how), worst.case.name)
                where = line(found, worst)
            except (LimitReached, NotEnumerable, Unsound):
                pass  # The line and the cause stay unknown; the refutation stands.
        if self.usage.shared and all(finding.topic != contract.SHARED for finding in self.findings):
            at = contract.most(self.usage.shared_at)
            text = f"{self.usage.shared} in a run, drawn {at}; no law was seen to be wrong for it"
            self.findings.append(Finding(contract.SHARED, text, remark=True))
        names = ("drawn", "used", "unused", "used_twice", "shared")
        return Verdict(
            kind_of(self.judged, self.findings, self.undecided, self.declared),
            name_of(self.function),
            self.name,
            tuple(self.judged),
            in_order(self.findings),
            tuple(self.undecided),
            self.declared,
            worst,
            where,
            Counted(**{name: getattr(self.usage, name) for name in names}),
            self.runs,
            self.called,
            time.monotonic() - self.begun,
            self.refusals,
            to_fraction(self.tolerance),
            tuple(case for case, _ in self.todo),
            self.options,
            calls=self.calls,
        )

    def again(self, judged: Judged, **how: Any) -> bool | None:
        """Whether the law of a case is right when it is explored in another way; None if that is not known."""
        try:
            again = self.explore(judged.case, judged.request, **how)
        except (NotEnumerable, LimitReached, Unsound):
            return None
        return not self.judge(again, judged.case, judged.request).departs


def audit(
    function: Callable[..., Any],
    adapter: str | Adapter = "chain",
    *,
    dtypes: Sequence[str] = DTYPES,
    tables: Sequence[str | Table] | None = None,
    declared: str | None = None,
    tolerance: Any = None,
    max_runs: int = MOST_RUNS,
    timeout: float | None = None,
    allow_in_place: bool = False,
    allow_nan: bool = False,
    calls: int | None = None,
    told: Callable[[int, int], None] | None = None,
    mode: str = "auto",
    eps: Any = None,
    **options: Any,
) -> Verdict:
    """The verdict on a verifier: its exact law on a battery of toy tables against the target, and its contract.

    `adapter` is the name of a ready-made one (`rheo_proof.audit.adapters.NAMES`), with `options` such as `arrays` or
    `roles`, or an adapter of your own. `declared` says that the function is lossy on purpose, or exact for another
    target (`mix 1/2`). `tolerance`: a total variation distance that counts as right, a rational or a float. `told` is
    called with the number of cases done and their total. `mode` is one of `verdict.MODES`, and `eps` the distance that
    the modes `piecewise` and `sampled` must not miss (`modes.py`). `calls`: how often the function is called as it is,
    on each of three tables, to see whether it does what was enumerated (`calls.py`); 0 for functions that are slow or
    have an effect. `timeout`: seconds; a call that goes on is stopped, too, in the main thread and where there is
    `SIGALRM`. `allow_in_place` and `allow_nan` permit what else breaks the contract.
    Raises `AuditError` for what makes no sense.

    >>> import random
    >>> def verify(draft_tokens, draft_probs, target_probs):
    ...     emitted = []
    ...     for x, q, p in zip(draft_tokens, draft_probs, target_probs):
    ...         if random.random() * q[x] < p[x]:
    ...             emitted.append(x)
    ...             continue
    ...         residual = [max(0.0, a - b) for a, b in zip(p, q)]
    ...         return emitted + random.choices(range(len(p)), residual)
    ...     return emitted + random.choices(range(len(p)), target_probs[len(draft_tokens)])
    >>> audit(verify, "chain", arrays="list", tables=["dyadic"], dtypes=["float64"]).kind
    'lossless'
    """
    if not callable(function):
        raise AuditError(f"{function!r} cannot be called; name a function")
    if not isinstance(adapter, str) and not hasattr(adapter, "program"):
        raise AuditError(f"adapter is {adapter!r}, expected a name of {', '.join(NAMES)}, or an adapter")
    own = read(
        dtypes=dtypes,
        tables=tables,
        declared=declared,
        max_runs=max_runs,
        timeout=timeout,
        allow_in_place=allow_in_place,
        allow_nan=allow_nan,
        calls=calls,
        told=told,
        mode=mode,
    )
    made, name = (find(adapter, **options), adapter) if isinstance(adapter, str) else (adapter, adapter.name)
    if options and not isinstance(adapter, str):
        raise AuditError(f"{', '.join(options)}: goes with the name of an adapter, not with one that is made")
    made.check(function)
    begun = time.monotonic()
    kept = {**options, "declared": declared, "tolerance": tolerance, "allow_in_place": own["allow_in_place"]}
    kept |= {"allow_nan": own["allow_nan"], "eps": eps, "mode": None if mode == "auto" else mode}
    kept = {option: value for option, value in kept.items() if value is not None and value is not False}
    todo = [(case, request) for case in made.cases(own["dtypes"], own["tables"]) for request in made.requests(case)]
    all_fit(own["tables"], [case for case, _ in todo], name)
    if not todo:
        raise AuditError("no table of the battery fits this adapter, dtype and choice of tables")
    work = Audit(
        function,
        made,
        name,
        todo,
        kept,
        begun,
        told,
        declared_as(declared),
        distance_from(tolerance),
        max_runs,
        None if timeout is None else begun + timeout,
        own["allow_in_place"],
        own["allow_nan"],
        ordinary.CALLS if calls is None else calls,
    )
    with alarm(work.deadline):
        return decided(mode, eps, work)


def decided(mode: str, eps: Any, work: Audit) -> Verdict:
    """The verdict in a mode; with a hint at others where an exact audit got stuck, and there is time to try them."""
    if mode in ("piecewise", "sampled"):
        from rheo_proof.audit.modes import in_mode

        return in_mode(mode, eps, work)
    if eps is not None:
        raise AuditError("eps: goes with the modes piecewise and sampled")
    with installation(work.function):
        work.search()
    # Code could tell what stands in for a source of randomness, so none does now.
    for found, case, request in work.to_call:
        work.call(found, case, request)
    with installation(work.function) if smallest(work.judged) is not None else nullcontext():
        verdict = work.finish()
    late = work.deadline is not None and time.monotonic() > work.deadline
    if mode == "auto" and verdict.undecided and not late:
        from rheo_proof.audit.modes import hint

        verdict = replace(verdict, hint=hint(work))
    return verdict


def distance_from(tolerance: Any) -> Q:
    """A tolerance as an exact number from 0 to 1."""
    if tolerance is None:
        return ZERO
    try:
        exact = Q(str(tolerance)) if isinstance(tolerance, float | str) else Q(tolerance)
    except (TypeError, ValueError, ZeroDivisionError):
        raise AuditError(f"tolerance: {tolerance!r} is no number") from None
    if not ZERO <= exact < 1:
        raise AuditError(f"tolerance: {tolerance!r} is not a distance from 0 to below 1")
    return exact
