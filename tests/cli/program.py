"""Run the program as a user does, or in this process where hundreds of runs are wanted; read what it prints."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from rheo_proof.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
COLOURS = ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES")


class Run(NamedTuple):
    """How a run ended and what it printed."""

    status: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """The standard output with every run of blanks, line ends included, as one blank."""
        return " ".join(self.out.split())


def environment(**more: str) -> dict[str, str]:
    """The environment of a run: this one, without wishes about colours, and the package on the path."""
    kept = {name: value for name, value in os.environ.items() if name not in COLOURS}
    path = os.pathsep.join(filter(None, [str(ROOT), kept.get("PYTHONPATH")]))
    return {**kept, "PYTHONPATH": path, **more}


def command(arguments: Sequence[str]) -> list[str]:
    """The command line of a run in a process of its own."""
    return [sys.executable, "-m", "rheo_proof", *arguments]


def prove(folder: Path, *arguments: str, **more: str) -> Run:
    """A run in a process of its own, in a folder, with `more` in its environment."""
    run = subprocess.run(
        command(arguments), cwd=folder, env=environment(**more), capture_output=True, encoding="utf-8", check=False
    )
    return Run(run.returncode, run.stdout, run.stderr)


def prove_here(*arguments: str) -> Run:
    """The same in this process."""
    out, err = io.StringIO(), io.StringIO()
    argv = mock.patch.object(sys, "argv", ["rheo-prove", *arguments])
    environ = mock.patch.dict(os.environ, environment(), clear=True)
    status: object = "no exit"
    with argv, environ, redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as done:
            status = done.code
    assert isinstance(status, int), status
    return Run(status, out.getvalue(), err.getvalue())


def settled(text: str) -> str:
    """An output without its times and without the widths that depend on them."""
    return re.sub(r"[ ─]+", " ", re.sub(r" +\d+\.\d\d s\b", " time", text))


def is_one_line(run: Run, status: int) -> bool:
    """Whether a run ended with this status, nothing on stdout, and one line of the program's own on stderr."""
    return run.status == status and run.out == "" and re.fullmatch(r"rheo-prove: .+\n", run.err) is not None


Row = dict[str, str]


def tables(out: str) -> dict[str, list[Row]]:
    """The tables of results by the name of the scheme; a row is a value for each column."""
    found: dict[str, list[Row]] = {}
    lines = out.splitlines()
    for number, line in enumerate(lines):
        if set(line.strip()) != {"─"} or "models" not in lines[number - 1]:
            continue
        title = next(above for above in reversed(lines[: number - 1]) if above.strip())
        columns = cells(lines[number - 1])
        rows = found.setdefault(title.partition(":")[0], [])
        for below in lines[number + 1 :]:
            if not below.strip():
                break
            rows.append(dict(zip(columns, cells(below), strict=True)))
    return found


def cells(line: str) -> list[str]:
    """The cells of one line of a table, which at least two blanks separate."""
    return re.split(r"\s{2,}", line.strip())


def strings_shown(out: str) -> dict[str, str]:
    """The rows of the table of emitted strings: string -> probability as it is printed."""
    _, _, below = out.partition(" emitted string ")
    rows = [cells(line) for line in below.splitlines()[2:]]
    return {row[0]: row[1] for row in rows[: next(i for i, row in enumerate(rows) if len(row) != 2)]}


def written(path: Path) -> Any:
    """The JSON file at a path."""
    return json.loads(path.read_text("utf-8"))


def without_times(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run as JSON without the one thing that may differ between two runs."""
    return {**run, "instances": [{**instance, "seconds": None} for instance in run["instances"]]}
