"""Many draws in one call: a function for batches is handed the requests of a case many times over, each with its draft.

A batch of requests with different rows is copied as a whole, so that rows that leak into each other still show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rheo_proof.audit.adapters.adapter import Adapter
from rheo_proof.audit.adapters.verify import Verify
from rheo_proof.audit.arrays import cells_of
from rheo_proof.audit.cases import Case, Request, Row
from rheo_proof.audit.inputs import Inputs
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.plain import Plain
from rheo_proof.audit.signatures import call
from rheo_proof.audit.sources import pick
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix


@dataclass(frozen=True)
class Tiled(Case):
    """A case whose requests are there `copies` times."""

    copies: int = 1

    @property
    def batch(self) -> int:
        """B, all copies counted."""
        return len(self.table.rows) * self.copies

    def _pair(self, request: int, prefix: Prefix) -> tuple[Row, Row]:
        return super()._pair(request % len(self.table.rows), prefix)

    def _law(self, request: int, side: int, prefix: Prefix) -> Law:
        return super()._law(request % len(self.table.rows), side, prefix)


def can_tile(adapter: Adapter) -> bool:
    """Whether functions of this adapter take batches that can be made as large as one likes."""
    return isinstance(adapter, Verify) and adapter.batched and adapter.drafter is None


def together(
    function: Callable[..., Any], adapter: Adapter, case: Case, request: Request, sources: Sequence[Plain]
) -> list[Outcome]:
    """One call with a copy of the requests for each source; the outcomes of the request that is read.

    Its draft in each copy, and what is drawn from a returned vector, come from that copy's source; the drafts of other
    requests are held; everything else that is random in the arguments comes from the first source.
    """
    assert isinstance(adapter, Verify)
    b = case.batch
    wide = Tiled(case.table, case.dtype, case.processes, copies=len(sources))
    drafts = []
    for source in sources:
        drawn = adapter.drafting.draw(case, request.index, request.context, lambda law, what: pick(source, law, what))  # noqa: B023
        drafts.append(tuple(drawn if i == request.index else adapter.drafting.held(case, request, i) for i in range(b)))
    first = sources[0]
    inputs = Inputs(
        wide,
        request,
        adapter.drafting,
        tuple(draft for copy in drafts for draft in copy),
        first,
        float(adapter.temperature),
    )
    known = adapter.arguments_of(function)
    values = {a.parameter: a.constant if a.role is None else inputs.value(a.parameter, a.role) for a in known}
    result = call(function, known, values)
    parts = list(result) if len(adapter.answer.parts) > 1 else [result]
    cells = [cells_of(part) for part in parts]
    outcomes = []
    for k, (copy, source) in enumerate(zip(drafts, sources, strict=True)):
        own = [part[k * b : (k + 1) * b] if isinstance(part, list) else part for part in cells]
        mine = replace(inputs, case=case, drafts=copy, arrays={})
        returned = tuple(own) if len(own) > 1 else own[0]
        outcomes.append(adapter.answer.outcome(returned, mine, source, case.vocab))
    return outcomes
