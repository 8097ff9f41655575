"""Integers, choices, counts and orders drawn by a NumPy generator.

They are decided when they are drawn: they go into indices and integer arrays, where nothing lazy could follow them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import RandomState

from rheo_proof.audit.draws import Draws, exact_weights
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.numpy_arrays import RandomArray
from rheo_proof.audit.numpy_sources import Source, no_out
from rheo_proof.audit.streams import Streams
from rheo_proof.exact.number import ONE, ZERO, Q

MOST_OUTCOMES = 4096
"""How many values a drawn integer may have."""


def _like(real: Any, values: Sequence[Any]) -> Any:
    """The values in the type and shape of a real result."""
    if isinstance(real, np.ndarray):
        return np.array(values, dtype=real.dtype).reshape(real.shape)
    return type(real)(values[0])


def _draw(run: Draws, weights: Sequence[Q]) -> int:
    return int(run.categorical(weights).settle())


def _range(low: Any, high: Any) -> int:
    """The number of integers in [low, high)."""
    if np.ndim(low) or np.ndim(high):
        refuse("integers between arrays of bounds")
    count = operator.index(high) - operator.index(low)
    if count > MOST_OUTCOMES:
        refuse("a random integer", f"more than {MOST_OUTCOMES} values")
    return count


def integers(
    source: Source,
    streams: Streams,
    low: Any,
    high: Any = None,
    size: Any = None,
    dtype: Any = np.int64,
    endpoint: bool = False,
) -> Any:
    """`Generator.integers`."""
    call = lambda: source.plain.integers(low, high, size, dtype, endpoint)  # noqa: E731
    return _integers(source, streams, low, high, size, dtype, endpoint, call)


def randint(source: Source, streams: Streams, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
    """`randint`."""
    return _integers(
        source, streams, low, high, size, dtype, False, lambda: source.plain.randint(low, high, size, dtype)
    )


def _integers(
    source: Source, streams: Streams, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool, call: Any
) -> Any:
    first, end = (0, low) if high is None else (low, high)

    def make(real: Any) -> Any:
        count = _range(first, end) + endpoint
        values = [int(first) + _draw(streams.run, [ONE] * count) for _ in range(np.size(real))]
        return _like(real, values)

    return source.whole(streams, call, ("integers", low, high, size, str(dtype), endpoint), make)


def choice(
    source: Source,
    streams: Streams,
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    shuffle: bool = True,
) -> Any:
    """`choice`: with replacement by the weights, else in order without replacement."""
    plain = source.plain
    more = {} if isinstance(plain, RandomState) else {"axis": axis, "shuffle": shuffle}
    if not replace and not shuffle and p is None:
        refuse("choice without replacement and without shuffling", "its order is no law that NumPy promises")
    things = None if np.ndim(a) == 0 else np.asarray(a)
    n = operator.index(a) if things is None else things.shape[axis]

    def make(real: Any) -> Any:
        weights = [ONE] * n if p is None else exact_weights(np.asarray(p, dtype=np.float64).tolist())
        shape = () if size is None else tuple(np.atleast_1d(size).tolist())
        count = math.prod(shape)
        if replace:
            indices = [_draw(streams.run, weights) for _ in range(count)]
        else:
            indices = [int(each) for each in streams.run.ordered(weights, count)]
        if things is None:
            return _like(real, indices)
        return things.take(np.reshape(indices, shape), axis=axis)

    kind = ("choice", n, size, replace, p, axis, shuffle)
    return source.whole(streams, lambda: plain.choice(a, size, replace, p, **more), kind, make)


def multinomial(source: Source, streams: Streams, n: Any, pvals: Any, size: Any = None) -> Any:
    """`multinomial`, as n draws and their counts; the last probability is what the others leave, as in NumPy."""
    if np.ndim(n) or np.ndim(pvals) != 1:
        refuse("multinomial of several laws in one call")

    def make(real: Any) -> Any:
        weights = exact_weights(np.asarray(pvals, dtype=np.float64).tolist())
        weights[-1] = max(ZERO, ONE - sum(weights[:-1], ZERO))
        counts = np.zeros(real.shape, dtype=real.dtype).reshape(-1, len(weights))
        for row in counts:
            for _ in range(int(n)):
                row[_draw(streams.run, weights)] += 1
        return counts.reshape(real.shape)

    call = lambda: source.plain.multinomial(n, pvals, size)  # noqa: E731
    return source.whole(streams, call, ("multinomial", n, pvals, size), make)


def binomial(source: Source, streams: Streams, n: Any, p: Any, size: Any = None) -> Any:
    """`binomial`."""

    def make(real: Any) -> Any:
        trials = np.broadcast_to(n, np.shape(real)).ravel().tolist()
        chances = np.broadcast_to(p, np.shape(real)).ravel().tolist()
        return _like(
            real,
            [_successes(streams.run, int(k), Q(*x.as_integer_ratio())) for k, x in zip(trials, chances, strict=True)],
        )

    return source.whole(streams, lambda: source.plain.binomial(n, p, size), ("binomial", n, p, size), make)


def _successes(run: Draws, n: int, p: Q) -> int:
    if n > MOST_OUTCOMES:
        refuse("a binomial draw", f"more than {MOST_OUTCOMES} values")
    return _draw(run, [math.comb(n, k) * p**k * (ONE - p) ** (n - k) for k in range(n + 1)])


def _order(source: Source, streams: Streams, n: int, call: Callable[[], Any], kind: tuple[Any, ...]) -> list[int]:
    """A random order of n things; `call` moves the generator."""
    order = source.whole(streams, call, kind, lambda _: [int(i) for i in streams.run.permutation(n)])
    return order if isinstance(order, list) else list(range(n))


def permutation(source: Source, streams: Streams, x: Any, axis: int = 0) -> Any:
    """`permutation` of a number, or of a sequence along an axis."""
    if np.ndim(x) == 0:
        things = np.arange(operator.index(x))
        return things.take(_order(source, streams, x, lambda: source.plain.permutation(x), ("permutation", int(x))))
    return _permuted(source, streams, x, axis, "permutation")


def _permuted(source: Source, streams: Streams, x: Any, axis: int, method: str) -> Any:
    """A sequence in a random order, by one of the methods that do this, each with noise of its own."""
    things = x if isinstance(x, RandomArray) else np.asarray(x)
    n = things.shape[axis]
    call = lambda: getattr(source.plain, method)(np.arange(n))  # noqa: E731
    return things.take(_order(source, streams, n, call, (f"{method} of an array", n, things.ndim)), axis=axis)


def shuffle(source: Source, streams: Streams, x: Any, axis: int = 0) -> None:
    """`shuffle`, in place."""
    if isinstance(x, (np.ndarray, RandomArray)):
        n = x.shape[axis]
        order = _order(source, streams, n, lambda: source.plain.shuffle(np.arange(n)), ("shuffle array", n))
        x[...] = x.take(order, axis=axis)
    else:
        order = _order(source, streams, len(x), lambda: source.plain.shuffle(list(range(len(x)))), ("shuffle", len(x)))
        x[:] = [x[i] for i in order]


def permuted(source: Source, streams: Streams, x: Any, *, axis: int | None = None, out: Any = None) -> Any:
    """`permuted` of one axis."""
    no_out(out)
    if np.ndim(x) != 1:
        refuse("permuted along several axes")
    return _permuted(source, streams, x, 0, "permuted")
