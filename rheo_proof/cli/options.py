"""What options take, and what they say of what they cannot take."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import click

from rheo_proof.exact.errors import InputError
from rheo_proof.report.json_file import check_target

MOST = 10**9


class Count(click.IntRange):
    """A whole number from 1 to `MOST`, which no limit in classes or seconds needs to exceed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Raises `InputError` that says what would be right."""
        try:
            number = int(value)
        except ValueError:
            number = 0
        if not 1 <= number <= MOST:
            option = param.opts[-1] if param else "the number"
            raise InputError(f"{option} is {value}, expected a whole number from 1 to {MOST}")
        return number


COUNT = Count(1)


def names_of(parts: tuple[str, ...], option: str, example: str = "rheo,flow") -> list[str]:
    """Names joined by commas. Raises `InputError` for an empty one.

    >>> names_of(("rheo,flow", "chain"), "--schemes")
    ['rheo', 'flow', 'chain']
    """
    names = [name.strip() for part in parts for name in part.split(",")]
    if "" in names:
        written = ",".join(parts)
        raise InputError(f"{option} has an empty name in {written!r}, expected names such as {option} {example}")
    return names


def spelled(name: str) -> str:
    """The option that a parameter stands for, as it is written.

    >>> spelled("json_path")
    '--json'
    """
    return "--" + name.removesuffix("_path").replace("declared", "declare").replace("_", "-")


def refuse_empty(options: Mapping[str, Any], *names: str) -> None:
    """Raise `InputError` if one of these options was given without a value."""
    for name in names:
        if options[name] == "":
            raise InputError(f"{spelled(name)} is empty; give it a value or leave it out")


def check_targets(options: Mapping[str, Any], *names: str) -> None:
    """Raise `InputError` now if a file that one of these options names cannot be written, or if two are one file."""
    asked = [(spelled(name), options[name]) for name in names if options[name]]
    for _, path in asked:
        check_target(path, options["model"])
    for one, other in combinations(asked, 2):
        check_different(one, other)


def check_different(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Raise `InputError` if two options, each with its path, name the same file, however it is written."""
    paths = Path(one[1]), Path(other[1])
    same = paths[0].resolve() == paths[1].resolve()
    if same or (all(path.exists() for path in paths) and os.path.samefile(*paths)):
        raise InputError(f"{one[0]} and {other[0]} name the same file, {other[1]}; name two files")
