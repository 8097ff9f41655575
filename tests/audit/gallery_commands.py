"""The command that audits each function of the gallery, on the tables on which its fault shows."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from tests.audit.audits import how, small
from tests.audit.fault import Fault
from tests.audit.gallery import GALLERY

FLAGS = ("arrays", "returns")
PYTHON = "need a Python function for the target that it should have, see `HOW` in tests/audit/audits.py"


def command(fault: Fault) -> str:
    """The command, or an empty string for what only Python can ask."""
    asked = how(fault.faulty)
    if not isinstance(asked.adapter, str) or any(map(callable, asked.options.values())):
        return ""
    words = ["rheo-prove", "audit", f"{fault.faulty.__module__}:{fault.name}", "--adapter", asked.adapter]
    for name, value in asked.options.items():
        if name == "roles":
            words += ["--map", ",".join(f"{parameter}={role}" for parameter, role in value.items())]
        else:
            words += [f"--{name}", value] if name in FLAGS else ["--set", f"{name}={value}"]
    for table in small(fault.section):
        words += ["--table", table]
    return shlex.join([*words, *(["--declare", asked.declared] if asked.declared else [])])


def commands() -> Iterator[str]:
    """Lines of the page: every function once, commands first."""
    faults = list({fault.name: fault for fault in GALLERY}.values())
    yield from (f"    {command(fault)}" for fault in faults if command(fault))
    yield ""
    yield f"These {PYTHON}:"
    yield ", ".join(f"`{fault.name}`" for fault in faults if not command(fault)) + "."


if __name__ == "__main__":
    print("\n".join(commands()))
