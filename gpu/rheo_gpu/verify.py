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
from torch.nn.functional import pad

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

    children [R, K]: the kept children by slot, 0 for none. slot_tokens [R, K]. tail: the law of the sampled slot, with
    z = 1 where its child is not kept. x, q_x [R]: the sampled token and its q. tests [R, 2]: false, and whether the
    sampled child is kept, which is what most rules toss coins for.
    """

    nodes: Tensor
    p: Tensor
    coins: Tensor
    u: Tensor
    children: Tensor
    slot_tokens: Tensor
    tail: Tail
    x: Tensor
    q_x: Tensor
    tests: Tensor
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
    if config.verify == "flow":
        all_laws = read(logits, how)
        rule = flow(Masses(trees, all_laws[0]))
    else:
        all_laws, rule = None, RULES[config.verify](config)

    def laws(nodes: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        if all_laws is None:
            law, sound = read(_picked(logits, nodes, rows), how)
        else:
            law, sound = (_picked(part, nodes, rows) for part in all_laws)
        return law.to(tape.token_u.dtype), sound[:, 0]

    coins, u = tape.coin_u.unbind(1), tape.token_u.unbind(1)
    by_node = _by_node(trees, config)
    # Rows of nodes, where the requests lie one behind the other. A walk that has ended goes on at the root.
    roots = torch.arange(0, batch * size, size, device=logits.device)
    nodes = torch.zeros_like(roots)
    outcomes, sounds, children = [], [], []
    for level in range(config.depth):
        rows = roots + nodes
        p, sound = laws(nodes, rows)
        visit = _visit(by_node, nodes, rows, p, coins[level], u[level])
        outcome = rule(visit)
        nodes = reached(visit, outcome)
        outcomes.append(outcome)
        sounds.append(sound)
        children.append(nodes)
    # Nodes of the full depth have no children.
    p, sound = laws(nodes, roots + nodes)
    bonus = inverse_cdf(p, u[config.depth])
    return _strings(outcomes, bonus, torch.stack([*sounds, sound], 1), torch.stack(children, 1))


def _strings(outcomes: list[Outcome], bonus: Tensor, sound: Tensor, children: Tensor) -> Verified:
    """What the walks come to, given for each level what came out and whether the row was sound, of live walks or not.

    bonus [R]: the tokens drawn at the full depth; sound [R, D + 1], children [R, D]: where a walk would go, 0 for no
    child.
    """
    depth = children.shape[1]
    accepted = (sound[:, :depth] & (children > 0)).cumprod(1)
    live = pad(accepted, (1, 0), value=1) > 0
    emits = live & sound
    tokens = torch.stack([*(o.tokens for o in outcomes), bonus], 1).masked_fill(~emits, -1)
    draws = torch.stack([*(o.draws for o in outcomes), torch.ones_like(sound[:, 0])], 1)
    length = accepted.sum(1)
    return Verified(
        tokens=tokens,
        lengths=(tokens >= 0).sum(1),
        accepted=length,
        last=tokens.gather(1, length[:, None])[:, 0],
        keep=pad(torch.where(accepted > 0, children, -1), (1, 0)),
        coin_used=torch.stack([o.coins for o in outcomes], 1) & emits[:, :depth, None],
        token_used=draws & emits,
        broken=(live & ~sound).any(1),
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


def _picked(values: Tensor, nodes: Tensor, rows: Tensor) -> Tensor:
    """values[:, nodes] of values [R, 1 + N, ..], one node of each request; rows are its places in flat values."""
    if not values.is_contiguous():
        return values[torch.arange(len(nodes), device=nodes.device), nodes]
    return values.flatten(0, 1).index_select(0, rows)


def _by_node(trees: Trees, config: Config) -> tuple[Tensor, ...]:
    """What a visit has from the tree, by node instead of by expanded node: [R (1 + N), ..]."""
    batch, expanded, K = trees.children.shape
    above = torch.arange(0, batch * expanded, expanded, device=trees.tokens.device)
    rows, tail = (trees.expansion.clamp(min=0) + above[:, None]).flatten(), trees.tail
    children, slot_tokens, tokens, q, z, x, there = (
        part.flatten(0, 1).index_select(0, rows)
        for part in (trees.children, trees.slot_tokens, tail.tokens, tail.q, tail.z, tail.x, tail.there)
    )
    children = children * (trees.expansion >= 0).view(-1, 1)
    sampled = children[:, config.head] > 0 if config.head < K else torch.zeros_like(there)
    tests = torch.stack([torch.zeros_like(sampled), sampled], 1)
    token, q_x = (part.gather(1, x[:, None])[:, 0] for part in (tokens, q))
    return children, slot_tokens, tests, tokens, q, torch.where(sampled, z, 1.0), x, there, token, q_x


def _visit(by_node: tuple[Tensor, ...], nodes: Tensor, rows: Tensor, p: Tensor, coins: Tensor, u: Tensor) -> Visit:
    children, slot_tokens, tests, tokens, q, z, x, there, token, q_x = (part.index_select(0, rows) for part in by_node)
    tail = Tail(tokens, q, z, x, there)
    return Visit(nodes, p, coins, u, children, slot_tokens, tail, token, q_x, tests, tests[:, 1])


def reached(at: Visit, outcome: Outcome) -> Tensor:
    """The kept children [R] that hold the tokens that came out, 0 where none does."""
    return (at.children * (at.slot_tokens == outcome.tokens[:, None])).amax(-1)


def rheo(config: Config) -> Rule:
    """RheoVerification: Bern(min(1, p(X)/t(X))) for the sampled child, else y ~ norm((p - t)+); y ~ p without one."""

    def rule(at: Visit) -> Outcome:
        mass = at.sampled.to(at.p.dtype)
        taken, x = coin(at, at.p, mass)
        y = inverse_cdf(residual(at, at.p, mass), at.u)
        return Outcome(torch.where(taken, x, y), at.tests, ~taken)

    return rule


def rrsw(config: Config) -> Rule:
    """Recursive rejection without replacement: children in slot order against a running law r / mass, r = p at first.

    All head children are tested with one coin: the i-th is taken if u lies below the cumulative p of the first i and
    not below that of the first i - 1. Without a sampled child behind them, heads and fills share the draw y ~ p.
    """
    m = config.head
    if not m:
        return rheo(config)

    def rule(at: Visit) -> Outcome:
        r, mass = at.p, at.sampled.to(at.p.dtype)
        tokens = at.slot_tokens[:, :m]
        heads = (at.children[:, :m] > 0) & at.sampled[:, None]
        tested = heads.any(1)
        p_heads = r.gather(1, tokens.clamp(min=0)) * heads
        r = put(r, tokens, torch.zeros_like(p_heads), heads)
        mass = torch.where(tested, r.sum(1), mass)
        place = inverse_cdf(torch.cat([p_heads, mass[:, None]], 1), at.coins[:, 0])
        head = tested & (place < m)
        chosen = tokens.gather(1, place.clamp(max=m - 1)[:, None])[:, 0]
        taken, x = coin(at, r, mass)
        y = inverse_cdf(residual(at, r, mass), at.u)
        return Outcome(
            torch.where(head, chosen, torch.where(taken, x, y)),
            torch.stack([tested, at.sampled & ~head], 1),
            ~(head | taken),
        )

    return rule


def match(config: Config) -> Rule:
    """One-hot verification, as in EAGLE-2/3 above temperature 0: y ~ p."""

    def rule(at: Visit) -> Outcome:
        return Outcome(inverse_cdf(at.p, at.u), torch.zeros_like(at.tests), torch.ones_like(at.sampled))

    return rule


def flow(masses: Masses) -> Rule:
    """FlowVerification: y by the masses of flow.py. One draw a node, no coin."""

    def rule(at: Visit) -> Outcome:
        weights = masses.weights(at.nodes, at.p, at.children, at.slot_tokens, at.tail)
        return Outcome(inverse_cdf(weights, at.u), torch.zeros_like(at.tests), torch.ones_like(at.sampled))

    return rule


RULES: dict[str, Callable[[Config], Rule]] = {"rheo": rheo, "rrsw": rrsw, "match": match}


def coin(at: Visit, r: Tensor, mass: Tensor) -> tuple[Tensor, Tensor]:
    """The coin of the sampled child, of probability min(1, r(x)/t(x)) for the law r / mass: taken [R], x [R].

    One division, of z r(x) by mass q(x); 0 / 0 counts as 1. False where no sampled child is kept.
    """
    above = at.tail.z * r.gather(1, at.x[:, None])[:, 0]
    return at.sampled & ~(at.coins[:, 1] >= above / (mass * at.q_x)), at.x


def residual(at: Visit, r: Tensor, mass: Tensor) -> Tensor:
    """Weights [R, V] proportional to (r - t)+ for the law r / mass, as (z r - mass q)+; r without a sampled child,
    where z is 1 and mass must be 0.

    A failed coin says that t(X) > r(X), so something of r lies above t; but where the two agree up to rounding, the
    floats may all cancel. Then the weights are r itself. That happens with a probability of the order of rounding, and
    a draw from r is a token that r allows; an empty residual would give an arbitrary one.
    """
    tokens, z = at.tail.tokens, at.tail.z[:, None]
    r_tail = r.gather(1, tokens)
    left = (z * r_tail - mass[:, None] * at.tail.q).clamp_(min=0.0)
    weights = (z * r).scatter_reduce_(1, tokens, left, "amin")
    # Empty weights are those of an r that has all its mass in the tail, so what is written back is all of r.
    empty = weights.amax(1, keepdim=True) <= 0
    return weights.scatter_reduce_(1, tokens, r_tail * empty, "amax")
