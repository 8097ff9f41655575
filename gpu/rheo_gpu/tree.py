"""Draft trees of a batch: candidates layer by layer, rank order, pruning, and what tree attention needs.

Rank order is by (-value, creation index). Values are products taken from the root downwards, and a stable sort leaves
equal ones in creation order: so equal floats tie as specified. A loop runs over layers, never over requests or nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import pad

from .config import Config, Processing
from .laws import ordered
from .slots import NOTHING, ROOT, Slots, Tail, expand, kinds
from .tape import Tape


@dataclass(frozen=True, eq=False)
class Layer:
    """The W nodes of one layer whose draft laws are wanted; layer 0 is the root, with W = 1.

    tokens [R, W] are the nodes' own tokens (-1 for the root), paths [R, W, layer] those on the way to them, parents
    [R, W] their parents' places among the nodes of the layer before. Where `there` [R, W] is false a request has fewer
    nodes: what a model answers for them is not looked at, their tokens are -1.
    """

    layer: int
    tokens: Tensor
    paths: Tensor
    parents: Tensor
    there: Tensor


Draft: TypeAlias = Callable[[Layer], Tensor]
"""A layer -> logits [R, W, V], or laws where the processing is None."""


@dataclass(frozen=True, eq=False)
class Trees:
    """The kept nodes of R trees. Index 0 of the second axis is the root, index i the draft node of rank i.

    tokens, parents, depths, kinds, slots [R, 1 + N]: parents are indices, smaller than the node's own; tokens, parents
    and slots are -1 at the root and at padding, whose kind is NOTHING. values [R, 1 + N]: 0 at padding. paths
    [R, 1 + N, D]: the tokens on the way to a node, its own last, then -1.

    E nodes were expanded. expansion [R, 1 + N]: which of them a node is, -1 if it is none. children [R, E, K]: the
    kept node in a slot of an expanded node, 0 where there is none. slot_tokens [R, E, K]: the token of a slot, kept or
    not. owner [R, E]: the kept node that was expanded, -1 if it was pruned. tail: the laws of the sampled slots.
    draft_used [R, D, B]: the uniforms that were read. broken [R]: the draft model answered with a row that is no law;
    nothing was drafted below it. widths: how many of the E nodes are in each layer. head: m. vocab: how many tokens the
    draft model has.
    """

    tokens: Tensor
    parents: Tensor
    depths: Tensor
    kinds: Tensor
    slots: Tensor
    values: Tensor
    paths: Tensor
    expansion: Tensor
    children: Tensor
    slot_tokens: Tensor
    owner: Tensor
    tail: Tail
    draft_used: Tensor
    broken: Tensor
    widths: tuple[int, ...]
    head: int
    vocab: int

    @property
    def there(self) -> Tensor:
        """[R, 1 + N]: which entries are nodes."""
        return self.kinds != NOTHING

    def ancestor_mask(self) -> Tensor:
        """mask[r, i, j]: node i attends to node j, that is, j is i itself or above it. Padding attends to itself."""
        size = self.tokens.shape[1]
        mask = torch.eye(size, dtype=torch.bool, device=self.tokens.device).expand(len(self.tokens), -1, -1)
        node = self.parents
        for _ in range(self.paths.shape[-1]):
            mask = mask | (node[..., None] == torch.arange(size, device=node.device))
            node = torch.where(node >= 0, self.parents.gather(1, node.clamp(min=0)), -1)
        return mask

    def position_ids(self, prefix_lengths: Tensor) -> Tensor:
        """[R, 1 + N] positions in the sequence, for prefixes of these lengths [R]: the root is their last token."""
        return self.depths + (prefix_lengths[:, None] - 1)


@dataclass(frozen=True, eq=False)
class Drafted:
    """What the expansion of one layer made: by expanded node [R, W], by slot [R, W, K], by candidate [R, W K].

    Drafted nodes are numbered in the order of their creation, the root being 0: nodes [R, W] are the expanded ones,
    parents [R, W K] those above the candidates. The value of a slot that does not exist is -1. paths are
    [R, W K, layer + 1].
    """

    nodes: Tensor
    slots: Slots
    tail: Tail
    values: Tensor
    paths: Tensor
    broken: Tensor

    @property
    def parents(self) -> Tensor:
        return self.nodes[..., None].expand(-1, -1, self.slots.tokens.shape[-1]).flatten(1)


def draft_trees(
    draft: Draft, config: Config, tape: Tape, how: Processing | None, budgets: Tensor | None = None
) -> Trees:
    """Draft and prune a tree for each request. `budgets` [R] keep fewer nodes than N; 0 leaves the root alone.

    The model is called once for each of the D layers. Raises `ValueError` for a tape that is too small and for an
    answer or budgets of the wrong shape.
    """
    tape.fits(config)
    u, created = tape.draft_u, 1
    if budgets is not None and budgets.shape != u.shape[:1]:
        raise ValueError(f"budgets of shape {tuple(budgets.shape)}, expected one number for each of {len(u)} requests")
    made: list[Drafted] = []
    root = torch.full((len(u), 1), -1, dtype=torch.int64, device=u.device)
    layer = Layer(0, root, root[..., None][..., :0], root, root < 0)
    nodes, value = torch.zeros_like(root), torch.ones_like(root, dtype=u.dtype)
    for depth, width in enumerate(config.widths):
        logits = draft(layer)
        if logits.shape[:-1] != layer.tokens.shape:
            raise ValueError(f"draft rows of shape {tuple(logits.shape)}, expected {tuple(layer.tokens.shape)} and V")
        made.append(_expanded(layer, nodes, value, ordered(logits, how, config.sparse), u[:, depth, :width], config))
        if depth + 1 < config.depth:
            layer, value, best = _beam(layer, made[-1], config.widths[depth + 1])
            nodes = best + created
            created += width * config.slots
    return _pruned(config, made, u, budgets, logits.shape[-1])


def _expanded(
    layer: Layer, nodes: Tensor, value: Tensor, law: tuple[Tensor, Tensor], u: Tensor, config: Config
) -> Drafted:
    tokens, q = law
    slots, tail = expand(tokens, q.to(u.dtype), u, config)
    there = slots.there & layer.there[..., None]
    slots = Slots(torch.where(there, slots.tokens, -1), slots.factors, there)
    path = layer.paths[:, :, None].expand(-1, -1, config.slots, -1)
    return Drafted(
        nodes,
        slots,
        Tail(tail.tokens, tail.q, tail.z, tail.x, tail.there & layer.there),
        torch.where(there, value[..., None] * slots.factors, -1.0).flatten(1),
        torch.cat([path, slots.tokens[..., None]], -1).flatten(1, 2),
        (~(q[..., 0] > 0) & layer.there).any(1),
    )


def _beam(above: Layer, made: Drafted, width: int) -> tuple[Layer, Tensor, Tensor]:
    """The best nodes of a layer, their values, and which of its candidates they are."""
    value, best = made.values.sort(dim=-1, descending=True, stable=True)
    value, best = value[:, :width], best[:, :width]
    paths = made.paths.gather(1, best[..., None].expand(-1, -1, made.paths.shape[-1]))
    parents = best // made.slots.tokens.shape[-1]
    return Layer(above.layer + 1, paths[..., -1], paths, parents, value >= 0), value, best


def _pruned(config: Config, made: list[Drafted], u: Tensor, budgets: Tensor | None, vocab: int) -> Trees:
    """Keep the best of all candidates. Candidate c is drafted node c + 1."""
    batch, device = len(u), u.device
    values, parents, expanded = (_joined([getattr(d, name) for d in made]) for name in ("values", "parents", "nodes"))
    value, order = values.sort(dim=-1, descending=True, stable=True)
    value, order = value[:, : config.kept], order[:, : config.kept]
    place = torch.arange(config.kept, device=device)
    kept = value >= 0
    if budgets is not None:
        kept = kept & (place < budgets[:, None])
    # By drafted node: its rank, 0 for the root and for those that are not kept; and its number if it was expanded.
    rank = torch.zeros(batch, 1 + values.shape[1], dtype=torch.int64, device=device)
    rank = rank.scatter(1, order + 1, torch.where(kept, place + 1, 0))
    numbers = torch.arange(expanded.shape[1], device=device).expand(batch, -1)
    number = torch.full_like(rank, -1).scatter(1, expanded, numbers)

    def at_kept(by_candidate: Tensor, at_root: int) -> Tensor:
        chosen = torch.where(kept, by_candidate.gather(1, order), -1)
        return torch.cat([torch.full_like(chosen[:, :1], at_root), chosen], 1)

    paths = _joined([pad(d.paths, (0, config.depth - d.paths.shape[-1]), value=-1) for d in made])
    path = torch.where(kept[..., None], paths.gather(1, order[..., None].expand(-1, -1, config.depth)), -1)
    path = torch.cat([torch.full_like(path[:, :1], -1), path], 1)
    slot = torch.arange(values.shape[1], device=device).remainder(config.slots).expand(batch, -1)
    slot_tokens = _joined([d.slots.tokens for d in made])
    owner = rank.gather(1, expanded)
    return Trees(
        tokens=at_kept(slot_tokens.flatten(1), -1),
        parents=at_kept(rank.gather(1, parents), -1),
        depths=(path >= 0).sum(-1),
        kinds=at_kept(kinds(slot, config), ROOT).clamp(min=NOTHING),
        slots=at_kept(slot, -1),
        values=torch.cat([torch.ones_like(value[:, :1]), torch.where(kept, value, 0.0)], 1),
        paths=path,
        expansion=at_kept(number[:, 1:], 0),
        children=rank[:, 1:].reshape(batch, expanded.shape[1], config.slots),
        slot_tokens=slot_tokens,
        owner=torch.where((owner > 0) | (expanded == 0), owner, -1),
        tail=Tail(*(_joined([getattr(d.tail, name) for d in made]) for name in ("tokens", "q", "z", "x", "there"))),
        draft_used=torch.stack([pad(d.tail.there, (0, u.shape[2] - d.tail.there.shape[1])) for d in made], 1),
        broken=torch.stack([d.broken for d in made]).any(0),
        widths=config.widths,
        head=config.head,
        vocab=vocab,
    )


def _joined(parts: list[Tensor]) -> Tensor:
    return torch.cat(parts, 1)
