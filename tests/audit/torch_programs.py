"""Small programs with torch, run to their exact law."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

from rheo_proof.audit.exploring import Exploration, Run, explore
from rheo_proof.audit.scalars import Lazy
from rheo_proof.audit.torch_run import cells_of, torch_run
from rheo_proof.exact.number import to_fraction


def decided(value: Any) -> Any:
    """Tensors, lists and cells as nested tuples of numbers, everything looked at."""
    value = cells_of(value)
    if isinstance(value, (list, tuple)):
        return tuple(decided(each) for each in value)
    return value.settle() if isinstance(value, Lazy) else value


def explored(function: Callable[[], Any]) -> Exploration:
    """All runs of a function without arguments."""

    def program(run: Run) -> Hashable:
        with torch_run(run):
            return decided(function())

    return explore(program)


def law_of(function: Callable[[], Any]) -> dict[Any, Fraction]:
    """The exact law of what a function returns."""
    return {value: to_fraction(mass) for value, mass in explored(function).law.items()}
