"""What a call of a NumPy generator's method means in an audit, method by method.

Uniforms, exponentials and Gumbel noise are cells, one for each number, named by the state that the number comes from;
`numpy_discrete.py` has the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator, RandomState

from rheo_proof.audit.numpy_discrete import (
    binomial,
    choice,
    integers,
    multinomial,
    permutation,
    permuted,
    randint,
    shuffle,
)
from rheo_proof.audit.numpy_sources import Source, no_out
from rheo_proof.audit.streams import Streams


def _uniform(source: Source, streams: Streams, size: Any = None) -> Any:
    plain = source.plain
    draw = plain.random if isinstance(plain, Generator) else plain.random_sample
    return source.each(streams, lambda: draw(size), draw, "double", streams.run.uniform)


def random(source: Source, streams: Streams, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
    """`Generator.random`, `random_sample`, `RandomState.random`."""
    no_out(out)
    if np.dtype(dtype) == np.float64:
        return _uniform(source, streams, size)
    draw = source.plain.random
    return source.each(
        streams, lambda: draw(size, dtype=dtype), lambda: draw(dtype=dtype), "float32", streams.run.uniform
    )


def rand(source: Source, streams: Streams, *shape: int) -> Any:
    """`rand`."""
    return _uniform(source, streams, shape or None)


def uniform(source: Source, streams: Streams, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    """`uniform`: low + (high - low) u."""
    plain = source.plain
    draw = plain.random if isinstance(plain, Generator) else plain.random_sample
    u = source.each(streams, lambda: plain.uniform(low, high, size), draw, "double", streams.run.uniform)
    return low + np.subtract(high, low) * u


def standard_exponential(
    source: Source, streams: Streams, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None
) -> Any:
    """`standard_exponential`, by any algorithm."""
    no_out(out)
    draw = source.plain.standard_exponential
    how = {} if isinstance(source.plain, RandomState) else {"dtype": dtype, "method": method}
    kind = f"{np.dtype(dtype)} exponential by {method}"
    return source.each(streams, lambda: draw(size, **how), lambda: draw(**how), kind, streams.run.exponential)


def exponential(source: Source, streams: Streams, scale: Any = 1.0, size: Any = None) -> Any:
    """`exponential`."""
    plain = source.plain
    e = source.each(
        streams,
        lambda: plain.exponential(scale, size),
        plain.standard_exponential,
        "float64 exponential by zig",
        streams.run.exponential,
    )
    return scale * e


def gumbel(source: Source, streams: Streams, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    """`gumbel`: loc - scale log E."""
    plain = source.plain
    e = source.each(streams, lambda: plain.gumbel(loc, scale, size), plain.gumbel, "gumbel", streams.run.exponential)
    return loc - scale * np.log(e)


NORMAL = "normal noise has no thresholds that are known exactly"
UNBOUNDED = "its values have no bound"
REASONS = {
    "normal": NORMAL,
    "standard_normal": NORMAL,
    "randn": NORMAL,
    "lognormal": NORMAL,
    "multivariate_normal": NORMAL,
    "geometric": UNBOUNDED,
    "negative_binomial": UNBOUNDED,
    "poisson": UNBOUNDED,
    "zipf": UNBOUNDED,
    "logseries": UNBOUNDED,
    "bytes": "raw bytes are not enumerated",
    "tomaxint": "raw words are not enumerated",
}
"""Why a method is refused; the others have no reason but that nobody has needed them."""

DRAWS: dict[str, Callable[..., Any]] = {
    "random": random,
    "random_sample": random,
    "rand": rand,
    "uniform": uniform,
    "standard_exponential": standard_exponential,
    "exponential": exponential,
    "gumbel": gumbel,
    "integers": integers,
    "randint": randint,
    "choice": choice,
    "multinomial": multinomial,
    "binomial": binomial,
    "permutation": permutation,
    "shuffle": shuffle,
    "permuted": permuted,
}
