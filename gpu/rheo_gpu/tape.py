"""Tapes: randomness as an input, and how one uniform becomes one decision.

    draft_u[R, D, B]   the sampled slot of the b-th expanded node of a layer
    coin_u[R, D, 2]    the l-th visited node: [.., 1] tests the sampled child, [.., 0] all heads (RRSw only)
    token_u[R, D + 1]  the token drawn at the l-th visited node

All lie in [0, 1). A coin of probability a is true iff u < a. A token draw is the first token with u < cdf: in the order
of the node for tail laws, by token id for all others. The precision of a tape is that of all arithmetic behind the
softmax: float64 unless the device has none.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .config import Config

BLOCK = 128
"""Weights that are looked at together where one index of many is drawn."""


@dataclass(frozen=True, eq=False)
class Tape:
    """The uniforms of one step of a batch. A tape is used for one step, then never again."""

    draft_u: Tensor
    coin_u: Tensor
    token_u: Tensor

    @classmethod
    def fill(
        cls,
        config: Config,
        batch: int,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> Tape:
        """Fresh uniforms for R = `batch` requests."""

        def uniforms(*shape: int) -> Tensor:
            return torch.rand(batch, *shape, generator=generator, device=device, dtype=dtype)

        depth = config.depth
        return cls(uniforms(depth, config.width), uniforms(depth, 2), uniforms(depth + 1))

    def fits(self, config: Config) -> None:
        """Raise `ValueError` unless every uniform that a step may ask for is there. Looks at shapes only."""
        shapes = [tuple(part.shape) for part in (self.draft_u, self.coin_u, self.token_u)]
        batch, depth, beam = shapes[0] if len(shapes[0]) == 3 else (0, 0, 0)
        if shapes != [(batch, depth, beam), (batch, depth, 2), (batch, depth + 1)]:
            raise ValueError(
                f"a tape of shapes {shapes[0]}, {shapes[1]} and {shapes[2]}, expected (R, D, B), (R, D, 2) and "
                "(R, D + 1)"
            )
        if depth < config.depth or beam < config.width:
            raise ValueError(
                f"a tape for depth {depth} and beam {beam}, but the step has depth {config.depth} and beam "
                f"{config.width}"
            )


def inverse_cdf(weights: Tensor, u: Tensor) -> Tensor:
    """The first index whose cumulative weight exceeds u times the total; weights [.., n] and u [..] -> [..].

    An index of weight 0 is never drawn, even where a parallel sum has rounded its cumulative weight up. Should rounding
    leave u at the total, it is the first index of positive weight with which the sum gets as far as it gets. Where all
    weights are 0 the answer means nothing.

    A long row is searched block by block, and entry by entry in one block alone. Which blocks have weight is asked of
    the weights, by a sum of each, so that the block which is found has an index to draw.
    """
    cdf, size = weights.cumsum(-1), weights.shape[-1]
    total = cdf[..., -1:]
    bar = torch.nextafter(u.unsqueeze(-1) * total, total)
    if size <= 4 * BLOCK:
        return _pick(cdf, bar, weights)
    whole = size - size % BLOCK
    mass = weights[..., :whole].view(*weights.shape[:-1], whole // BLOCK, BLOCK).sum(-1)
    ends = cdf[..., BLOCK - 1 :: BLOCK]
    if whole < size:
        mass = torch.cat([mass, weights[..., whole:].sum(-1, keepdim=True)], -1)
        ends = torch.cat([ends, total], -1)
    block = _pick(ends, bar, mass)
    index = torch.add(torch.arange(BLOCK, device=weights.device), block.unsqueeze(-1), alpha=BLOCK)
    if whole < size:
        index = index.clamp(max=size - 1)
    return torch.add(_pick(cdf.gather(-1, index), bar, weights.gather(-1, index)), block, alpha=BLOCK)


def _pick(cdf: Tensor, bar: Tensor, weights: Tensor) -> Tensor:
    """The first index of positive weight at which the cdf reaches the bar, else where it is largest; [.., n] -> [..].

    Cut off at the bar, all that reach it are equal, and `argmax` takes the first.
    """
    return torch.minimum(cdf, bar).masked_fill_(weights <= 0, -1.0).argmax(-1)


def first(mask: Tensor) -> Tensor:
    """The first index that a mask [.., n] holds at, 0 where there is none."""
    return mask.view(torch.uint8).argmax(-1)


def added(values: Tensor) -> Tensor:
    """The sum over the last axis, from left to right: what a loop would give, and so what the specification means."""
    if not values.shape[-1]:
        return values.sum(-1)
    return values.cumsum(-1)[..., -1]


def put(rows: Tensor, tokens: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Rows [R, V] with values [R, J] written at tokens [R, J] where the mask says so.

    Every other entry repeats the first that is written, or leaves what is there if there is none: then the same place
    may be written more than once, but never with different values.
    """
    lead = first(mask)[:, None]
    index = torch.where(mask, tokens, tokens.gather(1, lead)).clamp(min=0)
    value = torch.where(mask, values, values.gather(1, lead))
    value = torch.where(mask.any(1, keepdim=True), value, rows.gather(1, index))
    return rows.scatter(1, index, value)
