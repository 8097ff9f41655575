"""Random elements go where torch puts labels: sequences of views, copies and in-place writes against torch itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_proof.audit import torch_store
from rheo_proof.audit.exploring import explore
from rheo_proof.audit.scalars import Cell
from rheo_proof.audit.torch_run import cells_of, torch_run

ROWS, COLUMNS = 3, 4

VIEWS = {
    "transpose": lambda x, d: x.transpose(0, -1),
    "select": lambda x, d: x.select(0, d.index(x.size(0))) if x.dim() > 1 else x,
    "slice": lambda x, d: x[d.index(x.size(0)) :] if x.dim() else x,
    "step": lambda x, d: x[..., ::2] if x.dim() else x,
    "unsqueeze": lambda x, d: x.unsqueeze(d.index(x.dim() + 1)),
    "squeeze": lambda x, d: x.squeeze(),
    "expand": lambda x, d: x.unsqueeze(0).expand(2, *x.shape),
    "diagonal": lambda x, d: x.diagonal() if x.dim() > 1 else x,
    "narrow": lambda x, d: x.narrow(0, 0, max(1, x.size(0) - 1)) if x.dim() else x,
    "flatten": lambda x, d: x.flatten(),
    "detach": lambda x, d: x.detach(),
    "data": lambda x, d: x.data,
    "unbind": lambda x, d: x.unbind(0)[d.index(x.size(0))] if x.dim() > 1 else x,
    "split": lambda x, d: x.split(2)[-1] if x.dim() else x,
    "strided": lambda x, d: x.as_strided((2,), (1,)) if x.numel() > 3 and x.dim() == 2 else x,
}
COPIES = {
    "clone": lambda x, d: x.clone(),
    "contiguous": lambda x, d: x.transpose(0, -1).contiguous(),
    "cat": lambda x, d: torch.cat([x, x]) if x.dim() else x,
    "stack": lambda x, d: torch.stack([x, -torch.ones_like(x)], -1),
    "flip": lambda x, d: x.flip(0) if x.dim() else x,
    "roll": lambda x, d: x.roll(1),
    "gather": lambda x, d: x.gather(0, d.places(x.size(0), x.shape)) if x.dim() else x,
    "index": lambda x, d: x[d.places(x.size(0), (3,))] if x.dim() else x,
    "grid": lambda x, d: x[d.places(x.size(0), (2, 1)), d.places(x.size(1), (3,))] if x.dim() == 2 else x,
    "select": lambda x, d: x.index_select(0, d.places(x.size(0), (2,))) if x.dim() else x,
    "take": lambda x, d: x.take(d.places(x.numel(), (2, 2))),
    "mask": lambda x, d: x[d.places(2, x.shape).bool()],
    "triangle": lambda x, d: x.tril() if x.dim() > 1 else x,
    "pad": lambda x, d: torch.nn.functional.pad(x, (1, 0), value=-7.0) if x.dim() else x,
    "repeat": lambda x, d: x.repeat(2, 1) if x.dim() < 3 else x,
    "interleave": lambda x, d: x.repeat_interleave(2, 0) if x.dim() else x,
    "double": lambda x, d: x.float().double(),
    "where": lambda x, d: torch.where(d.places(2, x.shape).bool(), x, -3.0),
    "fill": lambda x, d: x.masked_fill(d.places(2, x.shape).bool(), -4.0),
    "scatter": lambda x, d: x.scatter(0, d.places(x.size(0), x.shape), x.clone()) if x.dim() else x,
    "embed": lambda x, d: torch.nn.functional.embedding(d.places(x.size(0), (2,)), x) if x.dim() == 2 else x,
}


def _copy_row(x: Any, y: Any, d: Any) -> None:
    x[d.index(x.size(0))] = y.flatten()[0]


WRITES = {
    "copy": lambda x, y, d: x.copy_(y) if x.shape == y.shape else None,
    "zero": lambda x, y, d: x[:1].zero_() if x.dim() else None,
    "fill": lambda x, y, d: x[0].fill_(-2.0) if x.dim() else x.fill_(-2.0),
    "fill by an element": lambda x, y, d: x.fill_(y.flatten()[0]),
    "row": lambda x, y, d: _copy_row(x, y, d) if x.dim() else None,
    "list": lambda x, y, d: x.__setitem__(d.places(x.size(0), (2,)), y.flatten()[-1]) if x.dim() else None,
    "mask": lambda x, y, d: x.masked_fill_(d.places(2, x.shape).bool(), y.flatten()[0]),
    "scatter": lambda x, y, d: (
        x.scatter_(0, d.places(x.size(0), x.shape), y) if x.shape == y.shape and x.dim() else None
    ),
    "index copy": lambda x, y, d: (
        x.index_copy_(0, torch.tensor([0]), y[-1:]) if x.shape == y.shape and x.dim() else None
    ),
    "put": lambda x, y, d: x.index_put_((d.places(x.size(0), (4,)),), y.flatten()[:1]) if x.dim() == 1 else None,
}


class Dice:
    """The same choices for both runs of a program."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def index(self, n: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def places(self, n: int, shape: Any) -> torch.Tensor:
        count = 1
        for size in shape:
            count *= size
        return torch.tensor([self.index(n) for _ in range(count)], dtype=torch.int64).reshape(tuple(shape))


STEP = st.tuples(
    st.one_of(
        st.sampled_from(sorted(VIEWS)).map(lambda name: ("view", name)),
        st.sampled_from(sorted(COPIES)).map(lambda name: ("copy", name)),
        st.sampled_from(sorted(WRITES)).map(lambda name: ("write", name)),
    ),
    st.integers(0, 2**20),
)


def follow(start: torch.Tensor, steps: Any) -> list[torch.Tensor]:
    """Apply the steps; every result stays in the pool, so that views of one storage are written through each other."""
    pool = [start]
    for (kind, name), seed in steps:
        dice = Dice(seed)
        # Torch refuses to write a tensor into itself; the audit does not look for that.
        x, y = pool[dice.index(len(pool))], pool[dice.index(len(pool))].clone()
        if x.numel() == 0 or y.numel() == 0 or x.numel() > 200:
            continue
        if kind == "write":
            # Nobody should write an expanded tensor, of which several elements are one.
            if 0 not in x.stride():
                WRITES[name](x, y, dice)
        else:
            pool.append((VIEWS if kind == "view" else COPIES)[name](x, dice))
    return pool


def _flat(nested: Any) -> list[Any]:
    return [x for each in nested for x in _flat(each)] if isinstance(nested, list) else [nested]


@settings(max_examples=40)
@given(st.lists(STEP, max_size=14))
def test_random_elements_move_as_labels_do(steps):
    labels = torch.arange(1.0, ROWS * COLUMNS + 1, dtype=torch.float64)
    labels[::3] *= -100
    expected = follow(labels.clone().reshape(ROWS, COLUMNS), steps)
    seen = []

    def program(run):
        with torch_run(run):
            start = torch.rand(ROWS, COLUMNS, dtype=torch.float64)
            for i, label in enumerate(labels.tolist()):
                if label < 0:
                    start[i // COLUMNS, i % COLUMNS] = label
            names = {id(cell): label for cell, label in zip(_flat(cells_of(start)), labels.tolist(), strict=True)}
            found = follow(start, steps)
            seen[:] = [
                (list(t.shape), t.stride(), [names[id(x)] if isinstance(x, Cell) else x for x in _flat(cells_of(t))])
                for t in found
            ]

    explore(program)
    assert seen == [(list(t.shape), t.stride(), t.flatten().tolist()) for t in expected]


def test_an_element_that_is_lost_is_seen(monkeypatch):
    steps = [(("copy", "roll"), 3)]
    real = torch_store.ids_or_zeros
    monkeypatch.setattr("rheo_proof.audit.torch_move.ids_or_zeros", lambda t: real(t).flip(0))
    with pytest.raises(AssertionError):
        test_random_elements_move_as_labels_do.hypothesis.inner_test(steps)
