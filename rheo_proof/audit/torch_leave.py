"""Where tensors turn into something else: Python numbers, lists, arrays, text, pointers. Above the dispatcher.

Discrete elements are decided there; continuous ones leave as random numbers of the audit, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NoReturn

import torch
from torch.overrides import TorchFunctionMode

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.scalars import Cell, Lazy
from rheo_proof.audit.torch_session import Session
from rheo_proof.audit.torch_store import ARRAY, AuditTensor, build, fresh, is_continuous, items, settle

Leaving = Callable[[Session, Any, tuple[Any, ...], dict[str, Any]], Any]


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


def _one(t: Any, operation: str) -> Any:
    """The only element of a tensor: a number, or a continuous cell."""
    found = elements(t)
    if len(found) != 1:
        raise RuntimeError(f"a Tensor with {len(found)} elements cannot be converted to Scalar")
    x = found[0]
    if isinstance(x, Lazy):
        with beneath():
            settle(t)
            return t.value.item()
    return x


def _item(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
    return _one(args[0], "item()") if isinstance(args[0], AuditTensor) else func(*args, **kwargs)


def _number(kind: Callable[[Any], Any]) -> Leaving:
    def leave(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
        return kind(_one(args[0], kind.__name__)) if isinstance(args[0], AuditTensor) else func(*args, **kwargs)

    return leave


def _index(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
    if not isinstance(args[0], AuditTensor):
        return func(*args, **kwargs)
    x = _one(args[0], "an index")
    if type(x) not in (int, bool):
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(x)


def _tolist(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
    t = args[0]
    if not isinstance(t, AuditTensor):
        return func(*args, **kwargs)
    with beneath():
        settle(t)
    return nested(t)


def _numpy(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
    t = args[0]
    if not isinstance(t, AuditTensor):
        return func(*args, **kwargs)
    with beneath():
        if settle(t):
            t.store.fixed = t.store.fixed or ARRAY
            return func(t.value, *args[1:], **kwargs)
    return _random_array(t)


def _random_array(t: AuditTensor) -> Any:
    """An array of the random numbers; neither side can write any more, since they share no memory."""
    refuse("conversion of random numbers to an array")


def _text(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
    """What a tensor looks like in print: its discrete elements are decided, its continuous ones have no text."""
    t = args[0]
    if not isinstance(t, AuditTensor):
        return func(*args, **kwargs)
    with beneath():
        if not settle(t):
            refuse("the text of a random number")
        return func(t.value, *args[1:], **kwargs)


def _copied(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
    t = args[0]
    if not isinstance(t, AuditTensor):
        return func(*args, **kwargs)
    copy = t.clone()
    if len(args) > 1 and isinstance(args[1], dict):
        args[1][id(t)] = copy
    return copy


def _refused(what: str) -> Leaving:
    def leave(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
        if any(isinstance(each, AuditTensor) for each in args):
            _no(what)
        return func(*args, **kwargs)

    return leave


def _no(what: str) -> NoReturn:
    refuse(what, "compiled code may read a tensor there without being seen")


def _held(x: Any) -> bool:
    """Whether a tensor of the run or a cell is somewhere in nested lists."""
    if isinstance(x, (list, tuple)):
        return any(map(_held, x))
    return isinstance(x, (Cell, AuditTensor))


def _flat(x: Any, shape: list[int], depth: int, found: list[Any]) -> None:
    if isinstance(x, torch.Tensor):
        x = nested(x)
    if isinstance(x, (list, tuple)):
        if depth == len(shape):
            shape.append(len(x))
        elif shape[depth] != len(x):
            raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(x)})")
        for each in x:
            _flat(each, shape, depth + 1, found)
    else:
        found.append(x)


def _type_of(found: list[Any], tensors: list[torch.dtype]) -> torch.dtype:
    """The type that torch infers for Python numbers and cells."""
    if any(is_continuous(x) or type(x) is float for x in found):
        return torch.get_default_dtype()
    plain = [x.settle() if isinstance(x, Lazy) else x for x in found]
    return torch.bool if plain and all(type(x) is bool for x in plain) else torch.int64


def tensor_from(session: Session, data: Any, dtype: torch.dtype | None) -> AuditTensor:
    """A tensor of nested lists of numbers, cells and tensors."""
    shape: list[int] = []
    found: list[Any] = []
    _flat(data, shape, 0, found)
    with beneath():
        if dtype is None:
            dtype = data.dtype if isinstance(data, torch.Tensor) else _type_of(found, [])
        return build(session.table, found, torch.empty(shape, dtype=dtype))


def _made(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
    """`torch.tensor` and `as_tensor`: torch would read the elements in C."""
    data = args[0] if args else kwargs.get("data")
    if isinstance(data, AuditTensor) and func is torch.as_tensor and kwargs.get("dtype") in (None, data.dtype):
        return data
    if _held(data):
        return tensor_from(session, data, kwargs.get("dtype"))
    result = func(*args, **kwargs)
    if func is not torch.tensor and not isinstance(data, (list, tuple, int, float)) and isinstance(result, AuditTensor):
        with beneath():
            result.store.fixed = ARRAY
    return result


TENSOR = torch.Tensor
LEAVING: dict[Any, Leaving] = {
    TENSOR.item: _item,
    TENSOR.__bool__: _number(bool),
    TENSOR.__float__: _number(float),
    TENSOR.__int__: _number(int),
    TENSOR.__complex__: _number(complex),
    TENSOR.__index__: _index,
    TENSOR.tolist: _tolist,
    TENSOR.numpy: _numpy,
    TENSOR.__array__: _numpy,
    TENSOR.__repr__: _text,
    TENSOR.__format__: _text,
    TENSOR.__deepcopy__: _copied,
    TENSOR.__reduce_ex__: _refused("pickling of a tensor"),
    TENSOR.data_ptr: _refused("the address of a tensor"),
    TENSOR.untyped_storage: _refused("the storage of a tensor"),
    TENSOR.storage: _refused("the storage of a tensor"),
    TENSOR.__dlpack__: _refused("the memory of a tensor"),
    TENSOR.set_: _refused("set_()"),
    TENSOR.data.__set__: _refused("assignment to .data"),  # type: ignore[attr-defined]
    torch.tensor: _made,
    torch.as_tensor: _made,
    torch.asarray: _made,
    torch.from_numpy: _made,
    torch.frombuffer: _made,
}


class Border(TorchFunctionMode):
    """The mode of one run."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if kwargs:
            _here(kwargs)
        leaving = LEAVING.get(func)
        if leaving is not None:
            return leaving(self.session, func, args, kwargs)
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
