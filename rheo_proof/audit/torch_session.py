"""What one run with torch keeps: its cells, the states of generators, and what it must put back afterwards."""

from __future__ import annotations

from typing import Any

import torch

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.exploring import Run
from rheo_proof.audit.torch_store import ARRAY, OUTSIDE, REINTERPRETED, AuditTensor, Store, Table
from rheo_proof.audit.torch_streams import Streams

shares: Any = getattr(torch._C, "_is_alias_of")  # noqa: B009


class Session:
    """One run: the table of its cells, and its traces outside."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.table = Table()
        self.streams = Streams()
        self.backups: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def own(self, t: AuditTensor, operation: str) -> AuditTensor:
        """The tensor, which must be of this run."""
        if t.store.table is not self.table:
            refuse(operation, "a tensor was kept from an earlier run of the function")
        return t

    def wrap(self, value: torch.Tensor, relatives: list[Any]) -> Any:
        """The result of an operation as a tensor of the run; it may share storage with one of the operands."""
        if value.device.type != "cpu" or value.layout is not torch.strided:
            return value
        for each in relatives:
            if type(each) is AuditTensor:
                if each.value is value:
                    return each
                if shares(value, each.value):
                    return self._alias(value, each)
            elif each is value:
                return value
            elif shares(value, each):
                return AuditTensor(value, Store(self.table, value, OUTSIDE))
        return AuditTensor(value, Store(self.table, value))

    def lifted(self, value: torch.Tensor) -> AuditTensor:
        """A tensor that torch has just made of Python numbers, or of an array whose memory it shares."""
        return AuditTensor(value, Store(self.table, value, "" if value.untyped_storage().resizable() else ARRAY))

    def _alias(self, value: torch.Tensor, origin: AuditTensor) -> AuditTensor:
        if value.dtype is not origin.value.dtype:
            fix(origin.store, "a view as another type of number")
            return AuditTensor(value, Store(self.table, value, origin.store.fixed))
        return AuditTensor(value, origin.store)

    def guard(self, target: torch.Tensor) -> None:
        """Remember what a tensor from outside holds before the run writes into it."""
        storage = target.untyped_storage()
        key = storage._cdata
        if key not in self.backups:
            whole = torch.as_strided(target.detach(), (storage.nbytes() // target.element_size(),), (1,), 0)
            self.backups[key] = (whole, whole.clone())

    def restore(self) -> None:
        """Give tensors from outside back what they held."""
        for whole, before in self.backups.values():
            whole.copy_(before)
        self.backups.clear()


def fix(store: Store, operation: str) -> None:
    """No random number may be in a storage from now on: it is seen in a way that cells cannot follow."""
    if store.ids is not None and bool(store.ids.any()):
        refuse(operation, "some of its elements are random")
    store.fixed = store.fixed or REINTERPRETED
