"""Writing the certificate of a run, or saying why there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console

from rheo_proof.exact.errors import LimitReached
from rheo_proof.report.json_file import write_certificate


def certify(out: Console, path: str, made: Callable[[], dict[str, Any]], less: str) -> bool:
    """Write what is made; False if it would be too large or cannot be had. `less` says what makes it smaller."""
    try:
        content = made()
    except LimitReached as limit:
        out.print(f"No certificate was written: {limit}. It is smaller with {less}.", soft_wrap=True)
        return False
    write_certificate(path, content)
    out.print(f"Certificate: {path}; `rheo-prove check {path}` checks it.", soft_wrap=True)
    return True
