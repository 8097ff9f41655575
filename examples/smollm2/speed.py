"""How fast a real loop is: `python speed.py --target model --head head.safetensors --out speed.json`.

Each prompt is answered without a draft, then by each setting, in one process, so that whatever else the machine does
meets all of them alike. The ratio is of tokens a second, prefill left out; its error is over prompts (jackknife).
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import click
import torch
from inputs import COUNT, FILE, FOLDER, THREADS, Finite, Out
from pair import PROMPTS, chats, load, refused, tokenizer_of
from pair import lines as prompts_of
from rheo_gpu.llm.generate import autoregressive, generate
from rheo_gpu.llm.methods import method
from rheo_gpu.llm.statistics import PARTS, Step, Totals
from rich.console import Console
from rich.progress import track
from rich.table import Table


@dataclass(frozen=True)
class Setting:
    """A method in some sizes."""

    method: str
    slots: int
    depth: int
    nodes: int

    @property
    def name(self) -> str:
        return f"chain {self.depth}" if self.method == "chain" else f"{self.method} D={self.depth} N={self.nodes}"


SETTINGS = (
    Setting("chain", 1, 2, 2),
    Setting("chain", 1, 3, 3),
    Setting("rheo", 3, 1, 3),
    Setting("rheo", 4, 1, 4),
    Setting("rheo", 8, 1, 8),
    Setting("rheo", 3, 2, 3),
    Setting("rheo", 3, 3, 6),
    Setting("flow", 3, 3, 6),
    Setting("top-k", 4, 4, 8),
    Setting("rheo", 4, 4, 8),
    Setting("flow", 4, 4, 8),
    Setting("rheo", 6, 5, 16),
    Setting("rheo", 10, 7, 30),
    Setting("rheo", 10, 7, 60),
)


def ratio(own: Sequence[Totals], plain: Sequence[Totals]) -> tuple[float, float | None]:
    """Tokens a second against those without a draft, over all prompts, and the jackknife error of that.

    A single prompt has no error.
    """

    def of(left: Sequence[tuple[Totals, Totals]]) -> float:
        tokens, seconds = sum(a.tokens for a, _ in left), sum(a.decoding for a, _ in left)
        return (tokens / seconds) / (sum(b.tokens for _, b in left) / sum(b.decoding for _, b in left))

    pairs = list(zip(own, plain, strict=True))
    n = len(pairs)
    if n < 2:
        return of(pairs), None
    without = [of(pairs[:i] + pairs[i + 1 :]) for i in range(n)]
    mean = sum(without) / n
    return of(pairs), ((n - 1) / n * sum((x - mean) ** 2 for x in without)) ** 0.5


def row(name: str, own: Sequence[list[Step]], plain: Sequence[list[Step]]) -> dict[str, object]:
    """What is kept of a setting, from its steps by prompt: milliseconds of a step, in all and by part."""
    total = Totals.of(chain.from_iterable(own))
    value, error = ratio(*([Totals.of(steps) for steps in each] for each in (own, plain)))
    split = {part: round(1e3 * total.seconds[part] / total.steps, 2) for part in PARTS if part != "prefill"}
    return {
        "setting": name,
        "steps": total.steps,
        "tokens_per_step": round(total.tokens_per_step, 3),
        "ms_per_step": round(1e3 * total.decoding / total.steps, 2),
        "speed": round(value, 3),
        "error": None if error is None else round(error, 3),
        "ms": split,
    }


def show(rows: Sequence[dict[str, object]], console: Console) -> None:
    table = Table(title="speed against decoding without a draft; milliseconds of a step")
    for column in ("setting", "speed", "tokens/step", "ms/step", *(part for part in PARTS if part != "prefill")):
        table.add_column(column, justify="left" if column == "setting" else "right")
    for line in rows:
        split = line["ms"]
        assert isinstance(split, dict)
        table.add_row(
            str(line["setting"]),
            f"x{line['speed']:.2f}" + ("" if line["error"] is None else f" +- {line['error']:.2f}"),
            f"{line['tokens_per_step']:.2f}",
            f"{line['ms_per_step']:.1f}",
            *(f"{split[part]:.1f}" for part in PARTS if part != "prefill"),
        )
    console.print(table)


@click.command()
@click.option("--target", required=True, type=FOLDER)
@click.option("--head", required=True, type=FILE)
@click.option("--out", type=Out(".partial"), help="Write the table as JSON.")
@click.option("--prompts", default=12, show_default=True, type=COUNT)
@click.option("--tokens", default=64, show_default=True, type=COUNT, help="Tokens of an answer, at most.")
@click.option("--temperature", default=1.0, show_default=True, type=Finite(0))
@click.option("--only", multiple=True, help="A setting by name, such as 'rheo D=3 N=4'; repeatable.  [default: all]")
@click.option("--threads", default=os.cpu_count() or 1, show_default=True, type=THREADS)
def main(
    target: Path,
    head: Path,
    out: Path | None,
    prompts: int,
    tokens: int,
    temperature: float,
    only: tuple[str, ...],
    threads: int,
) -> None:
    """Measure the decoder on a pair."""
    torch.set_num_threads(threads)
    chosen = [setting for setting in SETTINGS if not only or setting.name in only]
    if unknown := set(only) - {setting.name for setting in SETTINGS}:
        raise click.UsageError(f"no setting {sorted(unknown)[0]!r}, expected {', '.join(s.name for s in SETTINGS)}")
    tokenizer = tokenizer_of(target)
    lines = prompts_of(PROMPTS)[:prompts]
    model, drafter = load(target, head)
    stop = [tokenizer.eos_token_id]
    made: dict[str, list[list[Step]]] = {}

    def answers(text: list[int], seed: int) -> Iterator[tuple[str, Iterator[Step]]]:
        for setting in (None, *chosen):
            if setting is None:
                how = method("rheo", temperature=temperature).how
                yield "without a draft", autoregressive(model, [text], how, limit=tokens, stop=stop, seeds=seed)
            else:
                of = method(
                    setting.method,
                    temperature=temperature,
                    slots=setting.slots,
                    depth=setting.depth,
                    nodes=setting.nodes,
                )
                sizes = (of.config, of.how, of.how_draft)
                yield setting.name, generate(model, drafter, [text], *sizes, limit=tokens, stop=stop, seeds=seed)

    for number, line in enumerate(track(["", *lines], description="prompts")):
        [encoded] = chats(tokenizer, [line or lines[0]])
        for name, steps in answers(encoded, number):
            with refused():
                taken = list(steps)
            if line:  # the first one warms up
                made.setdefault(name, []).append(taken)
    rows = [row(name, steps, made["without a draft"]) for name, steps in made.items()]
    show(rows, Console(width=150))
    if out is not None:
        about = {"prompts": len(lines), "tokens": tokens, "temperature": temperature, "threads": threads}
        versions = {"python": platform.python_version(), "torch": torch.__version__}
        partial = out.with_name(out.name + ".partial")
        said = {"format": "rheo-speed/1", **about, **versions, "rows": rows}
        partial.write_text(json.dumps(said, indent=1, allow_nan=False) + "\n")
        partial.replace(out)


if __name__ == "__main__":
    main()
