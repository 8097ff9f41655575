"""Checks of the machine-checked proofs that Coq does not make by itself; the standard library alone.

    python proofs/check.py sources      nothing is assumed: no Admitted, no axiom, no variable outside a section
    python proofs/check.py assumptions  Coq's own list of what every main theorem rests on, which must be empty
    python proofs/check.py statements   the main theorems still say what statements.txt says, premises included
    python proofs/check.py kernel       coqchk reads all compiled files again and must list no axiom

Exit status: 0 all well, 1 something was found, 2 it could not be run.
"""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 300  # seconds for one call of coqc; coqchk reads MathComp as well and gets twice that
LINES = 400
COQC = ("coqc", "-q", "-w", "-notation-overridden,-ambiguous-paths", "-Q", ".", "Rheo")
CLOSED = "Closed under the global context"

READABLE = """From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules trees policies.
Local Open Scope ring_scope.
Set Printing Width 110.
"""

# Nowhere, whatever stands around them.
FORBIDDEN = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Primitive|Declare\s+Module|Load|Abort"
    r"|bypass_check|Unset\s+(?:Guard|Positivity|Universe)\s+Check\w*|Set\s+Type\s+In\s+Type)\b"
)
# In a section they are hypotheses of its theorems; outside they would be axioms.
SECTION_ONLY = re.compile(r"^\s*(?:Local\s+|Global\s+|#\[[^]]*\]\s*)*(Variables?|Hypothes[ie]s|Context)\b")
OPENING = re.compile(r"^\s*(Section|Module(?:\s+Type)?)\s+(\w+)")
CLOSING = re.compile(r"^\s*End\s+(\w+)\s*$")
THEOREM = re.compile(r"^(Theorem|Corollary)\s+(\w+)")


class Failed(Exception):
    """Something was found; the text says what and where."""


class Unusable(Exception):
    """A check could not be run."""


def without_comments(text: str) -> str:
    """The text with comments (nested ones too) and strings blanked out, line breaks kept.

    >>> without_comments('a (* b (* c *) Axiom *) d "(*" e')
    'a                       d      e'
    """
    kept: list[str] = []
    depth, quoted, at = 0, False, 0
    while at < len(text):
        two = text[at : at + 2]
        if not quoted and two in ("(*", "*)") and (depth or two == "(*"):
            depth += 1 if two == "(*" else -1
            kept.append("  ")
            at += 2
            continue
        if text[at] == '"':
            quoted = not quoted
            kept.append(" ")
        else:
            kept.append("\n" if text[at] == "\n" else " " if depth or quoted else text[at])
        at += 1
    return "".join(kept)


def sentences(code: str) -> Iterator[tuple[int, str]]:
    """Line number and text of each sentence: what ends with a full stop before white space."""
    start = 0
    for stop in re.finditer(r"\.(?=\s|$)", code):
        sentence = code[start : stop.start()]
        blank = len(sentence) - len(sentence.lstrip())
        yield code.count("\n", 0, start + blank) + 1, sentence[blank:]
        start = stop.end()


def assumed(text: str) -> list[tuple[int, str]]:
    """Line and fault of everything in a source that assumes what it should prove."""
    found = []
    open_parts: list[str] = []
    for line, sentence in sentences(without_comments(text)):
        if word := FORBIDDEN.search(sentence):
            found.append((line + sentence.count("\n", 0, word.start()), f"{' '.join(word[1].split())} is not allowed"))
        if (word := SECTION_ONLY.match(sentence)) and "Section" not in open_parts:
            found.append((line, f"{word[1]} outside a section is an axiom"))
        if (part := OPENING.match(sentence)) and ":=" not in sentence:
            open_parts.append(part[1])
        elif CLOSING.match(sentence) and open_parts:
            open_parts.pop()
    return found


def unexplained(text: str) -> list[tuple[int, str]]:
    """Line and name of each theorem without a comment above it in its paragraph."""
    faults, explained = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            explained = False
        elif line.rstrip().endswith("*)"):
            explained = True
        elif (name := THEOREM.match(line)) and not explained:
            faults.append((number, f"{name[2]} is not preceded by its statement in words"))
    return faults


def listed(folder: Path) -> list[str]:
    """The source files in reading order, from _CoqProject."""
    return re.findall(r"^(\S+\.v)$", (folder / "_CoqProject").read_text(encoding="utf-8"), re.MULTILINE)


def check_sources(folder: Path) -> str:
    """Fails on whatever is assumed, on long files, on theorems not said in words, on files that are not compiled."""
    names = listed(folder)
    here = sorted(path.name for path in folder.glob("*.v"))
    faults = [f"{name}: in _CoqProject or in the folder, not in both" for name in sorted(set(names) ^ set(here))]
    for name in here:
        text = (folder / name).read_text(encoding="utf-8")
        if text.count("\n") > LINES:
            faults.append(f"{name}: over {LINES} lines")
        faults += [f"{name}:{line}: {fault}" for line, fault in [*assumed(text), *unexplained(text)]]
    if faults or not names:
        raise Failed("\n".join(faults) or "no files in _CoqProject")
    return f"{len(names)} files, nothing assumed"


def run(command: tuple[str, ...], folder: Path, limit: int) -> subprocess.CompletedProcess[str]:
    """One call of Coq under `timeout`: 124 if it ran out of time."""
    try:
        return subprocess.run(
            ("timeout", str(limit), *command), cwd=folder, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise Unusable(f"{command[0]}: {error.strerror}") from None


def axiom_free(theorems: list[str], answer: str) -> None:
    """Fails unless Coq's answer says of each theorem that it is closed, and nothing else."""
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    if not theorems or lines != [CLOSED] * len(theorems):
        raise Failed(f"{len(theorems)} theorems, but Coq says:\n{answer}")


def main_theorems(folder: Path) -> tuple[str, list[str]]:
    """What assumptions.v imports, and the theorems that it names."""
    source = without_comments((folder / "assumptions.v").read_text(encoding="utf-8"))
    theorems = re.findall(r"^Print Assumptions (\w+)\.$", source, re.MULTILINE)
    if len(theorems) != source.count("Print"):
        raise Failed("assumptions.v: each line must read: Print Assumptions NAME.")
    return source.partition("Print")[0], theorems


def check_assumptions(folder: Path) -> str:
    """Has Coq print what each theorem named in assumptions.v rests on."""
    _, theorems = main_theorems(folder)
    done = run((*COQC, "assumptions.v"), folder, LIMIT)
    if done.returncode:
        raise Failed(f"assumptions.v: {done.stderr}")
    axiom_free(theorems, done.stdout)
    width = max(map(len, theorems))
    return "\n".join(f"{name:{width}}  {CLOSED}" for name in theorems)


def check_statements(folder: Path) -> str:
    """Has Coq print each theorem named in assumptions.v in full: one that gained a premise says less."""
    imports, theorems = main_theorems(folder)
    asked = READABLE + imports + "".join(f"Check @{name}.\n" for name in theorems)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "statements.v"
        file.write_text(asked, encoding="utf-8")
        done = run((*COQC, str(file)), folder, LIMIT)
    if done.returncode:
        raise Failed(f"statements: {done.stderr}")
    same_statements((folder / "statements.txt").read_text(encoding="utf-8"), done.stdout)
    return f"{len(theorems)} theorems say what statements.txt says"


def same_statements(kept: str, said: str) -> None:
    """Fails, with the lines that differ, unless the two texts are equal."""
    lines = difflib.unified_diff(kept.splitlines(), said.splitlines(), "statements.txt", "Coq", lineterm="", n=2)
    if found := "\n".join(lines):
        raise Failed(f"theorems do not say what statements.txt says:\n{found}")


def summary_faults(summary: str) -> list[str]:
    """What a summary of coqchk admits to; each of its four lists must be there, and empty."""
    names = ("Axioms", "type-in-type", r"unsafe \(co\)fixpoints", "positivity is assumed")
    return [
        f"coqchk: {name} is not <none>" for name in names if not re.search(rf"^\* .*{name}: <none>$", summary, re.M)
    ]


def check_kernel(folder: Path) -> str:
    """Has coqchk check the compiled files, and all that they import, without Coq's front end."""
    done = run(("coqchk", "-silent", "-o", "-Q", ".", "Rheo", "Rheo.assumptions"), folder, 2 * LIMIT)
    if done.returncode:
        raise Failed(f"coqchk: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    summary = done.stdout + done.stderr  # 8.16 writes it to stderr
    if faults := summary_faults(summary):
        raise Failed("\n".join([*faults, summary]))
    return "coqchk: no axiom"


CHECKS = {
    "sources": check_sources,
    "assumptions": check_assumptions,
    "statements": check_statements,
    "kernel": check_kernel,
}


def main(arguments: list[str]) -> int:
    """Runs the named checks, one after the other."""
    if not arguments or set(arguments) - set(CHECKS):
        print(f"usage: check.py {' | '.join(CHECKS)} ...", file=sys.stderr)
        return 2
    for name in arguments:
        try:
            print(CHECKS[name](HERE), flush=True)
        except Failed as found:
            print(found, file=sys.stderr)
            return 1
        except (Unusable, OSError) as error:
            print(error, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
