"""What is proposed: a tree of draft tokens, drawn by us from exactly the rows that the function is told.

A chain is a tree without branches, candidates for one position are a tree of depth 1. Nodes are numbered parents first;
siblings are drawn in the order of their numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from rheo_proof.audit.cases import Case, Request, Row
from rheo_proof.audit.errors import AuditError
from rheo_proof.exact.law import Law, point, without
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import ONE, Q
from rheo_proof.exact.replay import replay

ROOT = -1
METHODS = ("iid", "distinct", "fixed")

Pick: TypeAlias = Callable[[Law, str], int]
"""Draws a token from a law; the text says what it is."""


class Draft(NamedTuple):
    """The tokens of the nodes and their parents (`ROOT` for children of the root), of a request at `context`."""

    tokens: Prefix
    parents: tuple[int, ...]
    context: Prefix = ()

    def string(self, node: int) -> Prefix:
        """The tokens from the root to a node, itself included."""
        string: Prefix = ()
        while node != ROOT:
            string, node = (self.tokens[node], *string), self.parents[node]
        return string

    def prefix(self, node: int) -> Prefix:
        """The context and the tokens up to a node."""
        return self.context + self.string(node)

    def children(self, node: int) -> tuple[int, ...]:
        """The nodes below a node."""
        return tuple(child for child, parent in enumerate(self.parents) if parent == node)

    def paths(self) -> list[tuple[int, ...]]:
        """The nodes from each child of the root to each leaf, leaves in the order of their numbers.

        >>> Draft((5, 6, 7), (-1, -1, 0)).paths()
        [(1,), (0, 2)]
        """
        found = []
        for leaf in (node for node in range(len(self.tokens)) if not self.children(node)):
            path: tuple[int, ...] = ()
            node = leaf
            while node != ROOT:
                path, node = (node, *path), self.parents[node]
            found.append(path)
        return found


@dataclass(frozen=True)
class Drafting:
    """How a draft is drawn: the shape of the tree and the law of siblings.

    `parents` of None is a chain of the K tokens of the case, which ends early with an end of sequence. Siblings are
    drawn independently (`iid`), without replacement (`distinct`), or are the best tokens of the draft row (`fixed`).
    """

    parents: tuple[int, ...] | None = None
    method: str = "iid"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise AuditError(f"method {self.method!r}: expected one of {', '.join(METHODS)}")
        for node, parent in enumerate(self.parents or ()):
            if not ROOT <= parent < node:
                raise AuditError(f"parents: node {node} has parent {parent}, expected {ROOT} or a smaller number")

    @property
    def chain(self) -> bool:
        """Whether this is a chain of the length of the case."""
        return self.parents is None

    @property
    def one_level(self) -> bool:
        """Whether all nodes are children of the root."""
        return self.parents is not None and set(self.parents) == {ROOT}

    def shape(self, case: Case) -> tuple[int, ...]:
        """The parents of all nodes."""
        return tuple(range(-1, case.length - 1)) if self.parents is None else self.parents

    def law_at(self, case: Case, request: int, draft: Draft, node: int) -> Law:
        """The law that the token of a node is drawn from, given the nodes before it. Rows of nan are taken as even."""
        parent = draft.parents[node]
        q = draft_law(case, request, draft.prefix(parent))
        earlier = tuple(draft.tokens[sibling] for sibling in draft.children(parent) if sibling < node)
        if self.method == "fixed":
            return point(best(q, len(earlier)), case.vocab)
        return without(q, tuple(sorted(earlier))) if self.method == "distinct" else q

    def draw(self, case: Case, request: int, context: Prefix, pick: Pick) -> Draft:
        """A draft of one request."""
        draft = Draft((), (), context)
        for node, parent in enumerate(self.shape(case)):
            draft = Draft(draft.tokens, (*draft.parents, parent), context)
            token = pick(self.law_at(case, request, draft, node), f"draft token {node} of request {request}")
            draft = Draft((*draft.tokens, token), draft.parents, context)
            if self.chain and token == case.table.eos:
                break
        return draft

    def law(self, case: Case, request: Request) -> dict[Draft, Q]:
        """Every draft of the request that is read, with its exact probability."""
        return replay(
            lambda chance: self.draw(
                case, request.index, request.context, lambda law, what: chance.draw(law, (what, 0, 0))
            )
        )

    def held(self, case: Case, request: Request, other: int) -> Draft:
        """The draft of a request that is not read: some string that can be drafted, chosen by the variant."""

        def pick(law: Law, what: str) -> int:
            node = int(what.split()[2])
            return law.support[(request.variant + node + other) % len(law.support)]

        return self.draw(case, other, (), pick)

    def row(self, case: Case, request: int, draft: Draft, node: int) -> Row:
        """The draft row handed over for a node: that of its parent; siblings without replacement all have the full row.

        A token of a fixed list has a certain row.
        """
        if self.method == "fixed":
            return tuple(float(x == draft.tokens[node]) for x in range(case.vocab))
        return case.draft_row(request, draft.prefix(draft.parents[node]))

    def fits(self, case: Case, request: int, context: Prefix = ()) -> bool:
        """Whether siblings that have to be distinct can be, at every node."""
        if self.method != "distinct" or case.refusal:
            return not case.refusal or self.method == "iid"
        shape = self.shape(case)
        most = max(shape.count(parent) for parent in shape)
        prefixes = [context + u for u in case.model(request, context).reachable(case.length - 1)]
        return all(len(case.draft(request, u).support) >= most for u in prefixes)


def draft_law(case: Case, request: int, prefix: Prefix) -> Law:
    """The law of the handed draft row; an even one where the row is nan, so that something is drafted."""
    row = case.draft_row(request, prefix)
    return Law([ONE / len(row)] * len(row)) if row[0] != row[0] else case.draft(request, prefix)


def best(q: Law, rank: int) -> int:
    """The token of a rank in the order of falling probability, the smaller token first."""
    return sorted(range(len(q)), key=lambda x: (-q[x], x))[rank]


CHAIN = Drafting()


def siblings(count: int, method: str = "iid") -> Drafting:
    """Several candidates for one position."""
    if count < 1:
        raise AuditError(f"{count} candidates: at least 1 is needed")
    return Drafting((ROOT,) * count, method)
