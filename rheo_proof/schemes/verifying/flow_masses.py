"""The masses of FlowVerification: what each processed node weighs, and what inserting the next one does to the others.

The masses belong to the current law of the output, which starts as the target's. A deterministic node takes its mass
from its parent's untouched tokens; a sampled one runs the single-draft test against the whole law. The derivation is in
docs/theorem.md.
"""

from __future__ import annotations

from typing import NamedTuple

from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.schemes.tree import Path


class Mass(NamedTuple):
    """A node that has been processed: its prefix and mass c; after the reveal of its sampled slot also f, w and t.

    The mass of an untouched token y is c p(y) before the reveal, f (w p(y) - t(y))+ after.
    """

    path: Path
    prefix: Prefix
    c: Q
    f: Q = ZERO
    w: Q = ZERO
    t: Law | None = None

    def of(self, p: Law, y: int) -> Q:
        """The mass of an untouched token y, for the target law p at this node."""
        if self.t is None:
            return self.c * p[y]
        rest = self.w * p[y] - self.t[y]
        return self.f * rest if rest > ZERO else ZERO


def inserted(done: tuple[Mass, ...], parent: Mass, path: Path, x: int, p: Law) -> tuple[Mass, ...]:
    """A deterministic node with token x is inserted; p is the target law at its parent. Without mass it is left out."""
    c = parent.of(p, x)
    return (*done, Mass(path, (*parent.prefix, x), c)) if c else done


def revealed(done: tuple[Mass, ...], parent: Mass, path: Path, x: int, p: Law, t: Law) -> tuple[Mass, ...]:
    """X ~ t is inserted with its value x: it gets the mass min(1, w p(x) / t(x)), and all others share what is left."""
    w = parent.c
    wp = [w * mass for mass in p]
    a = min(ONE, wp[x] / t[x]) if t[x] else ONE
    rho = ZERO
    if a < ONE:
        rho = (ONE - a) / sum((t[y] - wp[y] for y in range(len(p)) if t[y] > wp[y]), ZERO)
    others = tuple(
        Mass(m.path, m.prefix, m.c * rho, rho, w, t)
        if m is parent
        else Mass(m.path, m.prefix, m.c * rho, m.f * rho, m.w, m.t)
        for m in done
    )
    return alive((*others, Mass(path, (*parent.prefix, x), a)))


def alive(done: tuple[Mass, ...]) -> tuple[Mass, ...]:
    """Leave out nodes whose whole subtree has mass 0: no later reveal with t(X) > 0 can raise it."""
    keep: set[Path] = {()}
    for mass in done:
        if mass.c or mass.f:
            keep.update(mass.path[:level] for level in range(1, len(mass.path) + 1))
    return tuple(mass for mass in done if mass.path in keep)
