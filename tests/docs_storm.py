"""docs/storm.md taken apart: the runs it shows, and its table of counts."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click

from rheo_proof.cli.single import Single, single, single_options

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "storm.md").read_text("utf-8")
BLOCK = re.compile(r"^```console\n\$ rheo-prove (?P<command>.*)\n(?P<shown>[\s\S]*?)^```", re.MULTILINE)
SHOWN = {block["command"]: block["shown"] for block in BLOCK.finditer(PAGE)}
COLUMNS = ("options", "states", "strong", "weak", "kept trees", "blocks", "classes", "stand for")


def rows() -> dict[str, dict[str, int]]:
    """The table: options -> column -> number."""
    [table] = [text for text in re.findall(r"(?m)(?:^\|.*\|\n)+", PAGE) if text.startswith("| options ")]
    header, _, *lines = [tuple(cell.strip() for cell in line[1:-1].split("|")) for line in table.splitlines()]
    assert header == COLUMNS
    found = {
        line[0].strip("`"): {c: int(v.replace(",", "")) for c, v in zip(COLUMNS[1:], line[1:], strict=True)}
        for line in lines
    }
    assert len(found) == len(lines) > 10
    return found


def asked(options: str) -> Single:
    """What `rheo-prove storm` with these options is about."""
    found: list[Single] = []

    @click.command()
    @single_options
    def command(**given: Any) -> None:
        found.append(single(given))

    command(shlex.split(options), standalone_mode=False)
    return found[0]


def lines(text: str) -> list[str]:
    """The lines of an output without blanks at their ends and without blank lines."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]
