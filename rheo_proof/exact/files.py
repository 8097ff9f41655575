"""Toy models as JSON files: read with every mistake named, written so that they can be read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel, key, tabled

_KEYS = {"vocab", "depth", "target", "draft", "order"}


def load_json(path: str | Path) -> Any:
    """The parsed content of a JSON file. Raises `InputError` when it is unreadable, truncated or not JSON."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not a text file in UTF-8") from None
    if not text.strip():
        raise InputError(f"{path}: is empty; expected a JSON object")
    try:
        return json.loads(text, object_pairs_hook=_no_duplicates)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: is not complete JSON: {error.msg} at line {error.lineno}") from None
    except RecursionError:
        raise InputError(f"{path}: is nested too deeply to be a model") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen = dict(pairs)
    if len(seen) < len(pairs):
        twice = next(k for k in seen if sum(k == other for other, _ in pairs) > 1)
        raise InputError(f"the key {twice!r} is given twice")
    return seen


def read_model(data: object, name: str = "model") -> ToyModel:
    """A model from parsed JSON; raises `InputError` naming the prefix and the mistake.

    >>> half = ["1/2", "1/2"]
    >>> read_model({"vocab": 2, "depth": 1, "target": {"": half, "0": half, "1": half}, "draft": {"": half}})
    ToyModel(model, vocab=2, depth=1)
    """
    if not isinstance(data, Mapping):
        raise InputError(f"{name}: expected an object with the keys vocab, depth, target, draft")
    unknown = sorted(set(data) - _KEYS)
    if unknown:
        raise InputError(f"{name}: unknown key {unknown[0]!r}; known are vocab, depth, target, draft, order")
    missing = sorted(_KEYS - {"order"} - set(data))
    if missing:
        raise InputError(f"{name}: the key {missing[0]!r} is missing")
    vocab = _whole(data["vocab"], f"{name}: vocab")
    depth = _whole(data["depth"], f"{name}: depth")
    order = data.get("order")
    if "order" in data and (type(order) is not int or order != 1):
        raise InputError(f"{name}: order is {order!r}, expected 1 or no such key")
    tables = [
        _read_table(data[what], f"{name}: {what}", vocab, 1 if order else depth - (what == "draft"))
        for what in ("target", "draft")
    ]
    model = tabled(vocab, depth, tables[0], tables[1], name, order or 0)
    for prefix, drafted in _last_tokens(model) if order else ((u, len(u) < depth) for u in model.reachable()):
        model.target(prefix)
        if drafted:
            model.draft(prefix)
    return model


def _last_tokens(model: ToyModel) -> list[tuple[Prefix, bool]]:
    """For an order-1 model: one prefix for each law that can be asked for, and whether its draft law can."""
    needed: list[tuple[Prefix, bool]] = [((), True)]
    known: set[int] = set()
    frontier: list[Prefix] = [()]
    length = 0
    while frontier and length < model.depth:
        length += 1
        reached = {x for u in frontier for x in range(model.vocab) if model.target(u)[x] or model.draft(u)[x]}
        frontier = [(x,) for x in sorted(reached - known)]
        known |= reached
        needed += [(u, length < model.depth) for u in frontier]
    return needed


def _whole(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{where} is {value!r}, expected a whole number of at least 1")
    return value


def _read_table(data: object, where: str, vocab: int, longest: int) -> dict[Prefix, Law]:
    if not isinstance(data, Mapping):
        raise InputError(f"{where}: expected an object from prefixes to laws")
    table: dict[Prefix, Law] = {}
    for written, values in data.items():
        prefix = _read_prefix(written, where, vocab, longest)
        table[prefix] = Law.read(values, f"{where} {written!r}", vocab)
    return table


def _read_prefix(written: str, where: str, vocab: int, longest: int) -> Prefix:
    parts = written.split(",") if written else []
    if not all(part.isascii() and part.isdigit() and str(int(part)) == part for part in parts):
        raise InputError(f"{where}: the key {written!r} is not a prefix; write tokens joined by commas, like '0,2'")
    prefix = tuple(map(int, parts))
    if any(x >= vocab for x in prefix):
        raise InputError(f"{where}: the prefix {written!r} has a token outside 0..{vocab - 1}")
    if len(prefix) > longest:
        raise InputError(f"{where}: the prefix {written!r} is longer than {longest}, the longest that is used")
    return prefix


def write_model(model: ToyModel, limits: Limits | None = None) -> dict[str, Any]:
    """The model as a JSON object that `read_model` reads back: fractions as strings, reachable prefixes only.

    Raises `LimitReached` when `limits` are out of time.
    """
    prefixes = []
    for u in model.reachable():
        prefixes.append(u)
        if limits is not None:
            limits.watch()
    return {
        "vocab": model.vocab,
        "depth": model.depth,
        "target": {key(u): [str(x) for x in model.target(u)] for u in prefixes},
        "draft": {key(u): [str(x) for x in model.draft(u)] for u in prefixes if len(u) < model.depth},
    }
