"""Matrix products for few rows, where a CPU library may be slow.

Below some forty rows a product is bound by reading the weights, so 8 rows should cost little more than 1. With the
weights on the right, as a linear layer has them, MKL needs up to three times as long for 2 to 16 rows; with the
weights on the left it does not. Sums are rounded differently, nothing else changes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

FEWEST, MOST = 2, 48
"""Rows for which the weights go to the left."""


def product(rows: Tensor, weight: Tensor) -> Tensor:
    """rows [.., n] times the transpose of weight [m, n]: [.., m]."""
    flat = rows.reshape(-1, rows.shape[-1])
    if FEWEST <= len(flat) <= MOST and flat.device.type == "cpu" and flat.dtype in (torch.float32, torch.float64):
        return torch.mm(weight, flat.t()).t().contiguous().view(*rows.shape[:-1], len(weight))
    return nn.functional.linear(rows, weight)


class NarrowLinear(nn.Linear):
    """A linear layer that is fast for few rows."""

    def forward(self, input: Tensor) -> Tensor:
        out = product(input, self.weight)
        bias: Tensor | None = self.bias
        return out if bias is None else out + bias


def narrow(model: nn.Module) -> None:
    """Replace the linear layers of a model in place; their weights stay the same tensors, tied ones tied."""
    for module in model.modules():
        for name, child in module.named_children():
            if type(child) is nn.Linear:
                fast = NarrowLinear(child.in_features, child.out_features, bias=child.bias is not None, device="meta")
                fast.weight, fast.bias = child.weight, child.bias
                setattr(module, name, fast.train(child.training))
