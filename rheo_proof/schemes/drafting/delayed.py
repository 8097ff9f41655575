"""Delayed trees: a trunk, then independent paths from its end (Thomas et al., arXiv 2602.16994)."""

from __future__ import annotations

from dataclasses import dataclass, field

from rheo_proof.exact.errors import InputError
from rheo_proof.schemes.drafting.growing import Waiting
from rheo_proof.schemes.drafting.iid_paths import IidPaths


@dataclass(frozen=True)
class Delayed(IidPaths):
    """One string of length `trunk` from q, then `paths` independent strings of length `tail` from its end.

    With `trunk` 0 these are independent paths from the root, with `tail` 0 a chain.
    """

    paths: int
    trunk: int
    tail: int
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        if self.paths < 1 or self.trunk < 0 or self.tail < 0 or not self.trunk + self.tail:
            raise InputError(
                f"paths is {self.paths}, trunk {self.trunk} and tail {self.tail}, "
                "expected paths of at least 1, and a trunk or a tail of at least 1"
            )
        object.__setattr__(self, "depth", self.trunk + self.tail)

    def passing(self, node: Waiting) -> int:
        """1 on the trunk, all at its end, then as in `IidPaths`."""
        length = len(node.prefix)
        if length == self.trunk:
            return self.paths
        return 1 if length < self.trunk else node.copies
