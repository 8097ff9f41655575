"""The torch decoder: toy batches against the batched NumPy simulation, and one step against the work it cannot avoid.

    python benchmarks/torch_decoder.py [--device cuda] [--quick] [--strict] [--compile] [--json FILE]

Everything is measured in this one run, the two sides of a ratio in turns; the fastest of several repetitions counts. On
a CPU it is one core, in seconds of processor time. The models cost nothing on either side: their rows are given.

The unavoidable work of a step: a top-k(S) of the draft rows of each layer and a softmax of the visited target rows of
each level; for FlowVerification also a softmax of the rows of all kept nodes. Same operations, same shapes.
"""

from __future__ import annotations

import ctypes
import json
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import click
import numpy as np
import rheo_gpu
import rheo_reference
import torch
from rheo_gpu import Config, Layer, Processing, Tape, Trees, Verified, draft_trees, verify
from rheo_reference.batch import Models, simulate
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

RULES = ("rheo", "rrsw", "match", "flow")
TIMES_NUMPY, TIMES_UNAVOIDABLE = 10, 1.5
MODES = ("one call after the other", "compiled", "CUDA graph")

TOY = Config(slots=3, head=1, depth=3, nodes=8, sparse=None)
TOY_VOCAB = 5
LARGE = Config(slots=10, head=1, depth=8, nodes=60, sparse=128)


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    toy_batch: int = 100_000
    chunk: int = 8192
    vocabs: tuple[int, ...] = (32_000, 128_000)
    batches: tuple[int, ...] = (1, 32)
    repeats: int = 5


QUICK = Sizes(toy_batch=2_000, chunk=1_000, vocabs=(2_000,), batches=(1, 2), repeats=1)


@dataclass(frozen=True)
class Row:
    """One measurement: what, both sides of its ratio, the ratio, and what is required of it, if anything."""

    what: str
    ours: str
    other: str
    ratio: float
    required: str = "-"
    met: bool | None = None

    def cells(self) -> list[str]:
        """One line of a table."""
        verdict = {True: "met", False: "NOT met", None: "-"}[self.met]
        return [self.what, self.ours, self.other, f"{self.ratio:.2f}", self.required, verdict]


@dataclass(frozen=True)
class Bound:
    """What a toy batch does: operations, the bytes that they read and write a step, and how fast memory is copied."""

    operations: int
    bytes_a_step: float
    copied_a_second: float
    costly: tuple[tuple[str, float], ...]

    @property
    def steps_a_second(self) -> float:
        """As many as memory allows, were arithmetic free and nothing found in a cache."""
        return self.copied_a_second / self.bytes_a_step

    def lines(self, steps: float, at_numpy: float) -> list[str]:
        """In words, beside the measured speeds."""
        costly = ", ".join(f"{name} {share:.0%}" for name, share in self.costly)
        return [
            f"What bounds the toy batch (rheo, float64): {self.operations:,} operations, which read and write "
            f"{self.bytes_a_step / 1000:.1f} kB a step.",
            f"At {self.copied_a_second / 1e9:.1f} GB/s, the speed of a copy here, that is "
            f"{self.steps_a_second:,.0f} steps/s; measured {steps:,.0f}. Time goes to: {costly}.",
            f"{TIMES_NUMPY} times the NumPy simulation would be {TIMES_NUMPY * at_numpy:,.0f} steps/s, or "
            f"{self.copied_a_second / (TIMES_NUMPY * at_numpy):,.0f} bytes a step: that one looks up tables which hold "
            "for each prefix what its laws decide, while the decoder works everything out for each request.",
        ]


class Clock:
    """Seconds of a piece of work: processor time, or the time until a device is done."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def __call__(self, work: Callable[[], Any]) -> float:
        if self.device.type == "cpu":
            begin = time.process_time()
            work()
            return time.process_time() - begin
        torch.cuda.synchronize(self.device)
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize(self.device)
        return time.perf_counter() - begin

    def fastest(self, repeats: int, *works: Callable[[], Any]) -> list[float]:
        """Of each piece of work, in turns."""
        best = [inf] * len(works)
        for work in works:
            work()
        for _ in range(repeats):
            best = [min(least, self(work)) for least, work in zip(best, works, strict=True)]
        return best


def keep_memory() -> None:
    """Ask the C library to keep freed memory, as torch does on a GPU: else the system's page faults are measured."""
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(-3, 32 << 20)  # M_MMAP_THRESHOLD
        library.mallopt(-1, (1 << 31) - 1)  # M_TRIM_THRESHOLD


# Toy batches


class Toy:
    """Random laws as tables, the same for both decoders. Row i has the children i V + 1, ..., i V + V."""

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        rng = np.random.default_rng(0)
        sizes = [sum(TOY_VOCAB**length for length in range(TOY.depth + extra)) for extra in (1, 0)]
        self.models = Models(*(rng.dirichlet(np.ones(TOY_VOCAB), size) for size in sizes))
        self.tables = [torch.from_numpy(t).to(device, dtype) for t in (self.models.target, self.models.draft)]

    def target(self, trees: Trees) -> Tensor:
        return self.tables[0][self.number(trees.paths)]

    def draft(self, layer: Layer) -> Tensor:
        return self.tables[1][self.number(layer.paths)]

    def number(self, paths: Tensor) -> Tensor:
        row = torch.zeros(paths.shape[:-1], dtype=torch.int64, device=paths.device)
        for token in paths.unbind(-1):
            row = torch.where(token >= 0, row * TOY_VOCAB + 1 + token, row)
        return row


def toy_steps(toy: Toy, config: Config, tape: Tape, chunk: int) -> None:
    """All steps of a batch. On a CPU in parts that fit its cache, as the NumPy simulation does it."""
    for i in range(0, len(tape.token_u), chunk):
        part = Tape(*(u[i : i + chunk] for u in (tape.draft_u, tape.coin_u, tape.token_u)))
        rheo_gpu.decode_step(toy.target, toy.draft, config, part, None, None)


def simulation(rule: str, dtype: torch.dtype, sizes: Sizes, clock: Clock) -> tuple[Row, float, float]:
    """Steps per second of both."""
    config, toy, batch = replace(TOY, verify=rule), Toy(dtype, clock.device), sizes.toy_batch
    tape = Tape.fill(config, batch, torch.Generator(clock.device).manual_seed(1), clock.device, dtype)
    names = ("slots", "head", "depth", "nodes", "sparse", "verify")
    same = rheo_reference.Config(**{name: getattr(config, name) for name in names}, target=None, draft=None)
    tapes = rheo_reference.Tapes.fill(np.random.default_rng(1), same, batch)
    chunk = sizes.chunk if clock.device.type == "cpu" else batch
    processor = Clock(torch.device("cpu"))
    ours = other = inf
    for _ in range(1 + sizes.repeats):
        ours = min(ours, clock(lambda: toy_steps(toy, config, tape, chunk)))
        other = min(other, processor(lambda: simulate(toy.models, same, tapes)))
    steps = batch / ours, batch / other
    required, met = f"at least {TIMES_NUMPY}", steps[0] >= TIMES_NUMPY * steps[1]
    if clock.device.type == "cpu":
        required, met = "see below", None
    name = str(dtype).removeprefix("torch.")
    row = Row(f"toy {rule}, {name} : NumPy", *(f"{s:,.0f} steps/s" for s in steps), steps[0] / steps[1], required, met)
    return row, *steps


class Moved(TorchDispatchMode):
    """Counts operations that are no views, and the bytes of the tensors that they read and write."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = self.bytes = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        if not function.is_view:
            self.operations += 1
            self.bytes += sum(map(_bytes, _tensors((args, out))))
        return out


def _bytes(t: Tensor) -> int:
    """Of the different elements: an expanded axis is read once."""
    count = 1
    for length, stride in zip(t.shape, t.stride(), strict=True):
        count *= length if stride else 1
    return count * t.element_size()


def _tensors(values: Any) -> Iterator[Tensor]:
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _tensors(value)


def bound(sizes: Sizes) -> Bound:
    """Of RheoVerification in float64 on a CPU."""
    device = torch.device("cpu")
    toy, batch = Toy(torch.float64, device), sizes.chunk
    tape = Tape.fill(TOY, batch, torch.Generator().manual_seed(1), device)
    with Moved() as moved:
        toy_steps(toy, TOY, tape, batch)
    block = torch.zeros(1 << 24, dtype=torch.float64)
    into = torch.empty_like(block)
    (copied,) = Clock(device).fastest(sizes.repeats, lambda: into.copy_(block))
    toy_steps(toy, TOY, tape, batch)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        toy_steps(toy, TOY, tape, batch)
    spent: Counter[str] = Counter()
    for event in profile.key_averages():
        spent[event.key.removeprefix("aten::")] += event.self_cpu_time_total
    whole = sum(spent.values())
    costly = tuple((name, us / whole) for name, us in spent.most_common(6))
    return Bound(moved.operations, moved.bytes / batch, 2 * block.nbytes / copied, costly)


# One step on a large vocabulary


class Step:
    """Given rows of both models, for the largest tree of a batch."""

    def __init__(self, vocab: int, batch: int, dtype: torch.dtype, device: torch.device) -> None:
        generator = torch.Generator(device).manual_seed(0)
        base = 3 * torch.randn(vocab, generator=generator, device=device)

        def rows(count: int) -> Tensor:
            made = torch.empty(batch, count, vocab, dtype=dtype, device=device)
            for row in made.flatten(0, 1):
                row.copy_(base + 0.6 * torch.randn(vocab, generator=generator, device=device))
            return made

        self.target, self.draft = rows(1 + LARGE.kept), rows(LARGE.width)
        self.tape = Tape.fill(LARGE, batch, generator, device)

    def run(self, config: Config) -> Verified:
        """A step of the decoder."""
        plain = Processing()
        trees = draft_trees(lambda layer: self.draft[:, : layer.tokens.shape[1]], config, self.tape, plain)
        return verify(trees, self.target, config, self.tape, plain)

    def unavoidable(self, config: Config) -> None:
        """What no step can do without."""
        for width in config.widths:
            self.draft[:, :width].topk(LARGE.sparse or 1, -1)
        if config.verify == "flow":
            self.target.softmax(-1, dtype=torch.float32)
        for level in range(config.depth + 1):
            self.target[:, level].softmax(-1, dtype=torch.float32)


def captured(work: Callable[[], Any]) -> Callable[[], Any]:
    """The same work as a CUDA graph, after the warm-up on a side stream that a capture needs."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def large_vocabulary(step: Step, rule: str, mode: str, sizes: Sizes, clock: Clock) -> Row:
    """A step : the unavoidable work."""
    config = replace(LARGE, verify=rule)

    def ours() -> Verified:
        return step.run(config)

    def other() -> None:
        step.unavoidable(config)

    works: list[Callable[[], Any]] = [ours, other]
    if mode == "compiled":
        works[0] = torch.compile(ours, fullgraph=True)
    if mode == "CUDA graph":
        works = [captured(ours), captured(other)]
    batch, _, vocab = step.target.shape
    # The fewer milliseconds, the more repetitions.
    spent, least = clock.fastest(sizes.repeats * (1 if batch > 1 else 4), *works)
    what = f"step {rule}, V = {vocab:,}, batch {batch}" + (f", {mode}" if mode != MODES[0] else "")
    required, met = f"at most {TIMES_UNAVOIDABLE}", spent <= TIMES_UNAVOIDABLE * least
    if rule == "flow":
        required, met = "-", None
    return Row(what, f"{1000 * spent:.1f} ms", f"{1000 * least:.1f} ms", spent / least, required, met)


def measure(sizes: Sizes, clock: Clock, dtype: torch.dtype, compiled: bool) -> tuple[list[Row], list[str]]:
    """All rows, and what bounds the toy batch."""
    rows, notes = [], []
    for laws in (torch.float64, torch.float32):
        for rule in RULES:
            row, steps, at_numpy = simulation(rule, laws, sizes, clock)
            rows.append(row)
            if (laws, rule) == (torch.float64, "rheo") and clock.device.type == "cpu":
                notes = bound(sizes).lines(steps, at_numpy)
    for vocab in sizes.vocabs:
        for batch in sizes.batches:
            step = Step(vocab, batch, dtype, clock.device)
            for rule in RULES:
                modes = [MODES[0]]
                if compiled and rule == "rheo" and batch == 1:
                    modes.append("compiled")
                if clock.device.type == "cuda":
                    modes.append("CUDA graph")
                rows += [large_vocabulary(step, rule, mode, sizes, clock) for mode in modes]
            del step
    return rows, notes


def failures(rows: Sequence[Row], strict: bool) -> list[str]:
    """Why the run as a whole fails."""
    return [f"{row.what}: {row.ratio:.2f}, NOT met" for row in rows if strict and row.met is False]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, ...")
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), default="float32", help="Of the given logits.")
@click.option("--quick", is_flag=True, help="Small sizes; ratios mean little.")
@click.option("--strict", is_flag=True, help="Exit status 1 where a requirement is not met.")
@click.option("--compile", "compiled", is_flag=True, help="Also rheo at batch 1 compiled; takes minutes.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write all figures to FILE.")
def main(device: str, dtype: str, quick: bool, strict: bool, compiled: bool, file: Path | None) -> None:
    """Measure the torch decoder."""
    torch.set_num_threads(1)
    keep_memory()
    clock = Clock(torch.device(device))
    if clock.device.index is not None and clock.device.type == "cuda":
        torch.cuda.set_device(clock.device)
    with torch.inference_mode():
        rows, notes = measure(QUICK if quick else Sizes(), clock, getattr(torch, dtype), compiled)
    title = f"toy model: V = {TOY_VOCAB}, K = {TOY.slots}, D = {TOY.depth}, N = {TOY.nodes}, m = {TOY.head}; step: "
    title += f"S = {LARGE.sparse}, K = {LARGE.slots}, D = {LARGE.depth}, N = {LARGE.nodes}, m = {LARGE.head}, {dtype}"
    table = Table("what : compared with", "", "compared with", "ratio", "required", "", title=title)
    for row in rows:
        table.add_row(*row.cells())
    out = Console()
    (out if out.is_terminal else Console(width=140)).print(table)
    for note in notes:
        click.echo(note)
    if file is not None:
        name = torch.cuda.get_device_name(device) if clock.device.type == "cuda" else platform.machine()
        found = {"device": name, "torch": torch.__version__, "rows": [asdict(row) for row in rows], "notes": notes}
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    wrong = failures(rows, strict)
    if wrong:
        raise click.ClickException("\n".join(wrong))


if __name__ == "__main__":
    main()
