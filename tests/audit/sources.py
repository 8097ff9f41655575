"""The law of a function that draws from Python's and NumPy's generators, for the tests of these sources."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from fractions import Fraction

import pytest

from rheo_proof.audit import patches
from rheo_proof.audit.errors import NotEnumerable
from rheo_proof.audit.exploring import Run, explore
from rheo_proof.audit.patches import installed, patched
from rheo_proof.exact.number import to_fraction


def law(function: Callable[..., Hashable], *arguments: object, boundary: bool = False) -> dict[Hashable, Fraction]:
    """The exact law of what a function returns."""

    def program(run: Run) -> Hashable:
        with patched(run, function, arguments) as given:
            return function(*given)

    with installed():
        found = explore(program, boundary=boundary)
    return {outcome: to_fraction(mass) for outcome, mass in found.law.items()}


def refused(function: Callable[..., Hashable], *arguments: object) -> str:
    """Why a function is not enumerable."""
    with pytest.raises(NotEnumerable) as caught:
        law(function, *arguments)
    return str(caught.value)


@contextmanager
def alone() -> Iterator[None]:
    """Nothing is patched: what is installed for all tests is taken away until the end of the block."""
    outer = patches._installed
    if outer is not None:
        outer.__exit__(None, None, None)
    try:
        yield
    finally:
        if outer is not None:
            outer.__enter__()


def halves(*outcomes: Hashable) -> dict[Hashable, Fraction]:
    """The uniform law on these outcomes."""
    return dict.fromkeys(outcomes, Fraction(1, len(outcomes)))


FAIR = halves(True, False)
ONE_OF_FOUR = {True: Fraction(1, 4), False: Fraction(3, 4)}
