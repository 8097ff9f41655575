"""A draft tree as Medusa looks at it: rows from the root to each leaf, judged as wholes (arXiv 2401.10774)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.tree import Branch
from rheo_proof.schemes.verifying.walk import Walk, Walking


class Rows(Walking):
    """A rule that accepts some leading tokens of every row and keeps one row: `judge` says which."""

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Emission:
        """All in one step, from the root."""
        return self.judge(model, list(rows(walk.children, chance)), chance)

    @abstractmethod
    def judge(self, model: ToyModel, rows: list[Prefix], chance: Chance) -> Emission:
        """The accepted tokens of the best row, and one more; `rows` are in slot order."""


def rows(children: tuple[Branch, ...], chance: Chance) -> Iterator[Prefix]:
    """The strings from the root to the leaves, in slot order; the empty one if there are no children."""
    if not children:
        yield ()
    for child in children:
        for below in rows(child.children, chance):
            yield (chance.value(child.token), *below)
