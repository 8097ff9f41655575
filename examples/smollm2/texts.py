"""Have the target write its own training text: `python texts.py model texts.safetensors`.

It writes questions, as a user would, and answers them. Tokens and hidden states are kept as they are made, so that the
head is trained on what the target says and sees when it decodes. 106,000 tokens are 0.4 GB.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import torch
from dialogues import FORMAT
from inputs import COUNT, FOLDER, SEED, THREADS, Out, line
from jinja2 import TemplateError
from pair import refused, tokenizer_of
from rheo_gpu.llm.target import Target
from rheo_gpu.tape import inverse_cdf
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from safetensors.torch import save_file
from torch import Tensor

LAYERS = (6, 18, 30)
"""Hidden states for the head: low, middle, and after the final norm."""
LONGEST, LONGEST_QUESTION, SHORTEST = 288, 80, 40
ANSWERS, QUESTION = (1.0, 1.0, 1.0, 0.6), 0.8
"""Temperatures of answers, in turn, and of questions."""


@dataclass
class Dialogue:
    """One text while it is written. `forced`: tokens that come next whatever the model says."""

    tokens: list[int]
    temperature: float
    forced: list[int] = field(default_factory=list)
    answer: int = 0
    """Where the answer begins; 0 while there is none."""


class Writer:
    """Dialogues side by side; one that ends makes room for the next, which keeps the opening in the cache."""

    def __init__(self, target: Target, opening: list[int], turn: list[int], end: int, rows: int, seed: int) -> None:
        self.target, self.opening, self.turn, self.end = target, opening, turn, end
        self.random = torch.Generator().manual_seed(seed)
        self.state, seen = target.begin([opening] * rows)
        shape = (rows, LONGEST, len(target.layers), seen.features.shape[-1])
        self.features = torch.zeros(shape, dtype=torch.float16)
        self.features[:, : len(opening) - 1] = seen.features.half()
        self.started = 0
        self.rows = [self.next_dialogue() for _ in range(rows)]
        self.done: list[tuple[Dialogue, Tensor]] = []

    def next_dialogue(self) -> Dialogue:
        self.started += 1
        return Dialogue(list(self.opening), ANSWERS[self.started % len(ANSWERS)])

    def step(self) -> int:
        """One more token for each dialogue; how many were kept for good."""
        target, rows = self.target, torch.arange(len(self.rows))
        tokens = torch.tensor([[dialogue.tokens[-1]] for dialogue in self.rows])
        place = torch.tensor([[len(dialogue.tokens) - 1] for dialogue in self.rows])
        seen = target.forward(self.state, tokens, place, torch.ones(len(rows), 1, 1, dtype=torch.bool))
        target.keep(self.state, torch.zeros(len(rows), 1, dtype=torch.int64))
        self.features[rows, place[:, 0]] = seen.features[:, 0].half()
        heat = torch.tensor([[dialogue.temperature if dialogue.answer else QUESTION] for dialogue in self.rows])
        laws = (target.logits(seen.hidden[:, 0]) / heat).softmax(-1)
        drawn = inverse_cdf(laws, torch.rand(len(rows), generator=self.random)).tolist()
        return sum(self.add(row, token) for row, token in enumerate(drawn))

    def add(self, row: int, token: int) -> int:
        dialogue = self.rows[row]
        if dialogue.forced:
            token = dialogue.forced.pop(0)
            dialogue.answer = 0 if dialogue.forced else len(dialogue.tokens) + 1
        elif not dialogue.answer and (
            token == self.end or len(dialogue.tokens) - len(self.opening) >= LONGEST_QUESTION
        ):
            token, dialogue.forced = self.end, list(self.turn)
        dialogue.tokens.append(token)
        n = len(dialogue.tokens)
        ended = dialogue.answer and dialogue.answer < n and token == self.end
        if not ended and n < LONGEST:
            return 0
        self.rows[row] = self.next_dialogue()
        self.state.block.lengths[row] = len(self.opening) - 1
        if not dialogue.answer or n - dialogue.answer < SHORTEST:
            return 0
        # The last token has not been read, so nothing was seen of it.
        self.done.append((dialogue, self.features[row, : n - 1].clone()))
        return n


def around(tokenizer: Any) -> tuple[list[int], list[int], int]:
    """What the chat template puts before a question, between it and the answer, and the token that ends both.

    Raises `click.UsageError`.
    """
    marker, end = "\0", tokenizer.eos_token_id
    try:
        chat = tokenizer.apply_chat_template(
            [{"role": "user", "content": marker}], tokenize=False, add_generation_prompt=True
        )
    except (ValueError, TemplateError) as error:
        raise click.UsageError(f"the tokenizer: {line(error)}; expected one with a chat template") from None
    if chat.count(marker) != 1:
        raise click.UsageError("the chat template does not show a question once, expected one that does")
    opening, turn = (tokenizer.encode(part, add_special_tokens=False) for part in chat.split(marker))
    if not opening or turn[:1] != [end]:
        raise click.UsageError(
            f"the chat template begins with {opening[:1]} and ends a turn with {turn[:1]}, expected a token and {end}, "
            "which ends a text"
        )
    if len(opening) + LONGEST_QUESTION + len(turn) + SHORTEST >= LONGEST:
        raise click.UsageError(
            f"the chat template puts {len(opening)} and {len(turn)} tokens around a question, which leaves no room for "
            f"an answer in {LONGEST}; expected a shorter one"
        )
    return opening, turn[1:], end


@click.command()
@click.argument("model", type=FOLDER)
@click.argument("out", type=Out(".partial"))
@click.option("--tokens", default=106_000, show_default=True, type=COUNT, help="How many to write.")
@click.option("--rows", default=96, show_default=True, type=COUNT, help="Dialogues side by side.")
@click.option("--seed", default=0, show_default=True, type=SEED)
@click.option("--threads", default=os.cpu_count() or 1, show_default=True, type=THREADS)
@torch.inference_mode()
def main(model: Path, out: Path, tokens: int, rows: int, seed: int, threads: int) -> None:
    """Write dialogues of the target in MODEL, with its hidden states, to OUT."""
    torch.set_num_threads(threads)
    tokenizer = tokenizer_of(model)
    opening, turn, end = around(tokenizer)
    with refused():
        target = Target.load(model, layers=LAYERS)
        writer = Writer(target, opening, turn, end, rows, seed)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("tokens", total=tokens)
        written = 0
        while written < tokens:
            kept = writer.step()
            written += kept
            progress.update(task, completed=written)
    save(writer, out, model.name, seed)
    print(f"{out}: {len(writer.done)} dialogues, {written} tokens")


def save(writer: Writer, out: Path, model: str, seed: int) -> None:
    dialogues = [dialogue for dialogue, _ in writer.done]
    lengths = [len(dialogue.tokens) - 1 for dialogue in dialogues]
    flat = [token for dialogue in dialogues for token in dialogue.tokens[:-1]]
    tensors = {
        "tokens": torch.tensor(flat, dtype=torch.int32),
        "lengths": torch.tensor(lengths, dtype=torch.int32),
        "answers": torch.tensor([dialogue.answer for dialogue in dialogues], dtype=torch.int32),
        "temperatures": torch.tensor([dialogue.temperature for dialogue in dialogues]),
        "features": torch.cat([features for _, features in writer.done]),
    }
    partial = out.with_name(out.name + ".partial")
    save_file(
        tensors,
        partial,
        {"format": FORMAT, "made": json.dumps({"model": model, "seed": seed, "layers": LAYERS})},
    )
    os.replace(partial, out)


if __name__ == "__main__":
    main()
