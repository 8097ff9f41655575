"""One run: models from their folders, the text as it comes, the same without a draft, and the figures."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import torch
from rheo_gpu.llm.drafter import Drafter
from rheo_gpu.llm.errors import Unusable
from rheo_gpu.llm.generate import autoregressive, generate
from rheo_gpu.llm.loading import load_drafter
from rheo_gpu.llm.methods import AUTOREGRESSIVE, Method, method
from rheo_gpu.llm.statistics import Step, Totals
from rheo_gpu.llm.target import Target
from transformers.utils import logging

from rheo_decode.prompts import Words, load_tokenizer, prompt_tokens, stop_tokens
from rheo_decode.showing import show

WARM_UP = 8
"""Tokens that are decoded before time counts: the first calls of a shape are slow."""

UNREAD = (
    (AUTOREGRESSIVE, ("nodes", "slots", "depth", "head", "draft_temperature"), "which drafts nothing"),
    ("chain", ("nodes", "slots"), "which has one slot a node and as many nodes as it is deep: use --depth"),
)
"""Methods, the options that they do not read, and why."""


class Models(NamedTuple):
    """plain: the target without hidden states for a draft. seen: the same with those that the draft wants."""

    plain: Target
    seen: Target
    drafter: Drafter | None


class Asked(NamedTuple):
    """A request: prompt, stop tokens, the most new tokens, seed, and how to draft."""

    prompt: list[int]
    stop: list[int]
    limit: int
    seed: int
    method: Method


def run(options: dict[str, Any]) -> None:
    """Decode, compare, show, write. Raises `Unusable`."""
    if options["threads"]:
        torch.set_num_threads(options["threads"])
    chosen = _method(options)
    quiet: Any = logging
    quiet.set_verbosity_error()
    quiet.disable_progress_bar()
    tokenizer = load_tokenizer(options["target"])
    prompt = prompt_tokens(tokenizer, options["prompt"], options["raw"])
    models = _models(options)
    stop = stop_tokens(models.plain, tokenizer)
    asked = Asked(prompt, stop, options["tokens"], options["seed"], chosen)
    if options["compare"] or models.drafter is None:
        _consume(_alone(models, asked._replace(limit=min(WARM_UP, asked.limit), seed=asked.seed + 1)))
    if models.drafter is not None:
        _consume(_drafted(models, asked._replace(limit=min(WARM_UP, asked.limit), seed=asked.seed + 1)))
    words, totals, tokens = Words(tokenizer), Totals(), list[int]()
    for step in _drafted(models, asked) if models.drafter else _alone(models, asked):
        totals.add(step)
        tokens += step.tokens[0]
        click.echo(words.add(step.tokens[0]), nl=False)
    click.echo(words.rest())
    alone = None
    if options["compare"] and models.drafter is not None:
        alone = Totals.of(_alone(models, asked._replace(stop=[], limit=len(tokens))))
    show(options["method"], chosen.config.depth, totals, alone)
    if options["json_path"]:
        _write(Path(options["json_path"]), _as_json(options, chosen, tokens, words.text, totals, alone))


def _method(options: dict[str, Any]) -> Method:
    """The sizes and processing asked for; the trees of autoregressive decoding are not used."""
    name = options["method"]
    for of, unread, why in UNREAD:
        if name == of and (given := [o for o in unread if options[o] is not None]):
            raise Unusable(f"--{given[0].replace('_', '-')} does not go with --method {name}, {why}")
    name = "chain" if name == AUTOREGRESSIVE else name
    sizes = {size: options[size] for size in ("nodes", "slots", "depth", "head") if options[size] is not None}
    heat = {key: options[key] for key in ("temperature", "top_p", "draft_temperature")}
    return method(name, **sizes, **heat)


def _models(options: dict[str, Any]) -> Models:
    plain = Target.load(options["target"])
    if options["method"] == AUTOREGRESSIVE:
        return Models(plain, plain, None)
    drafter = load_drafter(options["draft"], plain)
    return Models(plain, plain.seeing(drafter.layers), drafter)


def _drafted(models: Models, asked: Asked) -> Iterator[Step]:
    assert models.drafter is not None
    limits = {"limit": asked.limit, "stop": asked.stop, "seeds": asked.seed}
    return generate(models.seen, models.drafter, [asked.prompt], *asked.method, **limits)  # type: ignore[arg-type]


def _alone(models: Models, asked: Asked) -> Iterator[Step]:
    return autoregressive(
        models.plain, [asked.prompt], asked.method.how, limit=asked.limit, stop=asked.stop, seeds=asked.seed
    )


def _consume(steps: Iterator[Step]) -> None:
    for _ in steps:
        pass


def _as_json(
    options: dict[str, Any], chosen: Method, tokens: list[int], text: str, totals: Totals, alone: Totals | None
) -> dict[str, Any]:
    config = chosen.config
    sizes = {"slots": config.slots, "head": config.head, "depth": config.depth, "nodes": config.nodes}
    asked = ("target", "draft", "method", "prompt", "raw", "temperature", "top_p", "seed")
    return {
        **{name: options[name] for name in asked},
        "sizes": None if options["method"] == AUTOREGRESSIVE else sizes,
        "draft_temperature": None if options["method"] == AUTOREGRESSIVE else chosen.how_draft.temperature,
        "threads": torch.get_num_threads(),
        "text": text,
        "token_ids": tokens,
        "decoding": totals.as_json(config.depth),
        "autoregressive": alone.as_json() if alone else None,
        "speed_up": totals.speed / alone.speed if alone else None,
    }


def _write(path: Path, what: dict[str, Any]) -> None:
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(json.dumps(what, indent=2, ensure_ascii=False) + "\n", "utf-8")
        os.replace(partial, path)
    except OSError as error:
        raise Unusable(f"--json: {path} cannot be written: {error.strerror}") from None
