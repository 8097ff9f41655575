"""A target answers in a tree what it answers in a text, for batches of different lengths and after compaction."""

from __future__ import annotations

import functools
import socket
from copy import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from rheo_gpu.llm import attention
from rheo_gpu.llm import target as module
from rheo_gpu.llm.attention import added, grouped
from rheo_gpu.llm.cache import Block
from rheo_gpu.llm.errors import Unusable
from rheo_gpu.llm.generate import generate
from rheo_gpu.llm.methods import method
from rheo_gpu.llm.narrow import NarrowLinear, narrow, product
from rheo_gpu.llm.small import SmallDraft
from rheo_gpu.llm.target import Target
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
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

PARENTS = [-1, 0, 0, 1, 3, 2, 1]


def paths() -> list[list[int]]:
    found: list[list[int]] = [[0]]
    for node in range(1, len(PARENTS)):
        found.append([*found[PARENTS[node]], node])
    return found


def in_a_tree(target: Target, state: Any, tokens: Tensor) -> Tensor:
    """Logits [R, 1 + N, V] of the tree PARENTS with these tokens [R, 1 + N], the root first."""
    size = len(PARENTS)
    mask = torch.zeros(size, size, dtype=torch.bool)
    for node, path in enumerate(paths()):
        mask[node, path] = True
    depths = torch.tensor([len(path) - 1 for path in paths()])
    positions = state.block.lengths[:, None] + depths
    return target.logits(target.forward(state, tokens, positions, mask.expand(len(tokens), -1, -1)).hidden)


def in_a_text(target: Target, text: list[int]) -> Tensor:
    return target.model(input_ids=torch.tensor([text])).logits[0, -1]


def trees_for(texts: list[list[int]], seed: int = 3) -> Tensor:
    tokens = torch.randint(tiny.V, (len(texts), len(PARENTS)), generator=torch.Generator().manual_seed(seed))
    tokens[:, 0] = torch.tensor([text[-1] for text in texts])
    return tokens


def assert_rows_of_texts(target: Target, rows: Tensor, texts: list[list[int]], tokens: Tensor) -> None:
    for row, text in enumerate(texts):
        for node, path in enumerate(paths()):
            whole = text + tokens[row, path[1:]].tolist()
            torch.testing.assert_close(rows[row, node], in_a_text(target, whole), rtol=1e-9, atol=1e-9)


@torch.inference_mode()
def test_rows_in_a_tree_are_those_of_the_texts_it_stands_for_also_after_three_compactions() -> None:
    target = tiny.target()
    texts = tiny.texts(5, 1, 9)
    state, _ = target.begin(texts)
    for kept in (
        [[0, 1, 3], [0, -1, -1], [0, 2, 5]],
        [[0, 2, -1], [0, 1, 6], [0, -1, -1]],
        [[0, 1, 3], [0, 2, 5], [0, 1, -1]],
    ):
        tokens = trees_for(texts)
        assert_rows_of_texts(target, in_a_tree(target, state, tokens), texts, tokens)
        target.keep(state, torch.tensor(kept))
        for row, nodes in enumerate(kept):
            texts[row] = texts[row] + [int(tokens[row, node]) for node in nodes[1:] if node >= 0] + [7]
        assert state.block.lengths.tolist() == [len(text) - 1 for text in texts]


@torch.inference_mode()
def test_a_cache_compacted_to_other_nodes_gives_other_rows() -> None:
    """The twin of the test above."""
    target = tiny.target()
    [text] = tiny.texts(5)
    rows = []
    for kept in ([[0, 1, 3]], [[0, 1, 6]]):
        state, _ = target.begin([text])
        tokens = trees_for([text])
        in_a_tree(target, state, tokens)
        target.keep(state, torch.tensor(kept))
        rows.append(in_a_tree(target, state, tokens))
    assert not torch.allclose(*rows)


@torch.inference_mode()
def test_a_text_does_not_notice_its_neighbours() -> None:
    target = tiny.target()
    texts = tiny.texts(5, 2, 9)
    tokens = trees_for(texts)
    state, seen = target.begin(texts)
    together = in_a_tree(target, state, tokens)
    for row, text in enumerate(texts):
        state, alone = target.begin([text])
        torch.testing.assert_close(alone.features[0], seen.features[row, : len(text) - 1], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(
            in_a_tree(target, state, tokens[row : row + 1])[0], together[row], rtol=1e-9, atol=1e-9
        )


def test_features_are_the_hidden_states_of_the_model() -> None:
    target = tiny.target(layers=(0, 2, 3))
    [text] = tiny.texts(6)
    with torch.inference_mode():
        _, seen = target.begin([text])
        states = target.model(input_ids=torch.tensor([text[:-1]]), output_hidden_states=True).hidden_states
    for place, layer in enumerate((0, 2, 3)):
        torch.testing.assert_close(seen.features[0, :, place], states[layer][0])
    torch.testing.assert_close(seen.hidden, seen.features[:, :, 2])


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
    monkeypatch.setattr(module, "_window", lambda config: None)
    target, [text] = Target(model), tiny.texts(40)
    state, _ = target.begin([text])
    mask = torch.eye(13, dtype=torch.bool)[None] | (torch.arange(13) == 0)  # a root and its twelve children
    tokens, positions = torch.tensor([[text[-1], *range(12)]]), torch.tensor([[39, *[40] * 12]])
    found = target.logits(target.forward(state, tokens, positions, mask).hidden)[0, -1].softmax(-1)
    expected = model(input_ids=torch.tensor([[*text, 11]])).logits[0, -1].softmax(-1)
    assert float((found - expected).detach().abs().sum()) > 1e-3


def test_attention_of_few_queries_is_that_of_torch() -> None:
    random = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, heads, n, 8, generator=random) for heads, n in ((4, 3), (2, 7), (2, 7)))
    seen = torch.rand(2, 3, 7, generator=random) < 0.6
    seen[..., 0] = True
    for scaling in (None, 0.3):
        expected = scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None], scale=scaling, enable_gqa=True)
        found, _ = grouped(torch.nn.Identity(), q, k, v, added(seen, q.dtype), scaling=scaling)
        torch.testing.assert_close(found.transpose(1, 2), expected)


@pytest.mark.parametrize("name", ["softcap", "s_aux", "position_bias"])
def test_attention_refuses_what_it_would_leave_out(name: str) -> None:
    """A comparison of trees and texts would not see it, which both go through this attention."""
    q, mask = torch.randn(1, 2, 3, 4), torch.zeros(1, 1, 3, 3)
    for seen in (mask, None):
        grouped(torch.nn.Identity(), q, q, q, seen, **{name: None})
        with pytest.raises(ValueError, match=f"attention with {name}"):
            grouped(torch.nn.Identity(), q, q, q, seen, **{name: torch.ones(2)})


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


@pytest.mark.parametrize("prompt", [[], [64], [-1, 2]])
def test_a_prompt_outside_of_the_vocabulary_is_refused(prompt: list[int]) -> None:
    with pytest.raises(Unusable, match="expected tokens from 0 to 63"):
        tiny.target().begin([[1, 2], prompt])


def test_a_target_that_keeps_other_hidden_states_is_the_same_else() -> None:
    target = tiny.target(layers=())
    other, expected = target.seeing((1, 3)), tiny.target(layers=(1, 3))
    prompts = tiny.texts(6)
    assert torch.equal(other.begin(prompts)[1].features, expected.begin(prompts)[1].features)
    assert target.layers == ()
    with pytest.raises(Unusable, match="layer 4 of a model with 3 layers"):
        target.seeing((1, 4))


def test_positions_are_those_of_the_model_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of text and pictures has its sizes in a configuration within its own."""
    model = tiny.llama()
    within = copy(model.config)
    within.max_position_embeddings = 40
    monkeypatch.setattr(model.config, "get_text_config", lambda *_, **__: within, raising=False)
    assert (Target(tiny.llama()).positions, Target(model).positions) == (256, 40)
    assert SmallDraft(Target(model)).positions == 40
    how = method("chain", depth=2)
    with pytest.raises(Unusable, match="take 41 positions of the target's 40"):
        list(generate(Target(model), SmallDraft(Target(tiny.llama())), [[1, 2, 3]], *how, limit=36))


def test_a_layer_that_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(Unusable, match="layer 4 of a model with 3 layers"):
        tiny.target(layers=(1, 4))


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"no config\.json"):
        Target.load(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "no-such-model"}')
    with pytest.raises(Unusable, match=str(tmp_path)):
        Target.load(tmp_path)


def test_a_saved_model_is_read_offline_and_answers_the_same(tmp_path: Path) -> None:
    model = tiny.llama(dtype=torch.float32)
    model.save_pretrained(tmp_path)
    target = Target.load(tmp_path)
    [text] = tiny.texts(6)
    with torch.inference_mode():
        torch.testing.assert_close(in_a_text(target, text), model(input_ids=torch.tensor([text])).logits[0, -1])
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(Unusable, match=str(tmp_path)):
        Target.load(tmp_path)


def test_a_test_that_asks_the_network_is_noticed(asked_of_the_network: list[Any]) -> None:
    with pytest.raises(OSError, match="there is no network here"):
        socket.create_connection(("localhost", 9))
    assert asked_of_the_network
    asked_of_the_network.clear()


def test_a_model_some_of_whose_weights_are_missing_is_refused(tmp_path: Path) -> None:
    """They would be made up, anew at each start."""
    tiny.llama(dtype=torch.float32).save_pretrained(tmp_path)
    path, gone = tmp_path / "model.safetensors", "model.layers.1.mlp.down_proj.weight"
    save_file({name: weight for name, weight in load_file(path).items() if name != gone}, path, {"format": "pt"})
    with pytest.raises(Unusable, match=f"its files lack 1 weights, {gone} the first"):
        Target.load(tmp_path)


@pytest.mark.parametrize("kind", ["longrope", "dynamic"])
def test_a_target_whose_angles_depend_on_the_longest_text_of_a_call_is_refused(kind: str) -> None:
    factors = {"short_factor": [1.0] * 4, "long_factor": [8.0] * 4, "original_max_position_embeddings": 16}
    rope = {"rope_type": kind, "rope_theta": 1e4, "factor": 4.0, **(factors if kind == "longrope" else {})}
    model = tiny.llama(rope_parameters=rope)
    with pytest.raises(Unusable, match=f"rotary positions of type {kind} depend on the longest text"):
        Target(model)


def test_the_law_of_such_a_target_would_depend_on_the_other_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHANGING", ())
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


def test_products_of_few_rows_are_those_of_a_linear_layer() -> None:
    random = torch.Generator().manual_seed(0)
    weight = torch.randn(7, 5, dtype=torch.float64, generator=random)
    for shape in ((5,), (1, 5), (2, 5), (3, 4, 5), (50, 5)):
        rows = torch.randn(shape, dtype=torch.float64, generator=random)
        torch.testing.assert_close(product(rows, weight), rows @ weight.t())
    layer = torch.nn.Sequential(torch.nn.Linear(5, 7))
    rows, before = torch.randn(3, 5, generator=random), layer[0].weight
    expected = layer(rows)
    narrow(layer)
    assert type(layer[0]) is NarrowLinear
    assert layer[0].weight is before
    torch.testing.assert_close(layer(rows), expected)


def test_packed_weights_that_have_changed_are_not_used() -> None:
    layer = NarrowLinear(5, 7, bias=False)
    layer.pack()
    assert layer.order is not None, "the packed weights of oneDNN, which this build of torch has on a CPU"
    with torch.no_grad():
        rows = torch.randn(3, 5)
        torch.testing.assert_close(layer(rows), rows @ layer.weight.t())
        for change in (lambda: layer.weight.mul_(2), lambda: layer.load_state_dict({"weight": torch.ones(7, 5)})):
            change()
            torch.testing.assert_close(layer(rows), rows @ layer.weight.t())
        layer.pack()
        layer.weight = torch.nn.Parameter(torch.zeros(7, 5))
        torch.testing.assert_close(layer(rows), torch.zeros(3, 7))


def test_weights_in_16_bits_are_rounded_and_nothing_else() -> None:
    random = torch.Generator().manual_seed(0)
    layer = NarrowLinear(5, 7)
    with torch.no_grad():
        rows = torch.randn(2, 3, 5, generator=random)
        layer.weight.copy_(torch.randn(7, 5, generator=random))
        layer.pack(half=True)
        assert layer.half is not None, "FBGEMM, which this build of torch has on a CPU"
        rounded = torch.nn.functional.linear(rows, layer.weight.half().float(), layer.bias)
        torch.testing.assert_close(layer(rows), rounded)
        assert not torch.allclose(layer(rows), torch.nn.functional.linear(rows, layer.weight, layer.bias), atol=1e-6)
        layer.weight.mul_(1e6)
        expected = torch.nn.functional.linear(rows, layer.weight, layer.bias)
        torch.testing.assert_close(layer(rows), expected, rtol=1e-5, atol=10.0)  # in 16 bits it would be 1000 off
        layer.pack(half=True)
        assert layer.half is None, "too large for 16 bits"
        torch.testing.assert_close(layer(rows), expected, rtol=1e-5, atol=10.0)


def test_a_block_grows_without_losing_entries() -> None:
    block = Block(1, 2)
    random = torch.Generator().manual_seed(0)
    kept: list[list[Tensor]] = [[], []]
    for _ in range(12):
        new = torch.randn(2, 1, 40, 3, generator=random)
        block.begin(40)
        keys, values = block.write(0, new, -new)
        for row in range(2):
            found = keys[row, 0, : block.end][block.prefix()[row]]
            assert torch.equal(found, torch.stack(kept[row]) if kept[row] else found)
        assert torch.equal(keys[:, :, -40:], new)
        assert torch.equal(values, -keys)
        block.keep(torch.tensor([[3, 5, 39], [0, -1, -1]]))
        kept[0] += [new[0, 0, 3], new[0, 0, 5], new[0, 0, 39]]
        kept[1] += [new[1, 0, 0]]


@pytest.mark.filterwarnings("ignore")
def test_a_target_whose_activations_share_a_scale_is_refused() -> None:
    model = tiny.llama(dtype=torch.float32)
    model.model = torch.ao.quantization.quantize_dynamic(model.model, {torch.nn.Linear}, dtype=torch.qint8)
    with pytest.raises(Unusable, match="in a tree its logits differ"):
        Target(model)
    whole = torch.ao.quantization.quantize_dynamic(tiny.llama(dtype=torch.float32), {torch.nn.Linear})
    with pytest.raises(Unusable, match="no matrix of weights"):
        Target(whole)
