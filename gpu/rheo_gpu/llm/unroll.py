"""Training-time test (arXiv 2503.01840): the head's predictions when it reads its own states for several steps.

In step k an entry reads the state that step k - 1 made for the entry before it, as a node k deep in a draft tree does.
Its attention sees the entries of step 0 up to k before it, which stand on the target's states, then one entry of each
step, those on its own way.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as attention

from .head import EagleHead


def unrolled(head: EagleHead, tokens: Tensor, features: Tensor, steps: int) -> list[Tensor]:
    """The normed states [R, T, H] of each step; entry i has token tokens[:, i] and the target's states before it.

    In step k the first k entries of a text have nothing to stand on and are not to be used.
    """
    batch, width = tokens.shape
    states = head.joined(features)
    place = torch.arange(width, device=tokens.device)
    positions = place.expand(batch, -1)
    causal = place <= place[:, None]
    made: list[Tensor] = []
    keys: list[Tensor] = []
    values: list[Tensor] = []
    for step in range(steps):
        if step:
            states = torch.cat([states[:, :1], states[:, :-1]], 1)
        embedded, q, k, v = head.entries(tokens, states, positions)
        keys.append(k)
        values.append(v)
        if step:
            # Step 0 up to `step` before, then for each later step j the entry `step - j` before, which is on its way.
            mask = [place[:, None] - place >= step]
            for j in range(1, step + 1):
                mask.append(place[:, None] - place == step - j)
            mask[0][:step, 0] = True
            found = attention(
                q, torch.cat(keys, 2), torch.cat(values, 2), attn_mask=torch.cat(mask, 1), enable_gqa=True
            )
        else:
            found = attention(q, k, v, attn_mask=causal, enable_gqa=True)
        states = head.output(states, embedded, found)
        made.append(head.norm(states))
    return made
