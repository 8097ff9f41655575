"""Draft heads in the published layout: what they answer, and what is said of a folder that is damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from rheo_gpu.llm.eagle import EagleDraft
from rheo_gpu.llm.errors import Unusable
from rheo_gpu.llm.generate import generate
from rheo_gpu.llm.loading import load_drafter
from rheo_gpu.llm.methods import method
from rheo_gpu.llm.published import load_published
from rheo_gpu.llm.target import Target
from safetensors.torch import save_file
from torch import Tensor

from tests.llm import tiny
from tests.llm.drafting import first_layers, layer_below

V, H, HEADS, KV, SIZE, VD = 64, 32, 4, 2, 12, 24
EPS, THETA, DEPTH = 1e-4, 500.0, 6
LAYERS = (2, 3, 3)
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "hidden_size": H,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV,
    "head_dim": SIZE,
    "intermediate_size": 40,
    "draft_vocab_size": VD,
    "vocab_size": V,
    "rms_norm_eps": EPS,
    "rope_theta": THETA,
    "tie_word_embeddings": False,
}
Tensors = dict[str, Tensor]


def weights(seed: int = 0) -> Tensors:
    random = torch.Generator().manual_seed(seed)

    def some(*shape: int) -> Tensor:
        return 0.4 * torch.randn(*shape, generator=random)

    ids = torch.randperm(V, generator=random)[:VD].sort()[0]
    t2d = torch.zeros(V, dtype=torch.bool)
    t2d[ids] = True
    layer = "midlayer."
    return {
        "d2t": ids - torch.arange(VD),
        "t2d": t2d,
        "fc.weight": some(H, 3 * H),
        f"{layer}self_attn.q_proj.weight": some(HEADS * SIZE, 2 * H),
        f"{layer}self_attn.k_proj.weight": some(KV * SIZE, 2 * H),
        f"{layer}self_attn.v_proj.weight": some(KV * SIZE, 2 * H),
        f"{layer}self_attn.o_proj.weight": some(H, HEADS * SIZE),
        f"{layer}mlp.gate_proj.weight": some(40, H),
        f"{layer}mlp.up_proj.weight": some(40, H),
        f"{layer}mlp.down_proj.weight": some(H, 40),
        f"{layer}hidden_norm.weight": 1 + some(H),
        f"{layer}input_layernorm.weight": 1 + some(H),
        f"{layer}post_attention_layernorm.weight": 1 + some(H),
        "norm.weight": 1 + some(H),
        "lm_head.weight": some(VD, H),
    }


def written(folder: Path, tensors: Tensors | None = None, binary: bool = False, **changes: Any) -> Path:
    """A head in a folder; a change to None leaves a size out."""
    sizes = {name: value for name, value in {**CONFIG, **changes}.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(sizes), "utf-8")
    tensors = weights() if tensors is None else tensors
    if binary:
        torch.save(tensors, folder / "pytorch_model.bin")
    else:
        save_file({name: weight.contiguous() for name, weight in tensors.items()}, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module")
def target() -> Target:
    return tiny.target(1, (), num_hidden_layers=DEPTH)


def rms(x: Tensor, weight: Tensor) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + EPS).sqrt() * weight


def turned(x: Tensor, position: int) -> Tensor:
    """Pairs (x_i, x_(i + size / 2)) turned by an angle that depends on i, for one entry [heads, size]."""
    half = SIZE // 2
    angle = position * THETA ** (-torch.arange(half, dtype=torch.float64) * 2 / SIZE)
    a, b = x[:, :half], x[:, half:]
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


def plainly(w: Tensors, embeddings: Tensor, features: Tensor, tokens: list[int], path: list[int]) -> Tensor:
    """Logits [Vd] after a text and a path of target ids, one entry after another, without a cache or a batch.

    features [n, 3, H] are those of tokens 0 .. n - 1, tokens the n behind them.
    """
    w = {name: weight.double() for name, weight in w.items()}
    layer = {name.removeprefix("midlayer."): weight for name, weight in w.items() if name.startswith("midlayer.")}
    keys, values, state = list[Tensor](), list[Tensor](), torch.zeros(H)
    for i, token in enumerate([*tokens, *path]):
        if i < len(features):
            state = w["fc.weight"] @ features[i].flatten()
        x = torch.cat(
            [
                rms(embeddings[token], layer["input_layernorm.weight"]),
                rms(state, layer["hidden_norm.weight"]),
            ]
        )
        q = turned((layer["self_attn.q_proj.weight"] @ x).view(HEADS, SIZE), i)
        keys.append(turned((layer["self_attn.k_proj.weight"] @ x).view(KV, SIZE), i))
        values.append((layer["self_attn.v_proj.weight"] @ x).view(KV, SIZE))
        found = []
        for h in range(HEADS):
            k, v = (torch.stack([entry[h // (HEADS // KV)] for entry in part]) for part in (keys, values))
            found.append((k @ q[h] / SIZE**0.5).softmax(0) @ v)
        state = state + layer["self_attn.o_proj.weight"] @ torch.cat(found)
        y = rms(state, layer["post_attention_layernorm.weight"])
        gate = torch.nn.functional.silu(layer["mlp.gate_proj.weight"] @ y)
        state = state + layer["mlp.down_proj.weight"] @ (gate * (layer["mlp.up_proj.weight"] @ y))
    return w["lm_head.weight"] @ rms(state, w["norm.weight"])


@pytest.mark.parametrize("form", ["safetensors", "binary", "own embeddings"])
def test_a_published_head_answers_what_a_plain_reading_of_its_weights_says(
    target: Target, tmp_path: Path, form: str
) -> None:
    w, embeddings = weights(), target.embeddings.detach()
    if form == "own embeddings":
        embeddings = torch.randn(V, H, generator=torch.Generator().manual_seed(5)).double()
        w["embed_tokens.weight"] = embeddings.float()
        embeddings = w["embed_tokens.weight"].double()
    draft = load_drafter(written(tmp_path, w, form == "binary"), target)
    assert isinstance(draft, EagleDraft)
    assert draft.layers == LAYERS
    ids = torch.arange(VD) + w["d2t"]
    text = [3, 9, 27, 60, 9]
    with torch.inference_mode():
        seen = target.model(input_ids=torch.tensor([text]), output_hidden_states=True).hidden_states
        features = torch.stack([seen[layer][0] for layer in LAYERS], 1)[:-1]
        draft.begin(torch.tensor([text[0]]))
        draft.follow(torch.tensor([text[1:]]), torch.tensor([len(text) - 1]), features[None])
        layers = [first_layers([text])]
        layers.append(layer_below(layers[-1], [[4, 17]], [[0, 0]]))
        layers.append(layer_below(layers[-1], [[1, 2, 3]], [[1, 0, 1]]))
        for layer in layers:
            logits = draft(layer)
            for node, path in enumerate(layer.paths[0].tolist()):
                expected = plainly(w, embeddings, features, text[1:], [int(ids[token]) for token in path])
                torch.testing.assert_close(logits[0, node], expected, rtol=1e-5, atol=1e-5)


def test_a_text_can_be_drafted_with_a_published_head(target: Target, tmp_path: Path) -> None:
    draft = load_drafter(written(tmp_path), target)
    seeing = Target(target.model, draft.layers)
    steps = list(generate(seeing, draft, [[3, 9, 27]], *method("rheo", temperature=0.0), limit=8))
    model, text = tiny.llama(1, DEPTH), [3, 9, 27]
    for _ in range(8):
        text.append(int(model(input_ids=torch.tensor([text])).logits[0, -1].argmax()))
    assert [token for step in steps for token in step.tokens[0]] == text[3:]


def test_the_layers_that_a_head_reads_may_be_named(target: Target, tmp_path: Path) -> None:
    head = load_published(written(tmp_path, eagle_config={"eagle_aux_hidden_state_layer_ids": [1, 4, 6]}), target)
    assert head.config.layers == (1, 4, 6)


def test_a_head_without_tables_has_the_vocabulary_of_the_target(target: Target, tmp_path: Path) -> None:
    w = weights()
    del w["d2t"], w["t2d"]
    w["lm_head.weight"] = torch.randn(V, H)
    draft = load_drafter(written(tmp_path, w, draft_vocab_size=None), target)
    assert (draft.vocab, draft.tokens) == (V, None)


def without(name: str) -> Callable[[Tensors], Tensors]:
    return lambda w: {other: weight for other, weight in w.items() if other != name}


def put(name: str, weight: Tensor) -> Callable[[Tensors], Tensors]:
    return lambda w: {**w, name: weight}


def other_t2d(w: Tensors) -> Tensors:
    return {**w, "t2d": w["t2d"].roll(1)}


def absolute(w: Tensors) -> Tensors:
    return {**w, "d2t": (w["d2t"] + torch.arange(VD)).flip(0)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("midlayer.hidden_norm.weight"), "no tensor midlayer.hidden_norm.weight, expected one of shape"),
        (without("lm_head.weight"), r"no tensor lm_head.weight, expected one of shape \(24, 32\)"),
        (without("d2t"), "no tensor d2t"),
        (put("fc.weight", torch.zeros(H, 2 * H)), r"fc.weight has shape \(32, 64\), expected \(32, 96\)"),
        (put("lm_head.weight", torch.zeros(VD + 1, H)), r"lm_head.weight has shape \(25, 32\), expected \(24, 32\)"),
        (put("midlayer.self_attn.q_norm.weight", torch.zeros(SIZE)), "q_norm.weight that a draft head does not have"),
        (put("embed_tokens.weight", torch.zeros(V, 8)), r"embeddings of shape \(64, 8\) for a head of size 32"),
        (put("d2t", torch.zeros(VD)), "expected 24 integers"),
        (put("d2t", torch.zeros(VD - 1, dtype=torch.int64)), r"d2t of shape \(23,\)"),
        (put("d2t", torch.full((VD,), V)), "d2t leads to ids that do not increase from 0 to at most 63"),
        (absolute, "d2t leads to ids that do not increase"),
        (other_t2d, "names 24 tokens, which are not the 24 of d2t"),
        (put("t2d", torch.ones(V + 1, dtype=torch.bool)), r"t2d of shape \(65,\) names 65 tokens"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    target: Target, tmp_path: Path, change: Callable[[Tensors], Tensors], message: str
) -> None:
    with pytest.raises(Unusable, match=message) as refused:
        load_published(written(tmp_path, change(weights())), target)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": V + 1}, "a head for a target with 65 tokens"),
        ({"target_hidden_size": 48}, "hidden states of size 48, but this one has 64 and 32"),
        ({"hidden_size": None}, "no hidden_size in config.json"),
        ({"hidden_size": "many"}, "hidden of a draft head is 'many'"),
        ({"rms_norm_eps": "small"}, "expected numbers as the sizes"),
        ({"num_attention_heads": 3}, "3 heads"),
        ({"draft_vocab_size": V + 9}, "draft vocabulary of 73 tokens"),
        ({"norm_before_residual": True}, "norm_before_residual is True, which this reader does not know"),
        ({"rope_scaling": {"rope_type": "llama3"}}, "rope of type llama3"),
        ({"hidden_act": "gelu"}, "activation gelu"),
        ({"eagle_aux_hidden_state_layer_ids": [2, 3, 9]}, r"the hidden states \(2, 3, 9\) of a target with 6 layers"),
        ({"eagle_aux_hidden_state_layer_ids": 5}, "expected numbers as the sizes"),
        ({"rope_scaling": [1]}, r"rope_scaling is \[1\] in config.json, expected an object"),
        ({"rope_parameters": "x"}, "rope_parameters is 'x' in config.json, expected an object"),
        ({"eagle_config": [1]}, r"eagle_config is \[1\] in config.json, expected an object"),
        ({"rope_theta": 10**400}, "expected numbers as the sizes"),
        ({"architectures": 5}, "architectures is 5 in config.json, expected a list of names"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(
    target: Target, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(Unusable, match=message) as bad:
        load_drafter(written(tmp_path, **changes), target)
    assert "\n" not in str(bad.value)


@pytest.mark.parametrize("binary", [False, True])
def test_a_damaged_folder_is_refused_in_one_line(target: Target, tmp_path: Path, binary: bool) -> None:
    file = written(tmp_path, binary=binary) / ("pytorch_model.bin" if binary else "model.safetensors")
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:5], b""):
        file.write_bytes(damaged)
        with pytest.raises(Unusable, match=r"expected a whole file of weights|expected a file of tensors alone") as bad:
            load_published(tmp_path, target)
        assert "\n" not in str(bad.value)
    file.unlink()
    with pytest.raises(Unusable, match=r"neither model\.safetensors nor"):
        load_published(tmp_path, target)
    (tmp_path / "config.json").write_text("{", "utf-8")
    with pytest.raises(Unusable, match="expected the configuration in JSON"):
        load_published(tmp_path, target)


def test_a_file_that_holds_a_program_is_not_run(target: Target, tmp_path: Path) -> None:
    class Program:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "ran",)

    written(tmp_path, {"fc.weight": Program()}, binary=True)  # type: ignore[dict-item]
    with pytest.raises(Unusable, match="expected a file of tensors alone"):
        load_published(tmp_path, target)
    assert not (tmp_path / "ran").exists()
