"""Sequoia's dynamic program for the shape of a tree (Chen et al., arXiv 2402.12374)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.schemes.drafting.static import Shape


class Best(NamedTuple):
    """A best shape, and its value: the expected number of emitted tokens if the assumption holds."""

    value: Q
    shape: Shape


def best_shape(acceptance: Sequence[object], nodes: int, levels: int) -> Best:
    """The shape with the largest F = sum over its nodes, the root included, of the product of a_k along the way.

    `acceptance` holds a_1, a_2, ..: the assumed probability that the k-th child of an accepted node is the one that is
    accepted. `nodes` and `levels` count the root. Of equal ones the shape with fewer children of the root, then with
    more below its last child, is taken. With T(m, l, b) the best F of m nodes on at most l levels, where the root has
    exactly b children,

        T(m, l, b) = max over y of T(y, l, b - 1) + a_b max over b' of T(m - y, l - 1, b')

    The shape never matters for losslessness, the assumption only for speed. Raises `InputError` for numbers out of
    range.

    >>> value, shape = best_shape(["3/5", "3/10", "1/10"], 4, 4)
    >>> str(value), shape
    ('113/50', ((0,), (1,), (0, 0)))
    """
    a = tuple(rational(value, f"acceptance {k}") for k, value in enumerate(acceptance, 1))
    if not a or min(a) < ZERO or max(a) > ONE:
        raise InputError(f"acceptance is {[str(x) for x in a]}, expected one or more probabilities from 0 to 1")
    if nodes < 1 or levels < 1:
        raise InputError(f"nodes is {nodes} and levels is {levels}, expected at least 1 each")

    @cache
    def with_children(m: int, depth: int, b: int) -> Best | None:
        """T(m, l, b); None stands for minus infinity."""
        if b == 0:
            return Best(ONE, ()) if m == 1 else None
        if depth < 2:
            return None
        best: Best | None = None
        for y in range(1, m):
            first, last = with_children(y, depth, b - 1), any_children(m - y, depth - 1)
            if first is None or last is None:
                continue
            value = first.value + a[b - 1] * last.value
            if best is None or value > best.value:
                branch = ((b - 1,), *((b - 1, *node) for node in last.shape))
                best = Best(value, (*first.shape, *branch))
        return best

    @cache
    def any_children(m: int, depth: int) -> Best | None:
        """The best over the number of children of the root."""
        found = [best for b in range(min(len(a), m - 1) + 1) if (best := with_children(m, depth, b)) is not None]
        return max(found, key=lambda best: best.value, default=None)

    best = any_children(nodes, levels)
    if best is None:
        raise InputError(f"no tree has {nodes} nodes on {levels} levels with at most {len(a)} children of a node")
    return Best(best.value, tuple(sorted(best.shape, key=lambda node: (len(node), node))))
