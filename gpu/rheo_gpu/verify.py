"""Verification of a batch: from kept trees and the target's rows to accepted nodes and one more token each.

All walks go down level by level side by side; a walk that has ended is carried along and changes nothing. A rule says
which token comes out at the visited nodes. If a kept child holds it, the walk moves there; if not, the token is emitted
and the walk ends. At a node without kept children every rule draws y ~ p, the bonus token.

Only visited rows of the target are normalised, one for each request and level; FlowVerification needs all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from .config import Config, Processing
from .flow import Masses
from .laws import read
from .slots import Tail
from .tape import Tape, inverse_cdf, put
from .tree import Trees


@dataclass(frozen=True, eq=False)
class Verified:
    """What a step emits.

    tokens [R, D + 1]: accepted tokens, then one more, then -1. lengths [R]: how many there are. accepted [R]: how many
    of them are draft tokens, lengths - 1. last [R]: the token that is no draft token. keep [R, D + 1]: the nodes whose
    entries of the key-value cache stay, the root first, then the accepted nodes, then -1. coin_used [R, D, 2] and
    token_used [R, D + 1]: the uniforms that were read.

    broken [R]: the walk came to a row that is no law (NaN, +inf, or all logits -inf) and stopped there. Then the string
    has no last token: tokens and lengths count the accepted ones only, and last is -1.
    """

    tokens: Tensor
    lengths: Tensor
    accepted: Tensor
    last: Tensor
    keep: Tensor
    coin_used: Tensor
    token_used: Tensor
    broken: Tensor


class Visit(NamedTuple):
    """The visited nodes of one level: nodes [R], laws p [R, V], uniforms coins [R, 2] and u [R], and what the tree has.

    children [R, K]: the kept children by slot, 0 for none. slot_tokens [R, K]. tail: the law of the sampled slot.
    sampled [R]: whether the sampled child is kept.
    """

    nodes: Tensor
    p: Tensor
    coins: Tensor
    u: Tensor
    children: Tensor
    slot_tokens: Tensor
    tail: Tail
    sampled: Tensor


class Outcome(NamedTuple):
    """The tokens [R] that come out, and which uniforms were read: coins [R, 2] and draws [R]."""

    tokens: Tensor
    coins: Tensor
    draws: Tensor


Rule = Callable[[Visit], Outcome]


def verify(trees: Trees, logits: Tensor, config: Config, tape: Tape, how: Processing | None) -> Verified:
    """Walk down each tree. `logits` [R, 1 + N, V] are the target's rows at all nodes, laws where `how` is None.

    Raises `ValueError` for rows, a tape or sizes that do not fit the trees, and for a target with fewer tokens than the
    draft model: whether one of those is proposed could not be known without waiting for the device.
    """
    batch, size = trees.tokens.shape
    if logits.dim() != 3 or logits.shape[:2] != trees.tokens.shape:
        raise ValueError(f"target rows of shape {tuple(logits.shape)}, expected ({batch}, {size}, V)")
    _fits(trees, logits.shape[-1], config, tape)
    each = torch.arange(batch, device=logits.device)
    nodes, live = torch.zeros_like(each), torch.ones_like(each, dtype=torch.bool)
    last, broken = torch.full_like(each, -1), torch.zeros_like(live)
    tokens, keep, coin_used, token_used = [], [nodes], [], []
    if config.verify == "flow":
        all_laws = read(logits, how)
        rule = flow(Masses(trees, all_laws[0]))
    else:
        all_laws, rule = None, RULES[config.verify](config)
    for level in range(config.depth + 1):
        if all_laws is None:
            row, sound = read(_row(logits, each, nodes), how)
        else:
            row, sound = (_row(rows, each, nodes) for rows in all_laws)
        p, sound = row.to(tape.token_u.dtype), sound[:, 0]
        broken = broken | (live & ~sound)
        live = live & sound
        visit = _visit(trees, config, nodes, p, tape, level)
        outcome = rule(visit)
        child = reached(visit, outcome)
        moved = live & (child > 0)
        tokens.append(torch.where(live, outcome.tokens, -1))
        last = torch.where(live & ~moved, outcome.tokens, last)
        token_used.append(live & outcome.draws)
        if level < config.depth:
            coin_used.append(live[:, None] & outcome.coins)
            keep.append(torch.where(moved, child, -1))
            nodes = torch.where(moved, child, nodes)
        live = moved
    strings = torch.stack(tokens, 1)
    kept = torch.stack(keep, 1)
    return Verified(
        tokens=strings,
        lengths=(strings >= 0).sum(1),
        accepted=(kept >= 0).sum(1) - 1,
        last=last,
        keep=kept,
        coin_used=torch.stack(coin_used, 1),
        token_used=torch.stack(token_used, 1),
        broken=broken,
    )


def _fits(trees: Trees, vocab: int, config: Config, tape: Tape) -> None:
    tape.fits(config)
    if len(tape.token_u) != len(trees.tokens):
        raise ValueError(f"a tape for {len(tape.token_u)} requests, expected one for {len(trees.tokens)}")
    drafted = (trees.children.shape[-1], trees.head, trees.widths)
    if drafted != (config.slots, config.head, config.widths):
        raise ValueError("the trees were drafted with other sizes (slots, head, depth or beam)")
    if vocab < trees.vocab:
        raise ValueError(f"the draft model has {trees.vocab} tokens, but the target model has {vocab}")


def _row(rows: Tensor, each: Tensor, nodes: Tensor) -> Tensor:
    """rows[each, nodes], which is the slower way to copy them."""
    if not rows.is_contiguous():
        return rows[each, nodes]
    return rows.flatten(0, 1).index_select(0, each * rows.shape[1] + nodes)


def _visit(trees: Trees, config: Config, nodes: Tensor, p: Tensor, tape: Tape, level: int) -> Visit:
    number = trees.expansion.gather(1, nodes[:, None])
    inner = number[:, 0] >= 0
    index = number.clamp(min=0)[..., None].expand(-1, -1, config.slots)
    children = torch.where(inner[:, None], trees.children.gather(1, index)[:, 0], 0)
    coins = tape.coin_u[:, min(level, config.depth - 1)]
    sampled = children[:, config.head] > 0 if config.head < config.slots else torch.zeros_like(inner)
    return Visit(
        nodes,
        p,
        coins,
        tape.token_u[:, level],
        children,
        trees.slot_tokens.gather(1, index)[:, 0],
        trees.tail.at(number[:, 0].clamp(min=0)),
        sampled,
    )


def reached(at: Visit, outcome: Outcome) -> Tensor:
    """The kept children [R] that hold the tokens that came out, 0 where none does."""
    hit = (at.children > 0) & (at.slot_tokens == outcome.tokens[:, None])
    return (at.children * hit).amax(-1)


def rheo(config: Config) -> Rule:
    """RheoVerification: Bern(min(1, p(X)/t(X))) for the sampled child, else y ~ norm((p - t)+); y ~ p without one."""

    def rule(at: Visit) -> Outcome:
        mass = torch.ones_like(at.u)
        taken, x = coin(at, at.p, mass)
        y = inverse_cdf(residual(at, at.p, mass), at.u)
        return Outcome(torch.where(taken, x, y), torch.stack([torch.zeros_like(at.sampled), at.sampled], 1), ~taken)

    return rule


def rrsw(config: Config) -> Rule:
    """Recursive rejection without replacement: children in slot order against a running law r / mass, r = p at first.

    All head children are tested with one coin: the i-th is taken if u lies below the cumulative p of the first i and
    not below that of the first i - 1. Without a sampled child behind them, heads and fills share the draw y ~ p.
    """
    m = config.head

    def rule(at: Visit) -> Outcome:
        heads = (at.children[:, :m] > 0) & at.sampled[:, None]
        tested = heads.any(1) if m else torch.zeros_like(at.sampled)
        r, mass, head, chosen = at.p, torch.ones_like(at.u), torch.zeros_like(at.sampled), at.nodes
        if m:
            p_heads = torch.where(heads, at.p.gather(1, at.slot_tokens[:, :m].clamp(min=0)), 0.0)
            r = put(at.p, at.slot_tokens[:, :m], torch.zeros_like(p_heads), heads)
            mass = torch.where(tested, r.sum(1), 1.0)
            place = inverse_cdf(torch.cat([p_heads, mass[:, None]], 1), at.coins[:, 0])
            head = tested & (place < m)
            chosen = at.slot_tokens.gather(1, place.clamp(max=m - 1)[:, None])[:, 0]
        taken, x = coin(at, r, mass)
        y = inverse_cdf(residual(at, r, mass), at.u)
        return Outcome(
            torch.where(head, chosen, torch.where(taken, x, y)),
            torch.stack([tested, at.sampled & ~head], 1),
            ~head & ~taken,
        )

    return rule


def match(config: Config) -> Rule:
    """One-hot verification, as in EAGLE-2/3 above temperature 0: y ~ p."""

    def rule(at: Visit) -> Outcome:
        none = torch.zeros_like(at.sampled)
        return Outcome(inverse_cdf(at.p, at.u), torch.stack([none, none], 1), ~none)

    return rule


def flow(masses: Masses) -> Rule:
    """FlowVerification: y by the masses of flow.py. One draw a node, no coin."""

    def rule(at: Visit) -> Outcome:
        none = torch.zeros_like(at.sampled)
        weights = masses.weights(at.nodes, at.p, at.children, at.slot_tokens, at.tail)
        return Outcome(inverse_cdf(weights, at.u), torch.stack([none, none], 1), ~none)

    return rule


RULES: dict[str, Callable[[Config], Rule]] = {"rheo": rheo, "rrsw": rrsw, "match": match}


def coin(at: Visit, r: Tensor, mass: Tensor) -> tuple[Tensor, Tensor]:
    """The coin of the sampled child, of probability min(1, r(x)/t(x)) for the law r / mass: taken [R], x [R].

    One division, of z r(x) by mass q(x). False where no sampled child is kept.
    """
    x = at.tail.tokens.gather(1, at.tail.x[:, None])
    above, below = at.tail.z * r.gather(1, x)[:, 0], mass * at.tail.q_x
    chance = torch.where(above < below, above / below, 1.0)
    return at.sampled & (at.coins[:, 1] < chance), x[:, 0]


def residual(at: Visit, r: Tensor, mass: Tensor) -> Tensor:
    """Weights [R, V] proportional to (r - t)+ for the law r / mass, as (z r - mass q)+; r without a sampled child.

    A failed coin says that t(X) > r(X), so something of r lies above t; but where the two agree up to rounding, the
    floats may all cancel. Then the weights are r itself. That happens with a probability of the order of rounding, and
    a draw from r is a token that r allows; an empty residual would give an arbitrary one.
    """
    z = torch.where(at.sampled, at.tail.z, 1.0)
    weights, tokens = z[:, None] * r, at.tail.tokens
    taken_off = torch.where(at.sampled, mass, 0.0)[:, None] * at.tail.q
    left = (weights.gather(1, tokens) - taken_off).clamp(min=0.0)
    weights.scatter_reduce_(1, tokens, left, "amin")
    # Empty weights are those of an r that has all its mass in the tail, so what is written back is all of r.
    empty = weights.amax(1, keepdim=True) <= 0
    return weights.scatter_reduce_(1, tokens, torch.where(empty, r.gather(1, tokens), 0.0), "amax")
