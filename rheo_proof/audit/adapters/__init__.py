"""Adapters: how functions of other people are called, and what of their answers is the emitted string."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rheo_proof.audit.adapters.adapter import Adapter
from rheo_proof.audit.adapters.engines import eagle, hf, vllm
from rheo_proof.audit.adapters.options import options_of
from rheo_proof.audit.adapters.ready import chain, one_level, tree
from rheo_proof.audit.adapters.step import Step, step
from rheo_proof.audit.adapters.verify import Verify
from rheo_proof.audit.errors import AuditError

READY: dict[str, Callable[..., Adapter]] = {
    "chain": chain,
    "siblings": one_level,
    "tree": tree,
    "step": step,
    "hf": hf,
    "vllm": vllm,
    "eagle": eagle,
}
NAMES = tuple(READY)

__all__ = [
    "NAMES",
    "READY",
    "Adapter",
    "Step",
    "Verify",
    "chain",
    "eagle",
    "find",
    "hf",
    "one_level",
    "step",
    "tree",
    "vllm",
]


def find(name: str, /, **options: Any) -> Adapter:
    """A ready-made adapter with some of its options changed. Raises `AuditError` for names and options it has not.

    >>> find("chain", batched=True).name
    'chain'
    >>> find("chains")
    Traceback (most recent call last):
    ...
    rheo_proof.audit.errors.AuditError: no adapter 'chains'; there are chain, siblings, tree, step, hf, vllm, eagle
    """
    if name not in READY:
        raise AuditError(f"no adapter {name!r}; there are {', '.join(NAMES)}")
    return READY[name](**options_of(name, options))
