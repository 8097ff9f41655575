"""Matrix products for few rows on a CPU.

A product of few rows is bound by reading the weights, so 8 rows should cost little more than 1. With the linear layer
of torch they do not: for a single row it reads at half the speed of the memory, and for 2 to 16 rows it takes two to
three times as long as for one. oneDNN is near the bound for both if the weights are stored in its own order, which
torch offers to its compiler and which is used here, for drafts and for decoding without one alike. Without it, the
weights go to the left of the product, which is good for 2 rows or more. Sums are rounded differently, nothing else.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

FEWEST, MOST = 2, 48
"""Rows for which the weights go to the left."""

HALF = 65504.0
"""The largest number of 16 bits."""

HINT = 8
"""The number of rows that packed weights are laid out for; they serve any number."""


def product(rows: Tensor, weight: Tensor) -> Tensor:
    """rows [.., n] times the transpose of weight [m, n]: [.., m]."""
    flat = rows.reshape(-1, rows.shape[-1])
    if FEWEST <= len(flat) <= MOST and flat.device.type == "cpu" and flat.dtype in (torch.float32, torch.float64):
        return torch.mm(weight, flat.t()).t().contiguous().view(*rows.shape[:-1], len(weight))
    return nn.functional.linear(rows, weight)


def packed(weight: Tensor) -> Tensor | None:
    """The weights in the order of oneDNN, None where it cannot be had: on other devices, types or builds of torch."""
    if weight.device.type != "cpu" or weight.dtype != torch.float32:
        return None
    try:
        order: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), HINT)
        _product_of_packed(weight.new_zeros(1, weight.shape[1]), order)
    except (AttributeError, RuntimeError, NotImplementedError):
        return None
    return order


def _product_of_packed(rows: Tensor, weight: Tensor) -> Tensor:
    out: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, None, "none", [], "")
    return out


def halved(weight: Tensor) -> Any:
    """The weights in 16 bits, as FBGEMM has them on x86; None where that cannot be had or they do not fit."""
    if weight.device.type != "cpu" or weight.dtype != torch.float32 or not float(weight.detach().abs().max()) < HALF:
        return None
    try:
        half = torch.ops.quantized.linear_prepack_fp16(weight.detach(), None)
        torch.ops.quantized.linear_dynamic_fp16(weight.new_zeros(1, weight.shape[1]), half)
    except (AttributeError, RuntimeError, NotImplementedError):
        return None
    return half


class NarrowLinear(nn.Linear):
    """A linear layer that is fast for few rows. `pack` it once its weights do not change any more.

    Where they are written to or replaced in spite of that, the packed ones are not used; torch does not see what is
    written through `weight.data`.
    """

    order: Tensor | None = None
    half: Any = None
    packed_from: tuple[Tensor | None, int] = (None, 0)
    """The weights that were packed, and how often they had been written to."""

    def pack(self, half: bool = False) -> None:
        """Store the weights in the order of oneDNN beside their own, or rounded to 16 bits, which are read faster."""
        self.half = halved(self.weight) if half else None
        self.order = packed(self.weight) if self.half is None else None
        self.packed_from = (self.weight, _written(self.weight))

    def forward(self, input: Tensor) -> Tensor:
        weight, written = self.packed_from
        out: Tensor
        unchanged = weight is self.weight and written == _written(self.weight)
        if unchanged and self.half is not None:
            out = torch.ops.quantized.linear_dynamic_fp16(input, self.half)
        elif unchanged and self.order is not None:
            out = _product_of_packed(input, self.order)
        else:
            out = product(input, self.weight)
        bias: Tensor | None = self.bias
        return out if bias is None else out + bias

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        # Moved or converted: the packed weights are those of before.
        self.order, self.half, self.packed_from = None, None, (None, 0)
        return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]


def _written(weight: Tensor) -> int:
    """How often a tensor was written to; torch does not count it for those that were made for inference alone."""
    return 0 if weight.is_inference() else weight._version


def pack(model: nn.Module, half: bool = False) -> None:
    """Pack all layers of a model whose weights do not change any more; `half`: in 16 bits.

    Half is for draft models, whose law is whatever they compute; a target would become another one.
    """
    for module in model.modules():
        if isinstance(module, NarrowLinear):
            module.pack(half)


def narrow(model: nn.Module) -> None:
    """Replace the linear layers of a model in place and pack them; weights stay the same tensors, tied ones tied."""
    for module in model.modules():
        for name, child in module.named_children():
            if type(child) is nn.Linear:
                fast = NarrowLinear(child.in_features, child.out_features, bias=child.bias is not None, device="meta")
                fast.weight, fast.bias = child.weight, child.bias
                setattr(module, name, fast.train(child.training))
    pack(model)
