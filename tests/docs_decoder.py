"""What the test of docs/decoder.md computes with: its toy model in fractions, the decoder on it, cells of its tape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise, product
from math import prod
from typing import Any

import numpy as np
from rheo_reference import Config, Step, Tape, decode_step
from rheo_reference.tape import Site

VOCAB = range(3)
ROOT_TOKEN = 2

Row = tuple[str, ...]
Vector = tuple[Fraction, ...]
Prefix = tuple[int, ...]


def tables(text: str) -> dict[Row, list[Row]]:
    """The tables of a page by their headers."""
    found: dict[Row, list[Row]] = {}
    for block in re.findall(r"(?m)(?:^\|.*\|\n)+", text):
        header, _, *rows = [tuple(cell.strip() for cell in line[1:-1].split("|")) for line in block.splitlines()]
        found[header] = rows
    return found


def json_blocks(text: str) -> list[str]:
    return re.findall(r"(?s)```json\n(.*?)```", text)


def vector(values: Iterable[object]) -> str:
    return f"({listed(values)})"


def listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def string(values: Sequence[object]) -> str:
    return f"`{' '.join(map(str, values))}`" if values else "`()`"


def interval(ends: tuple[Fraction, Fraction]) -> str:
    return f"[{ends[0]}, {ends[1]})"


@dataclass
class Example:
    """The toy model in fractions, and the decoder on it in floats."""

    raw: dict[str, Any]
    scheme: dict[str, Any]
    tape: dict[str, Any]

    def law(self, side: str, u: Prefix) -> Vector:
        return tuple(map(Fraction, self.raw[side][listed(u).replace(" ", "")]))

    def model(self, side: str) -> Callable[[Sequence[Prefix]], list[list[float]]]:
        return lambda prefixes: [list(map(float, self.law(side, prefix[1:]))) for prefix in prefixes]

    def config(self, **others: Any) -> Config:
        return Config(**(self.scheme | others), sparse=None, target=None, draft=None)

    def step(self, tape: dict[str, Any], **others: Any) -> Step:
        config = self.config(**others)
        return decode_step(self.model("target"), self.model("draft"), (ROOT_TOKEN,), config, Tape(**tape))


def uniform(tape: dict[str, Any], site: Site) -> Fraction:
    kind, level, which = site
    array = np.array(tape[f"{kind}_u"])
    return Fraction(float(array[level] if kind == "token" else array[level, which]))


def shown(site: Site) -> str:
    return f"`token_u[{site[1]}]`" if site[0] == "token" else "`{}_u[{}, {}]`".format(*site)


def part(weights: Sequence[Fraction], u: Fraction) -> tuple[int, tuple[Fraction, Fraction]]:
    """The index that u draws, and the interval of all u that do."""
    ends = [Fraction(0), *(total / sum(weights) for total in accumulate(weights))]
    index = next(i for i, end in enumerate(ends[1:]) if end > u)
    return index, (ends[index], ends[index + 1])


def near(ends: tuple[Fraction, Fraction]) -> tuple[list[float], list[float]]:
    """Uniforms just inside an interval, and those just outside that a tape can hold."""
    step, (low, high) = Fraction(1, 10**9), ends
    outside = [u for u in (low - step, high + step) if 0 <= u < 1]
    return [float(low + step), float(high - step)], list(map(float, outside))


def moved(tape: dict[str, Any], site: Site, u: float) -> dict[str, Any]:
    kind, level, which = site
    changed = {name: np.array(values) for name, values in tape.items()}
    changed[f"{kind}_u"][level if kind == "token" else (level, which)] = u
    return changed


def cell_by_cell(example: Example) -> tuple[dict[Prefix, Fraction], int]:
    """The step law of the decoder: volumes of the cells of its tape, by string. `coin_u[l, 0]` is not read by rheo."""
    prefixes = [(), *((x,) for x in VOCAB), *product(VOCAB, repeat=2)]
    grids = []
    for kind, level in (("draft", 0), ("draft", 1), ("coin", 0), ("coin", 1), ("token", 0), ("token", 1), ("token", 2)):
        cuts = {Fraction(0), Fraction(1)}
        for u in (u for u in prefixes if len(u) == level):
            p, q = example.law("target", u), example.law("draft", u) if level < 2 else None
            if kind == "draft" and q:
                cuts.update(accumulate(sorted(q, reverse=True)))
            elif kind == "coin" and q:
                cuts.update(min(Fraction(1), a / b) for a, b in zip(p, q, strict=True))
            else:
                cuts.update(accumulate(p))
                rest = [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)] if q else p
                cuts.update(total / sum(rest) for total in accumulate(rest))
        ends = sorted(cuts)
        grids.append(list(pairwise(ends)))
    law: dict[Prefix, Fraction] = {}
    cells = list(product(*grids))
    for cell in cells:
        d0, d1, c0, c1, *token_u = (float((low + high) / 2) for low, high in cell)
        tape = {"draft_u": [[d0], [d1]], "coin_u": [[0.5, c0], [0.5, c1]], "token_u": token_u}
        tokens = example.step(tape).tokens
        law[tokens] = law.get(tokens, Fraction(0)) + prod(high - low for low, high in cell)
    return law, len(cells)
