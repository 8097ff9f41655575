"""A tiny Llama in the format of llama.cpp, written block by block, and what it computes, in NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from numpy.typing import NDArray

Array = NDArray[np.float64]
LAYERS, HIDDEN, INNER, HEADS, KV_HEADS, SIZE, BASE, EPS = 2, 32, 64, 4, 2, 8, 5000.0, 1e-3
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ("a b", "Ġ ab", "ab c")
TOKENS = (*SPECIAL, *"abcdefghijklmnopqrstuvwxyz", "Ġ", *(merge.replace(" ", "") for merge in MERGES))
CHAT = "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}"


def four_bits(random: np.random.Generator, rows: int, columns: int) -> tuple[NDArray[np.uint8], Array]:
    """Q4_1: of 32 numbers a scale and an offset in 16 bits, then 16 bytes: low halves the first 16, high the others."""
    shape = (rows, columns // 32)
    scale, offset = (random.normal(0, size, (*shape, 1)).astype(np.float16) for size in (0.04, 0.2))
    codes = random.integers(16, size=(*shape, 32), dtype=np.uint8)
    halves = codes[..., :16] | codes[..., 16:] << 4
    raw = np.concatenate([scale.view(np.uint8), offset.view(np.uint8), halves], -1).reshape(rows, -1)
    return raw, (scale.astype(float) * codes + offset.astype(float)).reshape(rows, columns)


def eight_bits(random: np.random.Generator, rows: int, columns: int) -> tuple[NDArray[np.uint8], Array]:
    """Q8_0: of 32 numbers a scale in 16 bits, then 32 signed bytes."""
    scale = random.normal(0, 0.01, (rows, columns // 32, 1)).astype(np.float16)
    codes = random.integers(-127, 128, size=(rows, columns // 32, 32), dtype=np.int8)
    raw = np.concatenate([scale.view(np.uint8), codes.view(np.uint8)], -1).reshape(rows, -1)
    return raw, (scale.astype(float) * codes).reshape(rows, columns)


def write(path: Path, seed: int = 0) -> dict[str, Array]:
    """The file; its weights by their names there."""
    random = np.random.default_rng(seed)
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(BASE)
    writer.add_rope_dimension_count(SIZE)
    writer.add_layer_norm_rms_eps(EPS)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(TOKENS) - len(SPECIAL)))
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT)
    weights: dict[str, Array] = {}

    def quantised(name: str, rows: int, columns: int) -> None:
        raw, weights[name] = (eight_bits if name == "token_embd.weight" else four_bits)(random, rows, columns)
        kind = GGMLQuantizationType.Q8_0 if name == "token_embd.weight" else GGMLQuantizationType.Q4_1
        writer.add_tensor(name, raw, raw_dtype=kind)

    def plain(name: str) -> None:
        values = random.uniform(0.5, 1.5, HIDDEN).astype(np.float32)
        weights[name] = values.astype(float)
        writer.add_tensor(name, values)

    quantised("token_embd.weight", len(TOKENS), HIDDEN)
    for i in range(LAYERS):
        plain(f"blk.{i}.attn_norm.weight")
        plain(f"blk.{i}.ffn_norm.weight")
        quantised(f"blk.{i}.attn_q.weight", HEADS * SIZE, HIDDEN)
        quantised(f"blk.{i}.attn_k.weight", KV_HEADS * SIZE, HIDDEN)
        quantised(f"blk.{i}.attn_v.weight", KV_HEADS * SIZE, HIDDEN)
        quantised(f"blk.{i}.attn_output.weight", HIDDEN, HEADS * SIZE)
        quantised(f"blk.{i}.ffn_gate.weight", INNER, HIDDEN)
        quantised(f"blk.{i}.ffn_up.weight", INNER, HIDDEN)
        quantised(f"blk.{i}.ffn_down.weight", HIDDEN, INNER)
    plain("output_norm.weight")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


def logits(weights: dict[str, Array], tokens: Sequence[int]) -> Array:
    """Logits [n, V] as llama.cpp defines them: rotary positions turn neighbouring numbers, not halves of a head."""
    n = len(tokens)
    angles = np.arange(n)[:, None, None] * BASE ** (-np.arange(0, SIZE, 2) / SIZE)
    turn = np.exp(1j * angles)

    def normed(x: Array, name: str) -> Array:
        scaled: Array = x / np.sqrt((x**2).mean(-1, keepdims=True) + EPS) * weights[name]
        return scaled

    def turned(x: Array) -> Array:
        pairs = (x[..., ::2] + 1j * x[..., 1::2]) * turn
        return np.stack([pairs.real, pairs.imag], -1).reshape(x.shape)

    x = weights["token_embd.weight"][list(tokens)]
    for i in range(LAYERS):
        at = f"blk.{i}."
        y = normed(x, f"{at}attn_norm.weight")
        q, k, v = (
            (y @ weights[f"{at}attn_{name}.weight"].T).reshape(n, heads, SIZE)
            for name, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS))
        )
        k, v = (np.repeat(part, HEADS // KV_HEADS, 1) for part in (turned(k), v))
        scores = np.einsum("ihd,jhd->hij", turned(q), k) / SIZE**0.5
        scores[:, np.triu(np.ones((n, n), bool), 1)] = -np.inf
        share = np.exp(scores - scores.max(-1, keepdims=True))
        share /= share.sum(-1, keepdims=True)
        x = x + np.einsum("hij,jhd->ihd", share, v).reshape(n, -1) @ weights[f"{at}attn_output.weight"].T
        y = normed(x, f"{at}ffn_norm.weight")
        gate = y @ weights[f"{at}ffn_gate.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ weights[f"{at}ffn_up.weight"].T)) @ weights[f"{at}ffn_down.weight"].T
    found: Array = normed(x, "output_norm.weight") @ weights["token_embd.weight"].T
    return found
