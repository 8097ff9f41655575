"""Tiny random models: a Llama as target, a head for it, and texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from rheo_gpu.llm.files import save_head
from rheo_gpu.llm.head import EagleHead, HeadConfig
from rheo_gpu.llm.target import Target
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

V, H = 64, 32


def llama(seed: int = 0, layers: int = 3, dtype: torch.dtype = torch.float64, **sizes: Any) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    config = LlamaConfig(
        **{
            "vocab_size": V,
            "hidden_size": H,
            "intermediate_size": 64,
            "num_hidden_layers": layers,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 256,
            "tie_word_embeddings": True,
            "initializer_range": 0.3,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 2,
        }
        | sizes
    )
    return LlamaForCausalLM(config).to(dtype).eval()


def target(seed: int = 0, layers: tuple[int, ...] = (1, 2, 3), **sizes: Any) -> Target:
    return Target(llama(seed, **sizes), layers)


def head(of: Target, seed: int = 0, vocab: int = 40, **sizes: Any) -> EagleHead:
    """A random head on some of the target's tokens, in the target's precision."""
    torch.manual_seed(seed)
    config = HeadConfig(
        **{
            "hidden": H,
            "target_hidden": H,
            "heads": 4,
            "kv_heads": 4,
            "head_size": 8,
            "intermediate": 48,
            "vocab": vocab,
            "target_vocab": of.vocab,
            "layers": of.layers,
            "extras": True,
        }
        | sizes
    )
    d2t = torch.randperm(of.vocab)[: config.vocab].sort()[0]
    made = EagleHead(config, d2t, of.embeddings.detach().clone()).to(of.dtype)
    for weight in made.parameters():
        if weight.requires_grad and weight.dim() == 2 and weight.shape[0] > 3:
            torch.nn.init.normal_(weight, std=0.3)
    return made.requires_grad_(False)


def texts(*lengths: int, seed: int = 0) -> list[list[int]]:
    random = torch.Generator().manual_seed(seed)
    return [torch.randint(V, (n,), generator=random).tolist() for n in lengths]


def pair_files(base: Path) -> Path:
    """In a folder: model, a tiny one with a tokenizer of words; head.safetensors; prompts.txt."""
    words = Tokenizer(WordLevel({f"w{i}": i for i in range(V)}, unk_token="w0"))
    words.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="w2", unk_token="w0")
    tokenizer.chat_template = "{% for m in messages %}w1 {{ m['content'] }} w3 {% endfor %}"
    llama().save_pretrained(base / "model")
    tokenizer.save_pretrained(base / "model")
    save_head(head(Target.load(base / "model", layers=(1, 2, 3))), base / "head.safetensors")
    (base / "prompts.txt").write_text("w5 w6 w7\n\nw8\n")
    return base
