"""Every torch operation of a run passes here, below Python: what it reads and writes is followed, or refused."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _python_dispatch
from torch.utils._mode_utils import no_dispatch

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.scalars import Opaque
from rheo_proof.audit.torch_call import (
    HANDLERS,
    SOURCES,
    Call,
    Info,
    any_random,
    genuine,
    info_of,
    unwrap,
)
from rheo_proof.audit.torch_move import cast
from rheo_proof.audit.torch_session import Session, shares
from rheo_proof.audit.torch_store import AuditTensor, build, ids_of, write

RESHAPED = {"squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", "swapdims_", "as_strided_"}
BLIND = {"is_pinned", "is_same_size"}
"""Operations that read no element."""
EMPTY = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
"""Operations whose result holds whatever was in the memory before."""
KNOWN_SPACES = {"aten", "prims", "prim"}
UNWRITTEN = float("nan")
"""Memory that nobody has written, so that two runs of a function that reads it do the same."""


_Mode: Any = _python_dispatch.TorchDispatchMode


class Watch(_Mode):  # type: ignore[misc]
    """The mode of one run."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Nothing is compiled in a run; to exclude the mode from compilation would import the compiler.
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunction():
            info = info_of(func)
            if info.composite:
                with self:
                    return func.decompose(*args, **(kwargs or {}))
            return self._handle(func, info, args, kwargs or {})

    def _handle(self, func: Any, info: Info, args: Any, kwargs: dict[str, Any]) -> Any:
        relatives: list[Any] = []
        values = [self._operand(each, relatives) for each in args]
        named = {name: self._operand(each, relatives) for name, each in kwargs.items()}
        if info.namespace not in KNOWN_SPACES:
            refuse(str(func), "an operation from outside of torch: what it draws cannot be seen")
        if info.mutable:
            self._protect(info, args, kwargs)
        if info.random or info.base in SOURCES:
            return self._guarded(func, info, args, kwargs, relatives)
        if info.reshapes:
            return self._reshape(func, info, args, kwargs, values, named)
        if (
            not info.views
            and info.name not in BLIND
            and any(type(each) is AuditTensor and each.store.ids is not None for each in relatives)
        ):
            return self._guarded(func, info, args, kwargs, relatives)
        result = func(*values, **named)
        if info.out:
            _overwritten(info, kwargs)
        return self._outputs(info, result, args, kwargs, relatives)

    def _operand(self, value: Any, relatives: list[Any]) -> Any:
        if type(value) is AuditTensor:
            relatives.append(self.session.own(value, "use of a tensor"))
            return value.value
        if isinstance(value, torch.Tensor):
            relatives.append(value)
        elif isinstance(value, (list, tuple)):
            return [self._operand(each, relatives) for each in value]
        return value

    def _outputs(self, info: Info, result: Any, args: Any, kwargs: Any, relatives: list[Any]) -> Any:
        if isinstance(result, torch.Tensor):
            if info.name == "lift_fresh" and type(relatives[0]) is not AuditTensor:
                return self.session.lifted(result)
            if info.name in EMPTY and result.device.type == "cpu":
                result.fill_(UNWRITTEN if result.dtype.is_floating_point else 0)
            found = self.session.wrap(result, relatives)
            if info.views and _lost(found, relatives, view=True):
                refuse(info.name, "a view that is none, of random numbers")
            return found
        if isinstance(result, (list, tuple)):
            return [self._outputs(info, each, args, kwargs, relatives) for each in result]
        return result

    def _protect(self, info: Info, args: Any, kwargs: dict[str, Any]) -> None:
        """What belongs to somebody outside gets its content back after the run."""
        for name in info.written:
            place = info.names.index(name)
            target = args[place] if place < len(args) else kwargs.get(name)
            for each in target if isinstance(target, (list, tuple)) else [target]:
                if type(each) is AuditTensor:
                    if each.store.frozen:
                        refuse(info.name, "an array of random numbers was made of the tensor, and would not change")
                    if each.store.fixed:
                        self.session.guard(each.value)
                elif isinstance(each, torch.Tensor):
                    self.session.guard(each)

    def _reshape(self, func: Any, info: Info, args: Any, kwargs: Any, values: Any, named: Any) -> Any:
        """An in-place change of shape: of the value, and of the tensor that the code holds."""
        if info.name == "detach_":
            func(*values, **named)
            return args[0]
        if info.name not in RESHAPED or type(args[0]) is not AuditTensor:
            refuse(info.name, "the storage of a tensor is changed in place")
        func(*values, **named)
        with no_dispatch():
            func(*args, **kwargs)
        return args[0]

    def _guarded(self, func: Any, info: Info, args: Any, kwargs: dict[str, Any], relatives: list[Any]) -> Any:
        """With random operands: an error is torch's own, or the end of the audit."""
        try:
            return self._random(Call(self.session, func, info, args, kwargs), args, kwargs, relatives)
        except Exception as error:
            if error.__dict__.get("of_torch"):
                raise
            refuse(info.name, f"{type(error).__name__}: {error}")

    def _random(self, call: Call, args: Any, kwargs: dict[str, Any], relatives: list[Any]) -> Any:
        info = call.info
        if info.base in SOURCES:
            result = SOURCES[info.base](call)
        elif info.random:
            refuse(info.name, "this way to draw random numbers is not enumerated")
        elif not any_random(call.operands()) and not info.out:
            result = NotImplemented
        else:
            known = info.base in HANDLERS and info.functional is not None
            result = HANDLERS[info.base](call) if known else NotImplemented
        if result is NotImplemented:
            if call.settle():
                result = genuine(lambda: call.func(*map(unwrap, args), **_each(kwargs)))
                _overwritten(info, kwargs)
                return self._outputs(info, result, args, kwargs, relatives)
            result = _opaque(call)
        if info.mutable:
            return _written(call, result)
        for each in result if isinstance(result, (list, tuple)) else [result]:
            if _lost(each, relatives, view=False):
                refuse(info.name, "its result shares storage with an operand")
        return result


def _lost(result: Any, relatives: list[Any], view: bool) -> bool:
    """Whether a result lies over the storage of an operand with random elements and does not know, or should."""
    random = [each for each in relatives if type(each) is AuditTensor and each.store.ids is not None]
    strangers = [each for each in random if each.store is not result.store]
    return len(strangers) == len(random) > 0 if view else any(shares(result.value, each.value) for each in strangers)


def _overwritten(info: Info, kwargs: dict[str, Any]) -> None:
    """Results have been written into tensors that were given for them: nothing there is random any more."""
    for name in info.out:
        target = kwargs.get(name)
        for each in target if isinstance(target, (list, tuple)) else [target]:
            if type(each) is not AuditTensor:
                continue
            if each.size() != each.value.size():
                refuse(info.name, "the result has another shape than the tensor it goes to")
            if each.store.ids is not None:
                each.store.view(each.value).zero_()


def _each(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: unwrap(value) for name, value in kwargs.items()}


def _written(call: Call, result: Any) -> Any:
    """Write a result where the operation would have written it."""
    info = call.info
    targets = [call.bound[name] for name in info.written]
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    if len(targets) != len(results):
        refuse(info.name, "it writes into several tensors")
    for target, source in zip(targets, results, strict=True):
        if isinstance(target, (list, tuple)):
            refuse(info.name, "it writes into a list of tensors")
        place = call.as_audited(target)
        if target is not place:
            place.store.fixed = "a tensor from outside of the run"
        if info.base != "copy":
            _castable(source.dtype, place.dtype)
        if place.size() != source.size():
            refuse(info.name, "the result has another shape than the tensor it goes to")
        write(place, cast(source, place.dtype, call.session), info.name)
    return targets[0] if len(targets) == 1 else tuple(targets)


def _castable(old: torch.dtype, new: torch.dtype) -> None:
    """Let torch complain about results that do not fit the type of the tensor they go to."""
    if not torch.can_cast(old, new):
        genuine(lambda: torch.empty(0, dtype=new).add_(torch.empty(0, dtype=old)))


def _opaque(call: Call) -> Any:
    """The results of an operation that is not followed, as random numbers that nobody may look at."""
    info = call.info
    if info.views or info.depends_on_data or info.functional is None:
        refuse(info.name, "its operands are random")
    shapes = call.invoke(lambda _, value: _filled(value, 0.25), real=True)
    others = call.invoke(lambda _, value: _filled(value, 0.75), real=True)

    def hidden(shape: Any, other: Any) -> Any:
        if not isinstance(shape, torch.Tensor) or shape.size() != other.size():
            refuse(info.name, "its operands are random")
        cells = [Opaque(call.session.run, info.name, "not followed") for _ in range(shape.numel())]
        return build(call.table, cells, shape)

    if isinstance(shapes, (list, tuple)):
        return [hidden(*pair) for pair in zip(shapes, others, strict=True)]
    return hidden(shapes, others)


def _filled(value: Any, number: float) -> Any:
    """An operand with a number in the place of every random element, to see the shape of a result."""
    if isinstance(value, (list, tuple)):
        return [_filled(each, number) for each in value]
    if type(value) is not AuditTensor:
        return value
    ids = ids_of(value)
    return value.value if ids is None else value.value.masked_fill(ids != 0, number)
