"""The page about the torch decoder: its program runs, its tables agree with the code and with themselves."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
from pathlib import Path

import pytest
import rheo_gpu
import torch

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "torch.md").read_text("utf-8")
RULES = ("rheo", "rrsw", "match", "flow")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n([\s\S]*?)^```", PAGE, re.MULTILINE)


def cells(begin: str) -> list[list[str]]:
    """The rows of all tables whose first cell begins so."""
    lines = [line for line in PAGE.splitlines() if line.startswith(f"| {begin}")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def printed(program: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "docs/torch.md", "exec"), {})
    return out.getvalue()


def test_the_program_prints_what_the_page_shows() -> None:
    (program,), (shown,) = blocks("python"), blocks("text")
    assert printed(program) == shown


def test_the_program_notices_a_broken_row() -> None:
    (program,) = blocks("python")
    broken = program.replace("logits = target[tokens_of(trees)]", "logits = target[tokens_of(trees)] * float('nan')")
    with pytest.raises(RuntimeError, match="no law"):
        printed(broken)


def test_the_program_needs_a_fresh_tape() -> None:
    """The twin: with one tape for all steps the texts are others."""
    (program,), (shown,) = blocks("python"), blocks("text")
    line = next(line for line in program.splitlines() if "Tape.fill" in line)
    once = program.replace(line, "").replace("with torch.inference", line.strip() + "\nwith torch.inference")
    assert printed(once) != shown


def test_shapes_are_those_of_a_step() -> None:
    config = rheo_gpu.Config(slots=3, head=1, depth=4, nodes=7, sparse=None)
    R, V, D, N = 2, 6, config.depth, config.nodes
    tape = rheo_gpu.Tape.fill(config, R)
    seen = []

    def draft(layer: rheo_gpu.Layer) -> torch.Tensor:
        seen.append(layer.tokens.shape[1])
        return torch.zeros(*layer.tokens.shape, V)

    trees = rheo_gpu.draft_trees(draft, config, tape, rheo_gpu.Processing())
    verified = rheo_gpu.verify(trees, torch.zeros(R, 1 + N, V), config, tape, rheo_gpu.Processing())
    found: dict[str, dict[str, tuple[int, ...]]] = {
        owner: {f.name: tuple(getattr(value, f.name).shape) for f in dataclasses.fields(value) if f.name in names}
        for owner, value, names in (
            ("Tape", tape, ("draft_u", "coin_u", "token_u")),
            ("Trees", trees, ("tokens", "parents", "depths", "kinds")),
            ("Verified", verified, ("tokens", "lengths", "accepted", "last", "keep", "broken")),
        )
    }
    found["Trees"] |= {
        "there": tuple(trees.there.shape),
        "ancestor_mask()": tuple(trees.ancestor_mask().shape),
        "position_ids(lengths)": tuple(trees.position_ids(torch.ones(R, dtype=torch.int64)).shape),
    }
    sizes = {"R": R, "D": D, "B": config.width, "D + 1": D + 1, "1 + N": 1 + N, "2": 2}
    stated: dict[str, dict[str, tuple[int, ...]]] = {owner: {} for owner in found}
    for owner in found:
        for what, shape, _ in cells(f"`{owner}."):
            names = [name.removeprefix(owner).removeprefix(".") for name in re.findall("`(.*?)`", what)]
            shapes = [tuple(sizes[s] for s in part.split(", ")) for part in re.findall(r"\[(.*?)\]", shape)]
            stated[owner] |= dict(zip(names, shapes * (len(names) // len(shapes)), strict=True))
    assert stated == found
    assert tuple(seen) == config.widths


def test_ratios_are_those_of_their_rows() -> None:
    rows = cells("step ") + cells("toy ")
    assert len(rows) == 4 * 4 + 2 + 8
    for what, ours, other, ratio, required, verdict in rows:
        a, b = (float(cell.split()[0].replace(",", "")) for cell in (ours, other))
        assert a / b == pytest.approx(float(ratio), rel=0.02, abs=0.006), what
        expected = "-"
        if required != "-" and required.startswith("at most"):
            expected = "met" if float(ratio) <= float(required.removeprefix("at most ")) else "NOT met"
        assert verdict == expected, what


def test_every_case_of_the_benchmark_has_a_row() -> None:
    whats = {row[0] for row in cells("step ") + cells("toy ")}
    steps = {f"step {r}, V = {v}, batch {b}" for r in RULES for v in ("32,000", "128,000") for b in (1, 32)}
    compiled = {f"step rheo, V = {v}, batch 1, compiled" for v in ("32,000", "128,000")}
    toys = {f"toy {r}, {dtype} : NumPy" for r in RULES for dtype in ("float64", "float32")}
    assert whats == steps | compiled | toys


def test_the_options_on_the_page_exist() -> None:
    commands = re.findall(r"^    python (benchmarks/\S+) (\S+)", PAGE, re.MULTILINE)
    assert len(commands) == 3
    for file, option in commands:
        assert f'"{option}"' in (ROOT / file).read_text("utf-8")
