"""An optimal transport plan by shortest augmenting paths, in rationals: the plan that the numbers of the zoo are for.

Plans are not unique. Two optimal ones accept the same at one node, but may differ in what they accept below it, so a
number for a deeper tree has to say which plan it is for. Here tuples and tokens are looked at in increasing order. The
flow is that of arXiv 2310.15141, the method that of Edmonds and Karp.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from rheo_proof.exact.law import Law
from rheo_proof.exact.number import ZERO, Q
from rheo_proof.schemes.verifying.masses import Masses, Tuples


class Pushed(NamedTuple):
    """An augmenting path t_0, y_0, t_1, y_1, ...: t_i gives to y_i, which gives back to t_{i+1}."""

    tuples: tuple[tuple[int, ...], ...]
    tokens: tuple[int, ...]


def shortest_path_plan(p: Law, tuples: Tuples) -> Masses:
    """A plan C(t, y) of maximal total with sum_y C(t, y) <= D(t) and sum_t C(t, y) <= p(y), entries of 0 left out.

    >>> p, q = Law.read(["1/2", "3/10", "1/5"]), Law.read(["3/10", "1/10", "3/5"])
    >>> plan = shortest_path_plan(p, {(x, y): q[x] * q[y] for x in range(3) for y in range(3)})
    >>> str(sum(plan.values())), str(plan[(0, 1), 0]), str(plan[(0, 1), 1])
    ('21/25', '1/50', '1/100')
    """
    order = sorted(tuples)
    supply, demand = dict(tuples), list(p)
    plan: Masses = {}
    while (path := augmenting(order, supply, demand, plan)) is not None:
        given = list(zip(path.tuples, path.tokens, strict=True))
        taken = list(zip(path.tuples[1:], path.tokens, strict=False))
        amount = min(supply[path.tuples[0]], demand[path.tokens[-1]], *(plan[back] for back in taken))
        supply[path.tuples[0]] -= amount
        demand[path.tokens[-1]] -= amount
        for step in given:
            plan[step] = plan.get(step, ZERO) + amount
        for back in taken:
            plan[back] -= amount
    return {key: mass for key, mass in plan.items() if mass}


def augmenting(order: Sequence[tuple[int, ...]], supply: Tuples, demand: Sequence[Q], plan: Masses) -> Pushed | None:
    """A shortest augmenting path, found breadth first, or None when the plan is optimal."""
    queue = deque(Pushed((t,), ()) for t in order if supply[t])
    reached: set[int] = set()
    visited = {path.tuples[0] for path in queue}
    while queue:
        path = queue.popleft()
        for y in sorted(set(path.tuples[-1]) - reached):
            reached.add(y)
            longer = Pushed(path.tuples, (*path.tokens, y))
            if demand[y]:
                return longer
            for t in order:
                if t not in visited and plan.get((t, y)):
                    visited.add(t)
                    queue.append(Pushed((*path.tuples, t), longer.tokens))
    return None
