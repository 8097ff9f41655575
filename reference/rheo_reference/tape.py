"""Tapes: randomness as an input. Two decoders that read the same tape must emit the same tokens.

    draft_u[batch, depth, beam]   the sampled slot of the b-th expanded node of a layer
    coin_u[batch, depth, 2]       the l-th visited node: [.., 1] tests the sampled child, [.., 0] all heads (RRSw only)
    token_u[batch, depth + 1]     the token drawn at the l-th visited node

All lie in [0, 1). A coin of probability a is true iff u < a. A token draw is the first token with u < cdf: in the order
of the node for tail laws, by token id for all others. Layers, levels and b count from 0, and b counts every expanded
node, one without a sampled slot too. A uniform is read even where it cannot change the outcome.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .config import Config
from .laws import Floats

Site: TypeAlias = tuple[str, int, int]
"""One uniform: ("draft", layer, b), ("coin", level, which) or ("token", level, 0)."""


class Tape:
    """The uniforms of one step, and a record `used` of those that were read, in order."""

    def __init__(self, draft_u: ArrayLike, coin_u: ArrayLike, token_u: ArrayLike) -> None:
        self.draft_u, self.coin_u, self.token_u = _uniforms(draft_u), _uniforms(coin_u), _uniforms(token_u)
        self.used: list[Site] = []
        depth = len(self.draft_u)
        if self.draft_u.ndim != 2 or self.coin_u.shape != (depth, 2) or self.token_u.shape != (depth + 1,):
            shapes = f"{self.draft_u.shape}, {self.coin_u.shape} and {self.token_u.shape}"
            raise ValueError(f"a tape of shapes {shapes}, expected (depth, beam), (depth, 2) and (depth + 1,)")

    def draft(self, layer: int, b: int) -> float:
        """For the sampled slot of the b-th expanded node of a layer."""
        self.used.append(("draft", layer, b))
        return float(self.draft_u[layer, b])

    def coin(self, level: int, which: int) -> float:
        """For the test of the sampled child (`which` 1) or of the heads (0) at the visited node of a level."""
        self.used.append(("coin", level, which))
        return float(self.coin_u[level, which])

    def token(self, level: int) -> float:
        """For the token draw at the visited node of a level."""
        self.used.append(("token", level, 0))
        return float(self.token_u[level])

    def fits(self, config: Config) -> None:
        """Raise `ValueError` unless every uniform that a step may ask for is there, and fresh."""
        if self.used:
            raise ValueError("the tape was read before; every step takes a fresh one")
        depth, beam = self.draft_u.shape
        if depth < config.depth or beam < config.width:
            raise ValueError(
                f"a tape for depth {depth} and beam {beam}, but the step has depth {config.depth} and beam "
                f"{config.width}"
            )


class Tapes:
    """A batch of tapes; `tapes[i]` is the i-th, nothing of it read yet."""

    def __init__(self, draft_u: ArrayLike, coin_u: ArrayLike, token_u: ArrayLike) -> None:
        self.draft_u, self.coin_u, self.token_u = _uniforms(draft_u), _uniforms(coin_u), _uniforms(token_u)
        if not len(self.draft_u) == len(self.coin_u) == len(self.token_u):
            raise ValueError("the three arrays of a batch of tapes differ in their first axis")

    @classmethod
    def fill(cls, generator: np.random.Generator, config: Config, batch: int = 1) -> Tapes:
        """Fresh uniforms, which are never to be used twice."""
        depth, beam = config.depth, config.width
        return cls(
            generator.random((batch, depth, beam)),
            generator.random((batch, depth, 2)),
            generator.random((batch, depth + 1)),
        )

    def __len__(self) -> int:
        return len(self.token_u)

    def __getitem__(self, index: int) -> Tape:
        return Tape(self.draft_u[index], self.coin_u[index], self.token_u[index])


def fresh_tapes(generator: np.random.Generator, config: Config) -> Iterator[Tape]:
    """One fresh tape after the other, for ever."""
    while True:
        yield Tapes.fill(generator, config)[0]


def inverse_cdf(weights: Floats, u: float) -> int:
    """The first index whose cumulative weight exceeds u times the total, for weights that are not all 0.

    Cumulative sums run from left to right. The total takes the place of a division by it, so that nothing is rounded
    as long as sums are exact. An index of weight 0 does not raise the sum and is never the first. Should rounding
    leave u at the total, it is the last index of positive weight.
    """
    cdf = np.cumsum(weights)
    index = int(np.searchsorted(cdf, u * cdf[-1], side="right"))
    return index if index < len(cdf) else int(np.flatnonzero(weights)[-1])


def _uniforms(values: ArrayLike) -> Floats:
    uniforms = np.asarray(values, dtype=np.float64)
    if not ((uniforms >= 0) & (uniforms < 1)).all():
        raise ValueError("a tape holds a number outside [0, 1)")
    return uniforms
