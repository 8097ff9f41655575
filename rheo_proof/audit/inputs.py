"""The arguments of one call: for each role the value that the rows of the case and the drafts give it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rheo_proof.audit.arrays import Nested, unchanged
from rheo_proof.audit.cases import Case, Request, Row, rounded
from rheo_proof.audit.drafts import ROOT, Draft, Drafting
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.roles import Env, Role, nested
from rheo_proof.audit.sources import Source, token

PROMPT = 2
"""Tokens of the prompt, where a role includes it: not one, so that an offset by one shows."""


def prompt(case: Case) -> tuple[int, ...]:
    """The tokens before the draft."""
    return tuple((case.vocab - 1 - i) % case.vocab for i in range(PROMPT))


@dataclass
class Inputs:
    """What the arguments of a call are made of: one draft for each request, and where randomness comes from.

    `temperature` T multiplies logits, so that softmax(logits / T) is the row of the case. `given` holds values of
    roles that are made elsewhere: models, rows that a drafter reported. `arrays` collects what was handed over, to see
    after the call what of it was changed.
    """

    case: Case
    request: Request
    drafting: Drafting
    drafts: tuple[Draft, ...]
    source: Source
    temperature: float = 1.0
    given: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, tuple[Any, Nested]] = field(default_factory=dict)

    @property
    def draft(self) -> Draft:
        """The draft of the request that is read."""
        return self.drafts[self.request.index]

    @property
    def sizes(self) -> dict[str, int]:
        """The length of each axis."""
        nodes = len(self.draft.tokens)
        depth = max((len(path) for path in self.draft.paths()), default=0)
        return {
            "B": self.case.batch,
            "K": nodes,
            "K+1": nodes + 1,
            "V": self.case.vocab,
            "P": len(self.draft.paths()),
            "D": depth,
            "D+1": depth + 1,
            "S": nodes + PROMPT,
        }

    def value(self, parameter: str, role: Role) -> Any:
        """The argument for a parameter; arrays are remembered for `changed`."""
        if role.kind in self.given:
            return self.given[role.kind]
        if role.axes is None:
            return self._scalar(role.kind)
        contents = nested(role.axes, self.sizes, self._entry(role.kind))
        integers = role.kind in ("draft_tokens", "bonus_token", "parents", "paths", "candidates", "input_ids")
        array = self.source.arrays.make(contents, "int64" if integers else self.case.dtype)
        if role.axes:
            self.arrays[parameter] = (array, contents)
        return array

    def changed(self) -> tuple[str, ...]:
        """The parameters whose arrays do not hold any more what was handed over."""
        cells = self.source.arrays.cells
        return tuple(name for name, (array, before) in self.arrays.items() if not unchanged(before, cells(array)))

    def _entry(self, kind: str) -> Callable[[Env], Any]:
        """The value of a role at a position."""
        if kind in ("uniforms", "exponentials"):
            draw = self.source.uniform if kind == "uniforms" else self.source.exponential
            return lambda at: draw()
        if kind == "bonus_token":
            return self._bonus
        if kind.endswith(("_probs", "_logits")):
            side, _, form = kind.rpartition("_")
            row = {
                "draft": self._draft_row,
                "target": self._target_row,
                "bonus": self._bonus_row,
                "path": self._path_row,
            }
            entry = self._logit if form == "logits" else float
            return lambda at: entry(row[side](at)[at["V"]])
        return {
            "draft_tokens": lambda at: self._of(at).tokens[at["K"]],
            "parents": lambda at: self._of(at).parents[at["K"]],
            "paths": lambda at: self._node(at, at["D"]),
            "candidates": self._candidate,
            "input_ids": lambda at: (*prompt(self.case), *self._of(at).tokens)[at["S"]],
        }[kind]

    def _index(self, at: Env) -> int:
        return at.get("B", self.request.index)

    def _of(self, at: Env) -> Draft:
        return self.drafts[self._index(at)]

    def _draft_row(self, at: Env) -> Row:
        if "K" in at:
            return self.drafting.row(self.case, self._index(at), self._of(at), at["K"])
        return self.case.draft_row(self._index(at), self._of(at).context)

    def _target_row(self, at: Env) -> Row:
        """K+1 rows: the root's and that after each draft token; K rows: those that draft tokens are tested with."""
        draft = self._of(at)
        node = at["K+1"] - 1 if "K+1" in at else draft.parents[at["K"]] if "K" in at else ROOT
        return self.case.target_row(self._index(at), draft.prefix(node))

    def _bonus_row(self, at: Env) -> Row:
        draft = self._of(at)
        return self.case.target_row(self._index(at), draft.prefix(len(draft.tokens) - 1))

    def _bonus(self, at: Env) -> Any:
        draft = self._of(at)
        prefix = draft.prefix(len(draft.tokens) - 1)
        if self.case.refusal:
            return 0
        return token(self.source, self.case.target(self._index(at), prefix))

    def _node(self, at: Env, position: int) -> int:
        """The node at a position of a path, the first below the root being 0; -1 after its end."""
        path = self._of(at).paths()[at["P"]]
        return path[position] if position < len(path) else -1

    def _candidate(self, at: Env) -> int:
        """The tokens of a path after the last token of the prompt, padded with -1."""
        if at["D+1"] == 0:
            return prompt(self.case)[-1]
        node = self._node(at, at["D+1"] - 1)
        return -1 if node == -1 else self._of(at).tokens[node]

    def _path_row(self, at: Env) -> Row:
        """The target row after each position of a path; that of the last node where the path has ended."""
        draft = self._of(at)
        node = ROOT if at["D+1"] == 0 else self._node(at, at["D+1"] - 1)
        if at["D+1"] and node == -1:
            node = len(draft.tokens) - 1
        return self.case.target_row(self._index(at), draft.prefix(node))

    def _logit(self, x: float) -> float:
        return logit(x, self.case, self.temperature)

    def _scalar(self, kind: str) -> Any:
        """The value of a role that is not an array."""
        tokens = self.draft.tokens
        values: dict[str, Callable[[], Any]] = {
            "K": lambda: len(tokens) or self.case.length,
            "vocab": lambda: self.case.vocab,
            "batch": lambda: self.case.batch,
            "temperature": lambda: self.temperature,
            "done": lambda: bool(tokens) and tokens[-1] == self.case.table.eos,
            "eos": lambda: self.case.table.eos,
            "prompt_length": lambda: PROMPT,
            "none": lambda: None,
            "generator": lambda: self.source.arrays.generator(self.source.seed()),
            "generators": lambda: {b: self.source.arrays.generator(self.source.seed()) for b in range(self.case.batch)},
            "processor": lambda: lambda ids, logits: logits / self.temperature,
        }
        if kind not in values:
            raise AuditError(f"role {kind}: only whole steps are given models")
        return values[kind]()


def logit(x: float, case: Case, temperature: float = 1.0) -> float:
    """T log x + shift in the type of the case; the logit of 0 is -inf."""
    if math.isnan(x):
        return x
    return rounded(temperature * math.log(x) + case.table.shift, case.dtype) if x else -math.inf
