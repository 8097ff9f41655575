"""Writing the certificate of a run, or saying why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rich.console import Console

from rheo_proof.exact.errors import InputError, LimitReached
from rheo_proof.report.json_file import write_certificate
from rheo_proof.theorems.adversary import Adversary
from rheo_proof.theorems.certificate import CHECKED_RULES
from rheo_proof.theorems.policy_certificate import known


def check_certifiable(path: str | None, adversaries: Iterable[Adversary]) -> None:
    """Raise `InputError`, before anything is decided, if a certificate is wanted of policies that have none."""
    if path and not all(map(known, adversaries)):
        raise InputError(
            f"--certificate: there are certificates about {', '.join(CHECKED_RULES)} with numbers for --head and "
            "without --peek; leave out the rest, or --certificate"
        )


def certify(out: Console, path: str, made: Callable[[], dict[str, Any]], less: str) -> bool:
    """Write what is made, and say of which schemes it proves nothing; False if it would be too large.

    `less` says what makes it smaller.
    """
    try:
        content = made()
    except LimitReached as limit:
        out.print(f"No certificate was written: {limit}. It is smaller with {less}.", soft_wrap=True)
        return False
    write_certificate(path, content)
    schemes = [claim["scheme"] for claim in content["claims"]]
    stated = ", ".join(sorted({scheme["name"] for scheme in schemes if "name" in scheme}))
    but = f", but what it says of {stated} is taken as stated: exit status 3" if stated else ""
    out.print(f"Certificate: {path}; `rheo-prove check {path}` checks it{but}.", soft_wrap=True)
    return True
