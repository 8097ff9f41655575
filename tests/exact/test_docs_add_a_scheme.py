"""The guide "Add a scheme", followed literally: its file is executed, proved and refuted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.laws import law_by_classes, law_by_replay
from rheo_proof.schemes.registry import settled
from rheo_proof.schemes.scheme import Named, Parameters
from rheo_proof.theorems import zoo
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
