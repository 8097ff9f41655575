"""FlowVerification of a batch: the mass of every kept node under the current law of the output.

Nodes are inserted in rank order. A deterministic node takes its mass from its parent's untouched tokens. A sampled node
runs the single-draft acceptance test against the whole law: it gets a = min(1, w p(x)/t(x)) where w is the mass of its
parent, and everything inserted before it is scaled by rho. On a chain this is block verification (arXiv 2403.10444).

Every reveal looks at a mass that all earlier ones have scaled, so insertion is a loop over the N ranks, for all
requests side by side; nothing in it is as long as the vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .slots import SAMPLED, Tail
from .tape import added, put
from .tree import Trees


class Masses:
    """The scalars of the inserted nodes, all [R, 1 + N], for target laws p [R, 1 + N, V].

    c: mass of a node at its insertion, scaled ever since. After the reveal of the sampled slot of u, w is c of u at
    that moment and f scales u's untouched tokens. The mass of an untouched token y of u is

        c p(y)                   before the reveal
        f (w p(y) - t(y))+       after it

    full: the mass of each node with all that is below it.

    Nodes of several trees may share laws: with `rows` [R, 1 + N], p is [R or 1, J, V] and rows say which of the J are
    whose. Of p only the tokens of tails and slots are read.
    """

    def __init__(self, trees: Trees, p: Tensor, rows: Tensor | None = None) -> None:
        self.trees, self.dtype = trees, trees.tail.q.dtype
        tail = trees.tail
        owner = trees.owner.clamp(min=0)
        rows = (owner if rows is None else rows.gather(1, owner))[..., None]
        p = p.expand(len(owner), -1, -1)
        self.t = torch.where(tail.there[..., None], tail.q / tail.z[..., None], 0.0)
        # p of the tokens of tails and of slots, by expanded node. Rows of p are picked by one index, never copied.
        self.p_tail = self._at(p, rows, tail.tokens)
        self.p_slot = self._at(p, rows, trees.slot_tokens.clamp(min=0))
        self._insert_all()
        self._add_up()

    def _at(self, p: Tensor, rows: Tensor, tokens: Tensor) -> Tensor:
        """p of some tokens of some rows; 0 in rows that are no law, which may be NaN."""
        picked = p.flatten(1).gather(1, (rows * p.shape[-1] + tokens).flatten(1)).view_as(tokens)
        return picked.to(self.dtype).nan_to_num(0.0)

    def _insert_all(self) -> None:
        trees = self.trees
        batch, size = trees.tokens.shape
        blank = torch.zeros(batch, size, dtype=self.dtype, device=trees.tokens.device)
        ranks = torch.arange(size, device=blank.device)
        c, f, w, revealed = (ranks == 0).to(self.dtype).expand(batch, -1), blank, blank, blank > 0
        parents = trees.parents.clamp(min=0)
        number = trees.expansion.gather(1, parents).clamp(min=0)
        slot = number * trees.children.shape[-1] + trees.slots.clamp(min=0)
        p_x = self.p_slot.flatten(1).gather(1, slot)
        same = trees.tail.tokens[:, :, None] == trees.slot_tokens[..., None]
        t_x = torch.where(same, self.t[:, :, None], 0.0).amax(-1).flatten(1).gather(1, slot)
        wide = number[..., None].expand(-1, -1, self.t.shape[-1])
        for n in range(1, size):
            u = parents[:, n : n + 1]
            sampled = trees.kinds[:, n : n + 1] == SAMPLED
            p, t = p_x[:, n : n + 1], t_x[:, n : n + 1]
            c_u = c.gather(1, u)
            above = f.gather(1, u) * (w.gather(1, u) * p - t).clamp(min=0.0)
            mass = torch.where(revealed.gather(1, u), above, c_u * p)
            below = c_u * p < t
            a = torch.where(below, c_u * p / t, 1.0)
            # As a sum of positive parts, one of which is t(x) - w p(x): it cannot cancel to 0.
            laws = wide[:, n : n + 1]
            rest = added((self.t.gather(1, laws) - c_u[..., None] * self.p_tail.gather(1, laws)).clamp(min=0.0))
            rho = torch.where(below, (1.0 - a) / rest, 0.0)
            scale = torch.where(sampled, rho, 1.0)
            here, at_u = ranks == n, (ranks == u) & sampled
            c = torch.where(here, torch.where(sampled, a, mass), c * scale)
            f = torch.where(at_u, rho, f * scale)
            w = torch.where(at_u, c_u, w)
            revealed = revealed | at_u
        self.c, self.f, self.w, self.revealed = torch.where(trees.there, c, 0.0), f, w, revealed

    def _add_up(self) -> None:
        """full(u) = c(u) without kept children, else the sum of full over them and of the masses of all other tokens.

        Off the support of t those are proportional to p, whose sum there is 1 minus the rest, so that the vocabulary is
        not summed over.
        """
        trees, tail = self.trees, self.trees.tail
        owner = trees.owner.clamp(min=0)
        c, f, w, revealed = (mass.gather(1, owner) for mass in (self.c, self.f, self.w, self.revealed))
        kept = trees.children > 0
        off = 1.0 - added(torch.where(kept, self.p_slot, 0.0))
        token = torch.where(kept, trees.slot_tokens, -1)
        loose = (tail.q > 0) & ~(tail.tokens[..., None] == token[:, :, None]).any(-1)
        p_loose = torch.where(loose, self.p_tail, 0.0)
        over = torch.where(loose, (w[..., None] * self.p_tail - self.t).clamp(min=0.0), 0.0)
        after = f * (w * (off - added(p_loose)).clamp(min=0.0) + added(over))
        elsewhere = torch.where(revealed, after, c * off.clamp(min=0.0))
        parent = kept.any(-1) & (trees.owner >= 0)

        full, begin = self.c, owner.shape[1]
        for width in reversed(trees.widths):
            layer = slice(begin - width, begin)
            begin -= width
            below = torch.where(
                kept[:, layer], full.gather(1, trees.children[:, layer].flatten(1)).view_as(kept[:, layer]), 0.0
            )
            total = torch.where(parent[:, layer], added(below) + elsewhere[:, layer], 0.0)
            hit = (trees.owner[:, layer, None] == torch.arange(full.shape[1], device=full.device)) & parent[
                :, layer, None
            ]
            full = torch.where(hit.any(1), (hit * total[..., None]).sum(1), full)
        self.full = full

    def weights(self, nodes: Tensor, p: Tensor, children: Tensor, slot_tokens: Tensor, tail: Tail) -> Tensor:
        """What y is drawn from at visited nodes [R] with laws p [R, V]: weights [R, V].

        full of kept children, masses of all other tokens; p at a node without kept children. Should a walk get to a
        node of mass 0, which takes a sum that rounding has lifted off 0, the weights are p.
        """
        at = nodes[:, None]
        c, f, w, revealed = (mass.gather(1, at) for mass in (self.c, self.f, self.w, self.revealed))
        t = torch.where(tail.there[:, None], tail.q / tail.z[:, None], 0.0)
        after = w * p
        left = (after.gather(1, tail.tokens) - t).clamp(min=0.0)
        after = after.scatter_reduce_(1, tail.tokens, left, "amin") * f
        weights = torch.where(revealed, after, c * p)
        kept = children > 0
        weights = put(weights, slot_tokens, self.full.gather(1, children), kept)
        usable = kept.any(1, keepdim=True) & (weights > 0).any(1, keepdim=True)
        return torch.where(usable, weights, p)
