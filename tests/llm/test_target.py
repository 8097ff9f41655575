"""A target answers in a tree what it answers in a text, for batches of different lengths and after compaction."""

from __future__ import annotations

import socket
from copy import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from rheo_gpu.llm.cache import Block
from rheo_gpu.llm.errors import Unusable
from rheo_gpu.llm.generate import generate
from rheo_gpu.llm.methods import method
from rheo_gpu.llm.small import SmallDraft
from rheo_gpu.llm.target import Target
from safetensors.torch import load_file, save_file
from torch import Tensor

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
