"""Ways to audit what cannot be enumerated, with the verdict that each can give and no more.

`piecewise`: the function takes its uniforms as arguments; laws are volumes (`piecewise.py`), judged like exact ones.
`sampled`: the function draws out of sight; its draws are tested (`sampled.py`). The caller says which one is used; an
exact audit that got stuck only names those that would work.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rheo_proof.audit.adapters.adapter import Adapter
from rheo_proof.audit.arrays import Arrays
from rheo_proof.audit.auditing import Audit
from rheo_proof.audit.boxes import PROBES, NotBoxes
from rheo_proof.audit.cases import Case, Request
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.exploring import Exploration, Leaf, Usage
from rheo_proof.audit.piecewise import PiecewiseLaw, assumption, table_law
from rheo_proof.audit.plain import Rolled
from rheo_proof.exact.errors import LimitReached
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import ZERO

MODES = ("auto", "exact", "piecewise", "sampled")
"""`auto` is exact, and says which other mode would work where that gets stuck."""
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


def others(function: Callable[..., Any], adapter: Adapter, case: Case, request: Request) -> Iterator[str]:
    """The modes other than `exact` that can run a function on a case."""
    try:
        table_law(function, adapter, case, request, TRIED)
    except (NotBoxes, LimitReached, AuditError):
        pass
    else:
        yield "piecewise"
    source = Rolled(case.dtype, random.Random(0), Arrays(getattr(adapter, "arrays", "torch"), audited=False))
    try:
        adapter.step(function, case, request, source)
    except Exception:
        return
    yield "sampled"


def hint(function: Callable[..., Any], adapter: Adapter, undecided: Sequence[tuple[Case, Request]]) -> str:
    """What else can be tried where an exact audit got stuck."""
    found = list(others(function, adapter, *undecided[0])) if undecided else []
    if not found:
        return "no other mode can run this function"
    return f"another mode can run this function: {' or '.join(f'--mode {mode}' for mode in found)}"
