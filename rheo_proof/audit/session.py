"""One run of audited code with everything taken away that it could draw from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from rheo_proof.audit.exploring import Run


@contextmanager
def installation(*functions: Callable[..., Any]) -> Iterator[None]:
    """Take away what NumPy and `random` draw from, for many sessions: finding it takes longer than a run."""
    from rheo_proof.audit.patches import installed

    with installed(*functions):
        yield


@contextmanager
def session(run: Run, *functions: Callable[..., Any]) -> Iterator[None]:
    """Intercept torch, NumPy and `random` for one run of these functions; torch only where somebody has imported it."""
    from rheo_proof.audit.patches import patched

    with ExitStack() as stack:
        for function in functions:
            stack.enter_context(patched(run, function))
        if "torch" in sys.modules:
            from rheo_proof.audit.torch_run import torch_run

            stack.enter_context(torch_run(run))
        yield
