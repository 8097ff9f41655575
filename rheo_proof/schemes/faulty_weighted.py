"""Rules with acceptance weight that break a condition of their theorem, for `zoo_weighted.py`. Each was met in code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import ONE, Q
from rheo_proof.schemes.verifying.capped_hsd import CappedHsd
from rheo_proof.schemes.verifying.gbv import Gbv, Rank
from rheo_proof.schemes.verifying.seen import Seen
from rheo_proof.schemes.verifying.traversal import Spot, Traversal


class UncappedHsd(CappedHsd):
    """The released code of arXiv 2601.05724 (commit b8575e2): the whole chain is kept with probability min(1, R_L)."""

    def final(self, ratios: Sequence[Q]) -> Q:
        """Without the cap."""
        return min(ONE, ratios[-1])


class TraversalById(Traversal):
    """Siblings are sorted by token id, so their order depends on what was drawn."""

    def order(self, children: tuple[Seen, ...]) -> tuple[Seen, ...]:
        """By token."""
        return tuple(sorted(children, key=lambda child: child.token))


class TraversalByCreation(Traversal):
    """The leaf that was created first is tested first, with nodes created path by path.

    Once the paths interleave, this is not depth first: a leaf is tested before the subtree of its elder sibling is
    exhausted. Found in the reference code of arXiv 2602.16961.
    """

    def first(self, root: Spot) -> Prefix:
        """The leaf of the earliest path; of one path, the upper one."""
        paths = tuple(range(1 + max((slot for child in root.children for slot in child.slots), default=0)))
        return min(leaves(root, paths))[-1]


def leaves(spot: Spot, paths: Sequence[int]) -> Iterator[tuple[int, int, Prefix]]:
    """The first path through each leaf, its depth, the leaf; `paths` pass through `spot`."""
    if not spot.children:
        yield paths[0], len(spot.prefix), spot.prefix
    for child in spot.children:
        yield from leaves(child, [paths[slot] for slot in child.slots])


class GbvFirstMaximum(Gbv):
    """Of several children with the largest ratio, the one drawn first is selected, whatever its place in the order."""

    def best(self, p: Law, q: Law, children: tuple[Seen, ...]) -> Seen:
        """The first child of maximal ratio."""
        return max(children, key=lambda child: self.rank(p, q, child.token)[:2])


class GbvClipped(GbvFirstMaximum):
    """The same with ratios clipped at 1, which makes ties of all tokens that the target prefers."""

    def rank(self, p: Law, q: Law, x: int) -> Rank:
        """By min(1, p/q)."""
        return clipped(super().rank(p, q, x))


class GbvClippedInOrder(Gbv):
    """Ratios clipped at 1 in selection and order alike: harmless."""

    def rank(self, p: Law, q: Law, x: int) -> Rank:
        """By min(1, p/q)."""
        return clipped(super().rank(p, q, x))


def clipped(rank: Rank) -> Rank:
    """A rank with its ratio clipped at 1."""
    return rank._replace(ratio=min(ONE, rank.ratio))
