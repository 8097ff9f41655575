"""The pair of these measurements: target and head from their files, and prompts as the target takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import torch
from inputs import line
from jinja2 import TemplateError
from rheo_decode.prompts import load_tokenizer
from rheo_gpu.llm.eagle import EagleDraft
from rheo_gpu.llm.errors import Unusable
from rheo_gpu.llm.files import load_head
from rheo_gpu.llm.target import Target

PROMPTS = Path(__file__).parent / "prompts_test.txt"


def load(model: Path, head: Path, dtype: torch.dtype = torch.float32) -> tuple[Target, EagleDraft]:
    """The target, which shows the hidden states that the head reads, and the head. Raises `click.UsageError`."""
    with refused():
        target = Target.load(model, dtype)
        draft = EagleDraft(load_head(head, target.embeddings.detach()))
        return target.seeing(draft.layers), draft


@contextmanager
def refused() -> Iterator[None]:
    """What cannot be used ends a program with one line and exit status 2."""
    try:
        yield
    except Unusable as error:
        raise click.UsageError(str(error)) from None


def tokenizer_of(model: Path) -> Any:
    """The tokenizer of the target. Raises `click.UsageError`."""
    with refused():
        return load_tokenizer(str(model))


def lines(prompts: Path) -> list[str]:
    """The prompts of a file, one on each line. Raises `click.UsageError`."""
    try:
        found = [each.strip() for each in prompts.read_text("utf-8").splitlines() if each.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{prompts}: {line(error)}; expected a text in UTF-8, a prompt on each line") from None
    if not found:
        raise click.UsageError(f"{prompts} is empty, expected a prompt on each line")
    return found


def chats(tokenizer: Any, prompts: Sequence[str]) -> list[list[int]]:
    """Each prompt as the first turn of a dialogue. Raises `click.UsageError`."""
    turns = ([{"role": "user", "content": prompt}] for prompt in prompts)
    try:
        return [list(tokenizer.apply_chat_template(t, add_generation_prompt=True)["input_ids"]) for t in turns]
    except (ValueError, TemplateError) as error:
        raise click.UsageError(f"the target's tokenizer: {line(error)}; expected one with a chat template") from None
