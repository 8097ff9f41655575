"""The checks of examples/smollm2/check.py on a tiny random pair pass for the decoder, and fail for a faulty one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from rheo_gpu import Processing
from rheo_gpu.llm.eagle import EagleDraft
from rheo_gpu.llm.methods import METHODS, method

from rheo_proof.stats.asserts import assert_law_equal
from rheo_proof.stats.verdict import LawMismatch
from tests.benchmark_files import load
from tests.llm import tiny

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "smollm2"
load("inputs", EXAMPLE)
load("pair", EXAMPLE)
check = load("check", EXAMPLE)


@pytest.mark.parametrize("name", METHODS)
def test_steps_emit_the_tokens_of_the_numpy_decoder_on_the_same_tape(name: str) -> None:
    target = tiny.target()
    drafter = EagleDraft(tiny.head(target))
    [prompt] = tiny.texts(7)
    for how, heat in (
        ({"temperature": 1.0}, 1.0),
        ({"temperature": 0.6, "top_p": 0.7}, 1.0),
        ({"temperature": 0.0}, 0.0),
    ):
        config = method(name, slots=4, depth=3, nodes=9, sparse=16).config
        with torch.inference_mode():
            emitted = check.same_as_reference(target, drafter, prompt, config, how, {"temperature": heat}, 6, 0)
        assert emitted >= 6


def test_a_decoder_that_differs_from_the_numpy_decoder_is_noticed() -> None:
    target = tiny.target()
    drafter = EagleDraft(tiny.head(target))
    config = method("rheo", slots=4, depth=3, nodes=9, sparse=16).config
    [prompt] = tiny.texts(7)
    with check.without_residual(), torch.inference_mode(), pytest.raises(AssertionError, match="but the NumPy decoder"):
        check.same_as_reference(target, drafter, prompt, config, {}, {}, 200, 0)


def test_another_top_p_than_that_of_the_numpy_decoder_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    target = tiny.target()
    drafter = EagleDraft(tiny.head(target))
    config = method("rheo", slots=4, depth=3, nodes=9, sparse=16).config
    [prompt] = tiny.texts(7)
    monkeypatch.setattr(check, "Processing", lambda temperature, top_p=None: Processing(temperature))
    how, how_draft = {"temperature": 1.0, "top_p": 0.3}, {"temperature": 1.0}
    with torch.inference_mode(), pytest.raises(AssertionError, match="but the NumPy decoder"):
        check.same_as_reference(target, drafter, prompt, config, how, how_draft, 200, 0)


@pytest.mark.parametrize("name", METHODS)
def test_the_first_two_tokens_have_the_law_of_the_target(name: str) -> None:
    target = tiny.target()
    drafter = EagleDraft(tiny.head(target))
    [prompt] = tiny.texts(7)
    with torch.inference_mode():
        law, cell = check.law_of_two(tiny.llama(), prompt, 1.0, 3)
    assert sum(law.values()) == 1
    pairs = check.first_two(target, drafter, prompt, method(name, slots=3, depth=2, nodes=4), 500)
    assert_law_equal(lambda random, n: [cell(pair) for pair in pairs(random, n)], law, eps=0.1)


def test_a_decoder_with_a_fault_is_rejected() -> None:
    target = tiny.target()
    drafter = EagleDraft(tiny.head(target))
    [prompt] = tiny.texts(7)
    with torch.inference_mode():
        law, cell = check.law_of_two(tiny.llama(), prompt, 1.0, 3)
    pairs = check.first_two(target, drafter, prompt, method("rheo", slots=3, depth=2, nodes=4), 500)
    with check.without_residual(), pytest.raises(LawMismatch):
        assert_law_equal(lambda random, n: [cell(pair) for pair in pairs(random, n)], law, eps=0.1)
