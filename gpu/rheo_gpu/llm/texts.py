"""The texts of a batch: where each begins, when it has ended, and its own randomness."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rheo_gpu import Config, Tape

from .errors import Unusable

SEEDS = 2**32
"""The generator of torch reads 32 bits of a seed."""


class Texts:
    """R texts that grow from prompts; each ends by itself, with a stop token or with `limit` new tokens.

    A generator for each request, seeded with its seed, so that a text does not depend on who shares the batch. A text
    that has ended is carried along and does not grow.

    Raises `Unusable` for prompts that are empty or hold what is no token, for limits and for seeds that are alike: two
    requests would draw the same numbers, and their texts would depend on each other.
    """

    def __init__(
        self,
        prompts: Sequence[Sequence[int]],
        vocab: int,
        limit: int,
        stop: Sequence[int],
        seeds: int | Sequence[int],
        device: torch.device,
    ) -> None:
        self.prompts = [list(prompt) for prompt in prompts]
        self.device, self.stop, self.limit = device, frozenset(stop), limit
        if not self.prompts:
            raise Unusable("no prompts, expected at least one")
        for r, prompt in enumerate(self.prompts):
            if not prompt:
                raise Unusable(f"prompt {r} is empty, expected at least one token")
            if not all(0 <= token < vocab for token in prompt):
                raise Unusable(f"prompt {r} holds a token outside the target's vocabulary, expected 0 to {vocab - 1}")
        if limit < 1:
            raise Unusable(f"a limit of {limit} new tokens, expected at least 1")
        self.generators = _generators(seeds, len(self.prompts))
        self.lengths = [0] * len(self.prompts)
        self.ended: list[str | None] = [None] * len(self.prompts)
        self.last = torch.tensor([prompt[-1] for prompt in self.prompts], device=device)

    @property
    def active(self) -> Tensor:
        """[R]: which texts still grow."""
        return torch.tensor([end is None for end in self.ended], device=self.device)

    @property
    def done(self) -> bool:
        """Whether all texts have ended."""
        return all(self.ended)

    def tape(self, config: Config) -> Tape:
        """Fresh uniforms for one step: a row from the generator of each request."""
        rows = [Tape.fill(config, 1, generator) for generator in self.generators]
        parts = (torch.cat([getattr(row, name) for row in rows]) for name in ("draft_u", "coin_u", "token_u"))
        return Tape(*(part.to(self.device) for part in parts))

    def uniforms(self) -> Tensor:
        """[R] fresh uniforms, one from the generator of each request."""
        rows = [torch.rand(1, generator=generator, dtype=torch.float64) for generator in self.generators]
        return torch.cat(rows).to(self.device)

    def grow(self, tokens: Tensor, lengths: Tensor, broken: Tensor) -> tuple[list[list[int]], list[int]]:
        """Take what was emitted, tokens [R, n]: the new tokens of each text, and how many there were before a cut.

        Raises `Unusable` if there was nothing right to emit in a text that still grows.
        """
        parts: list[list[int]] = []
        emitted: list[int] = []
        found = zip(tokens.tolist(), lengths.tolist(), broken.tolist(), strict=True)
        for r, (string, length, wrong) in enumerate(found):
            if self.ended[r]:
                string, length, wrong = [], 0, False
            if wrong:
                raise Unusable(
                    f"request {r}: after {self.lengths[r]} new tokens the target answered with logits that are no law "
                    "(NaN or infinite), expected finite numbers: are its weights damaged, or is its precision too low?"
                )
            parts.append(self._cut(r, string[:length]))
            emitted.append(length)
        here = self.active
        last = tokens.gather(1, (lengths - 1).clamp(min=0)[:, None])[:, 0]
        self.last = torch.where(here, last, self.last)
        return parts, emitted

    def _cut(self, r: int, string: list[int]) -> list[int]:
        """What of a string belongs to the text: up to its first stop token, and no more than the limit allows."""
        room = self.limit - self.lengths[r]
        stops = [i for i, token in enumerate(string[:room]) if token in self.stop]
        part = string[: stops[0] + 1] if stops else string[:room]
        self.lengths[r] += len(part)
        if self.ended[r] is None:
            self.ended[r] = "stop" if stops else "limit" if self.lengths[r] == self.limit else None
        return part


def _generators(seeds: int | Sequence[int], count: int) -> list[torch.Generator]:
    """One for each request; a single seed s stands for s, s + 1, s + 2 and so on."""
    each = [seeds + r for r in range(count)] if isinstance(seeds, int) else list(seeds)
    different = len({seed % SEEDS for seed in each})
    if len(each) != count or different != count:
        raise Unusable(
            f"{different} different seeds for {count} requests, expected one of its own for each; seeds that differ by "
            "a multiple of 2^32 are alike"
        )
    try:
        return [torch.Generator().manual_seed(seed) for seed in each]
    except (RuntimeError, ValueError, OverflowError):
        raise Unusable(f"seeds {each}, expected whole numbers of at most 64 bits") from None
