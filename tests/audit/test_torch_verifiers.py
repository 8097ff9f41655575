"""Verifiers of two positions and three tokens in plain torch: the law of what they emit is the target's, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
import torch

from rheo_proof.audit.torch_run import tensor_of
from tests.audit.torch_programs import explored, law_of

F = Fraction
TARGET = [
    [F(1, 2), F(1, 4), F(1, 4)],
    [F(1, 8), F(1, 2), F(3, 8)],
    [F(5, 8), F(1, 4), F(1, 8)],
]
DRAFT = [
    [F(1, 4), F(1, 4), F(1, 2)],
    [F(5, 8), F(1, 4), F(1, 8)],
]
K, V = 2, 3


def one_by_one(draft, q, p):
    """Loops, `if`, `.item()`, `multinomial`."""
    emitted = []
    for i in range(K):
        x = draft[i]
        if torch.rand(()) < (p[i, x] / q[i, x]).clamp(max=1.0):
            emitted.append(x.item())
            continue
        rest = (p[i] - q[i]).clamp(min=0)
        emitted.append(torch.multinomial(rest, 1).item())
        return emitted
    emitted.append(torch.multinomial(p[K], 1).item())
    return emitted


def all_at_once(draft, q, p):
    """Masks, `cumprod`, an exponential race for every row, `where`, -1 for padding."""
    rows = torch.arange(K)
    accepted = torch.rand(K, dtype=p.dtype) <= p[rows, draft] / q[rows, draft]
    n = accepted.int().cumprod(0).sum()
    rest = torch.cat([torch.relu(p[:K] - q), p[K:]])
    recovered = (rest / torch.empty_like(rest).exponential_()).argmax(-1)
    emitted = torch.full((K + 1,), -1)
    emitted[:K] = draft
    place = torch.arange(K + 1)
    emitted = torch.where(place < n, emitted, torch.where(place == n, recovered, -1))
    return [x for x in emitted.tolist() if x >= 0]


def residual_of_the_first_row(draft, q, p):
    """The fault: every rejection draws from the residual of the first position."""
    emitted = []
    for i in range(K):
        x = draft[i]
        if torch.rand(()) < (p[i, x] / q[i, x]).clamp(max=1.0):
            emitted.append(x.item())
            continue
        emitted.append(torch.multinomial((p[0] - q[0]).clamp(min=0), 1).item())
        return emitted
    emitted.append(torch.multinomial(p[K], 1).item())
    return emitted


def completed(law):
    """The law of three tokens when the target finishes every shorter string."""
    result = {}
    for emitted, mass in law.items():
        for rest in product(range(V), repeat=K + 1 - len(emitted)):
            weight = mass
            for i, x in enumerate(rest, start=len(emitted)):
                weight *= TARGET[i][x]
            if weight:
                result[*emitted, *rest] = result.get((*emitted, *rest), 0) + weight
    return result


def audited(verify, dtype):
    def program():
        p, q = tensor_of(TARGET, dtype), tensor_of(DRAFT, dtype)
        return verify(torch.multinomial(q, 1)[:, 0], q, p)

    return program


EXPECTED = {s: TARGET[0][s[0]] * TARGET[1][s[1]] * TARGET[2][s[2]] for s in product(range(V), repeat=K + 1)}


# Ratios such as 1/5 are rounded by torch: the law is that of the floats in use.
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("verify", [one_by_one, all_at_once])
def test_the_emitted_law_is_the_targets(verify, dtype):
    near = completed(law_of(audited(verify, dtype)))
    assert near.keys() == EXPECTED.keys()
    assert all(abs(near[s] - EXPECTED[s]) < 1e-6 for s in EXPECTED)


def test_a_wrong_residual_is_seen():
    near = completed(law_of(audited(residual_of_the_first_row, torch.float64)))
    assert max(abs(near[s] - EXPECTED[s]) for s in EXPECTED) > F(1, 100)


@pytest.mark.parametrize("verify", [one_by_one, all_at_once])
def test_a_chain_of_two_takes_a_run_for_every_way_to_end(verify):
    found = explored(audited(verify, torch.float64))
    assert found.runs <= 40
    assert found.usage.used_twice == 0
