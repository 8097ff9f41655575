"""Independent paths from the root, merged with multiplicity (SpecTr, arXiv 2310.15141; arXiv 2602.16994)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.schemes.drafting.growing import Child, Draw, Growing, Waiting, at_least_1
from rheo_proof.schemes.tree import Path


@dataclass(frozen=True)
class IidPaths(Growing):
    """`paths` strings of length `depth`, each drawn token by token from q, independent of one another.

    Strings that share a prefix share the node: its children are the next tokens of the strings that pass, in the
    order of the strings and with multiplicity. Given how many pass, they are independent draws from q.
    """

    paths: int
    depth: int

    def __post_init__(self) -> None:
        at_least_1(paths=self.paths, depth=self.depth)

    def children(self, model: ToyModel, prefix: Prefix, place: Path, draw: Draw) -> Sequence[Child]:
        """The next tokens below a node that one string passes, or all at the root."""
        return self.grow(model, Waiting(prefix, (place,)), draw)

    def grow(self, model: ToyModel, node: Waiting, draw: Draw) -> Sequence[Child]:
        """One draw for each string that passes."""
        q = model.draft(node.prefix)
        return [Child(draw(q), q) for _ in range(self.passing(node))]

    def passing(self, node: Waiting) -> int:
        """How many strings pass a node: as many as list its token among its siblings."""
        return node.copies if node.prefix else self.paths
