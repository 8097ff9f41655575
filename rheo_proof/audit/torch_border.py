"""Every call of a torch function passes here, above the dispatcher: what enters, what leaves, and on which device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.scalars import Cell, Lazy
from rheo_proof.audit.torch_enter import ENTERING
from rheo_proof.audit.torch_leave import LEAVING
from rheo_proof.audit.torch_reading import beneath
from rheo_proof.audit.torch_session import Session
from rheo_proof.audit.torch_store import build, fresh, is_continuous

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
        if func in DEVICES:
            args = DEVICES[func](args)
            if len(args) == 1:
                return args[0]
        if any(isinstance(each, Cell) for each in args) or func is TENSOR.__setitem__:
            args = tuple(self._tensor(each) for each in args)
        if kwargs and any(isinstance(each, Cell) for each in kwargs.values()):
            kwargs = {name: self._tensor(each) for name, each in kwargs.items()}
        try:
            return func(*args, **kwargs)
        except RuntimeError as error:
            if "data is not allocated" in str(error) or "doesn't have storage" in str(error):
                refuse(getattr(func, "__name__", str(func)), "it reads the memory of a tensor directly")
            raise

    def _tensor(self, value: Any) -> Any:
        """A cell as a tensor without dimensions."""
        if not isinstance(value, Cell):
            return value
        with beneath():
            dtype = torch.float64 if is_continuous(value) else torch.int64
            if isinstance(value, Lazy):
                plain = value.settle()
                return fresh(self.session.table, torch.tensor(plain))
            return build(self.session.table, [value], torch.empty((), dtype=dtype))


def _here(kwargs: dict[str, Any]) -> None:
    """Devices that are not here become the CPU."""
    device = kwargs.get("device")
    if device is not None and _elsewhere(device):
        kwargs["device"] = "cpu"
    if kwargs.get("pin_memory"):
        kwargs["pin_memory"] = False


def _elsewhere(device: Any) -> bool:
    if isinstance(device, int) and not isinstance(device, bool):
        return True
    return isinstance(device, (str, torch.device)) and str(device).partition(":")[0] not in ("cpu", "meta")


def _moved(args: Any) -> Any:
    return (args[0], *("cpu" if isinstance(x, (str, torch.device)) and _elsewhere(x) else x for x in args[1:]))


DEVICES: dict[Any, Callable[[Any], Any]] = {
    TENSOR.to: _moved,
    TENSOR.cuda: lambda args: args[:1],
    TENSOR.pin_memory: lambda args: args[:1],
}


def cell_protocol(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What torch calls where a random number stands among the operands, and no run is in progress."""
    refuse(getattr(func, "__name__", str(func)), "a random number of an audit was used outside of its run")


Cell.__torch_function__ = classmethod(cell_protocol)  # type: ignore[attr-defined]
