"""The reference of the auditor as Markdown, written from the tables that the code itself reads.

`python -m rheo_proof.audit.reference` prints docs/audit-reference.md from its first table on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rheo_proof.audit.adapters import NAMES, READY, Step
from rheo_proof.audit.adapters.options import EVERYWHERE, OPTIONS, STEPPING, VERIFYING, Option
from rheo_proof.audit.contract import TOPICS
from rheo_proof.audit.reading import PARTS
from rheo_proof.audit.roles import AXES, SCALARS, SPELLINGS, Role
from rheo_proof.audit.tables import BATTERY
from rheo_proof.audit.toys import TOYS

ABOUT_ROLES = {
    "draft_tokens": "the draft tokens",
    "draft_probs": "the row that each was drawn from",
    "draft_logits": "the same as logits",
    "target_probs": "the target's row at each draft token, and one position further",
    "target_logits": "the same as logits",
    "bonus_probs": "the target's row after all draft tokens",
    "bonus_logits": "the same as logits",
    "bonus_token": "a token drawn from it",
    "uniforms": "fresh uniforms",
    "exponentials": "fresh exponential variables",
    "parents": "for each node that of its parent, -1 for the root",
    "paths": "the nodes of each root-to-leaf path, padded with -1",
    "candidates": "the tokens of each path after the last of the prompt, padded with -1",
    "path_probs": "the target's row after each position of a path",
    "path_logits": "the same as logits",
    "input_ids": "the prompt and the draft tokens",
    "K": "the number of draft tokens",
    "vocab": "V",
    "batch": "B",
    "temperature": "that of `--set temperature`",
    "done": "whether the draft ends with the end of sequence",
    "eos": "the end of sequence, or None",
    "generator": "a seeded generator of the kind of the arrays",
    "generators": "one for each request, in a dict",
    "processor": "a function (ids, logits) that divides logits by the temperature",
    "none": "None",
    "prompt_length": "tokens of the prompt",
    "draft_model": "a model to call (adapter step)",
    "target_model": "a model to call (adapter step)",
}
ABOUT_PARTS = {
    "tokens": "the emitted string",
    "padded": "the same, filled up with -1",
    "length": "the number of accepted draft tokens",
    "token": "the last token",
    "vector": "weights that the caller draws the last token from",
    "node": "the last accepted node, -1 for none",
    "position": "the same, the root being 0",
    "path": "the accepted nodes",
    "best": "the row of `candidates` that `length` is about",
    "_": "not looked at",
}


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table."""
    yield f"| {' | '.join(head)} |"
    yield "| --- " * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def code(names: Iterable[str]) -> str:
    """Names, marked as such."""
    return ", ".join(f"`{name}`" for name in names)


def adapters() -> Iterator[str]:
    """What each adapter hands over and takes back."""
    yield "## Adapters\n"
    rows = []
    for name in NAMES:
        made: Any = READY[name]()
        roles = [Role(r).with_axes(getattr(made, "axes", {}), getattr(made, "batched", False)) for r in made.order]
        given = ", ".join(f"{role.kind} [{','.join(role.axes)}]" if role.axes else role.kind for role in roles)
        own = {} if isinstance(made, Step) else {k: o for k, o in OPTIONS[name].items() if k not in VERIFYING}
        more = "; ".join(f"{k}: {made.drafting.parents if k == 'parents' else o.usual}" for k, o in own.items())
        rows.append((f"`{name}`", given, f"`{made.returns}`", more or "none"))
    yield from grid(
        ("adapter", "arguments, in this order where names are not known", "returns", "options of its own"), rows
    )


def options(title: str, known: dict[str, Option]) -> Iterator[str]:
    """A table of options."""
    yield f"## {title}\n"
    rows = []
    for name, option in known.items():
        flag = f"`{option.flag}`" if option.flag != "--set" else f"`--set {name}=...`"
        flag = "from Python only" if "only `audit" in option.kind.expected else flag
        rows.append((f"`{name}`", flag, option.about, option.kind.expected, option.usual))
    yield from grid(("option", "set by", "what it says", "values", "usual"), rows)


def lines() -> Iterator[str]:
    """All tables."""
    yield from adapters()
    yield from options("Options of every adapter", EVERYWHERE)
    verifying = {name: option for name, option in VERIFYING.items() if name not in EVERYWHERE}
    yield from options("Options of all adapters but `step`", verifying)
    trees = {**OPTIONS["siblings"], **OPTIONS["tree"]}
    yield from options(
        "Options of `siblings`, `tree` and `eagle`", {k: o for k, o in trees.items() if k not in VERIFYING}
    )
    yield from options("Options of `step`", {name: o for name, o in STEPPING.items() if name not in EVERYWHERE})
    yield "## Roles\n"
    usual = {role: [name for name, known in SPELLINGS.items() if known == role and name != role] for role in SPELLINGS}
    roles = [(role, f"[{','.join(AXES[role])}]" if role in AXES else "") for role in (*AXES, *SCALARS)]
    yield from grid(
        ("role", "axes", "what it is", "other names of parameters that get it"),
        [(f"`{role}`", axes, ABOUT_ROLES[role], code(usual.get(role, ()))) for role, axes in roles],
    )
    yield "## What comes back\n"
    yield from grid(("part", "what it is"), [(f"`{part}`", ABOUT_PARTS[part]) for part in PARTS])
    yield "## Tables\n"
    tables = [*BATTERY, *dict.fromkeys(TOYS.values())]
    also = {t.name: [name for name, each in TOYS.items() if each is t and name != t.name] for t in tables}
    yield from grid(
        ("table", "also", "V", "K", "requests", "what is special"),
        [(f"`{t.name}`", code(also[t.name]), str(t.vocab), str(t.length), str(len(t.rows)), t.about) for t in tables],
    )
    yield "## Findings\n"
    yield from (f"* `{topic}`" for topic in TOPICS)


if __name__ == "__main__":
    print("\n".join(lines()))
