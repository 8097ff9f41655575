"""The page on the machine-checked theorem quotes the sources, and quotes them right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "machine-checked.md").read_text("utf-8")
QUOTED = re.findall(r"^```coq\n([\s\S]*?)^```", PAGE, re.MULTILINE)


def squeezed(text: str) -> str:
    """The text without what layout and comments add."""
    return " ".join(re.sub(r"\(\*.*?\*\)", " ", text, flags=re.DOTALL).split())


SOURCES = " ".join(squeezed(file.read_text("utf-8")) for file in sorted((ROOT / "proofs").glob("*.v")))


def paragraphs(quoted: str) -> list[str]:
    """A quotation may leave out what stands between two paragraphs."""
    return [squeezed(part) for part in quoted.split("\n\n")]


def test_the_page_quotes_the_theorem_and_the_definitions_below_it() -> None:
    text = " ".join(QUOTED)
    for name in ("Theorem rheo_generate", "Definition law", "Fixpoint E", "Fixpoint target", "Definition rheo", "walk"):
        assert name in text
    assert len(QUOTED) == 9


@pytest.mark.parametrize("quoted", QUOTED, ids=lambda text: text.split("\n")[0][:40])
def test_what_is_quoted_stands_in_the_sources(quoted: str) -> None:
    for part in paragraphs(quoted):
        assert part in SOURCES


def test_a_quotation_with_a_slip_is_found() -> None:
    right = squeezed("Definition pos (z : R) : R := Num.max 0 z.")
    assert right in SOURCES
    assert right.replace("max", "min") not in SOURCES


def test_every_file_and_name_that_the_page_points_to_is_there() -> None:
    for file in re.findall(r"`((?:proofs|tests)/\S+?\.(?:v|md|py))`", PAGE):
        assert (ROOT / file).is_file()
    told = re.findall(r"`([a-z]\w+_\w+)`", PAGE)
    assert len(told) > 12
    for name in set(told) - {"rheo_proof"}:
        assert re.search(rf"(Theorem|Corollary|Lemma|Definition) {name}\b", SOURCES), name


def test_each_theorem_of_the_table_stands_in_its_file() -> None:
    rows = re.findall(r"^\| [^|]* \| (`[^|]*`) \| (`[^|]*`) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 8
    for names, files in rows:
        text = " ".join((ROOT / file).read_text("utf-8") for file in re.findall(r"`(.*?)`", files))
        for name in re.findall(r"`(.*?)`", names):
            assert re.search(rf"(Theorem|Corollary|Lemma) {name}\b", text), name
