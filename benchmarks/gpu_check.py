"""Everything that has to be looked at on a GPU, in one run of a few minutes.

    python benchmarks/gpu_check.py [--json FILE] [--device cuda] [--quick]

tapes: the strings of the NumPy decoder on shared tapes in float64, boundaries included. law: the random path, logits in
float32, against the exact law of the emitted string. crosscheck: the decoder's law cell by cell, as rationals, and a
fault that has to be found. capture: CUDA graphs against ordinary calls. benchmark: `torch_decoder.py` on the device.

Needs a clone with what `pip install '.[reference,torch,stats]'` brings.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import rheo_gpu
import rheo_reference
import torch
from rheo_gpu import Config, Layer, Processing, Tape, Trees, Verified
from torch import Tensor

from rheo_proof.schemes.scheme import Parameters
from rheo_proof.stats.asserts import assert_law_equal
from rheo_proof.stats.ledger import separate_ledger
from rheo_proof.stats.verdict import LawMismatch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import torch_decoder as bench  # noqa: E402

from tests import torch_models as toys  # noqa: E402
from tests.law import samplers  # noqa: E402

EPS = 0.03
COMMAND = ("-m", "rheo_proof", "crosscheck", "--backend", "torch", "--depth", "2", "--instances", "1", "--nodes", "6")
FAULT = ("--inject", "skip-residual")

Part = dict[str, Any]
"""passed, or None where a part was skipped; figures; seconds."""


class Failed(Exception):
    """A part found something."""


# Tapes


def tapes(device: torch.device, quick: bool) -> Part:
    """All rules and all m: dyadic laws on tapes that lie where decisions flip, logits on tapes from a generator."""
    each, compared = (40, 400)[not quick], 0
    for rule, proxy in toys.PAIRS:
        for head in range(4):
            config = rheo_reference.Config(
                slots=3, head=head, depth=3, nodes=8, sparse=None, proxy=proxy, verify=rule, target=None, draft=None
            )
            dyadic = toys.dyadic_models(head, 4, 3)
            points = toys.break_points(dyadic, head)
            compared += same_strings(config, dyadic, toys.mixed_tapes(head, config, each, points), device)
            how = rheo_reference.Processing()
            softmax, fresh = replace(config, target=how, draft=how), np.random.default_rng(head)
            filled = rheo_reference.Tapes.fill(fresh, softmax, each)
            compared += same_strings(softmax, toys.logit_models(head, 4, 3), filled, device)
    return {"tapes": compared}


def same_strings(
    config: rheo_reference.Config, models: rheo_reference.Models, tapes: rheo_reference.Tapes, device: torch.device
) -> int:
    """How many tapes were compared."""
    target, draft = (torch.from_numpy(np.asarray(t)).to(device) for t in (models.target, models.draft))
    vocab, how = target.shape[1], None if config.target is None else Processing()
    tape = Tape(*(torch.from_numpy(u).to(device) for u in (tapes.draft_u, tapes.coin_u, tapes.token_u)))
    step = rheo_gpu.decode_step(
        lambda trees: target[toys.rows(trees.paths, vocab)],
        lambda layer: draft[toys.rows(layer.paths, vocab)],
        toys.config_of(config),
        tape,
        how,
        how,
    )
    expected = rheo_reference.simulate(models, config, tapes)
    wrong = (step.verified.tokens.cpu().numpy() != expected.tokens).any(1)
    if wrong.any():
        raise Failed(f"{wrong.sum()} of {len(wrong)} strings differ, first on tape {wrong.argmax()} of {config}")
    return len(wrong)


# Law


def law(device: torch.device, quick: bool) -> Part:
    """Each rule on random models; the tape in float64, as in production, and in float32."""
    draws, eps = [], 0.1 if quick else EPS
    with separate_ledger():
        for seed in range(1 if quick else 4):
            logits = samplers.Logits.random(seed, 3, 2, banned=0.2 * (seed % 2))
            tables = samplers.Tables.of_logits(logits, torch.float32)
            tables = samplers.Tables(tables.vocab, tables.target.to(device), tables.draft.to(device))
            for rule in toys.RULES:
                parameters = Parameters(slots=2, head=seed % 3, depth=2, nodes=5, verify=rule)
                exact = samplers.step_law(parameters, logits.exact())
                for dtype in (torch.float64, torch.float32):
                    name = f"gpu_check {rule} {seed} {dtype}"
                    sampler = fresh(tables, parameters, device, dtype)
                    try:
                        verdict = assert_law_equal(sampler, exact, eps=eps, name=name, seeded=True)
                    except LawMismatch as error:
                        raise Failed(f"{name}: {error}") from None
                    draws.append(verdict.draws)
    return {"checks": len(draws), "draws": sum(draws), "detects": eps}


def fresh(tables: Any, parameters: Parameters, device: torch.device, dtype: torch.dtype) -> samplers.Sampler:
    """Strings with uniforms that are made on the device."""
    config = samplers.torch_config(parameters)

    def sample(seed: int, draws: int) -> Counter[Any]:
        generator = torch.Generator(device).manual_seed(seed)

        def batch(n: int) -> Tensor:
            tape = Tape.fill(config, n, generator, device, dtype)
            return samplers.torch_strings(tables, parameters, generator, n, tape=tape)

        return samplers.counted(batch(n) for n in samplers.chunks(draws))

    return sample


# Crosscheck


def crosscheck(device: torch.device, quick: bool) -> Part:
    """The command line proves the decoder, and refutes it with a fault."""
    options = [*COMMAND, "--device", str(device)] + (["--vocab", "2", "--slots", "2"] if quick else ["--vocab", "3"])
    for more, expected in (((), 0), (FAULT, 1)):
        command = [sys.executable, *options, *more]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != expected:
            said = (done.stdout + done.stderr).strip().splitlines()[-3:]
            raise Failed(f"exit status {done.returncode}, expected {expected}: {' '.join(options)}: {' / '.join(said)}")
    return {"proved": " ".join(options), "refuted": " ".join(FAULT)}


# Capture


class Static:
    """A step whose inputs stay in place: rows of the models, settings, tape."""

    def __init__(self, rule: str, device: torch.device, vocab: int = 50, batch: int = 8) -> None:
        generator = torch.Generator(device).manual_seed(0)
        self.config = Config(slots=4, head=1, depth=4, nodes=16, sparse=20, verify=rule)
        self.rows = 2 * torch.randn(vocab, vocab, generator=generator, device=device)
        self.drafted = self.rows + 0.7 * torch.randn(vocab, vocab, generator=generator, device=device)
        self.how = Processing(torch.linspace(0.0, 1.4, batch, device=device))
        self.budgets = torch.arange(batch, device=device) + 9
        self.tape, self.batch, self.device = Tape.fill(self.config, batch, generator, device), batch, device

    def copy(self, tape: Tape) -> None:
        for name in ("draft_u", "coin_u", "token_u"):
            getattr(self.tape, name).copy_(getattr(tape, name))

    def run(self) -> tuple[Trees, Verified]:
        """Both models look at the last token alone."""

        def draft(layer: Layer) -> Tensor:
            return self.drafted[layer.tokens.clamp(min=0)]

        trees = rheo_gpu.draft_trees(draft, self.config, self.tape, self.how, self.budgets)
        rows = self.rows[trees.tokens.clamp(min=0)]
        return trees, rheo_gpu.verify(trees, rows, self.config, self.tape, self.how)


def graph(work: Callable[[], Any]) -> tuple[Callable[[], Any], Any]:
    """What replays a piece of work, and where its results then are."""
    made: list[Any] = []

    def record() -> None:
        made[:] = [work()]

    return bench.captured(record), made[0]


def replays(rule: str, device: torch.device, record: Callable[..., Any], times: int = 20) -> int:
    """Replay with new tapes; every tensor must be that of an ordinary call. Says how many strings were different."""
    step = Static(rule, device)
    replay, results = record(step.run)
    generator, seen = torch.Generator(device).manual_seed(1), set[Any]()
    for _ in range(times):
        step.copy(Tape.fill(step.config, step.batch, generator, device))
        replay()
        again = step.run()
        for found, expected in zip(results, again, strict=True):
            try:
                toys.assert_equal_steps(found, expected)
            except AssertionError as error:
                raise Failed(f"{rule}: a replay differs from a call: {error}") from None
        seen |= set(map(tuple, results[1].tokens.tolist()))
    if len(seen) < times:
        raise Failed(f"{rule}: {len(seen)} different strings from {times * step.batch} replayed steps")
    return len(seen)


def capture(device: torch.device, quick: bool) -> Part:
    """All rules."""
    if device.type != "cuda":
        return {"passed": None, "skipped": "needs CUDA"}
    return {"strings": {rule: replays(rule, device, graph) for rule in toys.RULES}}


# Benchmark


def benchmark(device: torch.device, quick: bool) -> Part:
    """Figures; a missed requirement is said in them and fails nothing here."""
    with torch.inference_mode():
        rows, notes = bench.measure(bench.QUICK if quick else bench.Sizes(), bench.Clock(device), torch.float32, False)
    return {"rows": [asdict(row) for row in rows], "notes": notes}


PARTS: dict[str, Callable[[torch.device, bool], Part]] = {
    "tapes": tapes,
    "law": law,
    "crosscheck": crosscheck,
    "capture": capture,
    "benchmark": benchmark,
}


def checked(part: Callable[[torch.device, bool], Part], device: torch.device, quick: bool) -> Part:
    """Run a part. Whatever goes wrong in it is its result, so that the others are run all the same."""
    begin = time.perf_counter()
    try:
        result = {"passed": True} | part(device, quick)
    except Exception as error:
        result = {"passed": False, "error": f"{type(error).__name__}: {error}"}
    return result | {"seconds": round(time.perf_counter() - begin, 1)}


def report(name: str, result: Part) -> str:
    """One line."""
    verdict = {True: "passed", False: "FAILED", None: f"skipped: {result.get('skipped')}"}[result["passed"]]
    return f"{name}: {verdict}, {result['seconds']} s" + (f": {result['error']}" if "error" in result else "")


def run(device: torch.device, quick: bool, parts: Sequence[str]) -> Part:
    """All parts, and on what."""
    cuda = device.type == "cuda"
    found: Part = {
        "device": torch.cuda.get_device_name(device) if cuda else device.type,
        "capability": list(torch.cuda.get_device_capability(device)) if cuda else None,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "parts": {},
    }
    for name in parts:
        found["parts"][name] = checked(PARTS[name], device, quick)
        click.echo(report(name, found["parts"][name]))
    return found


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--device", default="cuda", show_default=True, help="cuda, cuda:1, ...; cpu runs small sizes.")
@click.option("--json", "file", type=click.Path(path_type=Path), default="gpu_check.json", show_default=True)
@click.option("--quick", is_flag=True, help="Small sizes.")
@click.option("--part", "parts", type=click.Choice(list(PARTS)), multiple=True, help="Only these parts.")
def main(device: str, file: Path, quick: bool, parts: tuple[str, ...]) -> None:
    """Check the torch decoder on a GPU and write one JSON file with all results.

    Where torch has no CUDA device and none but that was asked for, says so in one line, writes nothing and ends with
    exit status 0. Otherwise exit status 1 if a part fails.
    """
    where = torch.device(device)
    if where.type == "cuda" and not torch.cuda.is_available():
        click.echo("No CUDA device: nothing was checked and nothing written.")
        return
    if where.type == "cpu":
        torch.set_num_threads(1)
    elif where.index is not None:
        torch.cuda.set_device(where)
    found = run(where, quick or where.type != "cuda", parts or tuple(PARTS))
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if any(part["passed"] is False for part in found["parts"].values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
