"""Train an EAGLE-3-style head on a CPU: `python train.py model texts.safetensors head.safetensors`.

Soft cross-entropy against the target's law on the draft vocabulary, over three steps of training-time test
(arXiv 2503.01840); matrices by Muon (momentum, orthogonalised), vectors by AdamW. A run that was stopped goes on from
its last checkpoint; with the same seed and number of threads the same head comes out.
"""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import torch
from dialogues import Text, read_texts
from inputs import COUNT, FILE, FOLDER, SEED, THREADS, Finite, Out, line
from pair import refused
from rheo_gpu.llm.errors import Unusable
from rheo_gpu.llm.files import save_head
from rheo_gpu.llm.head import EagleHead, HeadConfig
from rheo_gpu.llm.target import load_causal_model
from rheo_gpu.llm.unroll import unrolled
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor
from torch.nn.functional import cross_entropy

STEPS_DEEP, DECAY = 3, 0.8
"""Steps of training-time test, and the weight of each against the one before."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Entries [R, n - 1]: tokens, the states before them, the target's final states at them, and which count."""

    tokens: Tensor
    before: Tensor
    at: Tensor
    counts: Tensor

    @classmethod
    def of(cls, texts: list[Text]) -> Batch:
        longest = max(len(text.tokens) for text in texts)
        tokens = torch.zeros(len(texts), longest, dtype=torch.int64)
        features = torch.zeros(len(texts), longest, *texts[0].features.shape[1:])
        counts = torch.zeros(len(texts), longest, dtype=torch.bool)
        for row, text in enumerate(texts):
            n = len(text.tokens)
            tokens[row, :n], features[row, :n] = text.tokens, text.features.float()
            counts[row, text.answer - 1 : n] = True
        return cls(tokens[:, 1:], features[:, :-1], features[:, 1:, -1], counts[:, 1:])


def draft_vocabulary(texts: list[Text], size: int, vocab: int) -> Tensor:
    """The most frequent tokens; those that do not occur by id, since a tokenizer learns frequent ones first."""
    counts = torch.bincount(torch.cat([text.tokens for text in texts]), minlength=vocab)
    return torch.sort(counts, descending=True, stable=True)[1][:size].sort()[0]


def batches(texts: list[Text], tokens: int, seed: int) -> Iterator[Batch]:
    """All texts once, those of similar length together, about so many tokens at a time."""
    order = random.Random(seed)
    by_length = sorted(texts, key=lambda text: len(text.tokens) + 20 * order.random())
    groups: list[list[Text]] = [[]]
    for text in by_length:
        if groups[-1] and (len(groups[-1]) + 1) * len(text.tokens) > tokens:
            groups.append([])
        groups[-1].append(text)
    order.shuffle(groups)
    return map(Batch.of, groups)


def loss_of(head: EagleHead, batch: Batch) -> Tensor:
    """Mean soft cross-entropy over the entries that count, by step of the unrolling."""
    with torch.no_grad():
        laws = head.lm_head(batch.at[batch.counts]).softmax(-1)
    total = torch.zeros(())
    for step, states in enumerate(unrolled(head, batch.tokens, batch.before, STEPS_DEEP)):
        chosen = batch.counts.clone()
        chosen[:, :step] = False
        total = total + DECAY**step * cross_entropy(head.lm_head(states[chosen]), laws[chosen[batch.counts]])
    return total


@torch.no_grad()
def validated(head: EagleHead, texts: list[Text], embeddings: Tensor) -> dict[str, list[float]]:
    """By step: the mean of sum min(p, q) at T = 1, p on the whole vocabulary, and how often the best tokens agree."""
    overlap, agree, entries = [0.0] * STEPS_DEEP, [0] * STEPS_DEEP, [0] * STEPS_DEEP
    for text in texts:
        batch = Batch.of([text])
        p = (batch.at[0] @ embeddings.t()).softmax(-1)
        best = p.argmax(-1)
        for step, states in enumerate(unrolled(head, batch.tokens, batch.before, STEPS_DEEP)):
            there = batch.counts[0].clone()
            there[:step] = False
            q = head.lm_head(states[0, there]).softmax(-1)
            overlap[step] += float(torch.minimum(p[there][:, head.d2t], q).sum())
            agree[step] += int((head.d2t[q.argmax(-1)] == best[there]).sum())
            entries[step] += int(there.sum())
    return {
        "overlap": [round(a / n, 4) for a, n in zip(overlap, entries, strict=True)],
        "agree": [round(a / n, 4) for a, n in zip(agree, entries, strict=True)],
    }


class Muon:
    """Momentum whose update is replaced by the nearest orthogonal matrix (five steps of Newton-Schulz).

    torch has one that computes in bfloat16, which takes several times as long on a CPU without it.
    """

    def __init__(self, weights: list[Tensor]) -> None:
        self.weights = weights
        self.momenta = [torch.zeros_like(weight) for weight in weights]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        for weight, momentum in zip(self.weights, self.momenta, strict=True):
            assert weight.grad is not None
            momentum.mul_(0.95).add_(weight.grad)
            update = orthogonal(weight.grad + 0.95 * momentum)
            scale = max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5
            weight.mul_(1 - 0.01 * rate).add_(update, alpha=-rate * scale)


def orthogonal(x: Tensor) -> Tensor:
    tall = x.shape[0] > x.shape[1]
    x = x.t() if tall else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        square = x @ x.t()
        x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
    return x.t() if tall else x


class Training:
    """A head, its optimisers, and how far they are."""

    def __init__(self, head: EagleHead, steps: int, seed: int, tokens: int, rate: float) -> None:
        self.head, self.steps, self.seed, self.tokens, self.rate = head, steps, seed, tokens, rate
        free = [weight for weight in head.parameters() if weight.requires_grad]
        self.muon = Muon([weight for weight in free if weight.dim() == 2 and min(weight.shape) > 8])
        rest = [weight for weight in free if weight.dim() != 2 or min(weight.shape) <= 8]
        self.adam = torch.optim.AdamW(rest, betas=(0.9, 0.95), weight_decay=0.0)
        self.done = 0
        self.losses: list[float] = []
        self.seconds = 0.0

    def step(self, batch: Batch) -> None:
        """One step. Raises `click.UsageError` where the loss is not a finite number."""
        began = time.perf_counter()
        rate = (
            self.rate
            * min(1.0, (self.done + 1) / 20)
            * max(0.03, 0.5 + 0.5 * math.cos(math.pi * self.done / self.steps))
        )
        for group in self.adam.param_groups:
            group["lr"] = 0.2 * rate
        self.head.zero_grad()
        loss = loss_of(self.head, batch)
        if not loss.isfinite():
            raise click.UsageError(
                f"the loss of step {self.done} is {float(loss.detach())}, expected a number: this --rate is too large"
            )
        loss.backward()  # type: ignore[no-untyped-call]
        self.adam.step()
        self.muon.step(rate)
        self.done += 1
        self.losses.append(round(float(loss.detach()), 4))
        self.seconds += time.perf_counter() - began

    def remaining(self, texts: list[Text]) -> Iterator[Batch]:
        """The batches that are left, epoch by epoch: those before the checkpoint are passed over."""
        seen, epoch = 0, 0
        while seen < self.steps:
            for batch in batches(texts, self.tokens, 1000 * self.seed + epoch):
                seen += 1
                if seen > self.steps:
                    return
                if seen > self.done:
                    yield batch
            epoch += 1

    def save(self, path: Path) -> None:
        state = {
            "head": self.head.state_dict(),
            "momenta": self.muon.momenta,
            "adam": self.adam.state_dict(),
            "done": self.done,
            "losses": self.losses,
            "seconds": self.seconds,
            "of": self.described(),
        }
        partial = path.with_name(path.name + ".partial")
        torch.save(state, partial)
        os.replace(partial, path)

    def restore(self, path: Path) -> None:
        """Go on from a checkpoint. Raises `click.UsageError`."""
        try:
            state = torch.load(path, weights_only=True)
            if state["of"] != self.described():
                raise Unusable(f"is of another run ({state['of']}), expected {self.described()}")
            self.head.load_state_dict(state["head"])
            self.adam.load_state_dict(state["adam"])
            for momentum, saved in zip(self.muon.momenta, state["momenta"], strict=True):
                momentum.copy_(saved)
            self.done, self.losses = int(state["done"]), list(state["losses"])
            self.seconds = float(state["seconds"])
        except Unusable as error:
            raise click.UsageError(f"{path} {error}; remove it") from None
        except Exception as error:
            # What pickle raises has no class of its own to name here.
            raise click.UsageError(f"{path}: {line(error)}; expected a checkpoint of this run; remove it") from None

    def described(self) -> dict[str, float]:
        return {"steps": self.steps, "seed": self.seed, "tokens": self.tokens, "rate": self.rate}


def new_head(config: HeadConfig, vocabulary: Tensor, embeddings: Tensor, seed: int) -> EagleHead:
    torch.manual_seed(seed)
    head = EagleHead(config, vocabulary, embeddings)
    halved = {"midlayer.self_attn.o_proj.weight", "midlayer.mlp.down_proj.weight"}
    for name, weight in head.named_parameters():
        if weight.requires_grad and weight.dim() == 2 and min(weight.shape) > 8:
            scale = 0.5 if name in halved else 0.0 if "embed_proj" in name else 1.0
            torch.nn.init.normal_(weight, std=scale * weight.shape[1] ** -0.5)
    return head


def sizes_of(model: Path, config: Any, layers: tuple[int, ...], vocab: tuple[int, int]) -> HeadConfig:
    """The sizes of a head like those of its target; `vocab` of both. Raises `Unusable`."""
    try:
        return HeadConfig(
            hidden=config.hidden_size,
            target_hidden=config.hidden_size,
            heads=config.num_attention_heads,
            kv_heads=config.num_attention_heads,
            head_size=config.hidden_size // config.num_attention_heads,
            intermediate=config.intermediate_size,
            vocab=vocab[0],
            target_vocab=vocab[1],
            layers=layers,
            rope_theta=float(config.rope_parameters["rope_theta"]),
            extras=True,
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise Unusable(f"{model}: {line(error)}; expected the sizes of a model with rotary positions") from None


@click.command()
@click.argument("model", type=FOLDER)
@click.argument("texts", type=FILE)
@click.argument("out", type=Out(".json", ".checkpoint", ".checkpoint.partial", ".partial"))
@click.option("--steps", default=340, show_default=True, type=COUNT)
@click.option("--tokens", default=1536, show_default=True, type=COUNT, help="Tokens in a batch.")
@click.option("--vocab", default=8192, show_default=True, type=COUNT, help="Tokens of the draft vocabulary.")
@click.option("--rate", default=0.02, show_default=True, type=Finite(0, min_open=True), help="Largest learning rate.")
@click.option("--seed", default=0, show_default=True, type=SEED)
@click.option("--threads", default=os.cpu_count() or 1, show_default=True, type=THREADS)
def main(
    model: Path, texts: Path, out: Path, steps: int, tokens: int, vocab: int, rate: float, seed: int, threads: int
) -> None:
    """Train a head for the target in MODEL on TEXTS and write it to OUT, and what training said to OUT.json."""
    torch.set_num_threads(threads)
    with refused():
        target = load_causal_model(model, torch.float32)
        embeddings = target.get_input_embeddings().weight.detach().clone()
        dialogues, layers = read_texts(texts, *embeddings.shape)
        sizes = sizes_of(model, target.config, layers, (vocab, len(embeddings)))
    del target
    held = max(2, len(dialogues) // 40)
    validation, training = dialogues[:held], dialogues[held:]
    vocabulary = draft_vocabulary(training, vocab, len(embeddings))
    run = Training(new_head(sizes, vocabulary, embeddings, seed), steps, seed, tokens, rate)
    checkpoint = out.with_name(out.name + ".checkpoint")
    if checkpoint.is_file():
        run.restore(checkpoint)
    columns = (TextColumn("loss {task.fields[loss]:.3f}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("steps", total=steps, completed=run.done, loss=math.nan)
        for batch in run.remaining(training):
            run.step(batch)
            recent = run.losses[-20:]
            progress.update(task, completed=run.done, loss=sum(recent) / len(recent))
            if run.done % 20 == 0:
                run.save(checkpoint)
    size = {"dialogues": len(training), "vocab": vocab}
    spent = {"seconds": round(run.seconds, 1), "threads": threads}
    record = run.described() | size | spent | validated(run.head, validation, embeddings)
    save_head(run.head, out, json.dumps(record))
    out.with_name(out.name + ".json").write_text(json.dumps(record | {"losses": run.losses}, indent=1) + "\n")
    checkpoint.unlink(missing_ok=True)
    print(json.dumps(record))


if __name__ == "__main__":
    main()
