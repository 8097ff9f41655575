"""The step of mini-infer."""

from __future__ import annotations

from typing import Any

import torch
from mini_infer.speculative.verifier import speculative_step

from tests.audit.peers.models import DRAFTED, HuggingFaceModel, Rows, prompt


def mini_infer(draft_model: Rows, target_model: Rows) -> list[int]:
    """mini_infer.speculative.verifier.speculative_step at temperature 1."""
    tokens, _ = speculative_step(_Pair(target_model), _Pair(draft_model), prompt(), DRAFTED, 1.0)
    return list(tokens)


class _Pair(HuggingFaceModel):
    """Logits and a cache that nobody reads."""

    def __call__(self, input_ids: torch.Tensor, **_: Any) -> Any:
        return super().__call__(input_ids).logits, None
