"""A model whose answers in a tree are not those in a text is refused, by its configuration or on a trial."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import torch
from rheo_gpu.llm import attention, trial
from rheo_gpu.llm.errors import Unusable
from rheo_gpu.llm.target import Target
from torch import Tensor
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from tests.llm import tiny


def test_a_target_that_windows_or_ignores_its_mask_is_refused() -> None:
    model = tiny.llama()
    forward = model.model.forward

    def blind(*args: Any, attention_mask: Tensor | None = None, **more: Any) -> Any:
        if attention_mask is not None:
            width = attention_mask.shape[2]
            causal = torch.ones(attention_mask.shape[2:], dtype=torch.bool).tril(attention_mask.shape[3] - width)
            attention_mask = torch.zeros_like(attention_mask).masked_fill(~causal, -1e300)
        return forward(*args, attention_mask=attention_mask, **more)

    model.model.forward = blind
    with pytest.raises(Unusable, match="in a tree its logits differ"):
        Target(model)


def test_a_model_that_sees_a_part_of_the_text_is_refused_however_long_that_is() -> None:
    """No short text shows it; its configuration does."""
    model = tiny.llama()
    for name, value in {
        "layer_types": ["sliding_attention", "full_attention", "full_attention"],
        "sliding_window": 4096,
        "keep_window_size": 2048,
        "attention_chunk_size": 8192,
        "attention_layers": ["global", "local"],
        "block_size": 64,
    }.items():
        setattr(model.config, name, value)
        with pytest.raises(Unusable, match=rf"attention over a window \({name}"):
            Target(model)
        setattr(model.config, name, None)
    model.config.layer_types = ["full_attention"] * 3
    model.config.chunk_size_feed_forward = 64
    Target(model)


def test_a_window_is_off_only_by_a_switch_that_the_model_reads(tmp_path: Path) -> None:
    """Any key may stand in a config.json: Mistral keeps its window, whatever a switch says that is Qwen's."""
    sizes = {"vocab_size": tiny.V, "hidden_size": tiny.H, "intermediate_size": 64, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 16, "use_sliding_window": False}
    Target(Qwen2ForCausalLM(Qwen2Config(**sizes)))
    MistralForCausalLM(MistralConfig(**sizes)).save_pretrained(tmp_path)
    with pytest.raises(Unusable, match=r"attention over a window \(sliding_window = 16"):
        Target.load(tmp_path)


def test_windows_of_a_model_that_is_not_a_llama_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    sizes = {"vocab_size": tiny.V, "hidden_size": tiny.H, "num_layers": 2, "num_heads": 4, "window_size": 16}
    config = GPTNeoConfig(attention_types=[[["global", "local"], 1]], initializer_range=0.3, **sizes)
    model = GPTNeoForCausalLM(config)  # which attends in 32 bits
    with pytest.raises(Unusable, match=r"attention over a window \(attention_types: local"):
        Target(model)
    model.save_pretrained(tmp_path)
    with pytest.raises(Unusable, match=r"attention over a window \(attention_types: local"):
        Target.load(tmp_path)
    # The twin: it passes the comparison on a short text, and is wrong on a longer one.
    monkeypatch.setattr(trial, "_window", lambda config: None)
    target, [text] = Target(model), tiny.texts(40)
    state, _ = target.begin([text])
    mask = torch.eye(13, dtype=torch.bool)[None] | (torch.arange(13) == 0)  # a root and its twelve children
    tokens, positions = torch.tensor([[text[-1], *range(12)]]), torch.tensor([[39, *[40] * 12]])
    found = target.logits(target.forward(state, tokens, positions, mask).hidden)[0, -1].softmax(-1)
    expected = model(input_ids=torch.tensor([[*text, 11]])).logits[0, -1].softmax(-1)
    assert float((found - expected).detach().abs().sum()) > 1e-3


def test_attention_that_is_not_the_one_of_the_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees and texts go through the same attention, so that they agree whatever it computes."""
    for dtype in (torch.float32, torch.float64):
        tiny.llama(dtype=dtype).save_pretrained(tmp_path / "model")
        assert Target.load(tmp_path / "model", dtype).model.config._attn_implementation == attention.NAME
    for name in ("shared", "sdpa_attention_forward"):
        right = getattr(attention, name)
        cooler = functools.partial(_cooler, right, 1 if name == "sdpa_attention_forward" else 0)
        monkeypatch.setattr(attention, name, cooler)
    with pytest.raises(Unusable, match="from those by its own attention, expected a softmax over scores and a mask"):
        Target.load(tmp_path / "model")


def _cooler(right: Any, place: int, *arguments: Any, **more: Any) -> Any:
    return right(*arguments[:place], 0.9 * arguments[place], *arguments[place + 1 :], **more)


@pytest.mark.parametrize("kind", ["longrope", "dynamic"])
def test_a_target_whose_angles_depend_on_the_longest_text_of_a_call_is_refused(kind: str) -> None:
    factors = {"short_factor": [1.0] * 4, "long_factor": [8.0] * 4, "original_max_position_embeddings": 16}
    rope = {"rope_type": kind, "rope_theta": 1e4, "factor": 4.0, **(factors if kind == "longrope" else {})}
    model = tiny.llama(rope_parameters=rope)
    with pytest.raises(Unusable, match=f"rotary positions of type {kind} depend on the longest text"):
        Target(model)


def test_the_law_of_such_a_target_would_depend_on_the_other_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "CHANGING", ())
    rope = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4, "long_factor": [8.0] * 4}
    target = Target(tiny.llama(rope_parameters={**rope, "original_max_position_embeddings": 16}))
    [text] = tiny.texts(15)

    def at_root(depth: int) -> Tensor:
        state, _ = target.begin([text])
        mask = torch.ones(1, depth + 1, depth + 1, dtype=torch.bool).tril()
        tokens = torch.tensor([[text[-1], *range(depth)]])
        seen = target.forward(state, tokens, state.lengths[:, None] + torch.arange(depth + 1), mask)
        return target.logits(seen.hidden)[0, 0]

    with torch.inference_mode():
        assert not torch.allclose(at_root(0), at_root(4), atol=1e-3)


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 60), (torch.bfloat16, 30)])
def test_a_target_that_bounds_its_logits_is_refused(dtype: torch.dtype, bound: int) -> None:
    """By so little that the rounding of a tree would hide it."""
    model = tiny.llama(dtype=dtype)
    forward = model.forward

    def bounded(*args: Any, **more: Any) -> Any:
        out = forward(*args, **more)
        out.logits = bound * torch.tanh(out.logits / bound)
        return out

    Target(model)
    model.forward = bounded
    with pytest.raises(Unusable, match="from its output layer alone"):
        Target(model)


def test_a_model_that_takes_no_mask_of_a_tree_is_refused_in_one_line() -> None:
    config = BloomConfig(vocab_size=tiny.V, hidden_size=tiny.H, n_layer=2, n_head=4)
    with pytest.raises(Unusable, match="BloomForCausalLM: it does not read trees") as refused:
        Target(BloomForCausalLM(config))
    assert "\n" not in str(refused.value)


@pytest.mark.filterwarnings("ignore")
def test_a_target_whose_activations_share_a_scale_is_refused() -> None:
    model = tiny.llama(dtype=torch.float32)
    model.model = torch.ao.quantization.quantize_dynamic(model.model, {torch.nn.Linear}, dtype=torch.qint8)
    with pytest.raises(Unusable, match="in a tree its logits differ"):
        Target(model)
    whole = torch.ao.quantization.quantize_dynamic(tiny.llama(dtype=torch.float32), {torch.nn.Linear})
    with pytest.raises(Unusable, match="no matrix of weights"):
        Target(whole)
