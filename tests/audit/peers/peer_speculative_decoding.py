"""The decoding loop of speculative-decoding."""

from __future__ import annotations

from typing import Any

import torch
from speculative_decoding import speculative_decoding as decode

from tests.audit.peers.models import DRAFTED, Rows, logits_after, prompt


def speculative_decoding(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """speculative_decoding.speculative_decoding until two tokens are there, unfiltered; its caches are empty."""
    tokens, _ = decode(
        _Cached(target_model), _Cached(draft_model), prompt(), seq_len=3, gamma=DRAFTED, filter_thres=0.0
    )
    return tokens[0]


class _Cached:
    """A model that is given the whole sequence and returns a cache of the shape that the package slices."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def __call__(self, tokens: torch.Tensor, **_: Any) -> tuple[torch.Tensor, tuple[torch.Tensor, None]]:
        logits = torch.stack([logits_after(self.rows, row) for row in tokens.tolist()])
        return logits, (torch.zeros(1, 1, tokens.shape[-1], 1), None)
