"""Programs on coins and tokens: the law under the auditor is that of torch itself, run once for every outcome.

And it does not depend on the poison that stands where nothing may look.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_proof.audit import torch_store
from rheo_proof.audit.exploring import Raised, explore
from rheo_proof.audit.torch_run import torch_run
from rheo_proof.exact.number import to_fraction
from tests.audit.torch_programs import decided

F = Fraction
CHANCES = [0.25, 1.0, 0.75]
WEIGHTS = [[1.0, 3.0, 0.0], [1.0, 1.0, 2.0]]


def _whole(x: torch.Tensor) -> torch.Tensor:
    return x.long() if x.dtype is torch.bool else x


def _put(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[mask] = 0
    return x


def _add_in_place(x: torch.Tensor) -> torch.Tensor:
    x = _whole(x).clone()
    x.add_(1)
    x[:1].mul_(2)
    return x


def _into(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.zeros(x.shape, dtype=torch.float64)
    torch.add(x, y, out=out)
    return out


def _stop_at_first(x: torch.Tensor) -> torch.Tensor:
    for i, each in enumerate(x.flatten()):
        if each:
            return torch.tensor(i)
    return torch.tensor(-1)


UNARY = {
    "not": lambda x: ~x if x.dtype is torch.bool else x.logical_not(),
    "bool": lambda x: x.bool(),
    "int": lambda x: x.int(),
    "byte": lambda x: x.to(torch.uint8),
    "double": lambda x: x.double() * 0.5,
    "cumsum": lambda x: x.cumsum(-1),
    "cumprod": lambda x: x.cumprod(-1),
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x.sum(-1, keepdim=True),
    "prod": lambda x: x.prod(-1),
    "all": lambda x: x.all(),
    "any": lambda x: x.any(-1),
    "argmax": lambda x: _whole(x).argmax(-1),
    "argmax of all": lambda x: _whole(x).argmax(),
    "argmin": lambda x: _whole(x).argmin(-1),
    "max": lambda x: x.max(-1).values,
    "max and place": lambda x: x.max(-1).indices,
    "min": lambda x: x.min(),
    "amax": lambda x: x.amax(-1),
    "sort": lambda x: x.sort(stable=True).values,
    "argsort": lambda x: x.argsort(stable=True),
    "topk": lambda x: x.topk(1).values,
    "nonzero": lambda x: x.nonzero().flatten(),
    "count": lambda x: x.count_nonzero(-1),
    "unique": lambda x: x.unique(),
    "bincount": lambda x: _whole(x).flatten().bincount(minlength=3),
    "flip": lambda x: x.flip(-1),
    "is one": lambda x: x == 1,
    "below": lambda x: x < 1.5,
    "clamp": lambda x: _whole(x).clamp(0, 1),
    "abs": lambda x: -_whole(x).abs(),
    "half": lambda x: _whole(x) // 2,
    "odd": lambda x: _whole(x) % 2,
    "one hot": lambda x: torch.nn.functional.one_hot(_whole(x).clamp(0, 2), 3),
    "mean": lambda x: x.double().mean(-1),
    "softmax": lambda x: (x.double() * 2).softmax(-1) > 0.4,
    "in place": _add_in_place,
    "loop": _stop_at_first,
    "rows": lambda x: torch.arange(6).reshape(3, 2)[_whole(x).clamp(0, 2)],
    "prefix": lambda x: torch.arange(3)[: int(x.sum())],
    "searchsorted": lambda x: torch.searchsorted(torch.tensor([0.5, 1.0, 1.5]), x.float(), right=True),
    "repeat": lambda x: torch.arange(x.numel()).repeat_interleave(_whole(x).flatten().clamp(0, 3)),
    "transposed": lambda x: x.unsqueeze(0).expand(2, *x.shape).transpose(0, -1),
}
BINARY = {
    "and": lambda x, y: x.bool() & y.bool(),
    "or": lambda x, y: x.bool() | y.bool(),
    "xor": lambda x, y: x.bool() ^ y.bool(),
    "bits": lambda x, y: _whole(x).long() & _whole(y).long(),
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "subtract": lambda x, y: _whole(x) - _whole(y),
    "divide": lambda x, y: x / (y + 1),
    "equal": lambda x, y: x == y,
    "at most": lambda x, y: x <= y,
    "where": lambda x, y: torch.where(x.bool(), y, -1),
    "where not": lambda x, y: torch.where(~x.bool(), 2.5, y),
    "fill": lambda x, y: _whole(x).masked_fill(y.bool(), 5),
    "put": lambda x, y: _put(x, y.bool()),
    "select": lambda x, y: x[y.bool()],
    "gather": lambda x, y: x.gather(-1, _whole(y).long().clamp(0, x.size(-1) - 1)),
    "scatter": lambda x, y: torch.zeros(3, dtype=torch.long).scatter_add(0, _whole(x).long().clamp(0, 2), y.long()),
    "maximum": lambda x, y: torch.maximum(x, y),
    "cat": lambda x, y: torch.cat([x, y]),
    "stack": lambda x, y: torch.stack([x.double(), y.double()]),
    "out": _into,
    "same": lambda x, y: torch.tensor(torch.equal(x, y)),
    "matmul": lambda x, y: x.double() @ y.double(),
}

STEPS = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(sorted(UNARY)), st.sampled_from(sorted(BINARY))),
        st.integers(0, 100),
        st.integers(0, 100),
    ),
    min_size=1,
    max_size=6,
)


def compute(coins: torch.Tensor, tokens: torch.Tensor, steps: Any) -> torch.Tensor:
    """Steps on earlier results; a step that torch cannot do is left out, or ends the program if that is random."""
    pool = [coins.bool(), tokens, torch.tensor([1, 0, 2]), coins.bool()[:3].long()]
    for name, i, j in steps:
        x, y = pool[i % len(pool)], pool[j % len(pool)]
        if x.numel() > 24 or y.numel() > 24:
            continue
        pool.append(UNARY[name](x) if name in UNARY else BINARY[name](x, y))
    return pool[-1]


def outcome(value: Any) -> Any:
    """Errors by their type; numbers so that True equals 1, and NaN itself."""
    if isinstance(value, Raised):
        return value.kind
    if isinstance(value, tuple):
        return tuple(map(outcome, value))
    return str(float(value))


def brute_force(steps: Any) -> dict[Any, Fraction]:
    """Torch itself, for every value of the coins and tokens."""
    law: Counter[Any] = Counter()
    for values in product(*[[0.0, 1.0] for _ in CHANCES], *[range(3) for _ in WEIGHTS]):
        mass = F(1)
        for value, p in zip(values, CHANCES, strict=False):
            mass *= F(p) if value else 1 - F(p)
        for value, row in zip(values[len(CHANCES) :], WEIGHTS, strict=True):
            mass *= F(row[int(value)]) / F(sum(row))
        if not mass:
            continue
        coins = torch.tensor(values[: len(CHANCES)])
        tokens = torch.tensor(values[len(CHANCES) :], dtype=torch.int64)
        try:
            result = outcome(decided(compute(coins, tokens, steps)))
        except Exception as error:
            result = type(error).__name__
        law[result] += mass
    return dict(law)


def audited(steps: Any) -> dict[Any, Fraction]:
    """The same under the auditor."""

    def program(run):
        with torch_run(run):
            coins = torch.bernoulli(torch.tensor(CHANCES))
            tokens = torch.multinomial(torch.tensor(WEIGHTS), 1).squeeze(-1)
            return decided(compute(coins, tokens, steps))

    law: Counter[Any] = Counter()
    for value, mass in explore(program).law.items():
        law[outcome(value)] += to_fraction(mass)
    return dict(law)


@settings(max_examples=25)
@given(STEPS, st.booleans())
def test_the_law_of_a_program_on_coins_and_tokens_is_torchs_own(steps, other_poison):
    with pytest.MonkeyPatch.context() as patch:
        if other_poison:
            for kind, value in {"float": 0.25, "whole": 1, "bool": False}.items():
                patch.setitem(torch_store.poison, kind, value)
        assert audited(steps) == brute_force(steps)


@pytest.mark.parametrize("name", sorted(UNARY))
def test_each_operation_on_one_tensor(name):
    for place in (0, 1):
        assert audited([(name, place, 0)]) == brute_force([(name, place, 0)])


@pytest.mark.parametrize("name", sorted(BINARY))
def test_each_operation_on_two_tensors(name):
    for i, j in ((0, 0), (3, 2), (1, 1)):
        assert audited([(name, i, j)]) == brute_force([(name, i, j)])


def test_a_leak_of_poison_is_seen(monkeypatch):
    monkeypatch.setattr("rheo_proof.audit.torch_call.settle", lambda t: True)
    with pytest.raises(AssertionError):
        test_each_operation_on_one_tensor("half")
