"""How the emitted string is read from what a function returned.

Lengths are read first, then the tokens of the one request that is looked at, and nothing else: what stays undecided
costs no branch. An answer that is no emitted string becomes an `Outcome` that says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rheo_proof.audit.arrays import Nested, shape
from rheo_proof.audit.cases import exactly
from rheo_proof.audit.drafts import ROOT, Draft
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.inputs import Inputs
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.scalars import Cell, Lazy
from rheo_proof.audit.sources import Source, pick
from rheo_proof.exact.law import normalised
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import Q

STRINGS = ("tokens", "padded")
PARTS = (*STRINGS, "length", "token", "vector", "node", "position", "path", "best", "_")
"""What a returned value can be.

tokens: the emitted string. padded: the same, filled up with -1. length: the number of accepted draft tokens. token: the
last token. vector: weights that the caller draws the last token from. node: the last accepted node, -1 for none.
position: the same, the root being 0. path: the accepted nodes. best: the row of `candidates` that `length` is about.
_: not looked at.
"""


class Fault(Exception):
    """The answer is no emitted string."""


@dataclass(frozen=True)
class Returns:
    """What a function returns, written `tokens` or, for a tuple, `length,token`.

    With `bonus`, a step always ends with a token that is no draft token. With `prompt`, strings begin with so many
    tokens that were there before.
    """

    parts: tuple[str, ...]
    batched: bool = False
    bonus: bool = True
    prompt: int = 0

    @classmethod
    def read(cls, text: str, batched: bool = False, bonus: bool = True, prompt: int = 0) -> Returns:
        """Read the description. Raises `AuditError` for one from which no string can be made.

        >>> Returns.read("length+token").parts
        ('length', 'token')
        """
        parts = tuple(part.strip() for part in text.replace("+", ",").split(","))
        for part in parts:
            if part not in PARTS:
                raise AuditError(f"returns: no {part!r}; there are {', '.join(PARTS)}")
        named = set(parts) - {"_"}
        if not named & {*STRINGS, "token", "vector"}:
            raise AuditError(f"returns {text!r}: expected tokens, padded, token or vector")
        if ("best" in named) and "length" not in named:
            raise AuditError(f"returns {text!r}: best needs length")
        return cls(parts, batched, bonus, prompt)

    def outcome(self, result: Any, inputs: Inputs, source: Source, vocab: int) -> Outcome:
        """Read an answer."""
        draft = inputs.draft
        tokens: list[int] = []
        try:
            values = self._values(result, inputs, source)
            if "tokens" in values or "padded" in values:
                accepted = self._string(values, draft, tokens, vocab)
            else:
                accepted = self._assembled(values, draft, tokens, vocab, source)
            self._ended(tokens, inputs)
        except Fault as fault:
            return Outcome(tuple(tokens), 0, draft.tokens, str(fault))
        return Outcome(tuple(tokens), accepted, draft.tokens)

    def _values(self, result: Any, inputs: Inputs, source: Source) -> dict[str, Nested]:
        """The returned parts by name, those of the request that is read."""
        several = len(self.parts) > 1
        if several and (not isinstance(result, (tuple, list)) or len(result) < len(self.parts)):
            raise Fault(f"returned {described(result)}, expected {', '.join(self.parts)}")
        values: dict[str, Nested] = {}
        for part, value in zip(self.parts, result if several else [result], strict=False):
            if part != "_":
                if value is None:
                    raise Fault(f"returned None for {part}")
                values[part] = self._own(part, source.arrays.cells(value), inputs)
        return values

    def _own(self, part: str, cells: Nested, inputs: Inputs) -> Nested:
        """The entry of the request that is read; leading axes of length 1 are dropped where there is one request."""
        long = part in (*STRINGS, "vector", "path")
        if self.batched:
            if not isinstance(cells, list) or len(cells) != inputs.case.batch:
                raise Fault(f"{part}: shape {shape(cells)}, expected {inputs.case.batch} requests first")
            cells = cells[inputs.request.index]
        while isinstance(cells, list) and len(cells) == 1 and (not long or isinstance(cells[0], list)):
            cells = cells[0]
        if part in STRINGS and not isinstance(cells, list):
            return [cells]
        if isinstance(cells, list) != long or (long and any(isinstance(x, list) for x in cells)):
            raise Fault(f"{part}: shape {shape(cells)}, expected {'one axis' if long else 'one number'}")
        return cells

    def _string(self, values: dict[str, Nested], draft: Draft, tokens: list[int], vocab: int) -> int:
        """A returned string; how many of its tokens were accepted."""
        ended = False
        cells = values["padded" if "padded" in values else "tokens"]
        length = whole(values["length"], "length", 0, len(draft.tokens)) if "length" in values else None
        for place, cell in enumerate(cells[self.prompt :]):
            token = number(cell, "token")
            if token == -1 and "padded" in values:
                ended = True
            elif ended:
                raise Fault(f"place {place} holds {token} after a place that holds -1")
            else:
                self._emit(token, tokens, vocab)
        longest = max((len(path) for path in draft.paths()), default=0) + 1
        if not tokens:
            raise Fault("no token was emitted")
        if draft.tokens and len(tokens) > longest:
            raise Fault(f"{len(tokens)} tokens were emitted, at most {longest} can be")
        accepted = self._accepted(tuple(tokens), draft)
        if length is not None and length not in (accepted, len(tokens) - 1):
            raise Fault(f"the length is {length}, but {len(tokens)} tokens were emitted")
        return accepted

    def _accepted(self, tokens: Prefix, draft: Draft) -> int:
        """All tokens but the last, or all after an accepted end; without a bonus, the beginning that was drafted."""
        strings = {draft.string(path[-1]) for path in draft.paths()}
        if not self.bonus:
            return max(length for length in range(len(tokens) + 1) if not length or drafted(tokens[:length], strings))
        everything = tokens == draft.tokens and draft.parents == tuple(range(-1, len(tokens) - 1))
        return len(tokens) if everything else len(tokens) - 1

    def _assembled(self, values: dict[str, Nested], draft: Draft, tokens: list[int], vocab: int, source: Source) -> int:
        """Accepted draft tokens, then a last one; how many were accepted."""
        string = accepted_string(values, draft)
        tokens.extend(string)
        if "token" in values:
            self._emit(number(values["token"], "token"), tokens, vocab)
        else:
            self._emit(drawn(values["vector"], vocab, source), tokens, vocab)
        if not any(part in values for part in ("length", "node", "position", "path")):
            return int(drafted(tuple(tokens), {draft.string(path[-1]) for path in draft.paths()}))
        return len(string)

    def _emit(self, token: int, tokens: list[int], vocab: int) -> None:
        if not 0 <= token < vocab:
            raise Fault(f"token {token} is outside 0..{vocab - 1}")
        tokens.append(token)

    def _ended(self, tokens: list[int], inputs: Inputs) -> None:
        eos = inputs.case.table.eos
        if eos is not None and eos in tokens[:-1]:
            raise Fault(f"tokens follow the end of sequence {eos}")


def accepted_string(values: dict[str, Nested], draft: Draft) -> Prefix:
    """The draft tokens that a returned length, node or path says were accepted."""
    nodes = len(draft.tokens)
    if "best" in values:
        paths = draft.paths()
        path = paths[whole(values["best"], "best", 0, len(paths) - 1)]
        return tuple(draft.tokens[node] for node in path[: whole(values["length"], "length", 0, len(path))])
    if "length" in values:
        return draft.tokens[: whole(values["length"], "length", 0, nodes)]
    if "node" in values:
        return draft.string(whole(values["node"], "node", ROOT, nodes - 1))
    if "position" in values:
        return draft.string(whole(values["position"], "position", 0, nodes) - 1)
    node = ROOT
    for cell in values.get("path", ()):
        following = whole(cell, "path", -1, nodes - 1)
        if following == -1:
            break
        if draft.parents[following] != node:
            raise Fault(f"path: node {following} is no child of node {node}")
        node = following
    return draft.string(node)


def drawn(vector: Nested, vocab: int, source: Source) -> int:
    """The token that the caller draws from returned weights, exactly."""
    weights = [weight(cell, x) for x, cell in enumerate(vector)]
    if len(weights) != vocab:
        raise Fault(f"the vector has {len(weights)} entries, expected {vocab}")
    if not any(weights):
        raise Fault("the vector to draw from is all 0")
    return pick(source, normalised(weights), "token drawn from the returned vector")


def weight(cell: Any, x: int) -> Q:
    """One entry of a vector."""
    value = settled(cell)
    if not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise Fault(f"the vector to draw from holds {value!r} at token {x}")
    return exactly(float(value))


def settled(cell: Any) -> Any:
    """What a cell is, decided now; a random number that cannot be decided ends the audit."""
    if isinstance(cell, Lazy):
        return cell.settle()
    return float(cell) if isinstance(cell, Cell) else cell


def number(cell: Any, what: str) -> int:
    """A whole number."""
    value = settled(cell)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        raise Fault(f"{what}: {value!r} is no whole number")
    return int(value)


def whole(cell: Any, what: str, low: int, high: int) -> int:
    """A whole number in a range."""
    value = number(cell, what)
    if not low <= value <= high:
        raise Fault(f"{what} {value} is outside {low}..{high}")
    return value


def drafted(tokens: Prefix, strings: set[Prefix]) -> bool:
    """Whether the draft holds this string."""
    return any(string[: len(tokens)] == tokens for string in strings)


def described(value: Any) -> str:
    """What was returned, in a few words."""
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"
