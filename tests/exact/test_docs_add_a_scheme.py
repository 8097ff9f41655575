"""The guide "Add a scheme", followed literally: its file is executed, proved and refuted."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.toys import toy
from rheo_proof.schemes import registry
from rheo_proof.schemes.laws import law_by_classes, law_by_replay
from rheo_proof.schemes.registry import settled
from rheo_proof.schemes.scheme import Named, Parameters
from rheo_proof.theorems import zoo
from rheo_proof.theorems.bounds import chained_bound, kept_trees
from rheo_proof.theorems.refutations import below_one
from tests.cli.program import environment, prove_here

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add-a-scheme.md").read_text("utf-8")
[FILE] = re.findall(r"^```python\n([\s\S]*?)^```", PAGE, re.MULTILINE)
[SHOWN] = re.findall(r"^```console\n\$ python anchor.py\n([\s\S]*?)^```", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def anchor() -> ModuleType:
    module = ModuleType("anchor")
    sys.modules["anchor"] = module  # dataclasses look their module up
    exec(compile(FILE, "anchor.py", "exec"), module.__dict__)
    return module


def biased(named: Named, depth: int, vocab: int = 3) -> list[str]:
    """The families on which a scheme is biased; both enumerators agree on every law."""
    found = []
    for seed, family in enumerate(FAMILIES):
        model = family_model(family, seed, vocab, depth)
        scheme = named.build(Parameters(depth=depth))
        law = law_by_classes(scheme, model)
        assert dict(law.strings(vocab)) == dict(law_by_replay(scheme, model).strings(vocab))
        assert (law.first_wrong(model) is None) == (law.total_variation(model) == 0)
        if law.first_wrong(model) is not None:
            found.append(family)
    return found


def test_the_file_prints_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "anchor.py").write_text(FILE, "utf-8")
    command = [sys.executable, "anchor.py"]
    run = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == SHOWN
    assert "anchor: lossless" in SHOWN
    assert "anchor-forgetful: biased on" in SHOWN


@pytest.mark.parametrize(("depth", "vocab"), [(1, 4), (2, 3), (3, 2)])
def test_the_scheme_is_lossless_and_its_twin_is_not(anchor: ModuleType, depth: int, vocab: int) -> None:
    assert biased(anchor.ANCHOR, depth, vocab) == []
    assert len(biased(anchor.FORGETFUL, depth, vocab)) >= 3


def test_the_scheme_accepts_what_the_argument_on_paper_says(anchor: ModuleType) -> None:
    """X with sum of min(p, q), and what is left of p on the anchor."""
    p, q = toy(1).target(()), toy(1).draft(())
    best = max(range(3), key=lambda x: q[x])
    expected = sum(min(p[x], q[x]) for x in range(3)) + max(p[best] - q[best], 0)
    law = law_by_classes(anchor.ANCHOR.build(Parameters(depth=1)), toy(1))
    assert law.acceptance(1) == [expected]


def test_the_file_is_short_and_uses_what_the_page_lists() -> None:
    assert len(FILE.splitlines()) <= 120
    for word in ("children", "Child", "Growing", "at", "last_draw", "move", "Named"):
        assert re.search(rf"\b{word}\b", FILE), word
        assert f"`{word}`" in PAGE


LISTS = {name for name, value in vars(registry).items() if name.isupper() and isinstance(value, tuple)}


def test_the_page_names_every_list_of_special_schemes() -> None:
    rows = re.findall(r"^\| (`.*?) \| ", PAGE, re.MULTILINE)
    assert set(re.findall(r"`([A-Z_]+)`", " ".join(rows))) == LISTS
    assert len(LISTS) == 8


@pytest.mark.parametrize(
    ("missing", "name", "read"),
    [
        ("BUDGETED", "sequoia", {"nodes": 2}),
        ("ON_RHEO_TREES", "dx", {"head": 2}),
        ("CHAINS", "leviathan", {}),
        ("CHAIN_FAULTS", "hsd-uncapped", {}),
        ("PAIRS", "spechub", {}),
        ("THREE_PATHS", "traversal-by-creation", {}),
    ],
)
def test_a_name_that_is_missing_on_a_list_changes_the_parameters_as_the_page_says(
    missing: str, name: str, read: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = replace(Parameters(slots=4, depth=2), **read)
    right = zoo.EVERY[name].fix(given)
    monkeypatch.setattr(registry, missing, ())
    wrong = zoo.EVERY[name].fix(given)
    if read:
        [(field, value)] = read.items()
        assert getattr(right, field) == value
        assert zoo.EVERY[name].build(right).drafting != zoo.EVERY[name].build(wrong).drafting
    else:
        assert (right.slots, wrong.slots) == ({"THREE_PATHS": 3, "PAIRS": 2}.get(missing, 1), 4)


def test_the_scheme_belongs_on_none_of_the_lists(anchor: ModuleType) -> None:
    """It reads neither m nor N, accepts X where q is p, and stays below the bound of its trees."""
    drafting = anchor.ANCHOR.build(Parameters(depth=2)).drafting
    assert drafting == anchor.ANCHOR.build(Parameters(depth=2, nodes=2, head=2, beam=1)).drafting
    model = family_model("identical", 0, 3, 2)
    for named in (anchor.ANCHOR, anchor.FORGETFUL):
        law = law_by_classes(named.build(Parameters(depth=2)), model)
        assert law.first_wrong(model) is None
        assert below_one(law.acceptance(2), model) == ""
    for family in FAMILIES:
        model = family_model(family, 0, 3, 2)
        law = law_by_classes(anchor.ANCHOR.build(Parameters(depth=2)), model)
        assert law.expected_tokens - 1 <= chained_bound(kept_trees(drafting, model), model)


def test_a_registered_scheme_is_proved_and_compared_by_the_program(
    anchor: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, known in (("ANCHOR", "SCHEMES_KNOWN"), ("FORGETFUL", "FAULTS_KNOWN")):
        named = settled(getattr(anchor, name))
        monkeypatch.setitem(getattr(zoo, known), named.name, named)
        monkeypatch.setitem(zoo.EVERY, named.name, named)
    proved = prove_here("--scheme", "anchor", "--slots", "2", "--instances", "10")
    assert (proved.status, proved.err) == (0, "")
    assert proved.out.splitlines()[-1] == "PROVED: lossless."
    refuted = prove_here("--fault", "anchor-forgetful", "--instances", "10")
    assert refuted.status == 1
    assert "Smallest counterexample found to anchor-forgetful" in refuted.words
    compared = prove_here("compare", "--vocab", "3", "--schemes", "anchor,greedy")
    assert compared.status == 0
    assert " anchor " in compared.out


def test_the_names_of_the_page_are_real() -> None:
    for name in ("BUDGETED", "CHAINS", "ENTRIES", "CONTROLS", "LOSSY"):
        assert f"`{name}`" in PAGE
    for path in re.findall(r"`((?:rheo_proof|tests)/[\w/]+(?:\.py)?/?)`", PAGE):
        assert (ROOT / path).exists(), path
