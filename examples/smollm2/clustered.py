"""Means over contexts, and standard errors that treat the contexts of one prompt as one piece of evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Mean(NamedTuple):
    """A mean and its standard error, NaN for a single cluster; n values in so many clusters."""

    mean: float
    error: float
    n: int
    clusters: int


def mean_of(values: Sequence[float], clusters: Sequence[object]) -> Mean:
    """The mean of all values, with the standard error of a mean whose deviations add up within clusters.

    With G clusters of deviations d_g summed, it is sqrt(G / (G - 1) sum d_g^2) / n. With clusters of one value each
    that is the usual standard error.

    >>> mean_of([1.0, 3.0, 2.0, 6.0], ["a", "a", "b", "b"])
    Mean(mean=3.0, error=1.0, n=4, clusters=2)
    """
    if not values or len(values) != len(clusters):
        raise ValueError(f"{len(values)} values and {len(clusters)} clusters, expected as many of both, at least one")
    n = len(values)
    mean = math.fsum(values) / n
    sums: dict[object, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value - mean
    G = len(sums)
    error = math.sqrt(G / (G - 1) * math.fsum(d * d for d in sums.values())) / n if G > 1 else math.nan
    return Mean(mean, error, n, G)
