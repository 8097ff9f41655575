"""How a stranger is called on a toy: who draws the draft, which arguments it gets, what its answer means.

`dice(weights)` draws an index; everything else that is random is the stranger's own. So a play is an ordinary function:
it can be run a thousand times, or be enumerated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch

Prefix = tuple[int, ...]
Row = Sequence[Fraction]
Rows = Callable[[Prefix], Row]
Dice = Callable[[Row], int]


def by_depth(*rows: Row) -> Rows:
    """The rows of a context that matters by its length alone; the last row goes on for ever."""
    return lambda prefix: rows[min(len(prefix), len(rows) - 1)]


@dataclass(frozen=True)
class Toy:
    """Laws of the target, of the draft as reported, and as drawn from (None: as reported); K draft tokens."""

    target: Rows
    draft: Rows
    length: int = 1
    drawn: Rows | None = None
    context: Prefix = ()

    def drafts(self, dice: Dice) -> Prefix:
        tokens: Prefix = ()
        for _ in range(self.length):
            tokens += (dice((self.drawn or self.draft)(tokens)),)
        return tokens

    def along(self, rows: Rows, tokens: Prefix, more: int = 0) -> list[Row]:
        return [rows(tokens[:k]) for k in range(self.length + more)]

    def completed(self, tokens: Prefix, length: int, dice: Dice) -> Prefix:
        """Cut to a length, or continued by the target: what a longer text says."""
        while len(tokens) < length:
            tokens += (dice(self.target(tokens)),)
        return tokens[:length]


Play = Callable[[Callable[..., Any], Toy, Dice], Prefix]

MAKE: dict[str, Callable[[Any], Any]] = {
    "torch": lambda rows: torch.tensor(rows, dtype=torch.float64),
    "numpy": lambda rows: np.array(rows, dtype=np.float64),
    "list": lambda rows: rows,
}


def floats(rows: Sequence[Row]) -> list[list[float]]:
    return [[float(w) for w in row] for row in rows]


def ids(kind: str, tokens: Sequence[int]) -> Any:
    return {"torch": lambda: torch.tensor(tokens, dtype=torch.long), "numpy": lambda: np.array(tokens)}.get(
        kind, lambda: list(tokens)
    )()


def emitted(answer: Any, draft: Prefix, dice: Dice) -> Prefix:
    """Tokens, padded or not; or (accepted length, token or law); or (accepted tokens, last token)."""
    if isinstance(answer, tuple):
        head, tail = answer
        kept = list(head) if getattr(head, "ndim", 0) else list(draft[: int(head)])
        if getattr(tail, "ndim", 0) and len(tail) > 1:
            weights = [Fraction(float(w)) for w in tail]
            return (*map(int, kept), dice([w / sum(weights) for w in weights]))
        return (*map(int, kept), int(tail))
    return tuple(int(x) for x in answer)


def reads_q(function: Callable[..., Any]) -> bool:
    """Whether a function takes the draft's rows."""
    return not {"q", "draft_probs"}.isdisjoint(inspect.signature(function).parameters)


def chain(
    kind: str = "torch",
    log: bool = False,
    coins: int = 0,
    padded: bool = False,
    more: Any = (),
    given: Prefix | None = None,
) -> Play:
    """function(draft ids, [draft rows,] target rows); `log`: these are logits; `coins`: uniforms follow, or `more`."""

    def play(function: Callable[..., Any], toy: Toy, dice: Dice) -> Prefix:
        draft = toy.drafts(dice) if given is None else given
        p = MAKE[kind](floats(toy.along(toy.target, draft, 1)))
        passed = [ids(kind, draft)]
        passed += [MAKE[kind](floats(toy.along(toy.draft, draft)))] if reads_q(function) else []
        passed += [p.log() if log else p]
        passed += [torch.rand(coins, dtype=torch.float64), torch.rand((), dtype=torch.float64)] if coins else []
        tokens = emitted(function(*passed, *more), draft, dice)
        return tuple(x for x in tokens if x >= 0) if padded else tokens

    return play


def fixed(*tokens: int, kind: str = "torch", **how: Any) -> Play:
    """A chain of drafts that do not depend on chance."""
    return chain(kind, given=tokens, **how)


def batch(*toys: Toy, read: int = 0) -> Play:
    """function(ids [R, K], q [R, K, V], p [R, K + 1, V]), padded with -1; one request is read."""

    def play(function: Callable[..., Any], toy: Toy, dice: Dice) -> Prefix:
        drafts = [each.drafts(dice) for each in toys]
        both = list(zip(toys, drafts, strict=True))
        q = MAKE["torch"]([floats(each.along(each.draft, draft)) for each, draft in both])
        p = MAKE["torch"]([floats(each.along(each.target, draft, 1)) for each, draft in both])
        return tuple(int(x) for x in function(ids("torch", drafts), q, p)[read] if x >= 0)

    return play


def step(kind: str = "numpy", logits: float | None = None, length: bool = True, draft: bool = True) -> Play:
    """function(context, [draft model,] target model[, K]); "ids": a model maps ids [1, L] to rows [1, V].

    `logits`: what is added to log p; None for probabilities.
    """

    def play(function: Callable[..., Any], toy: Toy, dice: Dice) -> Prefix:
        def model(rows: Rows) -> Callable[[Any], Any]:
            def answer(context: Any) -> Any:
                prefix = tuple(int(x) for x in (context[0] if kind == "ids" else context))
                row = MAKE["torch" if kind == "ids" else kind](floats([rows(prefix)]))
                row = row if logits is None else row.log() + logits
                return row if kind == "ids" else row[0]

            return answer

        models = [model(toy.draft), model(toy.target)] if draft else [model(toy.target)]
        context = torch.zeros((1, 0), dtype=torch.long) if kind == "ids" else list(toy.context)
        more = [toy.length] if length else []
        if "generator" in inspect.signature(function).parameters:
            more.append(torch.Generator().manual_seed(1729))
        answer = function(context, *models, *more)
        return tuple(int(x) for x in (answer[0] if kind == "ids" else answer))

    return play


def top_list(*tokens: int) -> Play:
    """function(candidates [N], [q,] p [N + 1, V]: the target's row, and its row after each candidate)."""

    def play(function: Callable[..., Any], toy: Toy, dice: Dice) -> Prefix:
        return siblings(function, toy, tokens)

    return play


def siblings(function: Callable[..., Any], toy: Toy, draft: Prefix) -> Prefix:
    rows = MAKE["torch"](floats([toy.target(prefix) for prefix in ((), *((x,) for x in draft))]))
    q = [MAKE["torch"](floats([toy.draft(())]))[0]] if reads_q(function) else []
    return tuple(function(ids("torch", draft), *q, rows))
