"""The K slots of expanded nodes, many nodes at once: head, one sampled slot, fill.

What a slot is depends on its place alone: slots 0 .. m - 1 are heads, slot m is the sampled one, the others are fills.
A slot for which the support of q has no token left is not `there`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .config import Config
from .tape import added, inverse_cdf

NOTHING, ROOT, HEAD, SAMPLED, FILL = range(5)
"""Kinds of nodes. NOTHING is padding."""


@dataclass(frozen=True, eq=False)
class Tail:
    """The tail laws t = q / z of E expanded nodes, in sparse form: tokens, q [R, E, T] in order, z and x [R, E].

    Behind the support q is 0. `x` is the place of the sampled token, `there` [R, E] says where a slot was sampled. q
    and z stay apart because rules can do without the quotient: p(x) / t(x) is z p(x) / q(x), and (p - t)+ is
    proportional to (z p - q)+. Neither rounds where p, q and z are dyadic. Both are scaled by a power of two that lifts
    a tiny z, which changes no quotient and keeps products away from underflow.
    """

    tokens: Tensor
    q: Tensor
    z: Tensor
    x: Tensor
    there: Tensor

    def at(self, index: Tensor) -> Tail:
        """The tails of one expanded node of each request: index [R] -> tensors without the axis E."""
        row = index[:, None]
        wide = row[..., None].expand(-1, -1, self.tokens.shape[-1])
        return Tail(
            self.tokens.gather(1, wide)[:, 0],
            self.q.gather(1, wide)[:, 0],
            self.z.gather(1, row)[:, 0],
            self.x.gather(1, row)[:, 0],
            self.there.gather(1, row)[:, 0],
        )

    @property
    def q_x(self) -> Tensor:
        """q of the sampled tokens."""
        return self.q.gather(-1, self.x[..., None])[..., 0]


@dataclass(frozen=True, eq=False)
class Slots:
    """The slots of E expanded nodes, all [R, E, K]: tokens (-1 where there is no slot), factors, there."""

    tokens: Tensor
    factors: Tensor
    there: Tensor


def expand(tokens: Tensor, q: Tensor, draft_u: Tensor, config: Config) -> tuple[Slots, Tail]:
    """The slots of nodes whose draft laws, in order, are q on `tokens`, both [R, E, S], given the uniforms [R, E].

    z is summed over the tail rather than taken as 1 - q(head), which may cancel to 0 or below; with an empty head it is
    1. Either way z is at most 1 and, even when rounded, at least q(x_{m+1}), hence so is the proxy: a value never rises
    on the way down, and no fill ever ranks before the sampled slot. A tail has at least one place, if of probability 0.
    """
    K, m = config.slots, config.head
    if tokens.shape[-1] < K + 1:
        missing = K + 1 - tokens.shape[-1]
        tokens, q = _padded(tokens, missing), _padded(q, missing)
    head, tail_tokens, tail_q = q[..., :m], tokens[..., m:], q[..., m:]
    there = tail_q[..., 0] > 0 if m < K else torch.zeros_like(q[..., 0], dtype=torch.bool)
    z = added(tail_q).clamp(max=1.0) if m else torch.ones_like(q[..., 0])
    x = inverse_cdf(tail_q, draft_u)
    tail = Tail(tail_tokens, *_lifted(tail_q, z), x, there)

    proxy = torch.minimum(head[..., -1], z) if m else z
    if config.proxy == "tail":
        proxy = torch.maximum(config.proxy_scale * z, tail_q[..., 0])
    place = torch.arange(max(K - m - 1, 0), device=q.device)
    fill = place + (place >= x[..., None])
    fill_q = tail_q.gather(-1, fill)
    sampled = tail_tokens.gather(-1, x[..., None])
    made = torch.cat([tokens[..., :m], sampled, tail_tokens.gather(-1, fill)], -1)[..., :K]
    factors = torch.cat([head, proxy[..., None], config.fill_scale * fill_q], -1)[..., :K]
    exists = torch.cat([head > 0, there[..., None], fill_q > 0], -1)[..., :K]
    return Slots(torch.where(exists, made, -1), factors, exists), tail


def kinds(slots: Tensor, config: Config) -> Tensor:
    """The kinds of slots, by their place."""
    return torch.where(slots < config.head, HEAD, torch.where(slots == config.head, SAMPLED, FILL))


def _padded(values: Tensor, missing: int) -> Tensor:
    return torch.nn.functional.pad(values, (0, missing))


def _lifted(q: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """q and z times the power of two that brings z to 1/2 at least, or as far as one number can."""
    most = math.frexp(torch.finfo(z.dtype).max)[1]
    mantissa, _ = torch.frexp(z)
    scale = torch.where((z > 0) & (z < 0.5), mantissa / z, 1.0).clamp(max=2.0 ** (most // 2))
    return q * scale[..., None], z * scale
