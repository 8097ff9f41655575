"""Verifiers for batches in NumPy: some are handed their uniforms, some draw them out of sight; right and wrong ones.

`draft_tokens` [B,K], `draft_probs` [B,K,V], `target_probs` [B,K+1,V]; returned is [B,K+1], filled up with -1.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from rheo_proof.audit.cases import Pairs, Table


def quarters(*numbers: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(number, 4) for number in numbers)


ONE_STEP = Table(
    "one step",
    "one draft token, three tokens",
    3,
    1,
    (
        {
            (): (quarters(3, 1, 0), quarters(1, 1, 2)),
            (0,): (quarters(1, 2, 1), quarters(1, 1, 2)),
            (1,): (quarters(1, 0, 3), quarters(1, 1, 2)),
            (2,): (quarters(0, 1, 3), quarters(2, 1, 1)),
        },
    ),
    frozenset({"zeros"}),
    (0,),
)
TWO_STEPS = Table(
    "two steps",
    "two draft tokens, two tokens",
    2,
    2,
    (
        {
            (): (quarters(3, 1), quarters(1, 3)),
            (0,): (quarters(1, 3), quarters(3, 1)),
            (1,): (quarters(2, 2), quarters(1, 3)),
        },
    ),
    read=(0,),
)


def neighbour(table: Table) -> Pairs:
    """The rows of a table with the tokens in another order."""
    return {u: (p[1:] + p[:1], q[1:] + q[:1]) for u, (p, q) in table.rows[0].items()}


Array = npt.NDArray[Any]
Recovery = Callable[[Array, Array], Array]


def residual(p: Array, q: Array) -> Array:
    return np.maximum(p - q, 0)


def whole_target(p: Array, q: Array) -> Array:
    """The fault: what replaces a rejected token is drawn from the target."""
    return p


def inverse_cdf(u: Array, weights: Array) -> Array:
    """The first token whose cumulative weight is above u times the total, for each row."""
    cumulated = np.cumsum(weights, axis=-1)
    return (cumulated <= u[..., None] * cumulated[..., -1:]).sum(-1).clip(0, weights.shape[-1] - 1)


def verified(
    tokens: Array,
    q: Array,
    p: Array,
    coins: Array,
    last: Array,
    recovery: Recovery = residual,
    accepts: Any = np.less,
) -> Array:
    """The ratio rule on chains, for all requests at once."""
    requests, length = tokens.shape
    picked = (np.arange(requests)[:, None], np.arange(length)[None], tokens)
    accepted = np.cumprod(accepts(coins * q[picked], p[picked]), axis=1).astype(bool)
    n = accepted.sum(1)
    at = (np.arange(requests), n)
    after = np.concatenate([q, np.zeros_like(p[:, :1])], axis=1)
    emitted = np.full((requests, length + 1), -1)
    emitted[:, :length][accepted] = tokens[accepted]
    emitted[at] = inverse_cdf(last, np.where((n == length)[:, None], p[at], recovery(p[at], after[at])))
    return emitted


# Uniforms as arguments


def handed(draft_tokens: Array, draft_probs: Array, target_probs: Array, uniforms: Array) -> Array:
    return verified(draft_tokens, draft_probs, target_probs, uniforms[:, :-1], uniforms[:, -1])


def handed_and_wrong(draft_tokens: Array, draft_probs: Array, target_probs: Array, uniforms: Array) -> Array:
    return verified(draft_tokens, draft_probs, target_probs, uniforms[:, :-1], uniforms[:, -1], whole_target)


def handed_and_reused(draft_tokens: Array, draft_probs: Array, target_probs: Array, uniforms: Array) -> Array:
    """The fault: the first coin serves every position."""
    coins = np.broadcast_to(uniforms[:, :1], draft_tokens.shape)
    return verified(draft_tokens, draft_probs, target_probs, coins, uniforms[:, -1])


def accepts_at_zero(draft_tokens: Array, draft_probs: Array, target_probs: Array, uniforms: Array) -> Array:
    """The fault: a coin of exactly 0 accepts a token that the target never emits."""
    coins, last = uniforms[:, :-1], uniforms[:, -1]
    return verified(draft_tokens, draft_probs, target_probs, coins, last, accepts=np.less_equal)


def product_of_coins(draft_tokens: Array, draft_probs: Array, target_probs: Array, uniforms: Array) -> Array:
    """Thresholds against products of the coins: no boxes."""
    coins = np.cumprod(uniforms[:, :-1], axis=1)
    return verified(draft_tokens, draft_probs, target_probs, coins, uniforms[:, -1])


# Exponentials as arguments, for one request


def raced(draft_tokens: Array, draft_probs: Array, target_probs: Array, uniforms: Array, exponentials: Array) -> Array:
    return race(draft_tokens, draft_probs, target_probs, uniforms, exponentials, residual)


def raced_and_wrong(
    draft_tokens: Array, draft_probs: Array, target_probs: Array, uniforms: Array, exponentials: Array
) -> Array:
    return race(draft_tokens, draft_probs, target_probs, uniforms, exponentials, whole_target)


def race(tokens: Array, q: Array, p: Array, coins: Array, noise: Array, recovery: Recovery) -> Array:
    for k, x in enumerate(tokens):
        if coins[k] * q[k, x] >= p[k, x]:
            return np.append(tokens[:k], (recovery(p[k], q[k]) / noise[k]).argmax())
    return np.append(tokens, (p[-1] / noise[-1]).argmax())


# Uniforms drawn out of sight


def hidden(draft_tokens: Array, draft_probs: Array, target_probs: Array) -> Array:
    coins, last = np.random.random(draft_tokens.shape), np.random.random(len(draft_tokens))
    return verified(draft_tokens, draft_probs, target_probs, coins, last)


def hidden_and_wrong(draft_tokens: Array, draft_probs: Array, target_probs: Array) -> Array:
    coins, last = np.random.random(draft_tokens.shape), np.random.random(len(draft_tokens))
    return verified(draft_tokens, draft_probs, target_probs, coins, last, whole_target)


def hidden_and_swapped(draft_tokens: Array, draft_probs: Array, target_probs: Array) -> Array:
    """The fault: every request is verified with the target rows of its neighbour."""
    coins, last = np.random.random(draft_tokens.shape), np.random.random(len(draft_tokens))
    return verified(draft_tokens, draft_probs, np.roll(target_probs, 1, axis=0), coins, last)


def hidden_and_raising(draft_tokens: Array, draft_probs: Array, target_probs: Array) -> Array:
    """The fault: no answer where everything is accepted."""
    emitted = hidden(draft_tokens, draft_probs, target_probs)
    if (emitted[:, -1] >= 0).any():
        raise IndexError("no row for the bonus token")
    return emitted


def hidden_beside(draft_tokens: Array, draft_probs: Array, target_probs: Array, uniforms: Array) -> Array:
    """Handed its coins, and drawing the last token out of sight."""
    last = np.random.random(len(draft_tokens))
    return verified(draft_tokens, draft_probs, target_probs, uniforms[:, :-1], last)


def compiled(draft_tokens: Array, draft_probs: Array, target_probs: Array, uniforms: Array) -> Array:
    """As compiled code: it reads the memory of its uniforms, so nothing can be intercepted."""
    raw = np.frombuffer(np.ascontiguousarray(uniforms).tobytes(), uniforms.dtype).reshape(uniforms.shape)
    return handed(draft_tokens, draft_probs, target_probs, raw)
