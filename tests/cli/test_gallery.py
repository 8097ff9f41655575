"""The gallery of faults in the documentation is what the program prints, section by section."""

from __future__ import annotations

import pytest

from rheo_proof.report import gallery
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.registry import ALL
from rheo_proof.schemes.scheme import SCHEMES
from rheo_proof.schemes.variations import VARIATIONS
from tests.cli.program import ROOT, prove_here

PAGE = (ROOT / "docs" / "faults.md").read_text("utf-8")
INTRO, *SECTIONS = PAGE.replace("\n## ", "\n\0## ").split("\0")


def name_of(section: str) -> str:
    return section.splitlines()[0].removeprefix("## ")


def test_the_gallery_has_everything_that_is_not_lossless() -> None:
    biased = [name for name, named in {**SCHEMES, **VARIATIONS, **FAULTS}.items() if not named.lossless]
    assert len(biased) >= 16
    assert sorted(gallery.names()) == sorted(biased)
    assert [name_of(section) for section in SECTIONS] == gallery.names()


@pytest.mark.parametrize("name", gallery.names())
def test_a_section_is_recomputed(name: str) -> None:
    [shown] = [section for section in SECTIONS if name_of(section) == name]
    assert shown.rstrip("\n") + "\n" == gallery.section(name)


def test_the_page_is_the_introduction_and_the_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    sections = {name_of(section): section.rstrip("\n") + "\n" for section in SECTIONS}
    monkeypatch.setattr(gallery, "section", sections.__getitem__)
    run = prove_here("faults", "--gallery")
    assert (run.status, run.err) == (0, "")
    assert run.out == PAGE
    assert INTRO.rstrip("\n") == gallery.INTRO.rstrip("\n")


@pytest.mark.parametrize(("old", "new"), [("1/2", "1/3"), ("m = ", "m  = "), ("V = 2", "V = 3"), ("(root)", "root")])
def test_an_altered_section_is_noticed(old: str, new: str) -> None:
    shown = next(section for section in SECTIONS if name_of(section) == "skip-residual")
    altered = shown.replace(old, new, 1)
    assert altered != shown
    assert shown.rstrip("\n") + "\n" == gallery.section("skip-residual") != altered.rstrip("\n") + "\n"


@pytest.mark.parametrize("name", gallery.names())
def test_a_section_names_the_condition_that_is_broken_and_how_to_see_it_again(name: str) -> None:
    [shown] = [section for section in SECTIONS if name_of(section) == name]
    assert ALL[name].line[1:] in shown
    assert shown.rstrip().endswith(f"{name}`")
