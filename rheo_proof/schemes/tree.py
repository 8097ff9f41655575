"""Draft trees: the nodes a drafting method keeps, and the same tree as a verification walks it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from rheo_proof.exact.chance import Token, Var
from rheo_proof.exact.law import Law

Path: TypeAlias = tuple[int, ...]
"""Where a node stands: the slot taken at each level. Slots, not tokens: a token may still be latent."""

Kind: TypeAlias = Literal["head", "sampled", "fill"]


class Node(NamedTuple):
    """A kept node. `law` is what verification is told a sampled token was drawn from (t), else None."""

    path: Path
    token: Token
    kind: Kind
    law: Law | None


class Tree(NamedTuple):
    """The kept nodes in rank order, the root left out: the order in which they were inserted."""

    nodes: tuple[Node, ...]

    def variables(self) -> Iterator[Var]:
        """The sampled tokens that nobody looked at, and those looked at only in part."""
        return (node.token for node in self.nodes if isinstance(node.token, Var))


class Branch(NamedTuple):
    """A kept child and all that is kept below it."""

    slot: int
    token: Token
    kind: Kind
    law: Law | None
    children: tuple[Branch, ...]


def branches(nodes: Sequence[Node], root: Path = ()) -> tuple[Branch, ...]:
    """The tree below `root` as nested branches, siblings in slot order. Nodes without a kept parent are left out."""
    below: dict[Path, list[Node]] = {}
    for node in nodes:
        below.setdefault(node.path[:-1], []).append(node)

    def build(path: Path) -> tuple[Branch, ...]:
        children = sorted(below.get(path, ()), key=lambda node: node.path)
        return tuple(Branch(n.path[-1], n.token, n.kind, n.law, build(n.path)) for n in children)

    return build(root)


def variables_below(children: Iterable[Branch]) -> Iterator[Var]:
    """The latent tokens of some branches."""
    for child in children:
        if isinstance(child.token, Var):
            yield child.token
        yield from variables_below(child.children)
