"""What the tests of draft models and of generation share: layers of trees, and whole texts read by the model itself."""

from __future__ import annotations

from typing import Any

import torch
from rheo_gpu import Layer
from rheo_gpu.llm.target import Target
from torch import Tensor

from tests.llm import tiny


def plain_target(seed: int = 0, depth: int = 2) -> Target:
    """A target that keeps no hidden states; also a small model to draft with."""
    return tiny.target(seed, (), num_hidden_layers=depth)


@torch.inference_mode()
def logits_after(model: Any, text: list[int]) -> Tensor:
    """Logits [V] after a text, from the model's own forward pass over all of it."""
    return model(input_ids=torch.tensor([text])).logits[0, -1]


def first_layers(texts: list[list[int]]) -> Layer:
    """Layer 0 of trees behind these texts."""
    root = torch.full((len(texts), 1), -1)
    return Layer(0, root, root[..., None][..., :0], root, root < 0)


def layer_below(above: Layer, tokens: list[list[int]], parents: list[list[int]]) -> Layer:
    """A layer of nodes with these tokens [R, W] below nodes of the layer above; -1 is no node."""
    token, parent = torch.tensor(tokens), torch.tensor(parents)
    paths = above.paths.gather(1, parent[..., None].expand(-1, -1, above.paths.shape[-1]))
    return Layer(above.layer + 1, token, torch.cat([paths, token[..., None]], -1), parent, token >= 0)


def begin(drafter: Any, texts: list[list[int]]) -> None:
    """Give a draft model whole texts, of different lengths."""
    width = max(map(len, texts))
    table = torch.tensor([text + [-1] * (width - len(text)) for text in texts])
    drafter.begin(table[:, 0])
    rest = table[:, 1:]
    drafter.follow(rest, (rest >= 0).sum(1), torch.zeros(*rest.shape, 0, 1))
