"""Many trees of one text in a single forward pass: nodes with the same path are one node, and laws are shared.

For measurements that compare settings on the same text; a decoder has one tree per text and does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from ..config import Processing
from ..laws import process
from ..slots import Tail
from ..tree import Trees

CHUNK = 128
"""Nodes whose laws over the whole vocabulary are held at one time."""


@dataclass(frozen=True)
class Union:
    """The U distinct nodes of some trees, the root first, parents before children.

    tokens, parents [U]: -1 at the root; depths [U]. rows: for the trees in their order, [R, 1 + N] each, which of the
    nodes theirs are; padding is the root.
    """

    tokens: Tensor
    parents: Tensor
    depths: Tensor
    rows: tuple[Tensor, ...]

    @classmethod
    def of(cls, trees: Sequence[Trees]) -> Union:
        """Nodes are the same if the tokens on the way to them are.

        Raises `ValueError` without trees, and for trees of different depths.
        """
        if len({part.paths.shape[-1] for part in trees}) != 1:
            raise ValueError("expected one tree at least, and trees of one depth D")
        paths = torch.cat([part.paths.flatten(0, 1) for part in trees])
        # In order of tokens: the root, which is all -1, comes first, and parents before children.
        nodes, rows = paths.unique(dim=0, return_inverse=True)  # type: ignore[no-untyped-call]
        depths = (nodes >= 0).sum(1)
        last = (depths - 1).clamp(min=0)[:, None]
        tokens = nodes.gather(1, last)[:, 0]
        above, place = torch.cat([nodes, nodes.scatter(1, last, -1)]).unique(dim=0, return_inverse=True)  # type: ignore[no-untyped-call]
        if len(above) != len(nodes):
            raise ValueError("a node whose parent is in none of the trees")
        parents = place[len(nodes) :].masked_fill(depths == 0, -1)
        sizes = [part.tokens.numel() for part in trees]
        split = rows.split(sizes)
        return cls(tokens, parents, depths, tuple(r.view(t.tokens.shape) for r, t in zip(split, trees, strict=True)))

    def mask(self) -> Tensor:
        """[1, U, U]: node i sees node j, that is, j is i itself or above it."""
        size = len(self.tokens)
        seen = torch.eye(size, dtype=torch.bool, device=self.tokens.device)
        node, every = self.parents, torch.arange(size, device=self.tokens.device)
        while bool((node >= 0).any()):
            there = node >= 0
            seen[every[there], node[there]] = True
            node = torch.where(there, self.parents[node.clamp(min=0)], -1)
        return seen[None]


def laws_at(
    hidden: Tensor, logits: Callable[[Tensor], Tensor], how: Processing | None, columns: Tensor | None = None
) -> Tensor:
    """The laws [U, C] after hidden states [U, H] for columns [C] of the vocabulary, without renormalising them."""
    parts = []
    for begin in range(0, len(hidden), CHUNK):
        law = process(logits(hidden[begin : begin + CHUNK]), how)
        parts.append(law if columns is None else law.index_select(-1, columns))
    return torch.cat(parts)


def joined(trees: Sequence[Trees]) -> Trees:
    """Trees of the same sizes as one batch. Raises `ValueError` where slots, head, widths or vocabulary differ."""
    first = trees[0]
    for part in trees:
        if (part.head, part.widths, part.vocab) != (first.head, first.widths, first.vocab):
            raise ValueError("only trees of the same head, widths and vocabulary make a batch")

    def together(parts: Sequence[Any], like: type) -> dict[str, Any]:
        names = [field.name for field in fields(like) if isinstance(getattr(parts[0], field.name), Tensor)]
        return {name: torch.cat([getattr(part, name) for part in parts]) for name in names}

    tail = replace(first.tail, **together([part.tail for part in trees], Tail))
    return replace(first, tail=tail, **together(trees, Trees))
