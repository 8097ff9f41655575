"""The expansion of one node of RheoSampling's tree (arXiv 2609.21827): what its draft law fixes before any draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law, normalised, remembered
from rheo_proof.exact.number import ONE, ZERO, Q, rational


class Expansion(NamedTuple):
    """What the draft law of one node fixes before any draw. Tokens of positive q only, best first."""

    q: Law
    head: tuple[int, ...]
    tail: tuple[int, ...]
    z: Q
    t: Law | None
    proxy: Q


@remembered
def _expansion(drafting: Expanding, q: Law) -> Expansion:
    order = sorted(q.support, key=lambda x: (-q[x], x))
    if drafting.sparse is not None and len(order) > drafting.sparse:
        order = order[: drafting.sparse]
        q = normalised([mass if x in order else ZERO for x, mass in enumerate(q)])
    m = min(drafting.check_head(drafting.head(q)) if callable(drafting.head) else drafting.head, len(order))
    head, tail = tuple(order[:m]), tuple(order[m:])
    z = q.mass(tail)
    if m >= drafting.slots or not z:
        return Expansion(q, head, (), z, None, ZERO)
    t = Law(ZERO if x in head else mass / z for x, mass in enumerate(q))
    if drafting.proxy == "tail":
        proxy = max(drafting.proxy_scale * z, q[tail[0]])
    else:
        proxy = min(q[head[-1]], z) if head else z
    return Expansion(q, head, tail, z, t, proxy)


@dataclass(frozen=True)
class Expanding:
    """The parameters of RheoSampling's draft trees, checked, and what they make of a draft law.

    `slots` K, `head` m (0 <= m <= K, or a function of the draft law), `depth` D layers, `beam` B nodes expanded in
    a layer, `nodes` N kept in the end, `sparse` S: draft laws cut to their S best tokens. Options beyond the paper:
    `proxy` "tail" values the sampled slot by max(a z, q(x_{m+1})) with a = `proxy_scale`; `fill_scale` multiplies
    the value of fills. Raises `InputError` for parameters out of range.
    """

    slots: int
    head: int | Callable[[Law], int]
    depth: int
    beam: int
    nodes: int
    sparse: int | None = None
    proxy: str = "paper"
    proxy_scale: Q = ONE
    fill_scale: Q = ONE

    def __post_init__(self) -> None:
        for name in ("slots", "depth", "beam", "nodes", "sparse"):
            value = getattr(self, name)
            if value is None and name == "sparse":
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InputError(f"{name} is {value}, expected a whole number of at least 1")
        if not callable(self.head):
            self.check_head(self.head)
        if self.proxy not in ("paper", "tail"):
            raise InputError(f"proxy is {self.proxy!r}, expected 'paper' or 'tail'")
        for name in ("proxy_scale", "fill_scale"):
            value = rational(getattr(self, name), name)
            if not ZERO < value <= ONE:
                raise InputError(f"{name} is {value}, expected more than 0 and at most 1")
            object.__setattr__(self, name, value)

    def check_head(self, m: object) -> int:
        """m itself. Raises `InputError` unless it is a number of slots."""
        if not isinstance(m, int) or isinstance(m, bool) or not 0 <= m <= self.slots:
            raise InputError(f"head is {m}, expected a whole number from 0 to slots = {self.slots}")
        return m

    def expansion(self, q: Law) -> Expansion:
        """Head, tail law and proxy of a node whose draft law is q.

        >>> Expanding(3, 1, 1, 3, 8).expansion(Law.read(["1/4", "1/2", "1/4"])).t
        Law(1/2, 0, 1/2)
        """
        return _expansion(self, q)
