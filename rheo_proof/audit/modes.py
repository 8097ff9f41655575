"""Ways to audit what cannot be enumerated, with the verdict that each can give and no more.

`piecewise`: the function takes its uniforms as arguments; laws are volumes (`piecewise.py`), judged like exact ones.
`sampled`: the function draws out of sight; its draws are tested (`sampled.py`). The caller says which one is used; an
exact audit that got stuck only names those that would work.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from math import ceil, log
from typing import Any

from rheo_proof.audit.adapters.adapter import Adapter
from rheo_proof.audit.arrays import Arrays
from rheo_proof.audit.auditing import Audit, distance_from
from rheo_proof.audit.boxes import MISS, PROBES, ROUNDS, NotBoxes
from rheo_proof.audit.cases import Case, Request
from rheo_proof.audit.errors import FAILURES, AuditError, NotEnumerable, Unsound
from rheo_proof.audit.exploring import Exploration, Leaf, Usage
from rheo_proof.audit.naming import name_of
from rheo_proof.audit.piecewise import PiecewiseLaw, assumption, table_law
from rheo_proof.audit.plain import Rolled
from rheo_proof.audit.verdict import BIASED, NOT_REFUTED, UNDECIDED, Undecided, Verdict
from rheo_proof.exact.errors import LimitReached
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import ZERO, Q

LEAST = Q(1, 10**6)
"""No smaller distance is looked for by points."""
NOTHING = "piecewise-exact: no law was found, and nothing was probed that could be said of one"
TRIED = 32
"""Random points with which it is tried whether the piecewise mode would work."""


@dataclass
class PiecewiseAudit(Audit):
    """An audit whose laws are volumes of boxes. `probes`: fresh random points for each of them."""

    probes: int = PROBES
    known: dict[tuple[Case, Request], PiecewiseLaw] = field(default_factory=dict)

    @property
    def basis(self) -> str:
        """What has to be said with the verdict."""
        return assumption(self.probes)

    def explore(self, case: Case, request: Request, boundary: bool = False, **how: Any) -> Exploration:
        """The law of one request; with `boundary`, with what is possible only where a uniform is exactly 0.

        Raises `LimitReached` where the regions are not boxes, and for other ways to explore.
        """
        if how:
            raise LimitReached(f"{', '.join(how)}: only where random variables can be intercepted")
        found = self.known.get((case, request))
        if found is None:
            watch = Limits(None, self.deadline).watch
            try:
                found = table_law(self.function, self.adapter, case, request, self.probes, watch)
            except NotBoxes as refused:
                raise LimitReached(str(refused)) from None
            self.known[case, request] = found
            self.runs += found.calls
        law = dict(found.law)
        if boundary:
            law |= {end.outcome: ZERO for end in found.at_zero}
        leaves = [Leaf(outcome, mass, ()) for outcome, mass in law.items()]
        usage = Usage(found.drawn, found.used, found.drawn - found.used)
        return Exploration(law, leaves, found.calls, usage, found.resolution)


def in_mode(mode: str, eps: Any, work: Audit) -> Verdict:
    """The verdict of mode `piecewise` or `sampled` on what an exact audit would do. Raises `AuditError`."""
    if mode == "sampled":
        return sampled(eps, work)
    shared = {each.name: getattr(work, each.name) for each in fields(Audit)}
    shared["calls"] = 0  # The law is made of ordinary calls.
    audit = PiecewiseAudit(**shared, probes=PROBES if eps is None else probes_for(eps))
    verdict = audit.over()
    # What points agreed with can be said only of laws that were found.
    return replace(verdict, mode=mode, basis=audit.basis if verdict.judged else NOTHING)


def probes_for(eps: Any) -> int:
    """Fresh random points that a law wrong by `eps` survives with probability at most `MISS`.

    >>> probes_for("1/100"), probes_for(0.001)
    (2419, 24190)
    """
    distance = distance_from(eps)
    if not distance > LEAST:
        raise AuditError(f"eps: {eps!r} is not a distance above {float(LEAST):g}")
    return ceil(log(ROUNDS / MISS) / float(distance))


def sampled(eps: Any, work: Audit) -> Verdict:
    """The verdict of draws."""
    try:
        from rheo_proof.audit.sampled import EPS, sampled_audit
    except ImportError:
        raise AuditError("mode sampled needs numpy, scipy; pip install 'rheo-proof[stats]'") from None

    for name in ("declared", "tolerance"):
        if name in work.options:
            raise AuditError(f"{name}: goes with laws that are known, not with mode sampled; see eps")
    watch = Limits(None, work.deadline).watch
    undecided: tuple[Undecided, ...] = ()
    report = None
    try:
        report = sampled_audit(
            work.function, work.adapter, work.todo, eps=EPS if eps is None else eps, told=work.told, watch=watch
        )
    except (LimitReached, NotEnumerable, Unsound) as limit:
        undecided = (Undecided(work.todo[0][0].name, str(limit)),)
    return Verdict(
        UNDECIDED if report is None else BIASED if report.refuted else NOT_REFUTED,
        name_of(work.function),
        work.name,
        (),
        undecided=undecided,
        runs=sum(table.found.draws for table in report.tables) if report else 0,
        seconds=time.monotonic() - work.begun,
        cases=tuple(case for case, _ in work.todo),
        options=work.options,
        mode="sampled",
        basis=report.levels if report else "",
        sampled=report,
    )


def others(function: Callable[..., Any], adapter: Adapter, case: Case, request: Request) -> Iterator[str]:
    """The modes other than `exact` that can run a function on a case."""
    try:
        table_law(function, adapter, case, request, TRIED)
    except (NotBoxes, LimitReached, AuditError, NotEnumerable, Unsound):
        pass
    else:
        yield "piecewise"
    source = Rolled(case.dtype, random.Random(0), Arrays(getattr(adapter, "arrays", "torch"), audited=False))
    try:
        adapter.step(function, case, request, source)
    except (*FAILURES, NotEnumerable):
        return
    yield "sampled"


def hint(work: Audit) -> str:
    """What else can be tried where an exact audit got stuck."""
    stuck = {one.case for one in work.undecided}
    case, request = next((case, request) for case, request in work.todo if case.name in stuck)
    found = list(others(work.function, work.adapter, case, request))
    if not found:
        return "no other mode can run this function"
    return f"another mode can: {' or '.join(found)}"
