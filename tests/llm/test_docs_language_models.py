"""docs/language-models.md: its code runs, in order, on a tiny model, and its texts are those of the loop."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rheo_gpu.llm.files import save_head
from rheo_gpu.llm.generate import autoregressive
from rheo_gpu.llm.methods import METHODS
from rheo_gpu.llm.statistics import Totals

from tests.llm import tiny

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "language-models.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n([\s\S]*?)```", PAGE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    model = tiny.llama(bos_token_id=1, eos_token_id=2)
    model.float().save_pretrained(tmp_path / "model")
    save_head(tiny.head(tiny.target(layers=(1, 2, 3))), tmp_path / "head.safetensors")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_code_of_the_page_decodes_texts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec("\n".join(BLOCKS), names)
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) >= 2
    assert all(line.startswith("[[") for line in shown)
    totals = Totals.of(names["steps"])
    assert totals.steps > 0
    assert all(token < tiny.V for step in names["steps"] for text in step.tokens for token in text)
    alone = list(autoregressive(names["target"], names["prompts"], names["how"].how, limit=4))
    assert Totals.of(alone).tokens_per_step == 1


def test_the_page_names_all_methods() -> None:
    named = re.search(r"\*\*Methods\*\* are ([^;]*);", PAGE)
    assert named is not None
    assert set(re.findall(r"`([\w-]+)`", named[1])) == set(METHODS)


def test_the_refusals_of_the_page_are_those_of_the_code(folder: Path) -> None:
    """A draft of the page that lacks an attribute, or has tokens of its own, is not taken silently."""
    names: dict[str, Any] = {}
    exec("\n".join(BLOCKS), names)
    wide = names["Unigram"](names["torch"].zeros(tiny.V + 1))
    with pytest.raises(Exception, match="are not among the 64 of the target"):
        names["generate"](names["target"], wide, names["prompts"], *names["how"])
