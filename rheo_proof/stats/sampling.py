"""A sampler as the assertions see it: called with a stream of random numbers and a number of draws, it gives counts.

What it returns may be a mapping cell -> count, an array of cell indices (one a draw), an array of counts (one a cell),
or a list of cells (one a draw). Indices and counts are told apart by their length, so it is never asked for exactly as
many draws as there are cells. An array holds positions in the law and a list holds names; where the same integers could
be meant as either, they are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral, Number
from typing import Any, TypeAlias

import numpy as np

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.cells import AMBIGUOUS, Counts, Target, read_counts

Sampler: TypeAlias = Callable[[Any, int], Any]
"""(generator, n) -> draws; or (seed, n) -> draws where the assertion is told `seeded=True`."""

FIRST = 1000
"""Draws of the first batch; each later batch is a quarter of what there is by then."""

LARGEST = 1 << 20
"""Most draws that are asked for in one call."""


def batch_sizes(total: int, cells: int, growing: bool) -> Iterator[int]:
    """Sizes that sum to `total`, none equal to `cells`: growing ones for looks, or as few calls as `LARGEST` allows.

    >>> list(batch_sizes(2000, 3, True)), list(batch_sizes(2000, 1000, True)), list(batch_sizes(3, 3, False))
    ([1000, 1000], [1001, 999], [2, 1])
    """
    done = 0
    while done < total:
        left = total - done
        size = min(left, max(FIRST, done // 4) if growing else LARGEST, LARGEST)
        if cells == 1:
            size = left if left <= size + 1 else size  # one cell: no last batch of one draw
        elif size == cells:
            size = size + 1 if left > size else size - 1
        yield size
        done += size


def draw(sampler: Sampler, source: Any, n: int, target: Target) -> Counts:
    """The counts of n fresh draws. Raises `InputError` when the sampler returns anything else than n draws.

    >>> from rheo_proof.stats.cells import read_law
    >>> draw(lambda rng, n: rng.integers(2, size=n), np.random.default_rng(0), 10, read_law(["1/2", "1/2"])).n
    10
    """
    returned = sampler(source, n)
    counts = read_counts(_counted(returned, n, target), target, "the sampler's draws")
    if counts.n != n:
        raise InputError(f"the sampler was asked for {n} draws and returned {counts.n}")
    return counts


def _counted(returned: Any, n: int, target: Target) -> Any:
    if isinstance(returned, Mapping):
        return returned
    if isinstance(returned, list | tuple):
        if len(returned) != n:
            raise InputError(f"the sampler was asked for {n} draws and returned a list of {len(returned)}")
        return _named(returned, target)
    try:
        array = np.asarray(returned)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"the sampler returned a {type(returned).__name__} that is not an array: {error}") from None
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InputError(
            f"the sampler returned an array of shape {array.shape} and type {array.dtype}, not of integers"
        )
    if array.shape != (n,):
        return array
    if target.ambiguous:
        raise InputError(
            f"the sampler returned an array: {AMBIGUOUS}. Return a list of cells, as .tolist(), or a mapping"
        )
    cells = len(target.all_cells)
    if array.min() < 0 or array.max() >= cells:
        raise InputError(
            f"the sampler's cell indices go from {array.min()} to {array.max()}; the law has cells 0 to {cells - 1}. "
            "Return a mapping cell -> count when other cells can occur"
        )
    return np.bincount(array.astype(np.int64), minlength=cells)


def _named(returned: Any, target: Target) -> Counter[Any]:
    """The counts of a list of cells."""
    try:
        counts = Counter(returned)
    except TypeError as error:
        raise InputError(f"the sampler returned a list of what cannot be a cell: {error}; use tuples") from None
    bare = all(isinstance(cell, Integral) for cell in counts)
    if bare and not any(isinstance(cell, Number) for cell in target.all_cells):
        raise InputError(
            "the sampler returned a list of integers, and no cell of the law is a number. Return an array for positions"
            ", or a list of the law's cells"
        )
    return counts


class Stream:
    """What a sampler gets: one NumPy generator for all batches of a stage, or a fresh 63-bit seed for each batch."""

    def __init__(self, sequence: np.random.SeedSequence, seeded: bool) -> None:
        self.generator = np.random.default_rng(sequence)
        self.seeded = seeded

    def next(self) -> Any:
        """The generator, or the next seed."""
        return int(self.generator.integers(1 << 63)) if self.seeded else self.generator
