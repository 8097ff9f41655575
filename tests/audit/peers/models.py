"""Toy models in the shapes that published packages call their models in.

The auditor's models return the row of probabilities after all tokens so far. Each package wants logits of whole
sequences, in a container of its own; the logits are the logarithms of the rows. Sequences start with one token of the
prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch

Rows = Callable[[list[int]], torch.Tensor]
PROMPT = 0
DRAFTED = 2
"""Tokens that a step drafts."""


def row_after(rows: Rows, tokens: Sequence[int]) -> torch.Tensor:
    """The row [V] after some tokens, without the prompt; the auditor's models know a prompt of two."""
    return rows([PROMPT, PROMPT, *tokens])


def logits_after(rows: Rows, tokens: Sequence[int]) -> torch.Tensor:
    """Logits [T, V] after each token of one sequence; the first token is the prompt."""
    return torch.stack([torch.log(row_after(rows, tokens[1 : end + 1])) for end in range(len(tokens))])


def joined(draft_tokens: torch.Tensor, accepted: torch.Tensor | int, following: torch.Tensor | int) -> list[int]:
    """The accepted draft tokens and the one after them."""
    return [*draft_tokens.tolist()[: int(accepted)], int(following)]


def prompt() -> torch.Tensor:
    """The sequence [1, 1] that every step starts from."""
    return torch.tensor([[PROMPT]])


class HuggingFaceModel:
    """Called with ids [1, T], returns an object whose `logits` are [1, T, V]; nothing is cached."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def __call__(self, input_ids: torch.Tensor, **_: Any) -> SimpleNamespace:
        logits = torch.stack([logits_after(self.rows, row) for row in input_ids.tolist()])
        return SimpleNamespace(logits=logits, past_key_values=None)
