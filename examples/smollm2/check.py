"""The decoder on a real pair: `python check.py model head.safetensors` compares, and tests, what it emits.

1. With the same tape, in float64, each step emits the tokens of the NumPy decoder, which reads the same rows of logits
   from a table: two implementations that share no code.
2. The first two tokens after a text are drawn many times by the whole loop, cache and all, and compared with the
   target's law, which is read from plain forward passes of the model as transformers loads it, with its own linear
   layers and attention: cells are pairs of likely tokens, and the rest in groups. How many draws that takes is planned
   (docs/statistics.md).
3. The twin of 2: a decoder with a fault, which must be rejected.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import click
import numpy as np
import rheo_reference
import torch
from inputs import COUNT, FILE, FOLDER, THREADS, Finite
from pair import PROMPTS, chats, lines, load, refused, tokenizer_of
from rheo_gpu import Config, Layer, Processing, Tape, verify
from rheo_gpu.llm.drafter import Drafter
from rheo_gpu.llm.generate import generate
from rheo_gpu.llm.methods import METHODS, Method, method
from rheo_gpu.llm.step import begun, drafted, followed, kept, read_trees
from rheo_gpu.llm.target import Target
from torch import Tensor

from rheo_proof.stats.asserts import assert_law_equal
from rheo_proof.stats.plan import plan_draws
from rheo_proof.stats.verdict import LawMismatch

SHORT = "The weather today is"
"""A short text, since it is read again for each of many draws."""

EPS = Finite(1e-3, 1, max_open=True)
"""Smaller distances take more than ten million draws."""

Numbers: TypeAlias = Mapping[str, float]
"""What both decoders call the processing of logits: temperature, top_p."""
PROCESSING: tuple[Numbers, ...] = ({"temperature": 1.0}, {"temperature": 0.6}, {"temperature": 0.8, "top_p": 0.9})
"""Of the target, in the comparison of all methods with NumPy."""

SIZES = ("slots", "head", "depth", "beam", "nodes", "sparse", "proxy", "proxy_scale", "fill_scale", "verify")


@dataclass
class Recorded:
    """A drafter whose rows are written down, by path, on the target's vocabulary."""

    drafter: Drafter
    vocab: int

    def __post_init__(self) -> None:
        self.rows: dict[tuple[int, ...], Any] = {}

    def __call__(self, layer: Layer) -> Tensor:
        logits, ids = self.drafter(layer), self.drafter.tokens
        ids = torch.arange(self.drafter.vocab) if ids is None else ids
        for path, row in zip(layer.paths[0], logits[0].double().numpy(), strict=True):
            whole = np.full(self.vocab, -np.inf)
            whole[ids.numpy()] = row
            self.rows[tuple(ids[path].tolist())] = whole
        return logits


def same_as_reference(
    target: Target,
    drafter: Drafter,
    prompt: Sequence[int],
    config: Config,
    how: Numbers,
    how_draft: Numbers,
    steps: int,
    seed: int,
) -> int:
    """Decode some steps with both decoders; how many tokens they emitted. Raises `AssertionError` where they differ.

    `how`, `how_draft`: the processing of target and draft, in numbers. Both models must be in float64.
    """
    sizes = {name: getattr(config, name) for name in SIZES}
    reference = rheo_reference.Config(
        **sizes, target=rheo_reference.Processing(**how), draft=rheo_reference.Processing(**how_draft)
    )
    random = torch.Generator().manual_seed(seed)
    state = begun(target, drafter, [prompt])
    last, emitted = torch.tensor([prompt[-1]]), 0
    for step in range(steps):
        tape = Tape.fill(config, 1, random)
        draft = Recorded(drafter, target.vocab)
        trees = drafted(drafter, target.vocab, config, tape, Processing(**how_draft), draft)
        seen = read_trees(target, state, trees, last)
        logits = target.logits(seen.hidden).double()
        out = verify(trees, logits, config, tape, Processing(**how))
        rows = {
            tuple(token for token in path if token >= 0): row
            for path, row, there in zip(trees.paths[0].tolist(), logits[0].numpy(), trees.there[0], strict=True)
            if there
        }
        expected = rheo_reference.decode_step(
            lambda prefixes, rows=rows: np.stack([rows[prefix] for prefix in prefixes]),
            lambda prefixes, rows=draft.rows: np.stack([rows[prefix] for prefix in prefixes]),
            (),
            reference,
            rheo_reference.Tape(*(part[0].numpy() for part in (tape.draft_u, tape.coin_u, tape.token_u))),
        )
        string = tuple(out.tokens[0, : out.lengths[0]].tolist())
        if string != expected.tokens:
            raise AssertionError(f"step {step}: {string}, but the NumPy decoder emits {expected.tokens}")
        followed(drafter, seen, out, *kept(target, state, out))
        last, emitted = out.last, emitted + len(string)
    return emitted


def law_of_two(model: Any, prompt: Sequence[int], temperature: float, head: int) -> tuple[dict[Any, Fraction], Any]:
    """The law of the first two tokens in cells, as fractions that sum to 1, and the cell of a pair of tokens.

    The `head` likeliest first tokens have cells of their own with each of the `head` likeliest tokens after them and
    one for the others; all other first tokens share one cell.
    """
    first = _law(model, list(prompt), temperature)
    likely = first.argsort(descending=True, stable=True)[:head].tolist()
    law: dict[Any, Fraction] = {}
    seconds: dict[int, list[int]] = {}
    for token in likely:
        second = _law(model, [*prompt, token], temperature)
        seconds[token] = second.argsort(descending=True, stable=True)[:head].tolist()
        p = Fraction(float(first[token]))
        for other in seconds[token]:
            law[token, other] = p * Fraction(float(second[other]))
        law[token, -1] = p - sum(law[token, other] for other in seconds[token])
    law[-1, -1] = 1 - sum(law.values())

    def cell(pair: Sequence[int]) -> tuple[int, int]:
        if pair[0] not in seconds:
            return (-1, -1)
        return (pair[0], pair[1] if pair[1] in seconds[pair[0]] else -1)

    return {cell: mass for cell, mass in law.items() if mass > 0}, cell


def _law(model: Any, text: list[int], temperature: float) -> Tensor:
    """The law of a model after a text, by its own forward pass."""
    logits: Tensor = model(input_ids=torch.tensor([text])).logits[0, -1]
    return (logits.double() / temperature).softmax(-1)


def first_two(
    target: Target, drafter: Drafter, prompt: Sequence[int], method: Method, rows: int
) -> Callable[[np.random.Generator, int], list[tuple[int, ...]]]:
    """A sampler of the first two tokens after a prompt, by the loop that makes texts, `rows` texts side by side."""

    def draws(random: np.random.Generator, n: int) -> list[tuple[int, ...]]:
        pairs: list[tuple[int, ...]] = []
        while len(pairs) < n:
            batch = min(rows, n - len(pairs))
            seeds = random.integers(2**62, size=batch).tolist()
            steps = generate(
                target, drafter, [prompt] * batch, method.config, method.how, method.how_draft, limit=2, seeds=seeds
            )
            texts: list[list[int]] = [[] for _ in range(batch)]
            for step in steps:
                for text, new in zip(texts, step.tokens, strict=True):
                    text += new
            pairs += map(tuple, texts)
        return pairs

    return draws


def without_residual() -> AbstractContextManager[Any]:
    """A fault, while this is open: behind a failed coin the token is drawn from p, where (p - t)+ is right."""
    return patch.object(sys.modules["rheo_gpu.verify"], "residual", lambda at, r, mass: r)


@torch.inference_mode()
def compare(model: Path, head: Path, prompts: Sequence[Sequence[int]], steps: int) -> None:
    """Part 1, for all methods, on several prompts."""
    target, drafter = load(model, head, torch.float64)
    for name in METHODS:
        for how in PROCESSING:
            of = method(name, **how, slots=10, depth=7, nodes=30)
            how_draft = {"temperature": float(of.how_draft.temperature)}
            emitted = sum(
                same_as_reference(target, drafter, prompt, of.config, how, how_draft, steps, seed)
                for seed, prompt in enumerate(prompts)
            )
            said = ", ".join(f"{number} {value:g}" for number, value in how.items())
            print(f"{name}, {said}: {emitted} tokens in {steps * len(prompts)} steps, all as in NumPy")


def plain(model: Path) -> Any:
    """The model as transformers loads it."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(
        model, dtype=torch.float32, local_files_only=True, attn_implementation="eager"
    ).eval()


def drawn(model: Path, head: Path, prompt: Sequence[int], eps: float, rows: int) -> None:
    """Parts 2 and 3 on one prompt, at T = 1, in small trees."""
    with torch.inference_mode():
        law, cell = law_of_two(plain(model), prompt, 1.0, 4)
    target, drafter = load(model, head)

    def test(name: str, case: str) -> str:
        pairs = first_two(target, drafter, prompt, method(name, slots=3, depth=2, nodes=4), rows)
        verdict = assert_law_equal(lambda random, n: [cell(x) for x in pairs(random, n)], law, eps=eps, name=case)
        return f"{verdict.draws} draws, {verdict.method}: the target's law is not rejected"

    print(f"{len(law)} cells, planned: at most {plan_draws(law, eps).draws} draws for a distance of {eps}")
    for name in METHODS:
        print(f"{name}: {test(name, f'first two tokens by {name}')}")
    with without_residual():
        try:
            test("rheo", "first two tokens by a decoder with a fault")
        except LawMismatch as found:
            print(f"rheo without the residual: rejected. {str(found).splitlines()[0]}")
        else:
            raise click.ClickException("a decoder with a fault was not rejected")


@click.command()
@click.argument("model", type=FOLDER)
@click.argument("head", type=FILE)
@click.option("--prompts", default=3, show_default=True, type=COUNT, help="How many for the comparison with NumPy.")
@click.option("--steps", default=8, show_default=True, type=COUNT, help="Steps for each.")
@click.option("--eps", default=0.15, show_default=True, type=EPS, help="Distance that the test of two tokens must see.")
@click.option("--rows", default=64, show_default=True, type=COUNT, help="Texts side by side.")
@click.option("--threads", default=os.cpu_count() or 1, show_default=True, type=THREADS)
def main(model: Path, head: Path, prompts: int, steps: int, eps: float, rows: int, threads: int) -> None:
    """Compare the torch decoder on MODEL and HEAD with the NumPy decoder, and what it emits with the target's law."""
    torch.set_num_threads(threads)
    tokenizer = tokenizer_of(model)
    texts, short = chats(tokenizer, lines(PROMPTS)[:prompts]), tokenizer.encode(SHORT, add_special_tokens=False)
    if not short:
        raise click.UsageError(f"{model}: its tokenizer has no tokens for {SHORT!r}, expected one that knows a text")
    with refused():
        try:
            compare(model, head, texts, steps)
            drawn(model, head, short, eps, rows)
        except AssertionError as found:
            raise click.ClickException(f"the decoder is not lossless: {found}") from None


if __name__ == "__main__":
    main()
