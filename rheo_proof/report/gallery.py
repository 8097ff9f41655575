"""The gallery of faults as a page of Markdown: each with the smallest model that refutes it."""

from __future__ import annotations

from rheo_proof.exact.model import key
from rheo_proof.report.console import describe, laws, number
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.scheme import SCHEMES, Parameters
from rheo_proof.theorems.counterexample import smallest
from rheo_proof.theorems.zoo import EVERY

INTRO = """# Gallery of faults

Each section is a way to get a verifier wrong, most of them met in published code: the condition it breaks, and the
smallest model that shows it. "Smallest" is the smallest that the search tried, by vocabulary, depth, K, N and
denominators in that order; [notation.md](notation.md) explains the letters. Prefixes that neither model can produce
are left out, and so is the draft law at the full depth, where nothing is drafted.

This page is printed by `rheo-prove faults --gallery`; a test recomputes every section.
"""

VOCAB = 5


def names() -> list[str]:
    """What is in the gallery, in order: all faults, then the rule that only looks right."""
    return [*FAULTS, *(name for name, named in SCHEMES.items() if not named.lossless)]


def page() -> str:
    """The whole page."""
    return "\n".join([INTRO, *(section(name) for name in names())])


def section(name: str) -> str:
    """One fault: its condition, its smallest counterexample within the default sizes, and how to see it again."""
    found = smallest(name, Parameters(), VOCAB, range(Parameters().slots + 1))
    if found is None:
        raise LookupError(f"no counterexample to {name} within the default sizes")
    p, wrong = found.parameters, found.wrong
    option = "--fault" if name in FAULTS else "--scheme"
    rows = "\n".join(f"| {u} | {target} | {draft} |" for u, target, draft in laws(found.model, p.depth))
    return f"""## {name}

{EVERY[name].line[0].upper()}{EVERY[name].line[1:]}.

V = {found.model.vocab}, {describe(p)}, m = {p.head}, verify {p.verify}:

| prefix | target p | draft q |
| --- | --- | --- |
{rows}

The output starts with `{key(wrong.string)}` with probability {number(wrong.actual)}; the target gives
{number(wrong.expected)}. Total variation distance: {number(found.tv)}.

See it again: `rheo-prove {option} {name}`
"""
