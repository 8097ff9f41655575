"""Where tensors turn into something else: Python numbers, lists, arrays, text, pointers. Above the dispatcher.

Discrete elements are decided there; continuous ones leave as random numbers of the audit, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

import torch

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.scalars import Lazy
from rheo_proof.audit.torch_reading import beneath, elements, nested
from rheo_proof.audit.torch_session import Session
from rheo_proof.audit.torch_store import ARRAY, AuditTensor, settle

Leaving = Callable[[Session, Any, tuple[Any, ...], dict[str, Any]], Any]


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
    if func is TENSOR.__array__:
        refuse("conversion of random numbers to an array")
    return _random_array(t)


def _random_array(t: AuditTensor) -> Any:
    """An array of the random numbers; neither side can be written any more, since they share no memory."""
    kind = str(t.dtype).removeprefix("torch.")
    array = import_module("rheo_proof.audit.numpy_arrays").RandomArray.of(elements(t), t.shape, kind)
    array.cells.setflags(write=False)
    t.store.frozen = True
    return array


def _text(session: Session, func: Any, args: Any, kwargs: Any) -> Any:
    """What a tensor looks like in print: its discrete elements are decided, its continuous ones show no number."""
    t = args[0]
    if not isinstance(t, AuditTensor):
        return func(*args, **kwargs)
    with beneath():
        if settle(t):
            return func(t.value, *args[1:], **kwargs)
    return f"tensor({nested(t)}, dtype={t.dtype})"


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
}
