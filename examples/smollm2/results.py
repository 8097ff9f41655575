"""Results of `measure.py`: files that are read and checked, several of them as one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from clustered import Mean, mean_of

FORMAT = "rheo-acceptance/1"
KEPT = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True)
class Part:
    """Everything measured at one temperature.

    tau: by setting, E[tau] + 1 at each context, in the order of `prompts`. levels: by setting, Pr[tau >= l]. loop: of
    the texts from which the contexts are, prompt, steps and emitted tokens.
    """

    temperature: str
    prompts: tuple[int, ...]
    tau: dict[str, list[float]]
    levels: dict[str, list[float]]
    loop: tuple[tuple[int, int, int], ...]

    def has(self, *settings: str) -> bool:
        """Whether all of these were measured."""
        return all(setting in self.tau for setting in settings)

    def level(self, setting: str) -> Mean:
        """E[tau] + 1 with its standard error."""
        return mean_of(self.tau[setting], self.prompts)

    def in_the_loop(self) -> Mean:
        """Tokens per step of the texts themselves. Steps of one prompt are one cluster, so only their sum matters."""
        steps = [(tokens / count, prompt) for prompt, count, tokens in self.loop for _ in range(count)]
        return mean_of([tokens for tokens, _ in steps], [prompt for _, prompt in steps])

    def difference(self, setting: str, other: str) -> Mean:
        """E[tau] of a setting minus that of another, context by context."""
        return difference([self], setting, other)


def difference(parts: Sequence[Part], setting: str, other: str) -> Mean:
    """The same on the contexts of several parts together; a prompt is one cluster whatever the part."""
    pairs = [pair for part in parts for pair in zip(part.tau[setting], part.tau[other], strict=True)]
    return mean_of([a - b for a, b in pairs], [prompt for part in parts for prompt in part.prompts])


def read(path: Path) -> tuple[dict[str, Any], list[Part]]:
    """The meta data and the parts of one file. Raises `click.UsageError` for a file that is none of ours."""
    try:
        data = json.loads(path.read_text("utf-8"))
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise click.UsageError(f"{path}: no results of measure.py, expected format {FORMAT!r}")
        meta, parts = _meta(data["meta"]), data["temperatures"].items()
        if not parts:
            raise click.UsageError(f"{path}: no temperatures in it, expected a file as measure.py writes it")
        return meta, [_part(name, part, meta) for name, part in parts]
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path}: cannot be read: {error}") from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise click.UsageError(f"{path}: not whole ({error!r}), expected a file as measure.py writes it") from None


def _meta(meta: dict[str, Any]) -> dict[str, Any]:
    """The meta data, if the parts of it that are shown are objects, and the head has a name."""
    if not all(isinstance(meta.get(name, {}), dict) for name in ("plan", "versions")):
        raise TypeError("meta data that are no objects")
    if not isinstance(meta["head"]["file"], str):
        raise TypeError("the name of the head")
    return meta


def _part(name: str, part: dict[str, Any], meta: dict[str, Any]) -> Part:
    settings, rows = part["settings"], part["contexts"]
    if not float(name) > 0:
        raise ValueError(f"temperature {name}")
    if not rows or not settings or any(len(row[3]) != len(settings) for row in rows):
        raise ValueError(f"contexts at temperature {name}")
    if not part["loop"] or any(steps < 1 for _, steps, _ in part["loop"]):
        raise ValueError(f"texts at temperature {name}")
    tau = {setting: [1 + meta["unit"] * row[3][i] for row in rows] for i, setting in enumerate(settings)}
    sums = dict(zip(settings, part["levels"], strict=True))
    levels = {setting: [meta["level_unit"] * x / len(rows) for x in each] for setting, each in sums.items()}
    loop = tuple((int(a), int(b), int(c)) for a, b, c in part["loop"])
    return Part(name, tuple(row[0] for row in rows), _named(tau), _named(levels), loop)


def _named(values: dict[str, Any]) -> dict[str, Any]:
    """At temperature 1 the processed law is the raw one: its trees have both names."""
    raw = {setting.replace("raw", "processed"): x for setting, x in values.items() if setting.startswith("top-K raw")}
    return values | {setting: x for setting, x in raw.items() if setting not in values}


def acceptance() -> list[Path]:
    """The files that the page's table of claims is made from, in the order of their names."""
    return _kept("acceptance")


def again() -> list[Path]:
    """Files of the commands of the page, given once more, which the table of claims does not count."""
    return _kept("again")


def _kept(kind: str) -> list[Path]:
    return sorted(KEPT.glob(f"{kind}-*.json"), key=lambda path: path.stem)


def parts_of(paths: Sequence[Path]) -> list[Part]:
    """The parts of all these files, one after the other. Raises `click.UsageError`."""
    return [part for path in paths for part in read(path)[1]]


def pooled(files: Sequence[list[Part]]) -> list[Part]:
    """The contexts of all files together, where all have a setting; a prompt is one cluster whatever the file."""
    every: list[Part] = []
    for name in dict.fromkeys(part.temperature for parts in files for part in parts):
        parts = [part for each in files for part in each if part.temperature == name]
        shared = [setting for setting in parts[0].tau if all(part.has(setting) for part in parts)]
        sizes = [len(part.prompts) for part in parts]
        every.append(
            Part(
                name,
                tuple(prompt for part in parts for prompt in part.prompts),
                {setting: [x for part in parts for x in part.tau[setting]] for setting in shared},
                {
                    setting: [
                        sum(n * x for n, x in zip(sizes, xs, strict=True)) / sum(sizes)
                        for xs in zip(*(part.levels[setting] for part in parts), strict=True)
                    ]
                    for setting in shared
                },
                tuple(row for part in parts for row in part.loop),
            )
        )
    return every
