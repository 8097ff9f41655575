"""Every idiom of the page has its exact law under the auditor, or is refused by name, and the page lists them all."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path

import pytest

from rheo_proof.audit.errors import NotEnumerable
from rheo_proof.audit.exploring import Run, explore
from rheo_proof.audit.patches import patched
from rheo_proof.audit.torch_run import torch_run
from rheo_proof.exact.number import to_fraction
from tests.audit.idioms import IDIOMS, Idiom

PAGE = Path(__file__).resolve().parents[2] / "docs" / "audit-idioms.md"
KNOWN = [one for one in IDIOMS if one.law is not None]
REFUSED = [one for one in IDIOMS if one.law is None]
TRANSCENDENTAL = {"in_logarithms", "gumbel_race", "numpy_gumbel", "python_logarithms"}
"""The floats that they compare are logarithms, rounded to a double."""


def audited(function: Callable[[], Hashable]) -> Callable[[Run], Hashable]:
    """The function as a program of the explorer."""

    def program(run: Run) -> Hashable:
        with torch_run(run), patched(run, function):
            return function()

    return program


def name(one: Idiom) -> str:
    return one.function.__name__


@pytest.mark.parametrize("one", KNOWN, ids=name)
def test_the_law_of_an_idiom_is_exact(one):
    law = {value: to_fraction(mass) for value, mass in explore(audited(one.function)).law.items()}
    assert one.law is not None
    if name(one) in TRANSCENDENTAL:
        assert law.keys() == one.law.keys()
        assert all(abs(law[value] - mass) < 1e-15 for value, mass in one.law.items())
    else:
        assert law == one.law


@pytest.mark.parametrize("one", KNOWN, ids=name)
def test_an_idiom_returns_one_of_its_values_outside_of_an_audit(one):
    assert one.law is not None
    assert one.function() in one.law


@pytest.mark.parametrize("one", REFUSED, ids=name)
def test_what_is_not_enumerated_is_refused_with_its_line(one):
    with pytest.raises(NotEnumerable, match=one.refusal) as refused:
        explore(audited(one.function))
    assert refused.value.site.file.endswith("idioms.py")


def written(law: dict[Hashable, object]) -> str:
    return ", ".join(f"{value}: {mass}" for value, mass in law.items())


def table() -> list[str]:
    """The rows of the page."""
    rows = ["| where | code | law found |", "| --- | --- | --- |"]
    for one in KNOWN:
        rows.append(f"| {one.family} | {one.code} | {written(dict(one.law or {}))} |")
    return rows


def test_the_page_lists_every_idiom_with_its_law():
    assert len(KNOWN) > 35
    text = PAGE.read_text()
    assert "\n".join(table()) in text
    assert REFUSED
    for one in REFUSED:
        assert f"* {one.code}" in text
