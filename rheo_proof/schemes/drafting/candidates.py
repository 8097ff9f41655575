"""Candidates of RheoSampling's tree: drafted nodes with their values, and what is kept of them while the tree grows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rheo_proof.exact.chance import Var
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import Q
from rheo_proof.schemes.tree import Node


class Candidate(NamedTuple):
    """A drafted node with its value; `above` holds the tokens on the way to it, its own left out."""

    value: Q
    above: Prefix
    node: Node


class Drafting(NamedTuple):
    """The state between two expansions. Both lists of candidates are cut to what can still be chosen.

    `waiting`: nodes of this layer to expand; `layer`: best B of the next one; `kept`: best N of all.
    """

    depth: int
    expanded: int
    waiting: tuple[Candidate, ...]
    layer: tuple[Candidate, ...]
    kept: tuple[Candidate, ...]

    @property
    def progress(self) -> tuple[int, ...]:
        """Layers finished, then nodes expanded in this one."""
        return (self.depth, self.expanded)

    def variables(self) -> Iterator[Var]:
        """The sampled tokens that nobody looked at completely."""
        seen = set()
        for candidate in (*self.waiting, *self.layer, *self.kept):
            token = candidate.node.token
            if isinstance(token, Var) and token not in seen:
                seen.add(token)
                yield token
