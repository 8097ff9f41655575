"""The decoder on a real pair: `python check.py model head.safetensors` compares, and tests, what it emits.

1. With the same tape, in float64, each step emits the tokens of the NumPy decoder, which reads the same rows of logits
   from a table: two implementations that share no code.
2. The first two tokens after a prompt are drawn many times by the whole loop, cache and all, and compared with the
   target's law, which is read from plain forward passes: cells are pairs of likely tokens, and the rest in groups.
   How many draws that takes is planned (docs/statistics.md).
3. The twin of 2: a decoder with a fault, which must be rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import rheo_reference
import torch
from rheo_gpu import Config, Layer, Processing, Tape, draft_trees, verify
from rheo_gpu.llm.drafter import Drafter
from rheo_gpu.llm.target import Target
from torch import Tensor

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
    temperatures: tuple[float, float],
    steps: int,
    seed: int,
) -> int:
    """Decode some steps with both decoders; how many tokens they emitted. Raises `AssertionError` where they differ.

    `temperatures` of target and draft. Both models must be in float64.
    """
    how, how_draft = (Processing(temperature) for temperature in temperatures)
    sizes = {name: getattr(config, name) for name in SIZES}
    reference = rheo_reference.Config(
        **sizes, **{n: rheo_reference.Processing(t) for n, t in zip(("target", "draft"), temperatures, strict=True)}
    )
    random = torch.Generator().manual_seed(seed)
    state, seen = target.begin([prompt])
    drafter.begin(torch.tensor(prompt[:1]))
    drafter.follow(torch.tensor([prompt[1:]]), torch.tensor([len(prompt) - 1]), seen.features)
    last, emitted = torch.tensor([prompt[-1]]), 0
    for step in range(steps):
        tape = Tape.fill(config, 1, random)
        draft = Recorded(drafter, target.vocab)
        trees = draft_trees(draft, config, tape, how_draft)
        if drafter.tokens is not None:
            trees = trees.mapped(drafter.tokens, target.vocab)
        tokens = torch.where(trees.tokens >= 0, trees.tokens, last[:, None])
        positions = trees.position_ids(state.block.lengths + 1)
        seen = target.forward(state, tokens, positions, trees.ancestor_mask())
        logits = target.logits(seen.hidden).double()
        out = verify(trees, logits, config, tape, how)
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
        target.keep(state, out.keep)
        at = out.keep.clamp(min=0)[:, :, None, None].expand(-1, -1, *seen.features.shape[2:])
        drafter.follow(out.tokens, out.lengths, seen.features.gather(1, at))
        last, emitted = out.last, emitted + len(string)
    return emitted


def law_of_two(target: Target, prompt: Sequence[int], temperature: float, head: int) -> tuple[dict[Any, Fraction], Any]:
    """The law of the first two tokens in cells, as fractions that sum to 1, and the cell of a pair of tokens.

    The `head` likeliest first tokens have cells of their own with each of the `head` likeliest tokens after them and
    one for the others; all other first tokens share one cell.
    """
    first = _law(target, list(prompt), temperature)
    likely = first.argsort(descending=True, stable=True)[:head].tolist()
    law: dict[Any, Fraction] = {}
    seconds: dict[int, list[int]] = {}
    for token in likely:
        second = _law(target, [*prompt, token], temperature)
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


def _law(target: Target, text: list[int], temperature: float) -> Tensor:
    """The target's law after a text, by the model's own forward pass."""
    logits: Tensor = target.model(input_ids=torch.tensor([text])).logits[0, -1]
    return (logits.double() / temperature).softmax(-1)
