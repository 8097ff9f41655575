"""One run of audited code with torch: what is drawn becomes cells, what leaves is decided, what is outside stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from rheo_proof.audit import torch_draw, torch_move, torch_order, torch_pointwise, torch_rows
from rheo_proof.audit.errors import AuditError, refuse
from rheo_proof.audit.exploring import Run
from rheo_proof.audit.torch_border import Border, unreadable
from rheo_proof.audit.torch_dispatch import Watch
from rheo_proof.audit.torch_enter import tensor_from
from rheo_proof.audit.torch_patches import patched_torch
from rheo_proof.audit.torch_reading import beneath, nested
from rheo_proof.audit.torch_session import Session
from rheo_proof.audit.torch_store import AuditTensor

HANDLING = (torch_draw, torch_move, torch_order, torch_pointwise, torch_rows)
SEED = 20_240_501

_session: Session | None = None


@contextmanager
def torch_run(run: Run) -> Iterator[None]:
    """Take torch's randomness away for one run; afterwards torch is as it was before."""
    global _session
    if _session is not None:
        raise AuditError("torch_run: another run is in progress")
    session = Session(run)
    before = torch.default_generator.get_state()
    try:
        _session = session
        torch.default_generator.manual_seed(SEED)
        session.streams.known(torch.default_generator)
        with ExitStack() as stack:
            stack.enter_context(patched_torch(session))
            stack.enter_context(Border(session))
            stack.enter_context(Watch(session))
            yield
        session.streams.check(torch.default_generator)
    except RuntimeError as error:
        if unreadable(error):
            refuse("a function of torch", "it reads the memory of a tensor directly")
        raise
    finally:
        _session = None
        session.restore()
        torch.default_generator.set_state(before)


def current_session() -> Session:
    """The session of the run in progress. Raises `AuditError` outside of one."""
    if _session is None:
        raise AuditError("a tensor of an audit can only be made in a run with torch")
    return _session


def tensor_of(numbers: Any, dtype: torch.dtype = torch.float32) -> AuditTensor:
    """A tensor of nested rationals, floats, integers or cells, each rounded to the type."""
    return tensor_from(current_session(), numbers, dtype)


def cells_of(value: Any) -> Any:
    """The elements of a tensor, an array or nested lists as nested lists of numbers and cells; nothing is decided."""
    if isinstance(value, torch.Tensor):
        return nested(value)
    if isinstance(value, (list, tuple)):
        return [cells_of(each) for each in value]
    if hasattr(value, "tolist") and hasattr(value, "shape"):
        return value.tolist()
    return value


__all__: Sequence[str] = ["AuditTensor", "beneath", "cells_of", "current_session", "tensor_of", "torch_run"]
