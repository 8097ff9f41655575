"""What the options of these programs take. What they do not take ends a program at once: one line, exit status 2."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import click

COUNT = click.IntRange(1)
THREADS = click.IntRange(1, 1024)
SEED = click.IntRange(0, 2**63 - 1)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


class Finite(click.FloatRange):
    """A number in a range; infinity and NaN are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value}, expected a finite number.", param, ctx)
        return number


class Out(click.Path):
    """A file to be written, in a folder that exists. `beside`: endings of other files that are written beside it."""

    def __init__(self, *beside: str) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)
        self.beside = beside

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(super().convert(value, param, ctx))
        if wrong := not_new(path):
            self.fail(wrong, param, ctx)
        for ending in self.beside:
            if (other := path.with_name(path.name + ending)).is_dir():
                self.fail(f"{other} is a folder, expected a place for a file beside {path.name}", param, ctx)
        return path


def not_new(path: Path) -> str | None:
    """Why nothing can be made at this place, if so."""
    if not path.parent.is_dir():
        return f"{path}: the folder {path.parent} does not exist, expected one to write to"
    if not os.access(path.parent, os.W_OK):
        return f"{path}: the folder {path.parent} cannot be written to, expected one that can"
    return None


def line(error: BaseException) -> str:
    """The first line of what an error says, or its name."""
    return str(error).strip().partition("\n")[0].rstrip(".;: ") or type(error).__name__
