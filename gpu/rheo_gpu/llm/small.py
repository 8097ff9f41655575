"""A small causal language model as the draft model, with keys and values of its own.

Its block of entries holds the text, then the nodes of the current tree, layer behind layer. A node sees the text, the
nodes on its path and itself; siblings lie side by side and do not see each other. When the text has grown, the entries
of the tree are lost and those of the new tokens are computed in one forward pass: a draft tree and the text that came
of it may share tokens, but which of them is not worth the copying for so few.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from rheo_gpu import Layer

from .errors import Unusable
from .target import State, Target, load_causal_model


class SmallDraft:
    """Drafts with a causal model that has the target's vocabulary. Raises `Unusable` for a model that has another."""

    tokens: Tensor | None = None
    layers: tuple[int, ...] = ()

    def __init__(self, model: Target) -> None:
        if model.layers:
            raise Unusable(f"a draft model that keeps its hidden states {model.layers}, expected none")
        self.model, self.vocab = model, model.vocab
        self.positions = model.positions
        self.state: State
        self.last = torch.zeros(0)

    @classmethod
    def load(cls, folder: str | Path, dtype: torch.dtype = torch.float32) -> SmallDraft:
        """The model of a local folder; nothing is fetched. Raises `Unusable`."""
        return cls(Target(load_causal_model(folder, dtype)))

    @torch.inference_mode()
    def begin(self, first: Tensor) -> None:
        """Read the first tokens [R] of new texts."""
        self.state = State(self.model.depth, len(first), self.model.device)
        self.last = self.model.head.weight.new_zeros(len(first), self.model.head.weight.shape[1])
        self._read_text(first[:, None], torch.ones_like(first))

    @torch.inference_mode()
    def follow(self, tokens: Tensor, counts: Tensor, features: Tensor) -> None:
        """Read what has come to the texts; the target's hidden states are not looked at."""
        if tokens.shape[1]:
            self._read_text(tokens, counts)

    def _read_text(self, tokens: Tensor, counts: Tensor) -> None:
        """`last` [R, H] is what the model sees at the last token of each text, from which layer 0 is answered."""
        place = torch.arange(tokens.shape[1], device=tokens.device)
        mask = (place <= place[:, None]).expand(len(tokens), -1, -1)
        hidden = self.model.forward(self.state, tokens, self.state.lengths[:, None] + place, mask).hidden
        self.model.keep(self.state, torch.where(place < counts[:, None], place, -1))
        row = (counts - 1).clamp(min=0)[:, None, None].expand(-1, -1, hidden.shape[-1])
        self.last = torch.where((counts > 0)[:, None], hidden.gather(1, row)[:, 0], self.last)

    @torch.inference_mode()
    def __call__(self, layer: Layer) -> Tensor:
        """Logits [R, W, V] after the nodes of a layer; their entries join those of the layers before."""
        if layer.layer == 0:
            return self.model.logits(self.last[:, None])
        return self.model.logits(self._read_layer(layer))

    def _read_layer(self, layer: Layer) -> Tensor:
        width, block = layer.tokens.shape[1], self.state.block
        seen = block.branch(layer.parents, layer.layer == 1)
        if self.positions is not None and block.end + layer.layer > self.positions:
            raise Unusable(f"a draft of {block.end + layer.layer} tokens with a model of {self.positions} positions")
        positions = (self.state.lengths + layer.layer - 1)[:, None].expand(-1, width)
        return self.model.read(self.state, layer.tokens, positions, seen).hidden
