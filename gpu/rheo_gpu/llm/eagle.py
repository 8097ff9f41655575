"""Drafting with an EAGLE-3-style head: the text's entries in a cache, the tree's behind them, layer by layer."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ..tree import Layer
from .attention import MOST, added, shared
from .cache import Block
from .head import EagleHead
from .narrow import pack


class EagleDraft:
    """A drafter (see drafter.py) for a batch of texts. Nodes of a tree see the text and the nodes above them."""

    positions: int | None = None

    def __init__(self, head: EagleHead) -> None:
        self.head = head.eval()
        pack(head, half=True)
        self.vocab, self.layers = head.config.vocab, head.config.layers
        self.tokens: Tensor | None = head.d2t
        self.device = head.embeddings.device
        if self.vocab == head.config.target_vocab:
            self.tokens = None

    def begin(self, first: Tensor) -> None:
        """Texts that begin with these tokens [R]; all else is forgotten."""
        self.block = Block(1, len(first), self.device)
        self.root = self.head.embeddings.new_zeros(len(first), 1, self.head.config.hidden)
        self.states = self.root

    def follow(self, tokens: Tensor, counts: Tensor, features: Tensor) -> None:
        """The texts went on with tokens[r, :counts[r]]; features [R, n, F, H] are of the tokens before them."""
        batch, width = tokens.shape
        if not width:
            return
        block, head = self.block, self.head
        block.begin(width)
        place = torch.arange(width, device=self.device)
        states = head.joined(features.to(self.root.dtype))
        embedded, q, k, v = head.entries(tokens.clamp(min=0), states, block.lengths[:, None] + place)
        out = head.output(states, embedded, self._attended(q, k, v, (place <= place[:, None]).expand(batch, -1, -1)))
        last = (counts - 1).clamp(min=0)
        self.root = torch.where(
            (counts > 0)[:, None, None], out[torch.arange(batch, device=self.device), last][:, None], self.root
        )
        block.keep(torch.where(place < counts[:, None], place, -1))

    def __call__(self, layer: Layer) -> Tensor:
        """Logits [R, W, Vd] after the nodes of a layer; layer 0 is the last token of each text."""
        head = self.head
        if not layer.layer:
            self.states = self.root
            return head.logits(self.root)
        width = layer.tokens.shape[1]
        ids = layer.tokens.clamp(min=0)
        ids = ids if self.tokens is None else self.tokens[ids]
        parents = layer.parents.clamp(min=0)
        states = self.states.gather(1, parents[..., None].expand(-1, -1, self.states.shape[-1]))
        positions = (self.block.lengths[:, None] + layer.layer - 1).expand(-1, width)
        embedded, q, k, v = head.entries(ids, states, positions)
        seen = self.block.branch(parents, layer.layer == 1)
        self.states = head.output(states, embedded, self._attended(q, k, v, seen))
        return head.logits(self.states)

    def _attended(self, q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
        """What new entries find in the text and, by `seen` [R, T, n], in the n entries behind it, their own last."""
        keys, values = self.block.write(0, k, v)
        whole = torch.cat([self.block.prefix()[:, None].expand(-1, q.shape[2], -1), seen], -1)
        if q.shape[2] > MOST:
            return scaled_dot_product_attention(q, keys, values, attn_mask=whole[:, None], enable_gqa=True)
        return shared(q, keys, values, added(whole, q.dtype))
