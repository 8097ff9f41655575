"""Ordered draws without replacement (RSD-C, arXiv 2402.14160; Sequoia, arXiv 2402.12374)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheo_proof.exact.law import Law, without
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, Q
from rheo_proof.schemes.drafting.growing import Child, Draw, Growing, at_least_1
from rheo_proof.schemes.tree import Path


@dataclass(frozen=True)
class WithoutReplacement(Growing):
    """`slots` children of every node: X_1 ~ q, X_k ~ d_k, which is q without X_1 .. X_{k-1}, renormalised.

    Fewer children where the draft has fewer tokens. Every child carries its d_k, the law it was drawn from given the
    earlier ones; recursive rejection (`verifying/rrs.py`) with these laws is RRSw.
    """

    slots: int
    depth: int

    def __post_init__(self) -> None:
        at_least_1(slots=self.slots, depth=self.depth)

    def children(self, model: ToyModel, prefix: Prefix, place: Path, draw: Draw) -> Sequence[Child]:
        """X_1, ..., X_K, all different."""
        return draws(model.draft(prefix), self.slots, draw)

    def tuples(self, q: Law) -> dict[tuple[int, ...], Q]:
        """The law D of the list of children."""
        law: dict[tuple[int, ...], Q] = {(): ONE}
        for _ in range(min(self.slots, len(q.support))):
            law = {(*seen, x): mass * rest(q, seen)[x] for seen, mass in law.items() for x in rest(q, seen).support}
        return law


def draws(q: Law, most: int, draw: Draw) -> list[Child]:
    """Up to `most` draws from q without replacement, each with the law it was drawn from."""
    made: list[Child] = []
    for _ in range(min(most, len(q.support))):
        d = rest(q, tuple(child.token for child in made))
        made.append(Child(draw(d), d))
    return made


def rest(q: Law, seen: tuple[int, ...]) -> Law:
    """q without the tokens seen, renormalised.

    >>> rest(Law.read(["3/10", "1/10", "3/5"]), (2,))
    Law(3/4, 1/4, 0)
    """
    return without(q, seen) if seen else q
