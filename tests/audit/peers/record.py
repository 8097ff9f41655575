"""Audit the public packages that are installed, and write their verdicts down.

    python -m tests.audit.peers.record [NAME ...]

runs the audits of `registry.PEERS`, or of the names given, replaces their entries in `verdicts.json`, and writes the
tables of docs/audit-peers.md from it. Without a package its old entry stays. `--page` writes the tables alone.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

from rheo_proof.audit.auditing import audit
from rheo_proof.audit.verdict import Verdict
from rheo_proof.audit.words import decimal
from rheo_proof.exact.model import key
from rheo_proof.exact.number import to_fraction
from tests.audit.peers.registry import PEERS, TABLES, Peer

RECORD = Path(__file__).with_name("verdicts.json")
PAGE = Path(__file__).resolve().parents[3] / "docs" / "audit-peers.md"
MOST_RUNS = 60_000
CALLS = 400


def audited(peer: Peer, **options: Any) -> Verdict:
    """The verdict on a peer, with what it prints and warns of dropped."""
    chosen = {
        "dtypes": ("float32",),
        "tables": TABLES,
        "declared": peer.declared,
        "max_runs": MOST_RUNS,
        "calls": 0 if peer.seeded else CALLS,
        **options,
        **peer.options,
    }
    # Nothing is compiled: an audit interprets every operation.
    eager = mock.patch.dict(os.environ, {"TORCHDYNAMO_DISABLE": "1"})
    with eager, warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return audit(peer.function, peer.adapter, **chosen)


def here(text: str) -> str:
    """A text with the paths of installed files as they are in any environment.

    >>> here("at /opt/venv/lib/python3.11/site-packages/eagle/model.py:7")
    'at eagle/model.py:7'
    """
    return re.sub(r"\S*/(site|dist)-packages/", "", text)


def entry(peer: Peer, verdict: Verdict) -> dict[str, Any]:
    """What is kept of a verdict."""
    import torch

    return {
        "package": peer.package,
        "version": peer.version,
        "torch": torch.__version__.partition("+")[0],
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "kind": verdict.kind,
        "distance": repr(float(verdict.distance)),
        "lost": repr(float(verdict.lost)),
        "exact": verdict.exact,
        "cases": len(verdict.judged),
        "runs": verdict.runs,
        "called": verdict.called,
        "undecided": [here(f"{each.case}: {each.why}") for each in verdict.undecided],
        "found": [f"{each.topic}: {each.text}" for each in verdict.findings if not each.remark],
        "remarks": [f"{each.topic}: {each.text}" for each in verdict.findings if each.remark],
        "counterexample": counterexample(verdict),
    }


def counterexample(verdict: Verdict) -> dict[str, Any] | None:
    """The smallest case whose law departs: its root rows, the law of the first token, the first wrong string."""
    worst = verdict.worst
    if worst is None:
        return None
    first: dict[int, Any] = {}
    for string, mass in worst.law.items():
        first[string[0]] = first.get(string[0], 0) + mass
    wrong = worst.wrong
    return {
        "case": worst.case.name,
        "p": [str(x) for x in worst.model.target(())],
        "q": [str(x) for x in worst.model.draft(())],
        "first": [str(first.get(x, 0)) for x in range(worst.model.vocab)],
        "distance": repr(float(worst.distance)),
        "string": None if wrong is None else key(wrong.string),
        "expected": None if wrong is None else str(to_fraction(wrong.expected)),
        "actual": None if wrong is None else str(to_fraction(wrong.actual)),
        "failures": {text: repr(float(mass)) for text, mass in worst.failures.items()},
    }


def recorded() -> dict[str, dict[str, Any]]:
    """The verdicts that are written down."""
    return dict(json.loads(RECORD.read_text("utf-8"))) if RECORD.exists() else {}


def record(names: Iterable[str]) -> None:
    """Audit and write down, one after another, so that an interrupted run keeps what it has."""
    wanted = set(names)
    unknown = wanted - {peer.name for peer in PEERS}
    if unknown:
        raise SystemExit(f"no peer {', '.join(sorted(unknown))}; there are {', '.join(p.name for p in PEERS)}")
    for peer in PEERS:
        if wanted and peer.name not in wanted:
            continue
        if peer.version is None:
            print(f"{peer.name}: {peer.package} is not installed", flush=True)
            continue
        verdict = audited(peer)
        print(f"{peer.name}: {peer.package} {peer.version}: {verdict.kind}", flush=True)
        kept = {**recorded(), peer.name: entry(peer, verdict)}
        order = {each.name: place for place, each in enumerate(PEERS)}
        kept = dict(sorted(kept.items(), key=lambda item: order[item[0]]))
        RECORD.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


# The page


def table(entries: dict[str, dict[str, Any]]) -> str:
    """The verdicts as a table in Markdown."""
    lines = ["| package | version | function | verdict | the law |", "|---|---|---|---|---|"]
    for peer in PEERS:
        if (held := entries.get(peer.name)) is not None:
            words = f"{held['package']} | {held['version']} | `{peer.verifier}` | {held['kind']} | {law(held)}"
            lines.append(f"| {words} |")
    return "\n".join(lines)


def law(held: dict[str, Any]) -> str:
    """The counterexample, or how near the laws are."""
    worst = held["counterexample"]
    if worst is None:
        cases = f"{held['exact']} of {held['cases']} laws equal, the others within {number(held['distance'])}"
        lost = f"; from p up to {number(held['lost'])}" if held["lost"] != held["distance"] else ""
        return cases + lost + "".join(f"; {each}" for each in held["found"])
    failing = "".join(f"; {text}: {number(mass)}" for text, mass in worst["failures"].items())
    rows = f"p = {row(worst['p'])}, q = {row(worst['q'])}"
    said = "" if worst["string"] is None else f": P({worst['string']}) {both(worst['actual'], worst['expected'])}"
    return f"{worst['case'].partition('/')[0]}: {rows}{said}{failing}; TV {number(worst['distance'])}"


def both(actual: str, expected: str) -> str:
    """`5/6 for 1/2`."""
    return f"{number(actual)} for {number(expected)}"


def row(texts: list[str]) -> str:
    """A row of probabilities."""
    return f"[{', '.join(number(text) for text in texts)}]"


def number(text: str) -> str:
    """A fraction; one that only a float has, as a decimal."""
    value = Fraction(text)
    near = value.limit_denominator(1000)
    if value == near:
        return text
    return str(near) if near and abs(value - near) < Fraction(1, 10**7) else decimal(value)


def commands(entries: dict[str, dict[str, Any]]) -> str:
    """The audits as commands."""
    lines = [f"    {peer.command}" for peer in PEERS if peer.name in entries]
    return "\n".join(lines)


def page(text: str) -> str:
    """The page with its generated parts made anew."""
    entries = recorded()
    for name, made in (("verdicts", table(entries)), ("commands", commands(entries))):
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", re.DOTALL)
        text, count = pattern.subn(lambda found, made=made: f"{found[1]}\n{made}\n{found[2]}", text)
        if count != 1:
            raise SystemExit(f"{PAGE.name} has {count} places for {name}")
    return text


def main(arguments: list[str]) -> None:
    """Record, then write the page."""
    if arguments != ["--page"]:
        record(arguments)
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
