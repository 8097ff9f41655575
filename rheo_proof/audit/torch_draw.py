"""Random numbers that torch would draw become cells. The generator still advances, as it would have.

A draw is named by the state that its generator was in: two generators that were seeded alike give the same cells.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch

from rheo_proof.audit.arithmetic import apply
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.scalars import Discrete, Lazy, Opaque, Question
from rheo_proof.audit.torch_call import SOURCES, Call, handles
from rheo_proof.audit.torch_store import GRID, AuditTensor, build, is_coarse, items
from rheo_proof.audit.torch_streams import Draw

MOST_CHOICES = 4096


def _drawn(call: Call, *kind: Hashable) -> tuple[Draw, torch.Tensor]:
    """Draw for real: the generator advances, errors are torch's own, and the result has the shape and the type."""
    draw = Draw(call.session.streams, call["generator"], kind)
    result = call.plain()
    draw.done(result)
    return draw, result


def _continuous(call: Call, kind: str) -> tuple[Draw, torch.Tensor]:
    """The same for numbers with a fraction."""
    draw, result = _drawn(call, kind)
    if is_coarse(result.dtype):
        refuse(call.info.name, f"{GRID}: the law of a draw as {result.dtype} is not known here")
    return draw, result


@handles("rand", "rand_like", among=SOURCES)
def rand(call: Call) -> Any:
    """Uniform numbers on [0, 1)."""
    draw, result = _continuous(call, "uniform")
    return build(call.table, [call.session.run.uniform(draw.at(i)) for i in range(result.numel())], result)


@handles("uniform", among=SOURCES)
def uniform(call: Call) -> Any:
    """Uniform numbers on [low, high)."""
    draw, result = _continuous(call, "uniform")
    low, high = call["from"], call["to"]

    def element(i: int) -> Any:
        u = call.session.run.uniform(draw.at(i))
        if (low, high) == (0, 1):
            return u
        return apply("add", apply("mul", u, apply("sub", high, low)), low)

    return build(call.table, [element(i) for i in range(result.numel())], result)


@handles("exponential", among=SOURCES)
def exponential(call: Call) -> Any:
    """Exponential numbers with a rate."""
    draw, result = _continuous(call, "exponential")
    rate = call["lambd"]

    def element(i: int) -> Any:
        e = call.session.run.exponential(draw.at(i))
        return e if rate == 1 else apply("div", e, rate)

    return build(call.table, [element(i) for i in range(result.numel())], result)


def _known_weights(call: Call, name: str) -> AuditTensor:
    if not call.settle(name):
        refuse(call.info.name, "its probabilities are random numbers")
    return call.tensor(name)


@handles("multinomial", among=SOURCES)
def multinomial(call: Call) -> Any:
    """Indices drawn with unnormalised weights, one row or several, with or without replacement; not decided."""
    weights = _known_weights(call, "self")
    draw, result = _drawn(call, "multinomial", bool(call["replacement"]), weights.dtype)
    n = int(call["num_samples"])
    width = weights.value.size(-1)
    flat = items(weights)
    rows = [flat[i : i + width] for i in range(0, len(flat), width)] if width else []
    run = call.session.run
    elements: list[Any] = []
    for i, row in enumerate(rows):
        if call["replacement"] or n == 1:
            elements += [run.categorical(row, draw.at(i * n + j)) for j in range(n)]
        elif sum(w > 0 for w in row) < n:
            refuse("multinomial", "fewer positive weights than draws: which other indices torch gives is not defined")
        else:
            elements += run.ordered(row, n, draw.at(i * n))
    return build(call.table, elements, result)


def _coin(call: Call, p: Any, position: Any) -> Any:
    """1 with probability p."""
    if p in (0, 1):
        return int(p)
    exact = apply("sub", 1, p)
    coin = call.session.run.categorical([exact, p], position)
    return Question(lambda: coin.settle() == 1, coin.what)


@handles("bernoulli", among=SOURCES)
def bernoulli(call: Call) -> Any:
    """Coins, not decided."""
    if isinstance(call["p"], torch.Tensor):
        chances = _known_weights(call, "p")
        draw, result = _drawn(call, "coins", chances.dtype)
        ps = items(AuditTensor(chances.value.expand(result.size()), chances.store))
    elif call["p"] is not None:
        draw, result = _drawn(call, "coins of one kind")
        ps = [call["p"]] * result.numel()
    else:
        chances = _known_weights(call, "self")
        draw, result = _drawn(call, "coins", chances.dtype)
        ps = items(chances)
    return build(call.table, [_coin(call, p, draw.at(i)) for i, p in enumerate(ps)], result)


@handles("randint", "randint_like", "random", among=SOURCES)
def randint(call: Call) -> Any:
    """Integers from low to high - 1, equally likely, not decided."""
    low, high = call["low"] or call["from"] or 0, call["high"] if call["high"] is not None else call["to"]
    if high is None or isinstance(high, torch.Tensor):
        refuse(call.info.name, "the range is that of the type of number")
    draw, result = _drawn(call, "integers")
    if high - low > MOST_CHOICES:
        reason = f"more than {MOST_CHOICES} values"
        hidden = [Opaque(call.session.run, call.info.name, reason) for _ in range(result.numel())]
        return build(call.table, hidden, result)
    elements = [
        _shifted(call.session.run.categorical([1] * (high - low), draw.at(i)), low) for i in range(result.numel())
    ]
    return build(call.table, elements, result)


def _shifted(cell: Discrete, by: int) -> Lazy:
    return Discrete(lambda: cell.settle() + by, cell.what) if by else cell


@handles("randperm", among=SOURCES)
def randperm(call: Call) -> Any:
    """A random order, not decided."""
    draw, result = _drawn(call, "order")
    n = result.numel()
    return build(call.table, call.session.run.permutation(n, draw.at(0)) if n > 1 else list(range(n)), result)


@handles("normal", "normal_functional", "randn", "randn_like", "log_normal", "cauchy", "geometric", among=SOURCES)
def refused(call: Call) -> Any:
    """Draws of which only thresholds of no finite description are known."""
    refuse(call.info.name, "normal noise and its like: thresholds have no probability that is a known number")
