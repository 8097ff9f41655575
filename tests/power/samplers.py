"""A small law with an impossible cell, and samplers that are right, wrong, or leak into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

LAW = {(0,): "1/2", (1, 0): "1/4", (1, 1): "1/8", (2,): "1/8", (3,): 0}
EPS = "0.05"
SURE = 1e-9
"""Where a test must see something refuted, it is missed with this probability at most: the tests are no more flaky."""


def sampler(*weights: int) -> Callable[[np.random.Generator, int], Any]:
    """Draws cell indices with probabilities proportional to the weights."""
    p = np.array(weights) / sum(weights)
    return lambda generator, n: generator.choice(len(p), size=n, p=p)


RIGHT = sampler(4, 2, 1, 1, 0)
WRONG = sampler(40, 15, 15, 10, 0)  # 1/16 of the mass moved
LEAKS = sampler(4000, 2000, 1000, 980, 20)  # one draw in 400 is impossible
