"""The decoders as samplers, on toy models whose exact laws the enumerator knows.

A model starts as logits that bfloat16 holds, so that every precision sees the same numbers. Its exact laws are made of
`Fraction(math.exp(logit))`, without any of the decoders' arithmetic. A decoder that computes in float32 has laws that
differ from these by a few units of 2^-24, relatively; ten thousand times less than any `eps` here.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import rheo_gpu
import rheo_reference
import torch
from rheo_reference.batch import prefixes
from torch import Tensor

from rheo_proof.cli.crosscheck import floats
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import Q
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, plain
from tests.torch_models import rows as numbers

CHUNK = 16384
"""Requests in one batch: small enough for the cache of a core."""

Sampler: TypeAlias = Callable[[int, int], Counter[Any]]
"""(seed, draws) -> how often each cell came."""


@dataclass(frozen=True)
class Logits:
    """A model as logits by prefix, shorter ones first, then by tokens: row i has the children i V + 1, ..., i V + V.

    target has the prefixes up to the depth, draft the shorter ones.
    """

    vocab: int
    depth: int
    target: tuple[tuple[float, ...], ...]
    draft: tuple[tuple[float, ...], ...]

    @classmethod
    def random(cls, seed: int, vocab: int, depth: int, spread: float = 1.5, banned: float = 0.0) -> Logits:
        """Normal logits, a share of them -inf; no row is banned altogether."""
        rng = random.Random(f"logits/{seed}")

        def row() -> tuple[float, ...]:
            values = torch.tensor([rng.gauss(0, spread) for _ in range(vocab)]).bfloat16().tolist()
            kept = rng.randrange(vocab)
            return tuple(v if x == kept or rng.random() >= banned else -math.inf for x, v in enumerate(values))

        def rows(longest: int) -> tuple[tuple[float, ...], ...]:
            return tuple(row() for _ in prefixes(vocab, longest))

        return cls(vocab, depth, rows(depth), rows(depth - 1))

    def exact(self, temperature: Fraction = Fraction(1), top_k: int | None = None) -> ToyModel:
        """The model that a decoder is to see: target at a temperature, cut to its k best tokens; draft as it is."""
        number = {prefix: i for i, prefix in enumerate(prefixes(self.vocab, self.depth))}

        def target(prefix: Prefix) -> Law:
            return law(self.target[number[prefix]], temperature, top_k)

        def draft(prefix: Prefix) -> Law:
            return law(self.draft[number[prefix]], Fraction(1), None)

        return ToyModel(self.vocab, self.depth, target, draft)


def law(logits: Sequence[float], temperature: Fraction, top_k: int | None) -> Law:
    """Softmax and top-k in rationals; the exponential is the only thing that is rounded, to double precision."""
    top = max(logits)
    order = sorted(range(len(logits)), key=lambda x: (-logits[x], x))
    best = order[:1] if temperature == 0 else order[:top_k]
    weights = [math.exp((v - top) / float(temperature or 1)) if x in best else 0.0 for x, v in enumerate(logits)]
    return normalised([Q(Fraction(w).numerator, Fraction(w).denominator) for w in weights])


@dataclass(frozen=True)
class Tables:
    """What a decoder is given: rows by prefix for target and draft, logits or laws."""

    vocab: int
    target: Tensor
    draft: Tensor
    laws: bool = False

    @classmethod
    def of_logits(cls, logits: Logits, dtype: torch.dtype) -> Tables:
        """Logits in some precision."""
        return cls(logits.vocab, torch.tensor(logits.target, dtype=dtype), torch.tensor(logits.draft, dtype=dtype))

    @classmethod
    def of_model(cls, model: ToyModel, dtype: torch.dtype) -> Tables:
        """The laws of a model, each probability rounded once."""

        def rows(source: Callable[[Prefix], Law], longest: int) -> Tensor:
            return torch.tensor([floats.row(source(u)) for u in prefixes(model.vocab, longest)], dtype=dtype)

        return cls(model.vocab, rows(model.target, model.depth), rows(model.draft, model.depth - 1), True)

    @cached_property
    def numpy(self) -> rheo_reference.Models:
        """The same for the NumPy decoder."""
        return rheo_reference.Models(self.target.double().numpy(), self.draft.double().numpy())

    def number(self, paths: Tensor) -> Tensor:
        """The rows of prefixes [.., L], which end where -1 begins."""
        return numbers(paths, self.vocab)


def torch_config(parameters: Parameters) -> rheo_gpu.Config:
    """The same sizes for the torch decoder."""
    return rheo_gpu.Config(**floats.options(parameters))


def torch_strings(
    tables: Tables,
    parameters: Parameters,
    generator: torch.Generator,
    batch: int,
    how: rheo_gpu.Processing | None = None,
    budgets: Tensor | None = None,
    tape: rheo_gpu.Tape | None = None,
) -> Tensor:
    """One step of the torch decoder with fresh uniforms: tokens [batch, D + 1]. `how` is the target's processing."""
    config = torch_config(parameters)
    plain_logits = None if tables.laws else rheo_gpu.Processing()
    step = rheo_gpu.decode_step(
        lambda trees: tables.target[tables.number(trees.paths)],
        lambda layer: tables.draft[tables.number(layer.paths)],
        config,
        tape or rheo_gpu.Tape.fill(config, batch, generator),
        how or plain_logits,
        plain_logits,
        budgets,
    )
    assert not step.verified.broken.any()
    return step.verified.tokens


def torch_sampler(tables: Tables, parameters: Parameters, how: rheo_gpu.Processing | None = None) -> Sampler:
    """Strings of the torch decoder, drawn as in production: uniforms from a generator, fresh for every step."""

    def sample(seed: int, draws: int) -> Counter[Any]:
        generator = torch.Generator().manual_seed(seed)
        return counted(torch_strings(tables, parameters, generator, n, how) for n in chunks(draws))

    return sample


def numpy_sampler(tables: Tables, parameters: Parameters) -> Sampler:
    """The same from the batched NumPy decoder."""
    how = None if tables.laws else rheo_reference.Processing()
    config = rheo_reference.Config(**floats.options(parameters), target=how, draft=how)

    def sample(seed: int, draws: int) -> Counter[Any]:
        generator = np.random.default_rng(seed)
        filled = (rheo_reference.Tapes.fill(generator, config, n) for n in chunks(draws))
        return counted(torch.from_numpy(rheo_reference.simulate(tables.numpy, config, u).tokens) for u in filled)

    return sample


def chunks(draws: int) -> list[int]:
    """Batches that make so many draws."""
    return [min(CHUNK, draws - done) for done in range(0, draws, CHUNK)]


def counted(batches: Any) -> Counter[Any]:
    """How often each string came; rows of tokens end where -1 begins."""
    found: Counter[Any] = Counter()
    for tokens in batches:
        rows, counts = tokens.unique(dim=0, return_counts=True)
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            found[tuple(token for token in row if token >= 0)] += count
    return found


def step_law(parameters: Parameters, model: ToyModel) -> dict[Prefix, Fraction]:
    """The exact law of the emitted string, and with it of the accepted length, which is its length less one."""
    return dict(law_by_classes(plain(parameters), model).strings(model.vocab))
