"""The whole step of litgpt."""

from __future__ import annotations

import torch
from litgpt.generate.speculative_decoding import speculative_decoding

from tests.audit.peers.models import DRAFTED, PROMPT, Rows, logits_after


def litgpt(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """litgpt.generate.speculative_decoding.speculative_decoding at its defaults: temperature 1, no filter."""
    return speculative_decoding(
        draft_model=_Positions(draft_model),
        target_model=_Positions(target_model),
        token=torch.tensor([PROMPT]),
        input_pos=torch.tensor([0]),
        input_pos_maxp1=1,
        speculative_k=DRAFTED,
    )


class _Positions:
    """A model with a cache of its own: tokens are written at their positions."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.cache: dict[int, int] = {}

    def __call__(self, idx: torch.Tensor, input_pos: torch.Tensor, input_pos_maxp1: int) -> torch.Tensor:
        positions = input_pos.tolist()
        self.cache.update(zip(positions, idx[0].tolist(), strict=True))
        tokens = [self.cache[position] for position in range(positions[-1] + 1)]
        return logits_after(self.rows, tokens)[positions[0] :].unsqueeze(0)
