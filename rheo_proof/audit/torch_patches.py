"""Names of torch that no mode sees, replaced for one run: devices that are not here, compilation, states, arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from rheo_proof.audit.errors import refuse
from rheo_proof.audit.torch_enter import listed, tensor_from
from rheo_proof.audit.torch_reading import beneath
from rheo_proof.audit.torch_session import Session
from rheo_proof.audit.torch_store import AuditTensor, settle


class Quiet:
    """A stream or an event of a device: it may be entered, waited for and measured, and nothing happens."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def elapsed_time(self, other: Any) -> float:
        """Nothing takes time."""
        return 0.0

    def query(self) -> bool:
        """Everything is done."""
        return True

    def _nothing(self, *_: Any, **__: Any) -> None:
        pass

    record = synchronize = wait = wait_event = wait_stream = record_event = _nothing


def _silent() -> Callable[..., None]:
    """A function that does nothing; a new one for every name, for those who look names up by what they mean."""

    def nothing(*_: Any, **__: Any) -> None:
        pass

    return nothing


def _uncompiled(model: Any = None, **_: Any) -> Any:
    return model if model is not None else lambda function: function


def _enter(self: Any) -> None:
    self._audit_guard = torch.no_grad() if self.mode else nullcontext()
    self._audit_guard.__enter__()


def _exit(self: Any, *what: Any) -> None:
    self._audit_guard.__exit__(*what)


def _no_pointer(*_: Any, **__: Any) -> None:
    refuse("the memory of a tensor", "compiled code may read a tensor there without being seen")


def _replacements(session: Session) -> list[tuple[Any, str, Any]]:
    """What stands where during the run."""
    cuda = torch.cuda
    inference = torch.autograd.grad_mode.inference_mode
    set_state = torch.set_rng_state
    from_numpy = torch.from_numpy

    def set_rng_state(state: Any) -> None:
        if isinstance(state, AuditTensor):
            with beneath():
                if not settle(state):
                    refuse("set_rng_state", "the state is random")
                state = state.value
        set_state(state)

    def arrays(array: Any) -> Any:
        found = listed(array)
        return from_numpy(array) if found is None else tensor_from(session, *found)

    quiet: list[tuple[Any, str, Any]] = [
        (cuda, name, _silent())
        for name in ("synchronize", "empty_cache", "set_device", "manual_seed", "manual_seed_all")
    ]
    quiet += [
        (cuda, name, type(name, (Quiet,), {})) for name in ("Stream", "Event", "stream", "current_stream", "device")
    ]
    quiet.append((cuda, "nvtx", _Nvtx))
    return [
        *quiet,
        (torch, "compile", _uncompiled),
        (torch, "set_rng_state", set_rng_state),
        (torch.random, "set_rng_state", set_rng_state),
        (torch, "from_numpy", arrays),
        (torch.utils.dlpack, "to_dlpack", _no_pointer),
        (torch, "to_dlpack", _no_pointer),
        (inference, "__enter__", _enter),
        (inference, "__exit__", _exit),
    ]


class _Nvtx:
    """Ranges for a profiler."""

    range_push, range_pop, mark = (staticmethod(_silent()) for _ in range(3))
    range = Quiet
    annotate: Callable[..., Any] = _uncompiled


@contextmanager
def patched_torch(session: Session) -> Iterator[None]:
    """Replace the names; compiled functions run as they are written."""
    before = [(owner, name, owner.__dict__.get(name, _MISSING)) for owner, name, _ in _replacements(session)]
    try:
        for owner, name, new in _replacements(session):
            setattr(owner, name, new)
        if "torch._dynamo" in sys.modules:
            with torch.compiler.set_stance("force_eager"):
                yield
        else:
            yield
    finally:
        for owner, name, old in before:
            if old is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, old)


_MISSING = object()
