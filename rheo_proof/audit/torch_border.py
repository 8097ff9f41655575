"""Every call of a torch function passes here, above the dispatcher: what enters, what leaves, and on which device."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.scalars import Cell, Lazy
from rheo_proof.audit.torch_enter import ENTERING, held, tensor_from
from rheo_proof.audit.torch_leave import LEAVING
from rheo_proof.audit.torch_reading import beneath
from rheo_proof.audit.torch_session import Session
from rheo_proof.audit.torch_store import build, fresh

CROSSING = {**LEAVING, **ENTERING}
TENSOR = torch.Tensor


class Border(TorchFunctionMode):
    """The mode of one run."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if kwargs:
            _here(kwargs)
        crossing = CROSSING.get(func)
        if crossing is not None:
            return crossing(self.session, func, args, kwargs)
        if func in HERE:
            return args[0]
        if func is TENSOR.to:
            args = tuple("cpu" if _elsewhere(each) else each for each in args)
        elif func in INDEXED:
            args = (args[0], self._index(args[1]), *args[2:])
        if any(isinstance(each, Cell) for each in args):
            args = tuple(self._tensor(each) for each in args)
        if kwargs and any(isinstance(each, Cell) for each in kwargs.values()):
            kwargs = {name: self._tensor(each) for name, each in kwargs.items()}
        try:
            return func(*args, **kwargs)
        except RuntimeError as error:
            if unreadable(error):
                refuse(getattr(func, "__name__", str(func)), "it reads the memory of a tensor directly")
            raise

    def _tensor(self, value: Any) -> Any:
        """A cell as a tensor without dimensions."""
        if not isinstance(value, Cell):
            return value
        with beneath():
            if isinstance(value, Lazy):
                return fresh(self.session.table, torch.tensor(value.settle()))
            return build(self.session.table, [value], torch.empty((), dtype=torch.float64))

    def _index(self, index: Any) -> Any:
        """An index with its random parts decided, and lists of them as tensors: torch would read them in C."""
        if isinstance(index, tuple):
            return tuple(self._index(each) for each in index)
        if isinstance(index, Lazy):
            return index.settle()
        if isinstance(index, list) and held(index):
            return tensor_from(self.session, index, None)
        return index


def unreadable(error: RuntimeError) -> bool:
    """Whether torch has found no memory behind a tensor."""
    return any(text in str(error) for text in ("data is not allocated", "have storage", "data pointer of Tensor"))


def _here(kwargs: dict[str, Any]) -> None:
    """Devices that are not here become the CPU."""
    device = kwargs.get("device")
    if device is not None and _elsewhere(device):
        kwargs["device"] = "cpu"
    if kwargs.get("pin_memory"):
        kwargs["pin_memory"] = False


def _elsewhere(device: Any) -> bool:
    if type(device) is int:
        return True
    return isinstance(device, (str, torch.device)) and str(device).partition(":")[0] not in ("cpu", "meta")


HERE = {TENSOR.cuda, TENSOR.pin_memory}
INDEXED = {TENSOR.__getitem__, TENSOR.__setitem__}


def cell_protocol(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What torch calls where a random number stands among the operands, and no run is in progress."""
    refuse(getattr(func, "__name__", str(func)), "a random number of an audit was used outside of its run")


Cell.__torch_function__ = classmethod(cell_protocol)  # type: ignore[attr-defined]
