"""docs/certificates.md: its commands are run, and what it shows must come out."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rheo_proof.theorems import certificate, policy_certificate
from tests.cli.program import ROOT, prove, written

PAGE = (ROOT / "docs" / "certificates.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?s)```{language}\n(.*?)```", PAGE)


def shown(block: str) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines below it."""
    commands = re.split(r"(?m)^\$ ", block)[1:]
    return [(one.splitlines()[0], one.splitlines()[1:]) for one in commands]


def run(command: str, folder: Path) -> str:
    """What a command prints."""
    program, *arguments = shlex.split(command)
    if program == "rheo-prove":
        return prove(folder, *arguments).out
    if program == "python":
        (folder / "checker.py").write_bytes((ROOT / "rheo_proof/theorems/checker.py").read_bytes())
        program = sys.executable
    done = subprocess.run(
        [program, *arguments[:2]] if program == "sed" else [program, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if program == "sed":
        assert arguments[2:] == [">", "d.json"]
        (folder / "d.json").write_text(done.stdout, "utf-8")
        return ""
    return done.stdout


def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    commands = [each for block in blocks("console") for each in shown(block)]
    assert len(commands) == 9
    for command, lines in commands:
        out = run(command, tmp_path).splitlines()
        assert [line for line in lines if line not in out] == [], command
    [example] = blocks("json")
    assert json.loads(example) in written(tmp_path / "c.json")["claims"][0]["classes"]
    assert len(written(tmp_path / "c.json")["claims"][0]["classes"]) == 2


@pytest.mark.parametrize("number", [certificate.MOST_CLASSES, policy_certificate.MOST_STATES, certificate.MOST_DIGITS])
def test_the_limits_are_those_of_the_page(number: int) -> None:
    assert f"more than {number:,}" in PAGE
