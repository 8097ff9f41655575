"""What a user asked for, made consistent: the schemes to decide and the models to decide them on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.files import load_json, read_model
from rheo_proof.schemes.scheme import SCHEMES, Named, Parameters
from rheo_proof.theorems.instances import Entry, Source, battery
from rheo_proof.theorems.zoo import fault_named, scheme_named

RULES_BY_DEFAULT = ("rheo", "rrsw", "flow")
VOCAB, DEPTH = 5, 3
SMALL = {"vocab": 3, "depth": 2, "slots": 2}
"""Default sizes when a scheme of the zoo is asked for: most of them draft trees with very many classes."""


@dataclass(frozen=True)
class Request:
    """Schemes and models, and notes on what was left out and why."""

    entries: tuple[Entry, ...]
    sources: tuple[Source, ...]
    heads: tuple[int, ...]
    vocab: int
    depth: int
    notes: tuple[str, ...] = ()

    @property
    def suspects(self) -> dict[tuple[str, str], Parameters]:
        """Name, rule and parameters of the schemes that are known not to be lossless."""
        known = [entry for entry in self.entries if not entry.named.ought_to_be_lossless(entry.parameters)]
        return {(entry.name, entry.parameters.verify): entry.parameters for entry in known}


def request(
    given: Mapping[str, Any],
    heads: Sequence[int],
    verify: Sequence[str],
    schemes: Sequence[str],
    fault: str | None,
    model: str | None,
    vocab: int | None,
    instances: int | None,
    seed: int | None,
    families: Sequence[str],
) -> Request:
    """Check everything and put it together. `given` holds the parameters that the user wrote, by field name.

    Raises `InputError` for whatever is out of range, unknown, or contradicts something else.
    """
    if fault and schemes:
        raise InputError("--fault and --scheme: choose one of them")
    names: list[Named] = [fault_named(fault)] if fault else [scheme_named(name) for name in schemes]
    notes: list[str] = []
    wrote = given
    if any(named.zoo for named in names):
        vocab, given = _small(vocab, given, model, notes)
    sources, vocab, depth = models(given, model, vocab, instances, seed, families, notes)
    base = Parameters(**{**given, "depth": depth})
    base.drafting()
    rules = list(verify)
    if not rules:
        rules = ["rheo"] if fault else list(RULES_BY_DEFAULT)
        if base.proxy == "tail" and not fault and not schemes:
            rules.remove("rrsw")
            notes.append("rrsw was left out: with the tail proxy it is biased (ask for it with --verify rrsw)")
    wanted_heads = tuple(dict.fromkeys(heads)) or tuple(range(base.slots + 1))
    entries: dict[Entry, None] = {}
    for named in names or [SCHEMES[rule] for rule in _known(rules)]:
        for m in wanted_heads:
            for rule in rules if names else [named.name]:
                entry = Entry.of(named.name, Parameters(**{**given, "depth": depth, "head": m, "verify": rule}))
                _unchanged(
                    named, entry, {**wrote, **({"head": m} if heads else {}), **({"verify": rule} if verify else {})}
                )
                entries[entry] = None
    if "proxy_scale" in given and all(entry.parameters.proxy != "tail" for entry in entries):
        raise InputError("--proxy-scale is read by --proxy tail only; leave it out or add that")
    return Request(tuple(entries), tuple(sources), wanted_heads, vocab, depth, tuple(notes))


def _small(
    vocab: int | None, given: Mapping[str, Any], model: str | None, notes: list[str]
) -> tuple[int | None, dict[str, Any]]:
    """The sizes that the user left open, small."""
    opened = {name: value for name, value in SMALL.items() if name not in given and not (model and name != "slots")}
    if vocab is not None:
        opened.pop("vocab", None)
    if opened:
        written = ", ".join(f"--{name} {value}" for name, value in opened.items())
        notes.append(f"sizes that were not given are small, for a scheme of the zoo is asked for: {written}")
    return opened.pop("vocab", vocab), {**opened, **given}


def _known(rules: Sequence[str]) -> Sequence[str]:
    for rule in rules:
        Parameters(verify=rule).verifying()
    return rules


def _unchanged(named: Named, entry: Entry, wrote: Mapping[str, Any]) -> None:
    """Refuse a parameter that the user wrote and the scheme fixes to something else."""
    for field in fields(Parameters):
        if field.name in wrote and getattr(entry.parameters, field.name) != wrote[field.name]:
            fixed = getattr(entry.parameters, field.name)
            raise InputError(f"{named.name} fixes {field.name} to {fixed}; leave out --{field.name.replace('_', '-')}")


def models(
    given: Mapping[str, Any],
    path: str | None,
    vocab: int | None,
    instances: int | None,
    seed: int | None,
    families: Sequence[str],
    notes: list[str],
) -> tuple[list[Source], int, int]:
    """The models, their vocabulary, and the depth of the trees."""
    if path is None:
        vocab = VOCAB if vocab is None else vocab
        depth = given.get("depth", DEPTH)
        for name, value in (("vocab", vocab), ("depth", depth)):
            if value < 1:
                raise InputError(f"{name} is {value}, expected at least 1")
        count = 20 if instances is None else instances
        if count < 1:
            raise InputError(f"instances is {count}, expected at least 1")
        return battery(count, seed or 0, vocab, depth, families), vocab, depth
    for name, value in (("--instances", instances), ("--seed", seed), ("--family", families or None)):
        if value is not None:
            raise InputError(f"{name} and --model: choose one of them")
    data = load_json(path)
    if isinstance(data, dict) and set(data) >= {"model", "scheme"}:
        data = data["model"]
        notes.append("the file names a scheme, too; it was not used, the options decide")
    model = read_model(data, os.path.basename(path))
    if vocab is not None and vocab != model.vocab:
        raise InputError(f"--vocab is {vocab}, but the model has {model.vocab} tokens; leave out --vocab")
    depth = given.get("depth", model.depth)
    if depth > model.depth:
        raise InputError(f"depth is {depth}, but the model has laws for depth {model.depth} only")
    return [Source("file", 0, model.vocab, model.depth, data, Path(path).name)], model.vocab, depth
