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

    @property
    def q_x(self) -> Tensor:
        """q of the sampled tokens."""
        return self.q.gather(-1, self.x[..., None])[..., 0]


@dataclass(frozen=True, eq=False)
class Slots:
    """The slots of E expanded nodes, all [R, E, K]. Where a slot is not `there`, token and factor mean nothing."""

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
    head, tail_q = q[..., :m], q[..., m:]
    z = added(tail_q).clamp(max=1.0) if m else torch.ones_like(q[..., 0])
    x = inverse_cdf(tail_q, draft_u)
    place = _places(x + m, config)
    factors = q.gather(-1, place)
    exists = factors > 0
    there = exists[..., m] if m < K else torch.zeros_like(x, dtype=torch.bool)
    if m < K:
        factors[..., m] = _proxy(head, tail_q, z, config)
        if config.fill_scale < 1:
            factors[..., m + 1 :] *= config.fill_scale
    return Slots(tokens.gather(-1, place), factors, exists), Tail(tokens[..., m:], *_lifted(tail_q, z), x, there)


def _places(sampled: Tensor, config: Config) -> Tensor:
    """The places of slots in the order of the law [R, E, K], given those of the sampled tokens [R, E].

    All places from m on that are not the sampled one, in order, are fills.
    """
    K, m = config.slots, config.head
    heads = torch.arange(m, device=sampled.device).expand(*sampled.shape, -1)
    if m == K:
        return heads
    sampled, fill = sampled[..., None], torch.arange(m, K - 1, device=sampled.device)
    return torch.cat([heads, sampled, fill + (fill >= sampled)], -1)


def _proxy(head: Tensor, tail_q: Tensor, z: Tensor, config: Config) -> Tensor:
    """The factors of the sampled slots, [R, E]."""
    if config.proxy == "tail":
        return torch.maximum(config.proxy_scale * z, tail_q[..., 0])
    return torch.minimum(head[..., -1], z) if config.head else z


def kinds(slots: Tensor, config: Config) -> Tensor:
    """The kinds of slots, by their place."""
    return HEAD + (slots >= config.head).long() + (slots > config.head)  # SAMPLED is next, then FILL


def _padded(values: Tensor, missing: int) -> Tensor:
    return torch.nn.functional.pad(values, (0, missing))


def _lifted(q: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """q and z times the power of two that brings z to 1/2 at least, or as far as one number can; as they are for 0."""
    most = math.frexp(torch.finfo(z.dtype).max)[1]
    mantissa, _ = torch.frexp(z)
    scale = (mantissa / z).nan_to_num_(nan=1.0).clamp_(1.0, 2.0 ** (most // 2))
    return q * scale[..., None], z * scale
