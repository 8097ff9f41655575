"""Target and draft as models that can be called: tokens in, the row of the next token out."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from rheo_proof.audit.arrays import Nested
from rheo_proof.audit.cases import Case, Request, Row
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.inputs import logit, prompt
from rheo_proof.audit.reading import number
from rheo_proof.audit.sources import Source
from rheo_proof.exact.model import Prefix

FORMS = ("next", "all")
VALUES = ("probs", "logits")


class TableModel:
    """A model that looks its rows up. Called with tokens [n] or [1, n], after a prompt of `skip` tokens.

    Form `next` returns the row of the next token, [V]; form `all` the rows after each token, [n, V], or [1, n, V].
    `wrap` returns an object with the rows in `logits`. Tokens that are not decided yet are decided: a model needs them.
    """

    def __init__(
        self,
        row: Callable[[Prefix], Row],
        case: Case,
        source: Source,
        form: str = "next",
        values: str = "probs",
        skip: int = 0,
        temperature: float = 1.0,
        wrap: bool = False,
        called: Callable[[], None] = lambda: None,
    ) -> None:
        if form not in FORMS or values not in VALUES:
            raise AuditError(f"model {form!r} of {values!r}: expected {' or '.join(FORMS)} of {' or '.join(VALUES)}")
        self.row = row
        self.case = case
        self.source = source
        self.form = form
        self.values = values
        self.skip = skip
        self.temperature = temperature
        self.wrap = wrap
        self.called = called

    def __call__(self, tokens: Any = None, *rest: Any, **more: Any) -> Any:
        """The rows after some tokens. Further arguments (masks, caches) are ignored."""
        self.called()
        cells = self.source.arrays.cells(more.get("input_ids", tokens))
        batched = isinstance(cells, list) and bool(cells) and isinstance(cells[0], list)
        if batched and len(cells) != 1:
            raise ValueError(f"a model of one request was called with {len(cells)}")
        string = tuple(number(cell, "token") for cell in (cells[0] if batched else cells))
        rows: Nested = [self._entries(string[: place + 1]) for place in range(len(string))]
        if self.form == "next":
            rows = self._entries(string)
        rows = self.source.arrays.make([rows] if batched else rows, self.case.dtype)
        return SimpleNamespace(logits=rows) if self.wrap else rows

    def _entries(self, string: Prefix) -> list[float]:
        """The row after a string; inside the prompt the root's row backwards, which nobody should read."""
        row = self.row(string[self.skip :]) if len(string) >= self.skip else self.row(())[::-1]
        if self.values == "probs":
            return list(row)
        return [logit(x, self.case, self.temperature) for x in row]

    def parameters(self) -> Any:
        """None: code that asks a model for its device asks its parameters."""
        return iter(())

    def eval(self) -> TableModel:
        """Itself."""
        return self


def models(
    case: Case, request: Request, source: Source, phase: Callable[[str], None], **options: Any
) -> dict[str, TableModel]:
    """Draft and target model of a request. What is drawn after the draft model was called is of phase `draft`."""

    def side(row: Callable[[int, Prefix], Row], name: str) -> TableModel:
        return TableModel(
            lambda u: row(request.index, request.context + u), case, source, called=lambda: phase(name), **options
        )

    return {"draft_model": side(case.draft_row, "draft"), "target_model": side(case.target_row, "verify")}


__all__ = ["TableModel", "models", "prompt"]
