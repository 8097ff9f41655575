"""Several processes: the same answer as one, and nothing left behind after an interrupt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.program import command, environment, prove, settled, without_times, written

LONG = ("--vocab", "12", "--depth", "4", "--slots", "4", "--nodes", "20", "--head", "0", "--instances", "8")
"""Far longer for a single model than `PATIENCE`."""
MARKER = "RHEO_TEST_MARKER"
PATIENCE = 60
"""Seconds to wait for something that takes one or two before the test is called hung."""

needs_proc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")


@pytest.mark.parametrize(
    ("options", "status"), [((), 0), (("--fault", "verify-full-q", "--no-shrink"), 1)], ids=["proved", "refuted"]
)
def test_two_processes_give_the_answer_of_one(options: tuple[str, ...], status: int, tmp_path: Path) -> None:
    sizes = ("--vocab", "3", "--depth", "2", "--instances", "11", *options)
    one = prove(tmp_path, *sizes, "--jobs", "1", "--json", "one.json")
    two = prove(tmp_path, *sizes, "--jobs", "2", "--json", "two.json")
    assert (one.status, one.err) == (two.status, two.err) == (status, "")
    assert settled(one.out) == settled(two.out)
    assert without_times(written(tmp_path / "one.json")) == without_times(written(tmp_path / "two.json"))


def test_an_error_in_another_process_is_no_verdict(tmp_path: Path) -> None:
    """The worker processes import a module of this name before the package, and it breaks one computation there."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if any('loky' in word for word in sys.orig_argv):\n"
        "    import rheo_proof.theorems.instances as instances\n"
        "    instances.class_law = None\n"
    )
    path = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    run = prove(tmp_path, "--vocab", "2", "--depth", "1", "--instances", "2", "--jobs", "2", PYTHONPATH=path)
    assert run.status == 4
    assert run.out == ""
    assert run.err.splitlines()[-1] == "rheo-prove: an error in this program; no verdict"


def marked(marker: str) -> dict[int, float]:
    """The processes that have the marker in their environment, with the seconds they have worked."""
    found: dict[int, float] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARKER}={marker}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                found[int(folder.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:  # it has ended, or is not ours
            continue
    return found


def wait_until(holds: Callable[[], bool]) -> bool:
    """Whether a condition comes to hold before patience ends."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def ended(process: subprocess.Popen[bytes]) -> set[int]:
    """The process itself, once it is over."""
    return set() if process.poll() is None else {process.pid}


def heed_interrupts() -> None:
    """In the process to be: a shell starts background jobs, this suite perhaps among them, deaf to interrupts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def running(folder: Path, marker: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A run in a process group of its own, of which nothing is left in the end."""
    process = subprocess.Popen(
        command(arguments),
        cwd=folder,
        env=environment(**{MARKER: marker}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )
    try:
        yield process
    finally:
        # A process that is being started while the others are killed would keep the pipes open: until none is left.
        while pids := {process.pid, *marked(marker)} - ended(process):
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            process.poll()
            time.sleep(0.05)
        process.communicate(timeout=PATIENCE)


@needs_proc
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("whole_group", [True, False], ids=["group", "parent"])
def test_an_interrupt_ends_everything_in_one_line(jobs: int, whole_group: bool, tmp_path: Path) -> None:
    marker = uuid.uuid4().hex
    with running(tmp_path, marker, *LONG, "--jobs", str(jobs), "--json", "run.json") as process:
        assert wait_until(lambda: at_work(marker) >= jobs)
        assert process.poll() is None, "the run was over before the interrupt"
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        assert (out, err) == (b"", b"rheo-prove: interrupted\n")
        assert wait_until(lambda: not marked(marker)), "processes were left behind"
    assert os.listdir(tmp_path) == []


def at_work(marker: str) -> int:
    """How many processes have worked for longer than a start takes."""
    return sum(seconds >= 2 for seconds in marked(marker).values())


@needs_proc
def test_a_process_with_the_marker_is_found(tmp_path: Path) -> None:
    """The twin: had something been left behind, it would have been seen."""
    marker = uuid.uuid4().hex
    assert not marked(marker)
    with running(tmp_path, marker, *LONG, "--jobs", "2"):
        assert wait_until(lambda: len(marked(marker)) >= 3)
    assert wait_until(lambda: not marked(marker))
