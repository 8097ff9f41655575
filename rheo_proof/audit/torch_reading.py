"""The elements of a tensor as Python objects, nothing decided; and torch as it is, for our own work on values."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any

import torch

from rheo_proof.audit.torch_store import AuditTensor, items


def beneath() -> AbstractContextManager[Any]:
    """Torch as it is, for our own work on values."""
    stack = ExitStack()
    stack.enter_context(torch._C.DisableTorchFunction())
    stack.enter_context(torch._C._DisableTorchDispatch())
    return stack


def elements(t: torch.Tensor) -> list[Any]:
    """The elements of any tensor in order, nothing decided."""
    with beneath():
        if isinstance(t, AuditTensor):
            return items(t)
        plain: list[Any] = t.detach().flatten().tolist()
        return plain


def nested(t: torch.Tensor) -> Any:
    """The elements as nested lists, nothing decided."""
    flat: list[Any] = elements(t)
    with beneath():
        shape = list(t.shape)
    for size in reversed(shape[1:]):
        count = len(flat) // size if size else 0
        flat = [flat[i * size : (i + 1) * size] for i in range(count)] if size else [[] for _ in range(shape[0])]
    return flat if shape else flat[0]
