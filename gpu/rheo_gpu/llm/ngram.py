"""A draft model without weights: which tokens followed the same words earlier in the text.

Let c_k be the last k tokens of a context, n(c_k) how often something followed them in the text of the request, and
n(c_k, x) how often x did. With a pseudo-count a and from short contexts to long ones,

    P_k(x) = (n(c_k, x) + a P_(k-1)(x)) / (n(c_k) + a),    P_(-1) uniform.

A context that was never followed by anything leaves P unchanged: so this backs off by itself. The context of a node is
the text and the path to the node; the counts are those of the text alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rheo_gpu import Layer

from .errors import Unusable

Counts = dict[tuple[int, ...], dict[int, int]]


class NgramDraft:
    """Drafts from the request's own text: contexts of up to order - 1 tokens, pseudo-count a = `strength`.

    Raises `Unusable` for numbers that make no law.
    """

    tokens: Tensor | None = None
    layers: tuple[int, ...] = ()
    positions: int | None = None

    def __init__(
        self,
        vocab: int,
        order: int = 4,
        strength: float = 0.25,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        if vocab < 1 or order < 1 or not 0 < strength < float("inf"):
            raise Unusable(
                f"n-gram of vocabulary {vocab}, order {order} and strength {strength}, expected at least 1, 1 and more "
                "than 0"
            )
        self.vocab, self.order, self.strength = vocab, order, strength
        self.device, self.dtype = torch.device(device), dtype
        self.texts: list[list[int]] = []
        self.counts: list[Counts] = []
        self.unigram = torch.zeros(0, vocab, dtype=dtype, device=self.device)  # n(x), for k = 0

    def begin(self, first: Tensor) -> None:
        """New texts of one token each."""
        self.texts = [[] for _ in range(len(first))]
        self.counts = [{} for _ in range(len(first))]
        self.unigram = torch.zeros(len(first), self.vocab, dtype=self.dtype, device=self.device)
        self._grow([[token] for token in first.tolist()])

    def follow(self, tokens: Tensor, counts: Tensor, features: Tensor) -> None:
        """Count what has come to the texts; the target's hidden states are not looked at."""
        self._grow([row[:count] for row, count in zip(tokens.tolist(), counts.tolist(), strict=True)])

    def _grow(self, more: list[list[int]]) -> None:
        for text, counts, unigram, new in zip(self.texts, self.counts, self.unigram, more, strict=True):
            for token in new:
                for length in range(1, min(self.order - 1, len(text)) + 1):
                    followed = counts.setdefault(tuple(text[-length:]), {})
                    followed[token] = followed.get(token, 0) + 1
                text.append(token)
            if new:
                there = torch.tensor(new, device=self.device)
                unigram.index_add_(0, there, torch.ones_like(there, dtype=self.dtype))

    def __call__(self, layer: Layer) -> Tensor:
        """log P [R, W, V] after each node; after nodes that are not there, of the contexts of length 0."""
        total = self.unigram.sum(-1, keepdim=True) + self.strength
        flat = ((self.unigram + self.strength / self.vocab) / total)[:, None]
        scales, places, masses = self._seen(layer)
        law = flat * torch.tensor(scales, dtype=self.dtype, device=self.device).view(*layer.tokens.shape, 1)
        if places:
            where = torch.tensor(places, device=self.device)
            law.view(-1).index_add_(0, where, torch.tensor(masses, dtype=self.dtype, device=self.device))
        return law.log()

    def _seen(self, layer: Layer) -> tuple[list[float], list[int], list[float]]:
        """By node: what is left of P_0. By seen token: its place among all rows, and the mass that counts give it."""
        a, scales, places, masses = self.strength, list[float](), list[int](), list[float]()
        there = layer.there.tolist()
        for r, paths in enumerate(layer.paths.tolist()):
            for w, path in enumerate(paths):
                begin, scale = len(scales) * self.vocab, 1.0
                found = self._followers(r, path) if there[r][w] else []
                for followed in reversed(found):  # from the longest context: what is left falls to shorter ones
                    n = sum(followed.values())
                    for token, count in followed.items():
                        places.append(begin + token)
                        masses.append(scale * count / (n + a))
                    scale *= a / (n + a)
                scales.append(scale)
        return scales, places, masses

    def _followers(self, r: int, path: list[int]) -> list[dict[int, int]]:
        """n(c_k, .) of the contexts c_k that were followed by something, k = 1, 2, ..."""
        context = (self.texts[r][-self.order :] + path)[-(self.order - 1) :] if self.order > 1 else []
        suffixes = (tuple(context[-length:]) for length in range(1, len(context) + 1))
        return [self.counts[r][suffix] for suffix in suffixes if suffix in self.counts[r]]
