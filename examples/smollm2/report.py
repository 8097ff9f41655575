"""Tables and plots of what `measure.py` wrote, from the files alone.

    python report.py results.json --plots plots

E[tau] + 1 is the expected number of tokens of a step. Errors are one standard error, clustered by prompt. Differences
are taken context by context. Of several files, say for two heads, each has its tables, and all together have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from clustered import Mean
from inputs import FILE, line
from results import Part, pooled, read

SIZES = (8, 16, 30, 60)
VARIANTS = tuple(
    f"m=1{tail}{fill}"
    for tail in ("", " tail 1", " tail 1/2", " tail 1/4")
    for fill in ("", " fill 1/2")
    if tail or fill
)
DIFFERENCES: tuple[tuple[str, str, str], ...] = (
    ("m=1 rheo - top-K raw", "m=1|rheo", "top-K raw|match"),
    ("m=1 rheo - top-K processed", "m=1|rheo", "top-K processed|match"),
    ("m=1 drafted at 1, rheo - top-K raw", "m=1 draft at 1|rheo", "top-K raw|match"),
    ("m=1 flow - top-K raw", "m=1|flow", "top-K raw|match"),
    ("m=1 drafted at 1, flow - top-K raw", "m=1 draft at 1|flow", "top-K raw|match"),
    *((f"rheo - rrsw, m={m}", f"m={m}|rheo", f"m={m}|rrsw") for m in (1, 2, 3)),
    *((f"m=1 - m={m}, rheo", "m=1|rheo", f"m={m}|rheo") for m in (0, 2, 3)),
    *((f"m=1 - m={m}, flow", "m=1|flow", f"m={m}|flow") for m in (0, 2, 3)),
    *((f"flow - rheo, m={m}", f"m={m}|flow", f"m={m}|rheo") for m in (0, 1, 2, 3)),
    *((f"{v} - paper, {rule}", f"{v}|{rule}", f"m=1|{rule}") for v in VARIANTS for rule in ("rheo", "flow")),
    *((f"{v}, flow - m=1 rheo", f"{v}|flow", "m=1|rheo") for v in VARIANTS),
    ("sparse 32 - full", "m=1 sparse 32|rheo", "m=1 sparse full|rheo"),
    ("sparse 128 - full", "m=1|rheo", "m=1 sparse full|rheo"),
    *(
        (f"m=1 drafted at {t} - at the target's temperature, {rule}", f"m=1 draft at {t}|{rule}", f"m=1|{rule}")
        for t in ("0.6", "0.8", "1", "1.25", "1.5")
        for rule in ("rheo", "flow")
    ),
)
CURVES = (
    ("top-K raw", "top-K raw|match"),
    ("top-K processed", "top-K processed|match"),
    ("m=0", "m=0|rheo"),
    ("m=1", "m=1|rheo"),
    ("m=1, RRSw", "m=1|rrsw"),
    ("m=1, flow", "m=1|flow"),
    ("m=2", "m=2|rheo"),
    ("m=1 drafted at 1", "m=1 draft at 1|rheo"),
)


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def shown(mean: Mean, signed: bool = False) -> str:
    """A mean and its error to three decimals."""
    return f"{mean.mean:+.3f} ± {mean.error:.3f}" if signed else f"{mean.mean:.3f} ± {mean.error:.3f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from ("", row(*head), row("---", *["---:"] * (len(head) - 1)))
    yield from (row(*cells) for cells in rows)


def section(part: Part) -> Iterator[str]:
    """All tables of one temperature."""
    yield f"\n### T = {part.temperature}: {len(part.prompts)} contexts, {len(set(part.prompts))} prompts"
    yield "\nE[tau] + 1, expected tokens of a step."
    sizes = [size for size in SIZES if any(setting.endswith(f"|{size}") for setting in part.tau)]
    trees = list(dict.fromkeys(setting.rsplit("|", 1)[0] for setting in part.tau if not setting.startswith("chain")))
    yield from table(
        ["tree, rule", *(f"N = {size}" for size in sizes)],
        [[tree.replace("|", ", "), *_cells(part, tree, sizes)] for tree in trees],
    )
    yield (
        f"\nThe texts themselves, decoded with m=1, rheo, N = 16: {shown(part.in_the_loop())} tokens a step over "
        f"{sum(steps for _, steps, _ in part.loop)} steps."
    )
    chains = [setting for setting in part.tau if setting.startswith("chain")]
    rows = [[_chain(setting), shown(part.level(setting))] for setting in chains]
    if len(chains) == 2:
        rows.append(["block verification - token by token", shown(part.difference(chains[1], chains[0]), True)])
    yield from table(["chain", "E[tau] + 1"], rows)
    yield "\nPaired differences."
    made = [[name, *_differences(part, a, b, sizes)] for name, a, b in DIFFERENCES]
    yield from table(["difference", *(f"N = {size}" for size in sizes)], [r for r in made if any(r[1:])])
    yield f"\nAcceptance by level: the probability that at least l draft tokens are accepted, N = {sizes[-1]}."
    wanted = [s for s in part.levels if s.endswith(f"|{sizes[-1]}") or s.startswith("chain")]
    depth = len(part.levels[wanted[0]])
    rows = [[s.rsplit("|", 1)[0].replace("|", ", "), *(f"{x:.3f}" for x in part.levels[s])] for s in wanted]
    yield from table(["tree, rule", *(f"l = {level}" for level in range(1, depth + 1))], rows)


def _cells(part: Part, tree: str, sizes: Sequence[int]) -> list[str]:
    return [shown(part.level(f"{tree}|{n}")) if part.has(f"{tree}|{n}") else "" for n in sizes]


def _differences(part: Part, a: str, b: str, sizes: Sequence[int]) -> list[str]:
    pairs = [(f"{a}|{n}", f"{b}|{n}") for n in sizes]
    return [shown(part.difference(*pair), True) if part.has(*pair) else "" for pair in pairs]


def _chain(setting: str) -> str:
    _, rule, size = setting.split("|")
    return f"{size} tokens, " + {"rheo": "token by token", "flow": "block verification"}[rule]


def origin(path: Path, meta: dict[str, Any]) -> str:
    """Where the numbers of a file come from."""
    plan, head = meta.get("plan", {}), meta.get("head", {})
    return (
        f"Head `{head.get('file')}` (sha256 {str(head.get('sha256'))[:12]}), seed {plan.get('seed')}, grid "
        f"{plan.get('grid')}, torch {meta.get('versions', {}).get('torch')}; `{meta.get('command')}`"
    )


def draw(part: Part, path: Path) -> None:
    """E[tau] + 1 against N, with bars of one standard error."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "rheo", "svg.fonttype": "none"})
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, tree in CURVES:
        sizes = [n for n in SIZES if part.has(f"{tree}|{n}")]
        if sizes:
            means = [part.level(f"{tree}|{n}") for n in sizes]
            axes.errorbar(sizes, [m.mean for m in means], [m.error for m in means], label=name, marker="o", capsize=2)
    axes.set_xscale("log", base=2)
    axes.set_xticks(SIZES, [str(n) for n in SIZES])
    axes.set_xlabel("N, draft nodes of a tree")
    axes.set_ylabel("expected tokens of a step, E[tau] + 1")
    axes.set_title(f"T = {part.temperature}, {len(part.prompts)} contexts", fontsize=10)
    axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """A place that cannot be written ends the program with one line."""
    try:
        yield
    except OSError as error:
        raise click.UsageError(f"--plots: {path}: {line(error)}; expected a folder that can be written to") from None


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "--plots",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    help="Folder for a plot of each temperature.",
)
def main(files: tuple[Path, ...], plots: Path | None) -> None:
    """Print tables of FILES in Markdown."""
    if plots is not None and find_spec("matplotlib") is None:
        raise click.UsageError("--plots: matplotlib is not installed, expected it: pip install 'rheo-proof[plot]'")
    found = [read(path) for path in files]
    groups = [(path.name, origin(path, meta), parts) for path, (meta, parts) in zip(files, found, strict=True)]
    if len(files) > 1:
        together = pooled([parts for _, parts in found])
        groups.append(("All files together", "Their prompts are the clusters; errors between heads are not.", together))
    if plots is not None:
        with _writing(plots):
            plots.mkdir(parents=True, exist_ok=True)
    for name, text, parts in groups:
        click.echo(f"\n## {name}\n\n{text}")
        for part in parts:
            click.echo("\n".join(section(part)))
    if plots is not None:
        for part in groups[-1][2]:
            with _writing(path := plots / f"tokens-{part.temperature}.svg"):
                draw(part, path)


if __name__ == "__main__":
    main()
