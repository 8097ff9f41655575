"""Put the tables of the documentation where they belong: `python page.py`, or `python page.py --check`.

docs/real-pair.md has places for the table of claims and that of speed; docs/real-pair-tables.md is all report. Both are
made from the files in results/ alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import claims
import click
import report
from results import read

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
PLACE = re.compile(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->\n)", re.DOTALL)
SPLIT = ("target layers", "lm_head", "draft", "selection", "verification", "cache")
TOP = """# All tables of the real pair

Made by `python examples/smollm2/page.py` from the files in `examples/smollm2/results`. What they are, and
what follows, is on [the page before](real-pair.md).
"""


def acceptance() -> list[Path]:
    """The files of `measure.py`, in the order of their names."""
    return sorted((HERE / "results").glob("acceptance-*.json"))


def claims_table() -> str:
    return "\n".join(claims.table([part for path in acceptance() for part in read(path)[1]])) + "\n"


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
    head = ("setting", "speed", "tokens a step", "ms a step", *SPLIT)
    lines = [report.row(*head), report.row("---", *["---:"] * (len(head) - 1))]
    for line in data["rows"]:
        lines.append(report.row(line["setting"], _ratio(line), *_figures(line)))
    return "\n".join(lines) + "\n"


def _ratio(line: dict[str, Any]) -> str:
    if line["setting"] == "without a draft":
        return "1"
    return f"{line['speed']:.2f} ± {line['error']:.2f}"


def _figures(line: dict[str, Any]) -> Sequence[str]:
    split = [f"{line['ms'][part]:.1f}" for part in SPLIT]
    return [f"{line['tokens_per_step']:.2f}", f"{line['ms_per_step']:.1f}", *split]


def training_table() -> str:
    """Of each head: overlap with the target's law on held-out text, by step of the unrolling."""
    lines = [
        report.row("head", "seed", "steps", "sum min(p, q), steps 1 to 3", "same best token"),
        report.row(*["---"] * 5),
    ]
    for path in sorted([HERE / "head.safetensors.json", *(HERE / "results").glob("head-*.json")]):
        record = json.loads(path.read_text("utf-8"))
        found = (", ".join(f"{x:.3f}" for x in record[name]) for name in ("overlap", "agree"))
        lines.append(report.row(path.name, str(record["seed"]), str(record["steps"]), *found))
    return "\n".join(lines) + "\n"


MADE = {
    "claims": claims_table,
    "contexts": contexts_table,
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
    return {page: text, DOCS / "real-pair-tables.md": "".join(tables)}


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; exit status 1 if something would change.")
def main(check: bool) -> None:
    """Write the tables of the documentation."""
    stale = [(path, text) for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text]
    for path, text in stale:
        click.echo(f"{path.name}: {'not as the results say' if check else 'written'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    if check and stale:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
