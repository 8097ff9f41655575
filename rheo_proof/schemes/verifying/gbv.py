"""Greedy multi-path block verification (arXiv 2602.16961): the best of K i.i.d. paths, verified as one chain.

Tokens at a node u are ordered by increasing p(x|u)/q(x|u), equal ratios by token id; paths lexicographically by that.
The maximum of the K paths is the chain. Its next token has an exact law q~, which takes the place of q.
"""

from __future__ import annotations

from typing import NamedTuple

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.block import block
from rheo_proof.schemes.verifying.seen import Seeing, Seen


class Rank(NamedTuple):
    """Where a token stands among the next tokens: tokens the draft cannot propose last, ties by id."""

    impossible: bool
    ratio: Q
    token: int


def rank(p: Law, q: Law, x: int) -> Rank:
    """The place of x in the order of increasing p/q."""
    return Rank(not q[x], p[x] / q[x] if q[x] else ZERO, x)


class Gbv(Seeing):
    """Block verification of the maximal path against q~.

    With A the Q-mass of all paths before those that start with u, M = Q(u), c_0 = A, c_j = c_{j-1} + M q(x_j|u) in the
    order of tokens: q~(x_j|u) = (c_j^K - c_{j-1}^K) / ((A + M)^K - A^K). K is the number of paths in the draft.
    """

    def rank(self, p: Law, q: Law, x: int) -> Rank:
        """The order of tokens: that of the c_j, and of the selection."""
        return rank(p, q, x)

    def best(self, p: Law, q: Law, children: tuple[Seen, ...]) -> Seen:
        """The child that the selected path goes through; another order than `rank` is a fault."""
        return max(children, key=lambda child: self.rank(p, q, child.token))

    def verify(self, model: ToyModel, children: tuple[Seen, ...], chance: Chance) -> Emission:
        """Select, compute q~ on the way, verify."""
        paths = sum(len(child.slots) for child in children)
        x: Prefix = ()
        passing = paths
        laws: list[Law] = []
        before, mass = ZERO, ONE
        while children:
            p, q = model.target(x), model.draft(x)
            child = self.best(p, q, children)
            # A node is passed by as many paths as its token was listed, and each has a next token.
            if child.law is None or sum(len(other.slots) for other in children) != passing:
                raise InputError(f"greedy block verification needs {paths} i.i.d. paths, but {x} has other children")
            ordered = sorted(range(len(q)), key=lambda y: self.rank(p, q, y))
            laws.append(skewed(q, ordered, before, mass, paths))
            place = ordered.index(child.token)
            before += mass * q.mass(ordered[:place])
            mass *= q[child.token]
            x, children, passing = (*x, child.token), child.children, len(child.slots)
        return block(model, x, laws, chance)


def skewed(q: Law, ordered: list[int], before: Q, mass: Q, paths: int) -> Law:
    """q~: the law of the next token of the largest of `paths` draws, given that it starts with u.

    `before` is A, the mass of what is ordered before u, and `mass` M, that of u.

    >>> print(skewed(Law.read(["3/10", "1/10", "3/5"]), [2, 0, 1], ZERO, ONE, 2))
    Law(9/20, 19/100, 9/25)
    """
    whole = (before + mass) ** paths - before**paths
    probs = [ZERO] * len(q)
    low = before
    for x in ordered:
        high = low + mass * q[x]
        probs[x] = (high**paths - low**paths) / whole
        low = high
    return Law(probs)
