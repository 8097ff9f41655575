"""What a user asked for, made consistent: the schemes to decide and the models to decide them on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
CLASSES = 10_000
"""Default of --max-classes when a scheme of the zoo is asked for: from three layers on some have millions."""
OTHER_WORDS = {
    "sparse": "does not cut the draft law",
    "verify": "has a rule of its own",
    "nodes": "keeps every node that it drafts",
}
"""What is said of a scheme that does not read a parameter, where there is more to say."""


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
    def classes(self) -> int | None:
        """Classes for one scheme on one model, unless the user says otherwise."""
        return CLASSES if any(entry.named.zoo for entry in self.entries) else None

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
    if "" in schemes:
        raise InputError("--scheme is empty; give it a name or leave it out")
    names: list[Named] = [fault_named(fault)] if fault else [scheme_named(name) for name in schemes]
    notes: list[str] = []
    wrote = {name: (value,) for name, value in given.items()} | {"head": heads, "verify": verify}
    if any(named.zoo for named in names):
        vocab, given = _small(names, vocab, given, model, notes)
    sources, vocab, depth = models(given, model, vocab, instances, seed, families, notes)
    base = Parameters(**{**given, "depth": depth})
    base.drafting()
    notes += agreed(names, base, wrote)
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
                entries[Entry.of(named.name, Parameters(**{**given, "depth": depth, "head": m, "verify": rule}))] = None
    if "proxy_scale" in given and all(entry.parameters.proxy != "tail" for entry in entries):
        raise InputError("--proxy-scale is read by --proxy tail only; leave it out or add that")
    return Request(tuple(entries), tuple(sources), wanted_heads, vocab, depth, tuple(notes))


def _small(
    names: Sequence[Named], vocab: int | None, given: Mapping[str, Any], model: str | None, notes: list[str]
) -> tuple[int | None, dict[str, Any]]:
    """The sizes that the user left open, small; a note on those that make a difference."""
    opened = {name: value for name, value in SMALL.items() if name not in given and not (model and name != "slots")}
    if vocab is not None:
        opened.pop("vocab", None)
    told = dict(opened)
    if all(refusal(named, Parameters(), "slots", SMALL["slots"] + 1) for named in names):
        told.pop("slots", None)
    if told:
        written = ", ".join(f"--{name} {value}" for name, value in told.items())
        notes.append(f"sizes that were not given are small, for a scheme of the zoo is asked for: {written}")
    return opened.pop("vocab", vocab), {**opened, **given}


def _known(rules: Sequence[str]) -> Sequence[str]:
    for rule in rules:
        Parameters(verify=rule).verifying()
    return rules


def agreed(names: Sequence[Named], base: Parameters, wrote: Mapping[str, Sequence[Any]]) -> list[str]:
    """A note on each value of `wrote` that some of the schemes do not take, by the name of the parameter.

    Raises `InputError` for a value that none of them takes.
    """
    notes = []
    for name, value in ((name, value) for name, values in wrote.items() for value in values):
        option = f"--{name.replace('_', '-')}"
        refused = [text for text in (refusal(named, base, name, value) for named in names) if text]
        if refused and len(refused) == len(names):
            raise InputError(f"{refused[0]}; leave out {option}")
        notes += [f"{text}; {option} {value} is for the others" for text in refused]
    return notes


def refusal(named: Named, base: Parameters, name: str, value: Any) -> str:
    """Why a scheme does not take a value of a parameter, or nothing if it does.

    >>> from rheo_proof.theorems.zoo import EVERY
    >>> refusal(EVERY["spechub"], Parameters(), "slots", 3)
    'spechub always has slots = 2'
    >>> refusal(EVERY["rrs"], Parameters(), "sparse", 2)
    'rrs does not cut the draft law'
    >>> refusal(EVERY["rrs"], Parameters(), "slots", 3)
    ''
    """
    if name not in named.reads:
        return f"{named.name} {OTHER_WORDS.get(name, f'does not read {name}')}"
    changes: dict[str, Any] = {name: value}
    fixed = getattr(named.fix(replace(base, **changes)), name)
    return "" if fixed == value else f"{named.name} always has {name} = {fixed}"


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
