"""Arithmetic of random integers in torch: decided when it is looked at, and then what torch would have computed."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from rheo_proof.audit.exploring import explore
from rheo_proof.audit.torch_run import cells_of, tensor_of, torch_run

OPERATIONS = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: 2 - y,
    lambda x, y: x * y,
    lambda x, y: torch.add(x, y, alpha=3),
    lambda x, y: torch.sub(x, y, alpha=-2),
    lambda x, y: x * (y > 1),
    lambda x, y: (x == 1) * y,
    lambda x, y: (x > 1) + y,
    lambda x, y: x * 0 + y * 1 - 0,
    lambda x, y: x * (1 << 62) * y,
    lambda x, y: x + (1 << 62) + y * (1 << 61),
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_result_is_what_torch_computes_with_the_numbers(operation):
    values = [0, 1, 2, 3]

    def program(run):
        with torch_run(run):
            x, y = (torch.multinomial(tensor_of([1.0] * 4), 1) for _ in range(2))
            z = operation(x, y)
            return int(x), int(y), z.dtype, int(z)

    found = {(x, y): (dtype, z) for x, y, dtype, z in explore(program).law}
    expected = {}
    for x, y in product(values, repeat=2):
        z = operation(torch.tensor([x]), torch.tensor([y]))
        expected[x, y] = (z.dtype, int(z))
    assert found == expected


@pytest.mark.parametrize(("operation", "runs"), [(lambda x: x, 1), (lambda x: x + 1, 1), (lambda x: x * 0.5, 3)])
def test_nothing_is_decided_before_somebody_looks(operation, runs):
    """Of integers; what becomes a float is decided, as ever."""

    def program(run):
        with torch_run(run):
            operation(torch.multinomial(tensor_of([1.0, 1.0, 1.0]), 1))
            return "unread"

    assert explore(program).runs == runs


def test_a_token_that_a_mask_removes_is_not_decided():
    """`out * ~mask + recovered * mask`, with masks that depend on the coins."""

    def program(run):
        with torch_run(run):
            taken = (torch.rand(2) < tensor_of([0.5, 0.5])).cumprod(0).sum()
            recovered = torch.multinomial(tensor_of([[1.0, 1.0, 1.0]] * 2), 1).squeeze(1)
            here = torch.arange(2) == taken
            out = tensor_of([7, 8], torch.int64)
            out.mul_(~here).add_(recovered * here)
            first, second = cells_of(out)
            return int(first), int(second)

    found = explore(program)
    assert len(found.law) == 7
    assert found.runs <= 8
