"""Heads as files: what is read is what was written, and what is wrong is said in one line."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from rheo_gpu.llm.errors import Unusable
from rheo_gpu.llm.files import load_head, save_head
from rheo_gpu.llm.head import EagleHead
from safetensors.torch import load_file, save_file

from tests.llm import tiny


@pytest.fixture
def written(tmp_path: Path) -> tuple[EagleHead, Path]:
    head = tiny.head(tiny.target(dtype=torch.float32))
    for weight in head.parameters():
        weight.copy_(weight.half())
    save_head(head, tmp_path / "head.safetensors")
    return head, tmp_path / "head.safetensors"


def test_a_head_that_was_written_is_read_back(written: tuple[EagleHead, Path]) -> None:
    head, path = written
    read = load_head(path, head.embeddings)
    assert read.config == head.config
    assert torch.equal(read.d2t, head.d2t)
    states = torch.randn(3, tiny.H)
    before = head.state_dict() | {"lm_head.weight": head.embeddings[head.d2t]}
    assert all(torch.equal(weight, before[name]) for name, weight in read.state_dict().items())
    torch.testing.assert_close(read.logits(states), states_of(head, states))
    assert not (path.with_name(path.name + ".partial")).exists()


def states_of(head: EagleHead, states: torch.Tensor) -> torch.Tensor:
    normed = states * (states.square().mean(-1, keepdim=True) + head.config.eps).rsqrt() * head.norm.weight
    return normed @ head.embeddings[head.d2t].t()


def test_a_head_with_its_own_lm_head_keeps_it(tmp_path: Path) -> None:
    target = tiny.target(dtype=torch.float32)
    tied = tiny.head(target)
    own = EagleHead(tied.config, tied.d2t, tied.embeddings, torch.randn(40, tiny.H).half().float())
    save_head(own, tmp_path / "own.safetensors")
    assert torch.equal(load_head(tmp_path / "own.safetensors", target.embeddings).lm_head.weight, own.lm_head.weight)


def rewritten(
    path: Path, drop: str = "", reshape: str = "", add: str = "", header: dict[str, str] | None = None
) -> None:
    tensors = load_file(path)
    tensors.pop(drop, None)
    if reshape:
        tensors[reshape] = tensors[reshape][:-1].contiguous()
    if add:
        tensors[add] = torch.zeros(1)
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        before = file.metadata()
    save_file(tensors, path, before | (header or {}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"drop": "fc.weight"}, r"no tensor fc\.weight, expected one of shape \(32, 96\)"),
        ({"drop": "d2t"}, "no tensor d2t"),
        ({"reshape": "norm.weight"}, r"norm\.weight has shape \(31,\), expected \(32,\)"),
        ({"reshape": "d2t"}, "must be 40 increasing token ids"),
        ({"add": "what"}, "a tensor what that a draft head does not have"),
        ({"header": {"format": "other"}}, "format 'other', expected 'rheo-head-1'"),
        ({"header": {"config": "{}"}}, "its header has no sizes"),
        ({"header": {"config": json.dumps({"layers": [1], "what": 1})}}, "unknown size what"),
    ],
)
def test_a_head_file_that_does_not_fit_is_refused_in_one_line(
    written: tuple[EagleHead, Path], change: dict[str, str], said: str
) -> None:
    head, path = written
    rewritten(path, **change)  # type: ignore[arg-type]
    with pytest.raises(Unusable, match=said) as refused:
        load_head(path, head.embeddings)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ({"eps": "x"}, "eps of a draft head is 'x'"),
        ({"rope_theta": 0}, "rope_theta of a draft head is 0"),
        ({"layers": [1.5, 2, 3]}, r"reads the hidden states \(1.5, 2, 3\)"),
        ({"intermediate": 2**30}, r"down_proj\.weight has shape \(32, \d+\), expected \(32, 1073741824\)"),
        ({"intermediate": 10**13}, "intermediate of a draft head is 10000000000000, expected a whole number from 1 to"),
        ({"target_hidden": 16}, "hidden states of size 16, but this one has 32"),
    ],
)
def test_sizes_that_are_none_are_refused(written: tuple[EagleHead, Path], size: dict[str, Any], said: str) -> None:
    head, path = written
    rewritten(path, header={"config": json.dumps({**asdict(head.config), **size})})
    with pytest.raises(Unusable, match=said):
        load_head(path, head.embeddings)


def test_weights_that_are_no_numbers_are_refused(written: tuple[EagleHead, Path]) -> None:
    head, path = written
    head.fc.weight.data[0, 0] = torch.nan
    save_head(head, path)
    with pytest.raises(Unusable, match=r"fc\.weight holds what is no finite number"):
        load_head(path, head.embeddings)


def test_a_head_for_another_vocabulary_is_refused(written: tuple[EagleHead, Path]) -> None:
    head, path = written
    with pytest.raises(Unusable, match="made for a target with 64 tokens and embeddings of size 32"):
        load_head(path, head.embeddings[:-1])


@pytest.mark.parametrize("left", [0, 5, 100, -10])
def test_a_truncated_or_missing_file_is_refused(written: tuple[EagleHead, Path], left: int) -> None:
    head, path = written
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(Unusable, match="expected a whole safetensors file"):
        load_head(path, head.embeddings)
    path.unlink()
    with pytest.raises(Unusable, match="no such file"):
        load_head(path, head.embeddings)
