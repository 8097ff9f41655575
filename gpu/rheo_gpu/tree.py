"""Draft trees of a batch: candidates layer by layer, rank order, pruning, and what tree attention needs.

Rank order is by (-value, creation index). Values are products taken from the root downwards, and a stable sort leaves
equal ones in creation order: so equal floats tie as specified. A loop runs over layers, never over requests or nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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

    def mapped(self, ids: Tensor, vocab: int) -> Trees:
        """The same trees with target ids for draft ids: token i becomes ids[i], of a vocabulary of `vocab` tokens.

        The ids must increase: ties of a law are decided by token id.
        """

        def of(tokens: Tensor) -> Tensor:
            return torch.where(tokens >= 0, ids[tokens.clamp(min=0)], -1)

        tail = replace(self.tail, tokens=ids[self.tail.tokens])
        tokens, paths, slot_tokens = of(self.tokens), of(self.paths), of(self.slot_tokens)
        return replace(self, tokens=tokens, paths=paths, slot_tokens=slot_tokens, tail=tail, vocab=vocab)

    def position_ids(self, prefix_lengths: Tensor) -> Tensor:
        """[R, 1 + N] positions in the sequence, for prefixes of these lengths [R]: the root is their last token."""
        return self.depths + (prefix_lengths[:, None] - 1)

    def first(self, n: Tensor | int) -> Trees:
        """The trees of the best n nodes of these, padded as before: what `draft_trees` makes of the budgets n [R]."""
        most = torch.as_tensor(n, device=self.tokens.device).reshape(-1, 1)
        gone = torch.arange(self.tokens.shape[1], device=self.tokens.device) > most
        fills = {"tokens": -1, "parents": -1, "depths": 0, "kinds": NOTHING, "slots": -1, "values": 0, "expansion": -1}
        return replace(
            self,
            **{name: getattr(self, name).masked_fill(gone, fill) for name, fill in fills.items()},
            paths=self.paths.masked_fill(gone[..., None], -1),
            children=self.children.masked_fill(self.children > most[..., None], 0),
            owner=self.owner.masked_fill(self.owner > most, -1),
        )


@dataclass(frozen=True, eq=False)
class Drafted:
    """What the expansion of one layer made: by expanded node [R, W], by slot [R, W, K], by candidate [R, W K].

    Drafted nodes are numbered in the order of their creation, the root being 0: nodes [R, W] are the expanded ones,
    parents [R, W K] those above the candidates. best_q [R, W] are the largest probabilities of their laws. The value of
    a slot that does not exist is -1, and so is its token.
    """

    layer: Layer
    nodes: Tensor
    best_q: Tensor
    slots: Slots
    tail: Tail
    values: Tensor

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
    uniforms = u.unbind(1)
    for depth, width in enumerate(config.widths):
        logits = draft(layer)
        if logits.shape[:-1] != layer.tokens.shape:
            raise ValueError(f"draft rows of shape {tuple(logits.shape)}, expected {tuple(layer.tokens.shape)} and V")
        made.append(
            _expanded(layer, nodes, value, ordered(logits, how, config.sparse), uniforms[depth][:, :width], config)
        )
        if depth + 1 < config.depth:
            layer, value, best = _beam(layer, made[-1], config.widths[depth + 1])
            nodes = best + created
            created += width * config.slots
    return _pruned(config, made, u, budgets, logits.shape[-1])


def _expanded(
    layer: Layer, nodes: Tensor, value: Tensor, law: tuple[Tensor, Tensor], u: Tensor, config: Config
) -> Drafted:
    tokens, q = law
    q = q.to(u.dtype) * layer.there[..., None]  # a node that is not there has an empty law, hence no slots
    slots, tail = expand(tokens, q, u, config)
    absent = ~slots.there
    return Drafted(
        layer,
        nodes,
        q[..., 0],
        Slots(slots.tokens.masked_fill(absent, -1), slots.factors, slots.there),
        tail,
        (value[..., None] * slots.factors).masked_fill_(absent, -1.0).flatten(1),
    )


def _beam(above: Layer, made: Drafted, width: int) -> tuple[Layer, Tensor, Tensor]:
    """The best nodes of a layer, their values, and which of its candidates they are."""
    value, best = made.values.sort(dim=-1, descending=True, stable=True)
    value, best = value[:, :width], best[:, :width]
    tokens, parents = made.slots.tokens.flatten(1).gather(1, best), best // made.slots.tokens.shape[-1]
    paths = torch.cat([_rows(above.paths, parents), tokens[..., None]], -1)
    return Layer(above.layer + 1, tokens, paths, parents, value >= 0), value, best


def _pruned(config: Config, made: list[Drafted], u: Tensor, budgets: Tensor | None, vocab: int) -> Trees:
    """Keep the best of all candidates. Candidate c is drafted node c + 1, in a slot of expanded node c // K."""
    values, expanded, there, best_q = (
        _joined(parts) for parts in zip(*((d.values, d.nodes, d.layer.there, d.best_q) for d in made), strict=True)
    )
    slot_tokens = _joined([d.slots.tokens for d in made])
    value, order = values.sort(dim=-1, descending=True, stable=True)
    value, order = value[:, : config.kept], order[:, : config.kept]
    place = torch.arange(1, config.kept + 1, device=u.device)
    kept = value >= 0
    if budgets is not None:
        kept = kept & (place <= budgets[:, None])
    # By drafted node: its rank, 0 for the root and for those that are not kept; and its number if it was expanded.
    rank = torch.zeros(len(u), 1 + values.shape[1], dtype=torch.int64, device=u.device)
    rank.scatter_(1, order + 1, place * kept)
    number = torch.full_like(rank, -1)
    number.scatter_(1, expanded, torch.arange(expanded.shape[1], device=u.device).expand_as(expanded))

    owner = rank.gather(1, expanded)
    above, slot = order // config.slots, order % config.slots
    token = slot_tokens.flatten(1).gather(1, order)
    path = _rows(_joined([pad(d.layer.paths, (0, config.depth - d.layer.layer), value=-1) for d in made]), above)
    depth = (path >= 0).sum(-1)
    path = path.scatter(-1, depth[..., None], token[..., None])

    def with_root(nodes: Tensor, padding: int, root: int) -> Tensor:
        return pad(torch.where(kept, nodes, padding), (1, 0), value=root)

    return Trees(
        tokens=with_root(token, -1, -1),
        parents=with_root(owner.gather(1, above), -1, -1),
        depths=with_root(depth + 1, 0, 0),
        kinds=with_root(kinds(slot, config), NOTHING, ROOT),
        slots=with_root(slot, -1, -1),
        values=pad(value.masked_fill(~kept, 0.0), (1, 0), value=1.0),
        paths=pad(path.masked_fill(~kept[..., None], -1), (0, 0, 1, 0), value=-1),
        expansion=with_root(number.gather(1, order + 1), -1, 0),
        children=rank[:, 1:].view(slot_tokens.shape),
        slot_tokens=slot_tokens,
        owner=owner.masked_fill((owner == 0) & (expanded > 0), -1),
        tail=Tail(*(_joined([getattr(d.tail, name) for d in made]) for name in ("tokens", "q", "z", "x", "there"))),
        draft_used=torch.stack([pad(d.tail.there, (0, u.shape[2] - d.tail.there.shape[1])) for d in made], 1),
        broken=(~(best_q > 0) & there).any(1),
        widths=config.widths,
        head=config.head,
        vocab=vocab,
    )


def _joined(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat(list(parts), 1)


def _rows(values: Tensor, index: Tensor) -> Tensor:
    """Rows [R, J, n] of values [R, I, n] for an index [R, J]."""
    return values.gather(1, index[..., None].expand(-1, -1, values.shape[-1]))
