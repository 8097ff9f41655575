"""The counterexamples that `proofs/` states as theorems are those of docs/faults.md: model, parameters, numbers.

The page is recomputed by another test, and Coq checks the theorems; here the statements are read and compared.
"""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest

from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel, tabled
from rheo_proof.exact.number import rational
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems.counterexample import check
from tests.strategies import prefixes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "faults.md").read_text()
FILES = sorted((ROOT / "proofs").glob("negative_*.v"))
STATED = {
    "own-probability",
    "tail-probability",
    "low-proxy",
    "tie-by-token",
    "verify-full-q",
    "rrsw-tail-proxy",
    "flow-depth-first",
    "flow-layers",
    "bottom-up",
}

STATEMENT = re.compile(
    r"Theorem (?P<fault>\w+)_biased.*?law_in R (?P<target>\w+).*?law_in R (?P<draft>\w+).*? (?P<length>\d+)\s+"
    r"\(@?(?P<step>\w+) [^%]*?\(fun _ => (?P<slots>\d+)\) \(fun _ => (?P<head>\d+)\) "
    r"(?P<depth>\d+) (?P<beam>\d+) (?P<nodes>\d+) (?P<long>\d+)\)%N\s+"
    r"\[:: \(?(?P<token>.*?)\)?\]\s+\((?P<actual>.*?)\) \((?P<expected>.*?)\)\.",
    re.DOTALL,
)
TOKENS = {"ord0 : 'I_2": (2, 0), "o0": (2, 0), "ord0 : 'I_3": (3, 0), "lift ord0 ord0 : 'I_3": (3, 1)}
"""How a token is written: V and the token."""
Rows = dict[Prefix, list[str]]


class Told(NamedTuple):
    """What a counterexample says; a law that is not in a table has all its mass on token 0."""

    vocab: int
    parameters: dict[str, int]
    target: Rows
    draft: Rows
    string: Prefix
    actual: Fraction
    expected: Fraction

    def model(self) -> ToyModel:
        """The model, with all laws."""
        depth, first = self.parameters["depth"], ["1"] + ["0"] * (self.vocab - 1)
        target = {u: Law.read(self.target.get(u, first)) for u in prefixes(self.vocab, depth)}
        draft = {u: Law.read(self.draft.get(u, first)) for u in prefixes(self.vocab, depth - 1)}
        return tabled(self.vocab, depth, target, draft)


def shortened(told: Told) -> Told:
    """Without the laws that need not be told."""
    first = ["1"] + ["0"] * (told.vocab - 1)
    target, draft = ({u: law for u, law in rows.items() if law != first} for rows in (told.target, told.draft))
    return told._replace(target=target, draft=draft)


def fraction(text: str) -> Fraction:
    """A fraction of a statement, `a%:R / b%:R`."""
    return Fraction(*map(int, re.findall(r"(\d+)%:R", text)))


def rows(text: str, name: str) -> Rows:
    """The table `name` of a Coq file."""
    written = re.search(rf"Definition {name} : rows :=(.*?)%N\.", text, re.DOTALL)
    assert written is not None, name
    listed = ast.literal_eval(re.sub(r"\[::\s*", "[", written[1]).replace(";", ",").strip())
    return {tuple(u): [str(Fraction(a, b)) for a, b in law] for u, law in listed}


def theorems() -> dict[str, Told]:
    """The counterexamples of the Coq files, by the name of the fault."""
    found = {}
    for file in FILES:
        text = file.read_text()
        for said in STATEMENT.finditer(text):
            vocab, token = TOKENS[said["token"]]
            sizes = {name: int(said[name]) for name in ("slots", "head", "depth", "beam", "nodes")}
            assert said["fault"].startswith(said["step"])
            assert int(said["length"]) == int(said["long"]) == sizes["depth"] + 1
            laws = rows(text, said["target"]), rows(text, said["draft"])
            told = Told(vocab, sizes, *laws, (token,), fraction(said["actual"]), fraction(said["expected"]))
            found[said["fault"].replace("_", "-")] = told
        assert len(re.findall(r"Theorem \w+_biased", text)) == len(STATEMENT.findall(text)), file.name
    return found


def on_page(name: str) -> Told:
    """The counterexample that docs/faults.md shows."""
    section = PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]
    said = {key: int(number) for key, number in re.findall(r"(\w) = (\d+)", section.split("verify")[0])}
    names = {"K": "slots", "m": "head", "D": "depth", "B": "beam", "N": "nodes"}
    target: Rows = {}
    draft: Rows = {}
    for at, p, q in re.findall(r"^\| (\S+) \| ([\d/ ]+) \| ([\d/ ]*?) ?\|$", section, re.MULTILINE):
        u = () if at == "(root)" else tuple(map(int, at.split(",")))
        target[u] = p.split()
        if q:
            draft[u] = q.split()
    number = r"(\d+(?:/\d+)?)(?: \([\d.]+\))?"
    ends = re.search(rf"starts with `([\d,]+)` with probability {number}; the target gives\s+{number}\.", section)
    assert ends is not None, name
    string = tuple(map(int, ends[1].split(",")))
    sizes = {long: said[short] for short, long in names.items()}
    return Told(said["V"], sizes, target, draft, string, Fraction(ends[2]), Fraction(ends[3]))


def test_these_counterexamples_are_theorems() -> None:
    assert set(theorems()) == STATED


@pytest.mark.parametrize("name", sorted(STATED))
def test_a_theorem_states_the_counterexample_of_the_page(name: str) -> None:
    assert shortened(theorems()[name]) == shortened(on_page(name))


@pytest.mark.parametrize("name", sorted(STATED))
def test_the_enumerator_finds_the_numbers_of_the_theorem(name: str) -> None:
    told = theorems()[name]
    found = check(name, Parameters(**told.parameters), told.model())  # type: ignore[arg-type]
    assert found is not None
    assert (found.wrong.string, found.wrong.actual, found.wrong.expected) == (told.string, told.actual, told.expected)


def test_another_number_in_a_law_is_noticed() -> None:
    told = theorems()["own-probability"]
    changed = told._replace(draft={(): [str(rational("3/4")), "1/4"]})
    assert shortened(changed) != shortened(on_page("own-probability"))
    found = check("own-probability", Parameters(**told.parameters), changed.model())  # type: ignore[arg-type]
    assert found is not None
    assert found.wrong.actual != told.actual
