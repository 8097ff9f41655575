"""Training text and training of examples/smollm2, on a tiny target."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from rheo_gpu.llm.files import load_head
from rheo_gpu.llm.target import Target
from rheo_gpu.tape import inverse_cdf
from safetensors import safe_open

from tests.llm import tiny

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "smollm2"
OPENING, TURN, END = [5, 6, 7], [8, 9], 2


@pytest.fixture(scope="module")
def texts() -> Iterator[ModuleType]:
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(str(EXAMPLE))
    import texts

    patch.setattr(texts, "LONGEST", 40)
    patch.setattr(texts, "LONGEST_QUESTION", 8)
    patch.setattr(texts, "SHORTEST", 6)
    patch.setattr(texts, "LAYERS", (1, 2, 3))
    yield texts
    patch.undo()
    for name in ("texts", "train"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def written(texts: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, Path]:
    """A writer that has written, a folder with its model, and the file of its texts."""
    folder = tmp_path_factory.mktemp("smollm2")
    tiny.llama(dtype=torch.float32).save_pretrained(folder / "model")
    with torch.inference_mode():
        writer = texts.Writer(Target.load(folder / "model", layers=(1, 2, 3)), OPENING, TURN, END, 4, 0)
        while len(writer.done) < 40:
            writer.step()
    texts.save(writer, folder / "texts.safetensors", "model", 0)
    return writer, folder / "model", folder / "texts.safetensors"


def test_dialogues_have_a_question_and_an_answer_and_what_the_target_saw(written: tuple[Any, Path, Path]) -> None:
    writer, model, _ = written
    target = Target.load(model, layers=(1, 2, 3))
    assert len({dialogue.temperature for dialogue, _ in writer.done}) == 2
    for dialogue, features in writer.done:
        tokens, answer = dialogue.tokens, dialogue.answer
        assert tokens[:3] == OPENING
        assert tokens[answer - 3 : answer] == [END, *TURN]
        assert END not in tokens[3 : answer - 3]
        assert END not in tokens[answer:-1]
        assert len(tokens) == 40 or tokens[-1] == END
        with torch.inference_mode():
            states = target.model(input_ids=torch.tensor([tokens[:-1]]), output_hidden_states=True).hidden_states
        expected = torch.stack([states[layer][0] for layer in (1, 2, 3)], 1)
        torch.testing.assert_close(features.float(), expected, rtol=2e-3, atol=2e-3)


def test_questions_and_answers_are_drawn_at_their_temperatures(
    texts: ModuleType, written: tuple[Any, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, model, _ = written
    target = Target.load(model, layers=(1, 2, 3))
    heats: set[float] = set()

    def drawn(laws: Any, u: Any) -> Any:
        for row, dialogue in enumerate(writer.rows):
            state, _ = target.begin([dialogue.tokens])
            one = torch.ones(1, 1, 1, dtype=torch.bool)
            at = torch.tensor([[len(dialogue.tokens) - 1]])
            seen = target.forward(state, torch.tensor([dialogue.tokens[-1:]]), at, one)
            heat = dialogue.temperature if dialogue.answer else texts.QUESTION
            expected = (target.logits(seen.hidden)[0, 0] / heat).softmax(-1)
            torch.testing.assert_close(laws[row], expected, rtol=1e-3, atol=1e-5)
            heats.add(heat)
        return inverse_cdf(laws, u)

    monkeypatch.setattr(texts, "inverse_cdf", drawn)
    with torch.inference_mode():
        writer = texts.Writer(Target.load(model, layers=(1, 2, 3)), OPENING, TURN, END, 4, 0)
        while heats != {1.0, 0.6, 0.8}:
            writer.step()
            assert writer.started < 60


def train(model: Path, texts: Path, out: Path, *more: str) -> dict[str, Any]:
    import train

    arguments = [str(model), str(texts), str(out), "--tokens", "160", "--vocab", "40", "--threads", "1", *more]
    run = CliRunner().invoke(train.main, arguments, catch_exceptions=False)
    assert run.exit_code == 0, run.output
    assert f"{more[1]}/{more[1]}" in run.output, "how far it is"
    found: dict[str, Any] = json.loads(out.with_name(out.name + ".json").read_text("utf-8"))
    return found


def test_training_lowers_the_loss_and_raises_the_overlap(written: tuple[Any, Path, Path], tmp_path: Path) -> None:
    _, model, texts = written
    short = train(model, texts, tmp_path / "short.safetensors", "--steps", "1")
    long = train(model, texts, tmp_path / "long.safetensors", "--steps", "120")
    assert sum(long["losses"][-20:]) / 20 < 0.97 * sum(long["losses"][:5]) / 5
    assert long["overlap"][0] > short["overlap"][0]
    assert not list(tmp_path.glob("*checkpoint*"))
    head = load_head(tmp_path / "long.safetensors", Target.load(model).embeddings.detach())
    assert head.config.layers == (1, 2, 3)


def test_a_run_that_was_stopped_goes_on_to_the_same_head(
    written: tuple[Any, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import train as module

    _, model, texts = written
    whole = tmp_path / "whole.safetensors"
    train(model, texts, whole, "--steps", "45")
    step = module.Training.step

    def stopped(run: Any, batch: Any) -> None:
        if run.done == 30:
            raise KeyboardInterrupt
        step(run, batch)

    monkeypatch.setattr(module.Training, "step", stopped)
    halved = tmp_path / "halved.safetensors"
    with pytest.raises(AssertionError):
        train(model, texts, halved, "--steps", "45")
    assert not halved.exists()
    checkpoint = halved.with_name(halved.name + ".checkpoint")
    left = torch.load(checkpoint, weights_only=True)
    assert left["done"] == 20
    assert left["seconds"] > 0
    torch.save(left | {"seconds": 1e6}, checkpoint)
    monkeypatch.setattr(module.Training, "step", step)
    assert train(model, texts, halved, "--steps", "45")["seconds"] > 1e6, "both parts of a run count"
    with safe_open(whole, "pt") as one, safe_open(halved, "pt") as other:
        for name in one.keys():  # noqa: SIM118
            assert torch.equal(one.get_tensor(name), other.get_tensor(name)), name
    other_seed = tmp_path / "other.safetensors"
    train(model, texts, other_seed, "--steps", "45", "--seed", "1")
    with safe_open(whole, "pt") as one, safe_open(other_seed, "pt") as other:
        assert not torch.equal(one.get_tensor("fc.weight"), other.get_tensor("fc.weight"))


def test_a_training_that_diverges_ends_with_one_line_and_writes_no_head(
    written: tuple[Any, Path, Path], tmp_path: Path
) -> None:
    import train as module

    _, model, texts = written
    arguments = [str(model), str(texts), str(tmp_path / "head.safetensors"), "--vocab", "40", "--tokens", "160"]
    run = CliRunner().invoke(module.main, [*arguments, "--steps", "40", "--threads", "1", "--rate", "1e30"])
    assert run.exit_code == 2
    assert "expected a number: this --rate is too large" in run.output
    assert not list(tmp_path.glob("head*"))


def test_a_checkpoint_of_another_run_is_refused(written: tuple[Any, Path, Path], tmp_path: Path) -> None:
    import train as module

    _, model, texts = written
    out = tmp_path / "head.safetensors"
    torch.save({"of": {"steps": 7}}, out.with_name(out.name + ".checkpoint"))
    arguments = [str(model), str(texts), str(out), "--vocab", "40", "--steps", "2", "--threads", "1"]
    run = CliRunner().invoke(module.main, arguments)
    assert run.exit_code == 2
    assert "is of another run" in run.output


@pytest.mark.parametrize("time", ["first", "second"])
def test_threads_that_a_test_takes_are_not_left_to_the_next(time: str) -> None:
    """`tests/conftest.py` takes them back: the second time fails if it does not."""
    assert torch.get_num_threads() == int(os.environ["OMP_NUM_THREADS"])
    torch.set_num_threads(torch.get_num_threads() + 1)


def test_an_update_is_nearly_orthogonal(example_modules: None) -> None:
    import train as module

    for shape in ((12, 30), (30, 12)):
        matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        values = torch.linalg.svdvals(module.orthogonal(matrix))
        assert 0.6 < float(values.min()) < float(values.max()) < 1.3


def test_soft_cross_entropy_of_the_first_step_is_the_sum_by_hand(texts: ModuleType) -> None:
    import train as module

    target = tiny.target(dtype=torch.float32)
    head = tiny.head(target)
    [tokens] = tiny.texts(9)
    with torch.inference_mode():
        _, seen = target.begin([[*tokens, 0]])
    text = module.Text(torch.tensor(tokens), seen.features[0].half(), 4)
    batch = module.Batch.of([text])
    assert batch.counts[0].tolist() == [False, False, True, True, True, True, True, True]
    found = 0.0
    for step, states in enumerate(module.unrolled(head, batch.tokens, batch.before, 3)):
        terms = []
        for i in range(max(2, step), 8):
            p = (head.embeddings[head.d2t] @ batch.at[0, i]).softmax(-1)
            q = (head.embeddings[head.d2t] @ states[0, i]).log_softmax(-1)
            terms.append(-float((p * q).sum()))
        found += 0.8**step * math.fsum(terms) / len(terms)
    assert math.isclose(float(module.loss_of(head, batch)), found, rel_tol=1e-5)
