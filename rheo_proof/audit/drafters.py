"""Drafters: functions that draw the draft themselves and report the rows that they say they have drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from rheo_proof.audit.arrays import Nested, shape
from rheo_proof.audit.cases import Case, Request, exactly
from rheo_proof.audit.drafts import Draft
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.models import TableModel
from rheo_proof.audit.outcomes import Reported
from rheo_proof.audit.reading import described, number, settled
from rheo_proof.audit.signatures import arguments, call, named
from rheo_proof.audit.sources import Source


class Proposal(NamedTuple):
    """A draft, the rows as a drafter returned them (None where we drew), and the same as exact numbers."""

    draft: Draft
    rows: Any = None
    reported: Reported = ()


def asked(drafter: Callable[..., Any], case: Case, request: Request, source: Source, values: str = "probs") -> Proposal:
    """What a drafter `(draft_model, K) -> (tokens, rows)` proposes. Raises `AuditError` if it returns something else.

    Its model is called with the draft tokens so far, an empty list at first, and returns a row. With logits, the rows
    that it reports are handed on and not compared with anything.
    """
    known = arguments(drafter, {}, ("draft_model", "K"))
    model = TableModel(lambda u: case.draft_row(request.index, request.context + u), case, source, values=values)
    scalars = {"draft_model": model, "K": case.length, "vocab": case.vocab}
    roles = [(a.parameter, a.role.kind) for a in known if a.role is not None]
    for parameter, kind in roles:
        if kind not in scalars:
            raise AuditError(f"{named(drafter)}: a drafter has no {kind} for {parameter}; it gets draft_model and K")
    result = call(drafter, known, {parameter: scalars[kind] for parameter, kind in roles})
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise AuditError(f"{named(drafter)} returned {described(result)}, expected tokens and rows")
    cells, rows = (source.arrays.cells(part) for part in result)
    while isinstance(cells, list) and len(cells) == 1 and isinstance(cells[0], list):
        cells = cells[0]
    if not isinstance(cells, list):
        raise AuditError(f"{named(drafter)} returned the tokens {cells!r}, expected a list of them")
    tokens = tuple(number(cell, "draft token") for cell in cells)
    while len(shape(rows)) > 2 and len(rows) == 1:
        rows = rows[0]
    if shape(rows) != (len(tokens), case.vocab):
        raise AuditError(f"{named(drafter)}: rows of shape {shape(rows)} for {len(tokens)} tokens of {case.vocab}")
    draft = Draft(tokens, tuple(range(-1, len(tokens) - 1)), request.context)
    return Proposal(draft, result[1], _exact(rows) if values == "probs" else ())


def _exact(rows: Nested) -> Reported:
    """The reported rows, exactly. Raises `AuditError` for entries that are no finite numbers."""
    found = [tuple(float(settled(x)) for x in row) for row in rows]
    for row in found:
        if not all(map(math.isfinite, row)):
            raise AuditError(f"a drafter reported the row {row}")
    return tuple(tuple(exactly(x) for x in row) for row in found)
