"""How likely a walk is to reach each kept node of a given tree, in closed form: E[tau | tree] without a coin tossed.

At a visited node u with law p, tail law t and sampled token X, where a = min(1, p(X)/t(X)) and d = sum (t - p)+, which
is sum (p - t)+ since both laws have mass 1, a walk goes on to the kept child y with probability

    rheo    a for y = X; (1 - a) (p(y) - t(y))+ / d for the others; p(y) where X is not kept
    rrsw    p(y) for heads; then the same with what is left of p, its mass times
    match   p(y)
    flow    full(uy) / full(u), the masses of FlowVerification

What no walk of `verify` decides by its own uniforms is given: the tree with its sampled tokens. Only tokens of tails
and of slots are read, so p may be restricted to the draft's vocabulary. Loops run over levels, for flow over ranks.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..config import RULES
from ..flow import Masses
from ..tape import added
from ..tree import Trees


def reach(trees: Trees, p: Tensor, rule: str, rows: Tensor | None = None) -> Tensor:
    """Pr[the walk visits node i | tree] for all kept nodes, [R, 1 + N]: 1 at roots, 0 at padding.

    p [R, 1 + N, V] are the target's laws at all nodes; or, with `rows` [R, 1 + N], p [R or 1, J, V] holds laws that
    nodes share, row `rows[r, i]` for node i. Rows that are no law count as 0. Precision is that of the trees' tape.
    Raises `ValueError` for an unknown rule and for laws of the wrong shape.
    """
    batch, size = trees.tokens.shape
    if rule not in RULES:
        raise ValueError(f"rule is {rule!r}, expected one of {', '.join(RULES)}")
    if rows is None and p.shape[:2] != (batch, size):
        raise ValueError(f"target laws of shape {tuple(p.shape)}, expected ({batch}, {size}, V)")
    if rows is not None and (p.dim() != 3 or len(p) not in (1, batch) or rows.shape != (batch, size)):
        raise ValueError(f"laws {tuple(p.shape)} and rows {tuple(rows.shape)}, expected (R, J, V) and (R, 1 + N)")
    if rule == "flow":
        full = Masses(trees, p, rows).full
        return torch.where(trees.there, full / full[:, :1], 0.0)
    return _along_paths(trees, _steps(trees, p, rule, rows))


def levels(trees: Trees, reached: Tensor) -> Tensor:
    """Pr[tau >= l | tree] for l = 1 .. D, [R, D]: acceptance by level. Their sum is E[tau | tree]."""
    depth = trees.paths.shape[-1]
    at = (trees.depths[..., None] == torch.arange(1, depth + 1, device=reached.device)) & trees.there[..., None]
    return (reached[..., None] * at).sum(1)


def _along_paths(trees: Trees, steps: Tensor) -> Tensor:
    """Products of steps [R, 1 + N] on the way down from the root."""
    above, reached = trees.parents.clamp(min=0), (trees.depths == 0).to(steps.dtype) * trees.there
    for depth in range(1, trees.paths.shape[-1] + 1):
        reached = torch.where(trees.depths == depth, reached.gather(1, above) * steps, reached)
    return reached


def _steps(trees: Trees, p: Tensor, rule: str, rows: Tensor | None) -> Tensor:
    """Pr[the walk goes on to a node | it visits the parent], [R, 1 + N]."""
    children = trees.children
    kept = children > 0
    owner = trees.owner.clamp(min=0)
    at = (owner if rows is None else rows.gather(1, owner))[..., None]
    p = p.expand(len(owner), -1, -1)
    p_slot = _picked(p, at, trees.slot_tokens.clamp(min=0), trees.tail.q.dtype)
    if rule == "match" or trees.head == children.shape[-1]:
        steps = p_slot
    else:
        p_tail = _picked(p, at, trees.tail.tokens, trees.tail.q.dtype)
        steps = _one_sampled(trees, p_slot, p_tail, rule == "rrsw")
    return torch.zeros_like(trees.values).scatter_reduce(1, children.flatten(1), (steps * kept).flatten(1), "amax")


def _one_sampled(trees: Trees, p_slot: Tensor, p_tail: Tensor, heads_first: bool) -> Tensor:
    """The steps to the slots of expanded nodes [R, E, K], for rheo, or for rrsw with heads first.

    r is what is left of p behind the heads that were tested, and `mass` its sum; without such heads it is p.
    """
    m, tail, kept = trees.head, trees.tail, trees.children > 0
    sampled = kept[..., m]
    t = torch.where(tail.there[..., None], tail.q / tail.z[..., None], 0.0)
    heads = kept[..., :m] & sampled[..., None] & heads_first
    mass = (1.0 - added(p_slot[..., :m] * heads)).clamp(min=0.0) if m else torch.ones_like(tail.z)
    t_slot = _at_slots(t, tail.x, m, kept.shape[-1])
    taken = torch.minimum(mass, p_slot[..., m] / t_slot[..., m].masked_fill(~sampled, 1.0))
    wanting = added((mass[..., None] * t - p_tail).clamp(min=0.0))
    share = torch.where(wanting > 0, (mass - taken) / wanting.masked_fill(wanting <= 0, 1.0), 0.0)
    others = share[..., None] * (p_slot - mass[..., None] * t_slot).clamp(min=0.0)
    others[..., :m] = torch.where(heads, p_slot[..., :m], others[..., :m])
    others[..., m] = taken
    return torch.where(sampled[..., None], others, p_slot)


def _at_slots(t: Tensor, x: Tensor, m: int, slots: int) -> Tensor:
    """t of the tokens of slots [R, E, K]: 0 at heads, at X, then at the first others of the tail in order."""
    fills = torch.arange(slots - m - 1, device=x.device).expand(*x.shape, -1)
    place = torch.cat([x[..., None], fills + (fills >= x[..., None])], -1)
    return torch.nn.functional.pad(t.gather(-1, place), (m, 0))


def _picked(p: Tensor, rows: Tensor, tokens: Tensor, dtype: torch.dtype) -> Tensor:
    """p of some tokens of some rows, 0 where a row is no law; no row is copied."""
    at = (rows * p.shape[-1] + tokens).flatten(1)
    return p.flatten(1).gather(1, at).view_as(tokens).to(dtype).nan_to_num(0.0)
