"""The experiment: exact expected acceptance of many drafting settings on the same contexts of real texts.

    python measure.py --target model --head head.safetensors --out results.json

For each prompt and temperature the pair decodes a text; some of its steps, chosen in advance, are the contexts. There
every setting drafts a tree, with the same tape; the target reads all their nodes in one pass; and how many draft tokens
a step would accept on average, given the tree, is computed in closed form. `report.py` makes tables of the result.

An interrupted run goes on where it stopped when the same command is given again. Beside other programs on the same
cores, set OMP_WAIT_POLICY=PASSIVE.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click
import torch
from contexts import WRITES, Pair, Text
from inputs import COUNT, FILE, FOLDER, Finite, Out
from pair import PROMPTS, chats, lines, load, refused, tokenizer_of
from results import read
from rheo_gpu import Tape
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from settings import DEPTH, SLOTS, TEMPERATURES, drafts, settings
from torch import Tensor

FORMAT = "rheo-acceptance/1"
UNIT, LEVEL_UNIT = 1e-4, 1e-6
"""Of E[tau] at a context, and of sums of acceptance by level: whole numbers, so that a continued run adds up alike."""


@dataclass(frozen=True)
class Plan:
    """How much is measured: contexts of each prompt and temperature, out of so many steps; draws of a tape for each."""

    grid: str
    seed: int
    contexts: int
    steps: int
    draws: int
    temperatures: tuple[float, ...] = (1.0,)


class Measured(NamedTuple):
    """What one prompt gave at one temperature: step, length of the text and levels of its contexts, and of all steps
    of its texts how many tokens they emitted."""

    contexts: list[tuple[int, int, Tensor]]
    emitted: list[int]


def measured(pair: Pair, prompt: Sequence[int], number: int, temperature: float, plan: Plan) -> Measured:
    """Acceptance by level of all settings at the chosen steps of one prompt. A text that ends begins anew.

    Everything random hangs on the plan's seed, the temperature and the number of the prompt alone.
    """
    name = f"{plan.seed} {temperature:g} {number}"
    generator = torch.Generator().manual_seed(int(hashlib.sha256(name.encode()).hexdigest()[:15], 16))
    chosen = set(torch.randperm(plan.steps, generator=generator)[: plan.contexts].tolist())
    sizes, made, text = drafts(plan.grid, temperature), Measured([], []), None
    for step in range(plan.steps):
        text = text or Text(pair, prompt)
        tapes = [Tape.fill(WRITES, 1, generator) for _ in range(plan.draws)]
        if step in chosen:
            made.contexts.append((step, text.length, text.compare(sizes, temperature, tapes)))
        ended = text.step(temperature, generator)[-1] in pair.stops
        made.emitted.append(text.emitted[-1])
        if ended:
            text = None
    return made


class Results:
    """What has been measured so far, by temperature, as it is written."""

    def __init__(self, meta: dict[str, Any]) -> None:
        self.content: dict[str, Any] = {"format": FORMAT, "meta": meta, "temperatures": {}}

    def add(self, temperature: float, number: int, plan: Plan, made: Measured) -> None:
        """Add what the prompt of this number gave."""
        names = settings(plan.grid, temperature)
        empty = {"settings": names, "levels": [[0] * DEPTH] * len(names), "loop": [], "contexts": []}
        part = self.content["temperatures"].setdefault(f"{temperature:g}", empty)
        part["loop"].append([number, len(made.emitted), sum(made.emitted)])
        for step, length, found in made.contexts:
            more = (found / LEVEL_UNIT).round().long()
            part["levels"] = (torch.tensor(part["levels"]) + more).tolist()
            part["contexts"].append([number, step, length, [round(x / UNIT) for x in found.sum(1).tolist()]])

    def done(self) -> set[tuple[str, int]]:
        """Which prompts have been measured, by temperature."""
        return {(t, row[0]) for t, part in self.content["temperatures"].items() for row in part["contexts"]}

    def text(self) -> str:
        """The file: a line for each context."""
        lines = [f'{{"format":{json.dumps(FORMAT)},', f'"meta":{json.dumps(self.content["meta"])},', '"temperatures":{']
        for number, (name, part) in enumerate(self.content["temperatures"].items()):
            lines.append(("," if number else "") + f'"{name}":{{"settings":{json.dumps(part["settings"])},')
            lines.append(f'"levels":{packed(part["levels"])},"loop":{packed(part["loop"])},"contexts":[')
            lines.append(",\n".join(packed(row) for row in part["contexts"]) + "]}")
        return "\n".join([*lines, "}}"]) + "\n"

    def write(self, path: Path) -> None:
        """Write the file whole or not at all."""
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            partial.write_text(self.text(), encoding="utf-8")
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def packed(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def measure(
    pair: Pair,
    prompts: Sequence[Sequence[int]],
    plan: Plan,
    meta: dict[str, Any],
    out: Path,
    progress: Callable[[str], object] = lambda line: None,
) -> dict[str, Any]:
    """Measure all prompts at all temperatures; `out` appears when all is done, until then a file `out`.partial."""
    meta = {"unit": UNIT, "level_unit": LEVEL_UNIT, "plan": vars(plan), **meta}
    results, waiting = Results(meta), out.with_name(out.name + ".partial")
    if waiting.exists():
        results.content = continued(waiting, meta, plan)
    done = results.done()
    with torch.inference_mode():
        for number, prompt in enumerate(prompts):
            for temperature in plan.temperatures:
                if (f"{temperature:g}", number) not in done:
                    results.add(temperature, number, plan, measured(pair, prompt, number, temperature, plan))
                progress(f"temperature {temperature:g}")
            results.write(waiting)
    results.write(out)
    waiting.unlink()
    return results.content


def continued(waiting: Path, meta: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """What an interrupted run has measured. Raises `click.UsageError` for a file of another run, or a damaged one."""
    try:
        read(waiting)
        old: dict[str, Any] = json.loads(waiting.read_text("utf-8"))
    except click.UsageError as error:
        raise click.UsageError(f"{error.message}; delete it to start anew") from None
    same = all(part["settings"] == settings(plan.grid, float(t)) for t, part in old["temperatures"].items())
    if old["meta"] != json.loads(json.dumps(meta)) or not same:
        raise click.UsageError(f"{waiting} is of another run, expected the same command; delete it to start anew")
    return old


def once(context: click.Context, option: click.Parameter, temperatures: tuple[float, ...]) -> tuple[float, ...]:
    """Temperatures that have different names in the results."""
    names = [f"{temperature:g}" for temperature in temperatures]
    if len(set(names)) < len(names):
        raise click.BadParameter(f"{', '.join(names)}: expected each once, in six digits", context, option)
    return temperatures


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--target", required=True, type=FOLDER)
@click.option("--head", required=True, type=FILE)
@click.option("--out", required=True, type=Out(".partial"), help="A new JSON file.")
@click.option("--prompts", default=PROMPTS, type=FILE)
@click.option("--most", type=COUNT, help="Only the first so many prompts.")
@click.option("--contexts", default=7, show_default=True, type=COUNT, help="Of each prompt.")
@click.option("--steps", default=40, show_default=True, type=COUNT, help="Steps they are chosen from.")
@click.option("--draws", default=1, show_default=True, type=COUNT, help="Tapes at each context.")
@click.option("--grid", default="full", show_default=True, type=click.Choice(list(TEMPERATURES)))
@click.option(
    "--temperature",
    "temperatures",
    multiple=True,
    type=Finite(0, min_open=True),
    callback=once,
    help="Of the target; repeatable.  [default: those of the grid]",
)
@click.option("--seed", default=0, show_default=True, type=int)
def main(
    target: Path,
    head: Path,
    out: Path,
    prompts: Path,
    most: int | None,
    contexts: int,
    steps: int,
    draws: int,
    grid: str,
    temperatures: tuple[float, ...],
    seed: int,
) -> None:
    """Measure the expected acceptance of all settings of a grid, and write it to a JSON file."""
    if out.exists():
        raise click.UsageError(f"{out} exists, expected the name of a new file")
    if contexts > steps:
        raise click.UsageError(f"--contexts is {contexts}, expected at most --steps, {steps}")
    questions = lines(prompts)[:most]
    model, draft = load(target, head)
    tokenizer = tokenizer_of(target)
    pair = Pair(model, draft, frozenset({tokenizer.eos_token_id}))
    temperatures = temperatures or TEMPERATURES[grid]
    plan = Plan(grid, seed, contexts, steps, draws, temperatures)
    architectures = json.loads((target / "config.json").read_text("utf-8")).get("architectures")
    meta = {
        "command": f"measure.py --target {target.name} --head {head.name} --prompts {prompts.name} "
        f"--most {len(questions)} --contexts {contexts} --steps {steps} --draws {draws} --grid {grid}"
        + "".join(f" --temperature {t:g}" for t in temperatures)
        + f" --seed {seed}",
        "head": {"file": head.name, "sha256": hashlib.sha256(head.read_bytes()).hexdigest()},
        "target": {
            "folder": target.name,
            "config": architectures,
        },
        "prompts": {"file": prompts.name, "sha256": hashlib.sha256("\n".join(questions).encode()).hexdigest()},
        "sizes": {"slots": SLOTS, "depth": DEPTH, "text": {"nodes": WRITES.nodes, "head": WRITES.head}},
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "threads": torch.get_num_threads(),
    }
    begin = time.monotonic()
    with refused(), _bar() as bar:
        task = bar.add_task("", total=len(questions) * len(temperatures))
        prompt_tokens = chats(tokenizer, questions)
        content = measure(
            pair, prompt_tokens, plan, meta, out, lambda line: bar.update(task, advance=1, description=line)
        )
    counts = ", ".join(f"{len(part['contexts'])} at T = {t}" for t, part in content["temperatures"].items())
    print(f"{out}: contexts {counts}; {time.monotonic() - begin:.0f} s")


def _bar() -> Progress:
    """A progress bar on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, disable=not console.is_terminal
    )


if __name__ == "__main__":
    main()
