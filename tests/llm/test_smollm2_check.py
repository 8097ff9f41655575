"""examples/smollm2/check.py from end to end: it passes for the decoder, and ends with status 1 for each faulty one."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rheo_gpu import Processing
from rheo_gpu.llm.methods import METHODS
from rheo_gpu.llm.narrow import NarrowLinear, halved, packed

from tests.llm import tiny

pytestmark = pytest.mark.usefixtures("example_modules")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.pair_files(tmp_path_factory.mktemp("pair"))


def checked(pair: Path) -> Result:
    import check

    sizes = ("--prompts", "2", "--steps", "4", "--rows", "200", "--threads", "1")
    return CliRunner().invoke(check.main, [str(pair / "model"), str(pair / "head.safetensors"), *sizes])


def test_the_pair_is_loaded_as_it_is_for_speed(pair: Path) -> None:
    """What is tested below goes through the packed layers, those of the head in 16 bits, where the machine has them."""
    import pair as loading

    target, draft = loading.load(pair / "model", pair / "head.safetensors")
    layers = [layer for layer in target.model.modules() if isinstance(layer, NarrowLinear)]
    heads = [layer for layer in draft.head.modules() if isinstance(layer, NarrowLinear)]
    assert layers
    assert heads
    order, half = (kind(layers[0].weight) is not None for kind in (packed, halved))
    assert all((layer.order is not None) == order for layer in layers)
    assert all((layer.half is not None) == half for layer in heads)


def test_all_methods_are_compared_and_tested_as_they_are_loaded_and_a_fault_is_rejected(pair: Path) -> None:
    shown = checked(pair)
    assert shown.exit_code == 0, (shown.output, shown.exception)
    for name in METHODS:
        for processing in ("temperature 1", "temperature 0.6", "temperature 0.8, top_p 0.9"):
            assert f"\n{name}, {processing}: " in "\n" + shown.output
        assert f"\n{name}: " in shown.output
    assert shown.output.count("the target's law is not rejected") == len(METHODS)
    assert "rheo without the residual: rejected" in shown.output


def test_a_fault_that_the_test_does_not_see_ends_it_with_status_1(pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import check

    monkeypatch.setattr(check, "without_residual", nullcontext)
    shown = checked(pair)
    assert shown.exit_code == 1
    assert "a decoder with a fault was not rejected" in shown.output


def test_a_decoder_that_differs_from_the_numpy_decoder_ends_it_with_status_1(
    pair: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import check

    right = check.verify

    def wrong(trees: object, logits: object, config: object, tape: object, how: object) -> object:
        out = right(trees, logits, config, tape, how)
        out.tokens[0, out.lengths[0] - 1] = (out.tokens[0, out.lengths[0] - 1] + 1) % tiny.V
        return out

    monkeypatch.setattr(check, "verify", wrong)
    shown = checked(pair)
    assert shown.exit_code == 1
    assert "the decoder is not lossless: step 0: " in shown.output


def test_a_loop_that_emits_another_law_ends_it_with_status_1(pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison with NumPy does not go through the loop that makes texts, so only the draws can tell."""
    import check

    right = check.generate

    def hotter(target: Any, drafter: Any, prompts: Any, config: Any, how: Any, how_draft: Any, **more: Any) -> Any:
        return right(target, drafter, prompts, config, Processing(1.7), how_draft, **more)

    monkeypatch.setattr(check, "generate", hotter)
    shown = checked(pair)
    assert shown.exit_code == 1
    assert "the decoder is not lossless: first two tokens by rheo" in shown.output
