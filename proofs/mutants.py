"""Without a hypothesis that matters a proof must fail, in the lemma that uses it; `python proofs/mutants.py`.

Each mutant is a copy of the sources with a few words of a statement replaced, compiled from the first edited file on.
It must fail inside the proof of the lemma named, so neither for want of time nor because the words make no sense. The
control loses nothing, and must compile. Compile the proofs first (`make -C proofs`).
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from check import COQC, HERE, LIMIT, Failed, Unusable, listed, run

STATEMENT = re.compile(r"^(?:Lemma|Theorem|Corollary)\s+(\w+)", re.MULTILINE)
WHERE = re.compile(r'File "\./(\w+\.v)", line (\d+).*\nError:', re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """`edits`: file, words, other words. `fails`: file and lemma whose proof breaks; None for the control."""

    name: str
    edits: tuple[tuple[str, str, str], ...]
    fails: tuple[str, str] | None


FILL = "c \\in fill u x -> 0 <= c.1 <= proxy u"
MUTANTS = (
    Mutant(
        "a fill factor may exceed the proxy",
        (("layered.v", FILL, "c \\in fill u x -> 0 <= c.1 <= 1"),),
        ("layered.v", "before_fill"),
    ),
    Mutant(
        "the proxy may depend on X",
        (
            ("construction.v", "Variable proxy : prefix -> R.", "Variable proxy : prefix -> V -> R."),
            ("construction.v", ":= (proxy u, size", ":= (proxy u x, size"),
            ("layered.v", "Variable proxy : prefix -> R.", "Variable proxy : prefix -> V -> R."),
            ("layered.v", "forall u, 0 <= proxy u <= 1", "forall u x, 0 <= proxy u x <= 1"),
            ("layered.v", FILL, FILL + " x"),
            # What can still be proved: the sampled child precedes fills that are given the same X.
            ("layered.v", "case/andP: (proxy_fac u).", "case/andP: (proxy_fac u x)."),
            ("layered.v", "Lemma before_fill u x y s a", "Lemma before_fill u x (y : V) s a"),
            ("layered.v", "before (samp_slot u y :: a) (s :: a)", "before (samp_slot u x :: a) (s :: a)"),
            ("layered.v", "(idx (samp_slot u y) < idx s)", "(idx (samp_slot u x) < idx s)"),
        ),
        ("layered.v", "stable"),
    ),
    Mutant(
        "a factor may exceed 1",
        (("layered.v", "c \\in head u -> 0 <= c.1 <= 1", "c \\in head u -> 0 <= c.1"),),
        ("layered.v", "slots_fac"),
    ),
    Mutant(
        "siblings may have the same token",
        (("layered_lossless.v", "0 < t u x -> uniq (map tk (slots u x))", "0 < t u x -> true"),),
        ("layered_lossless.v", "pre_inj"),
    ),
    Mutant(
        "RheoVerification with a second sampled child",
        (("rheo_rule.v", "fair (fun cs => sampled cs = None)", "fair (fun _ => True)"),),
        ("rheo_rule.v", "rheo_fair"),
    ),
    Mutant(
        "RRSw in slot order, a proxy may exceed a head factor",
        (("slot_order.v", "c \\in head q m u -> proxy u <= c.1", "c \\in head q m u -> 0 <= c.1"),),
        ("slot_order.v", "slots_fac_pw"),
    ),
    Mutant(
        "the criterion, for strings longer than D + 1",
        (("criterion.v", "sound (fun w => (size w <= D.+1)%N) step", "sound (fun w => true) step"),),
        ("criterion.v", "Pr_completed"),
    ),
    Mutant(
        "FlowVerification by its masses, a kept child may lie in the support of t",
        (
            (
                "flow_masses.v",
                "forall y, y \\in toks (tree_of h) u -> t y = 0",
                "forall y, y \\in toks (tree_of h) u -> t y = t y",
            ),
        ),
        ("flow_lossless.v", "kept_off_tail"),
    ),
    Mutant(
        "with a hypothesis more, that no proxy exceeds a head factor",
        (
            (
                "layered.v",
                "Hypothesis proxy_fac",
                "Hypothesis heads_first : forall u c, c \\in head u -> proxy u <= c.1.\nHypothesis proxy_fac",
            ),
        ),
        None,
    ),
)


def lemma_at(text: str, line: int) -> str | None:
    """The lemma in whose proof the line lies."""
    before = "".join(text.splitlines(keepends=True)[:line])
    statements = list(STATEMENT.finditer(before))
    if not statements or "Proof." not in before[statements[-1].end() :]:
        return None
    return statements[-1][1]


def compiled(folder: Path, mutant: Mutant) -> str:
    """What Coq says about the first edited file, and those between it and the one that is to fail."""
    files = listed(folder)
    first = min(files.index(name) for name, _, _ in mutant.edits)
    last = files.index(mutant.fails[0] if mutant.fails else mutant.edits[-1][0])
    for name in files[first : last + 1]:
        done = run((*COQC, name), folder, LIMIT)
        if done.returncode == 124:
            raise Unusable(f"{mutant.name}: {name} took more than {LIMIT} s")
        if done.returncode:
            return done.stderr
    return ""


def check_mutant(sources: Path, mutant: Mutant) -> str:
    """Fails unless the mutant fails where it should, or the control compiles."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(shutil.copytree(sources, Path(scratch) / "proofs"))
        for name, old, new in mutant.edits:
            text = (folder / name).read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise Failed(f"{mutant.name}: {name} has {text.count(old)} times: {old}")
            (folder / name).write_text(text.replace(old, new), encoding="utf-8")
        said = compiled(folder, mutant)
        if mutant.fails is None:
            if said:
                raise Failed(f"control: {mutant.name}: does not compile\n{said}")
            return f"compiles, as it should: {mutant.name}"
        if not (at := WHERE.search(said)):
            raise Failed(f"{mutant.name}: compiles all the same\n{said}")
        text = (folder / at[1]).read_text(encoding="utf-8")
        if (at[1], lemma_at(text, int(at[2]))) != mutant.fails:
            raise Failed(f"{mutant.name}: should fail in {' '.join(mutant.fails)}, but:\n{said}")
        return f"fails in {mutant.fails[1]}, as it should: {mutant.name}"


def main() -> int:
    """Checks all mutants and the control."""
    try:
        for mutant in MUTANTS:
            print(check_mutant(HERE, mutant), flush=True)
    except Failed as found:
        print(found, file=sys.stderr)
        return 1
    except Unusable as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
