"""An element that was decided after a tensor was made: the tensor still holds its cell, which is no poison."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import pytest
import torch

from rheo_proof.audit.exploring import Run, explore
from rheo_proof.audit.torch_run import torch_run
from rheo_proof.exact.number import Q


def law(program: Callable[[], Hashable]) -> dict[Hashable, Q]:
    """The law of what a function of no arguments returns."""

    def one(run: Run) -> Hashable:
        with torch_run(run):
            return program()

    return explore(one).law


def accepted() -> torch.Tensor:
    """One condition that holds with probability 1/4."""
    return torch.rand(1) < torch.tensor([0.25])


AGAIN: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "eq": lambda x: x == 0,
    "lt": lambda x: x < 1,
    "not": lambda x: ~x,
    "add": lambda x: 1 - x.long(),
    "where": lambda x: torch.where(x, 0, 1),
    "logical": lambda x: torch.logical_not(x),
}


@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_a_condition_decided_through_another_tensor_is_read_right_afterwards(
    again: Callable[..., torch.Tensor],
) -> None:
    def program() -> Hashable:
        condition = accepted()
        # Deciding this decides `condition`, which is not told.
        (condition == 0).max(0)
        return bool(again(condition)[0]), bool(condition[0])

    assert law(program) == {(False, True): Q(1, 4), (True, False): Q(3, 4)}


def test_the_first_rejection_by_max_and_any() -> None:
    def program() -> Hashable:
        condition = accepted()
        limits = (condition.unsqueeze(0) == 0).max(1).indices
        limits[~(condition.unsqueeze(0) == 0).any(1)] = 1
        return int(limits[0])

    assert law(program) == {1: Q(1, 4), 0: Q(3, 4)}
