"""Put the tables of the documentation where they belong: `python page.py`, or `python page.py --check`.

docs/real-pair.md has places for some tables and figures; docs/real-pair-tables.md is all report. They are made from the
files in results/ alone. Figures are not compared by --check: another version of matplotlib draws them otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import agree
import claims
import click
import report
from results import acceptance, again, parts_of, pooled, read

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
PLACE = re.compile(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->\n)", re.DOTALL)
SPLIT = ("target layers", "lm_head", "draft", "selection", "verification", "cache")
TOP = """# All tables of the real pair

Made by `python examples/smollm2/page.py` from the files in `examples/smollm2/results`. What they are, and
what follows, is on [the page before](real-pair.md).
"""


def claims_table() -> str:
    return "\n".join(claims.table(parts_of(acceptance()))) + "\n"


def contexts_table() -> str:
    """What was measured with which head."""
    lines = [report.row("file", "T", "contexts", "prompts", "head"), report.row("---", "---:", "---:", "---:", "---")]
    for path in acceptance():
        meta, parts = read(path)
        for part in parts:
            counts = (str(len(part.prompts)), str(len(set(part.prompts))))
            lines.append(report.row(path.name, part.temperature, *counts, meta["head"]["file"]))
    return "\n".join(lines) + "\n"


def speed_table() -> str:
    data = json.loads((HERE / "results" / "speed.json").read_text("utf-8"))
    head = ("setting", "speed", "limit", "tokens a step", "ms a step", *SPLIT)
    lines = [report.row(*head), report.row("---", *["---:"] * (len(head) - 1))]
    plain = data["rows"][0]
    for line in data["rows"]:
        lines.append(report.row(line["setting"], *_ratios(line, plain), *_figures(line)))
    return "\n".join(lines) + "\n"


def _ratios(line: dict[str, Any], plain: dict[str, Any]) -> tuple[str, str]:
    """Speed, and what it would be if all but the forward pass of the target took no time."""
    if line is plain:
        return "1", ""
    forward = line["ms"]["target layers"] + line["ms"]["lm_head"]
    limit = line["tokens_per_step"] * plain["ms_per_step"] / plain["tokens_per_step"] / forward
    return f"{line['speed']:.2f} ± {line['error']:.2f}", f"{limit:.2f}"


def _figures(line: dict[str, Any]) -> Sequence[str]:
    split = [f"{line['ms'][part]:.1f}" for part in SPLIT]
    return [f"{line['tokens_per_step']:.2f}", f"{line['ms_per_step']:.1f}", *split]


def figures() -> str:
    """The figures, hottest first."""
    parts = pooled([read(path)[1] for path in acceptance()])
    names = sorted((part.temperature for part in parts), key=float, reverse=True)
    lines = [f"![Expected tokens of a step against N, T = {t}](assets/real-pair-{t}.svg)" for t in names]
    return "\n\n".join(lines) + "\n"


def training_table() -> str:
    """Of each head: overlap with the target's law on held-out text, by step of the unrolling."""
    lines = [
        report.row("head", "seed", "steps", "sum min(p, q), steps 1 to 3", "same best token", "time"),
        report.row(*["---"] * 6),
    ]
    for path in sorted([HERE / "head.safetensors.json", *(HERE / "results").glob("head-*.json")]):
        record = json.loads(path.read_text("utf-8"))
        found = (", ".join(f"{x:.3f}" for x in record[name]) for name in ("overlap", "agree"))
        spent = f"{record['seconds'] / 60:.0f} min, {record['threads']} threads" if "seconds" in record else ""
        lines.append(report.row(path.name, str(record["seed"]), str(record["steps"]), *found, spent))
    return "\n".join(lines) + "\n"


def again_table() -> str:
    """How far each of them is from the page; see agree.py."""
    head = ("file", "T", "contexts", "differences", "more than 2 errors apart", "the largest", "root mean square")
    lines = [report.row(*head), report.row("---", *["---:"] * (len(head) - 1))]
    page = parts_of(acceptance())
    for path in again():
        for part in read(path)[1]:
            differences, far, largest, root = agree.Distances.of(list(agree.pairs([part], page)))
            figures = (len(part.prompts), differences, far, f"{largest:.1f}", f"{root:.1f}")
            lines.append(report.row(path.name, part.temperature, *map(str, figures)))
    return "\n".join(lines) + "\n"


MADE = {
    "again": again_table,
    "claims": claims_table,
    "contexts": contexts_table,
    "figures": figures,
    "speed": speed_table,
    "training": training_table,
}


def pages() -> dict[Path, str]:
    """Both pages as they should be."""
    page = DOCS / "real-pair.md"
    text = PLACE.sub(lambda place: place[1] + "\n" + MADE[place[2]]() + "\n" + place[3], page.read_text("utf-8"))
    tables = [TOP]
    for path in acceptance():
        meta, parts = read(path)
        tables.append(f"\n## {path.name}\n\n{report.origin(path, meta)}\n")
        tables += ["\n".join(report.section(part)) + "\n" for part in parts]
    there = parts_of(acceptance())
    for path in again():
        meta, parts = read(path)
        tables.append(f"\n## {path.name}, beside the page\n\n{report.origin(path, meta)}\n\n")
        tables.append("\n".join(agree.table(list(agree.pairs(parts, there)))) + "\n")
    return {page: text, DOCS / "real-pair-tables.md": "".join(tables)}


def draw(folder: Path) -> list[Path]:
    """The figures of the page, one for each temperature, of all files together."""
    parts = pooled([read(path)[1] for path in acceptance()])
    paths = [folder / f"real-pair-{part.temperature}.svg" for part in parts]
    for part, path in zip(parts, paths, strict=True):
        report.draw(part, path)
    return paths


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; exit status 1 if something would change.")
def main(check: bool) -> None:
    """Write the tables of the documentation, and draw its figures."""
    stale = [(path, text) for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text]
    for path, text in stale:
        click.echo(f"{path.name}: {'not as the results say' if check else 'written'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    if not check:
        click.echo("drawn: " + ", ".join(path.name for path in draw(DOCS / "assets")))
    if check and stale:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
