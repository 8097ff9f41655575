"""The largest of several functions of one uniform that are cut off at numbers: an inverse CDF written as `argmax`."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import pytest
import torch

from rheo_proof.audit.arithmetic import apply
from rheo_proof.audit.errors import NotEnumerable
from rheo_proof.audit.exploring import Run, explore
from rheo_proof.audit.races import argmax
from rheo_proof.audit.torch_run import torch_run
from rheo_proof.exact.number import Q


def law(program: Callable[[Run], Hashable]) -> dict[Hashable, str]:
    return {outcome: str(mass) for outcome, mass in sorted(explore(program).law.items())}  # type: ignore[type-var]


def winner(run: Run, numbers: list[float], op: str, largest: bool = True) -> int:
    u = run.uniform()
    return int(argmax([apply(op, number, u) for number in numbers], largest))


def test_the_first_that_is_not_below_the_uniform_wins() -> None:
    """min(cdf, u): all that reach u are equal, and the first of them is an inverse CDF."""
    cdf = [0.25, 0.25, 0.75, 1.0]
    assert law(lambda run: winner(run, cdf, "minimum")) == {0: "1/4", 2: "1/2", 3: "1/4"}
    assert law(lambda run: winner(run, cdf[::-1], "minimum")) == {0: "1"}


def test_the_smallest_of_numbers_that_are_cut_off_from_below() -> None:
    assert law(lambda run: winner(run, [0.75, 0.5, 0.125], "maximum", largest=False)) == {0: "1/4", 1: "1/4", 2: "1/2"}


def test_constants_take_part() -> None:
    def program(run: Run) -> int:
        u = run.uniform()
        return int(argmax([Q(1, 3), apply("minimum", u, 0.5), Q(1, 2)]))

    assert law(program) == {1: "1/2", 2: "1/2"}


def test_an_inverse_cdf_by_the_next_float_and_argmax_in_torch() -> None:
    """As our torch decoder draws: no index of weight 0, and the law of the weights."""
    weights = [0.0, 0.25, 0.0, 0.5, 0.25]

    def program(run: Run) -> int:
        with torch_run(run):
            w = torch.tensor(weights, dtype=torch.float64)
            cdf = w.cumsum(-1)
            bar = torch.nextafter(torch.rand((), dtype=torch.float64) * cdf[-1:], cdf[-1:])
            return int(torch.minimum(cdf, bar).masked_fill_(w <= 0, -1.0).argmax(-1))

    assert law(program) == {1: "1/4", 3: "1/2", 4: "1/4"}


def test_the_next_float_towards_a_random_number_is_refused() -> None:
    def program(run: Run) -> bool:
        with torch_run(run):
            return bool(torch.nextafter(torch.zeros(1), torch.rand(1)) > 0)

    with pytest.raises(NotEnumerable, match="nextafter"):
        explore(program)


def test_the_largest_element_without_a_dimension() -> None:
    def program(run: Run) -> bool:
        with torch_run(run):
            return bool(torch.rand(1, 1).amax() < 0.25)

    assert law(program) == {False: "3/4", True: "1/4"}
