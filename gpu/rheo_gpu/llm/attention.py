"""Attention for few queries: heads that share keys are multiplied as one matrix, so that no key is copied.

The attention of transformers repeats keys and values for each query head. With a mask that takes most of the time of a
step on a CPU once texts get longer, since a step has few queries and many keys.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

NAME = "rheo_grouped"

MOST = 64
"""Queries for which the scores of all keys are held at once."""

BESIDE = ("softcap", "s_aux", "position_bias")
"""What some models pass to attention: a bound of scores, sinks, and numbers to add to scores."""


def grouped(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """query [R, heads, T, size], key and value [R, kv_heads, S, size], mask [R, 1, T, S] added: [R, T, heads, size].

    Raises `ValueError` for what a model may ask for beside that: without it there would be another law.
    """
    if asked := [name for name in BESIDE if more.get(name) is not None]:
        raise ValueError(f"attention with {asked[0]}, expected softmax over scores and a mask")
    if attention_mask is None or query.shape[2] > MOST or dropout:
        out, _ = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **more
        )
        return out, None
    found = shared(query, key, value, attention_mask[..., : key.shape[2]], scaling)
    return found.transpose(1, 2).contiguous(), None


def shared(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float | None = None) -> Tensor:
    """query [R, heads, T, size], key and value [R, kv_heads, S, size], mask [R, 1, T, S] added: [R, heads, T, size]."""
    batch, heads, width, size = query.shape
    few, seen = key.shape[1], key.shape[2]
    together = query.reshape(batch, few, heads // few * width, size)
    scores = together @ key.transpose(-1, -2) * (size**-0.5 if scaling is None else scaling)
    scores = scores.view(batch, few, -1, width, seen) + mask[:, :, None]
    return (scores.softmax(-1).view(batch, few, -1, seen) @ value).view(batch, heads, width, size)


def added(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask [R, T, S] of what is seen, in numbers to add to scores: [R, 1, T, S]."""
    return torch.zeros_like(seen, dtype=dtype).masked_fill_(~seen, torch.finfo(dtype).min)[:, None]


AttentionInterface.register(NAME, grouped)
