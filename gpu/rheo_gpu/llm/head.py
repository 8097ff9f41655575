"""A draft head as in EAGLE-3 (arXiv 2503.01840): one decoder layer that reads what the target saw, and its own states.

Entry i of a text joins the target's hidden states after token i, from some of its layers, with the embedding of token
i + 1, and predicts token i + 2. Below the text the head reads its own output in place of the target's states. Names of
weights are those of published heads. Two things are optional and not published: a norm of each hidden state before they
are joined (`feature_norm`), and a direct path from the embedding to the output of attention (`embed_proj`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from .errors import Unusable
from .narrow import NarrowLinear


@dataclass(frozen=True)
class HeadConfig:
    """Sizes of a head. `hidden` H of the head and of embeddings, `target_hidden` of the target, `vocab` of the draft.

    layers: the target's hidden states that it reads, numbered as in `Target`. extras: with the two unpublished parts.
    """

    hidden: int
    target_hidden: int
    heads: int
    kv_heads: int
    head_size: int
    intermediate: int
    vocab: int
    target_vocab: int
    layers: tuple[int, ...]
    eps: float = 1e-5
    rope_theta: float = 1e4
    extras: bool = False

    def __post_init__(self) -> None:
        for name in ("hidden", "target_hidden", "heads", "kv_heads", "head_size", "intermediate", "vocab"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**31:
                raise Unusable(f"{name} of a draft head is {value!r}, expected a whole number from 1 to 2^31 - 1")
        if not all(type(layer) is int for layer in self.layers):
            raise Unusable(f"a draft head that reads the hidden states {self.layers}, expected whole numbers")
        for name in ("eps", "rope_theta"):
            number = getattr(self, name)
            if not isinstance(number, int | float) or isinstance(number, bool) or not 0 < number < float("inf"):
                raise Unusable(f"{name} of a draft head is {number!r}, expected a number of more than 0")
        if self.heads % self.kv_heads or self.head_size % 2 or not self.layers:
            raise Unusable(
                f"a draft head with {self.heads} heads, {self.kv_heads} for keys, of size {self.head_size}, that reads "
                f"{len(self.layers)} hidden states; expected a multiple, an even number, and at least one"
            )
        if self.vocab > self.target_vocab:
            raise Unusable(
                f"a draft vocabulary of {self.vocab} tokens, expected at most the target's {self.target_vocab}"
            )


class Norm(nn.Module):
    """Root mean square normalisation of the last axis."""

    def __init__(self, *shape: int, eps: float) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(shape)), eps

    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.rms_norm(x, x.shape[-1:], eps=self.eps) * self.weight


class Attention(nn.Module):
    """Projections of the layer; attention itself is asked for in other ways in training and in decoding."""

    def __init__(self, c: HeadConfig) -> None:
        super().__init__()
        self.sizes = (c.heads, c.kv_heads, c.head_size)
        self.q_proj = NarrowLinear(2 * c.hidden, c.heads * c.head_size, bias=False)
        self.k_proj = NarrowLinear(2 * c.hidden, c.kv_heads * c.head_size, bias=False)
        self.v_proj = NarrowLinear(2 * c.hidden, c.kv_heads * c.head_size, bias=False)
        self.o_proj = NarrowLinear(c.heads * c.head_size, c.hidden, bias=False)
        angles = 1.0 / c.rope_theta ** (torch.arange(0, c.head_size, 2).float() / c.head_size)
        self.register_buffer("angles", angles, persistent=False)

    def project(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [R, heads, T, size], keys and values [R, kv_heads, T, size] of entries x [R, T, 2 H]."""
        heads, kv_heads, size = self.sizes
        batch, width = x.shape[:2]
        q, k, v = (
            part.view(batch, width, n, size).transpose(1, 2)
            for part, n in ((self.q_proj(x), heads), (self.k_proj(x), kv_heads), (self.v_proj(x), kv_heads))
        )
        turn = positions[:, None, :, None].float() * self.get_buffer("angles").float()
        turn = torch.cat([turn, turn], -1)
        cos, sin = turn.cos().to(x.dtype), turn.sin().to(x.dtype)
        return _rotated(q, cos, sin), _rotated(k, cos, sin), v


class Mlp(nn.Module):
    def __init__(self, c: HeadConfig) -> None:
        super().__init__()
        self.gate_proj = NarrowLinear(c.hidden, c.intermediate, bias=False)
        self.up_proj = NarrowLinear(c.hidden, c.intermediate, bias=False)
        self.down_proj = NarrowLinear(c.intermediate, c.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Layer(nn.Module):
    def __init__(self, c: HeadConfig) -> None:
        super().__init__()
        self.self_attn, self.mlp = Attention(c), Mlp(c)
        self.input_layernorm = Norm(c.hidden, eps=c.eps)
        self.hidden_norm = Norm(c.hidden, eps=c.eps)
        self.post_attention_layernorm = Norm(c.hidden, eps=c.eps)
        self.embed_proj = NarrowLinear(c.hidden, c.hidden, bias=False) if c.extras else None


class EagleHead(nn.Module):
    """The head's weights. `embeddings` [V, H] are the target's, or its own; `d2t` [Vd] the target's ids of its tokens.

    `d2t` increases, so that ties of a law are decided alike in both vocabularies. Raises `Unusable` otherwise.
    """

    d2t: Tensor
    embeddings: Tensor

    def __init__(self, config: HeadConfig, d2t: Tensor, embeddings: Tensor, lm_head: Tensor | None = None) -> None:
        super().__init__()
        self.config = c = config
        if d2t.shape != (c.vocab,) or bool((d2t[1:] <= d2t[:-1]).any()) or d2t[0] < 0 or d2t[-1] >= c.target_vocab:
            raise Unusable(
                f"the draft vocabulary must be {c.vocab} increasing token ids of the target, below {c.target_vocab}"
            )
        if embeddings.shape != (c.target_vocab, c.hidden):
            raise Unusable(
                f"embeddings of shape {tuple(embeddings.shape)}, expected ({c.target_vocab}, {c.hidden}) for this head"
            )
        self.register_buffer("d2t", d2t, persistent=False)
        self.register_buffer("embeddings", embeddings, persistent=False)
        self.fc = NarrowLinear(len(c.layers) * c.target_hidden, c.hidden, bias=False)
        self.midlayer, self.norm = Layer(c), Norm(c.hidden, eps=c.eps)
        self.feature_norm = Norm(len(c.layers), c.target_hidden, eps=c.eps) if c.extras else None
        self.lm_head = NarrowLinear(c.hidden, c.vocab, bias=False, device="meta")
        rows = embeddings[d2t].clone() if lm_head is None else lm_head
        self.lm_head.weight = nn.Parameter(rows, requires_grad=False)
        self.tied = lm_head is None

    def joined(self, features: Tensor) -> Tensor:
        """[.., F, target H] -> [.., H]: the target's hidden states as one state of the head."""
        if self.feature_norm is not None:
            features = self.feature_norm(features)
        out: Tensor = self.fc(features.flatten(-2))
        return out

    def entries(self, tokens: Tensor, states: Tensor, positions: Tensor) -> tuple[Tensor, ...]:
        """Normed embeddings, queries, keys and values of entries: tokens [R, T] of the target, states [R, T, H]."""
        layer = self.midlayer
        embedded = layer.input_layernorm(self.embeddings[tokens])
        x = torch.cat([embedded, layer.hidden_norm(states)], -1)
        return embedded, *layer.self_attn.project(x, positions)

    def output(self, states: Tensor, embedded: Tensor, attended: Tensor) -> Tensor:
        """The next states [R, T, H], given what attention found, [R, heads, T, size]."""
        layer = self.midlayer
        states = states + layer.self_attn.o_proj(attended.transpose(1, 2).flatten(2))
        if layer.embed_proj is not None:
            states = states + layer.embed_proj(embedded)
        out: Tensor = states + layer.mlp(layer.post_attention_layernorm(states))
        return out

    def logits(self, states: Tensor) -> Tensor:
        """[.., H] -> [.., Vd]."""
        out: Tensor = self.lm_head(self.norm(states))
        return out


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin
