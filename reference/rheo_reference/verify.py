"""Verification: from a kept tree and the target laws at its nodes to accepted nodes and one more token.

A rule says which token comes out at a node. If a kept child holds it, the walk moves there; if not, the token is
emitted and the step ends. At a node without kept children every rule draws y ~ p, the bonus token.

At temperature 0 the target laws are one-hot. Then a coin has probability 0 or 1 and a draw one outcome, so all rules
take the target's greedy path, whatever the tape says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from .flow import Masses
from .laws import Floats, Laws
from .slots import Tail
from .tape import Tape, inverse_cdf
from .tree import ROOT, Tree

Walked: TypeAlias = tuple[list[int], int]
"""The accepted nodes from the top, and the last token."""


def same_vocabulary(tree: Tree, p: Laws) -> None:
    """Raise `ValueError` if the draft can propose tokens that the target does not have; it may have fewer tokens."""
    tails = [int(tail.tokens.max()) for tail in tree.tails if tail is not None]
    most, known = max([int(tree.tokens.max()), *tails]), p.rows.shape[1]
    if most >= known:
        raise ValueError(f"the draft model proposes token {most}, but the target model has {known} tokens")


def walk(tree: Tree, token_at: Callable[[int, int], int]) -> Walked:
    """Start at the root; `token_at(node, level)` is the rule. Accepted tokens are those of kept children."""
    node, accepted = ROOT, list[int]()
    while True:
        token = token_at(node, len(accepted))
        child = tree.child(node, token)
        if child is None:
            return accepted, token
        accepted.append(child)
        node = child


def rheo(tree: Tree, p: Laws, tape: Tape) -> Walked:
    """RheoVerification: Bern(min(1, p(X)/t(X))) for the sampled child, else y ~ norm((p - t)+); y ~ p without one."""

    def token_at(node: int, level: int) -> int:
        law, sampled = p[node], tree.sampled_child(node)
        if sampled is None:
            return inverse_cdf(law, tape.token(level))
        x, tail = sampled_token(tree, sampled)
        if tape.coin(level, 1) < acceptance(law, 1.0, tail, x):
            return x
        return inverse_cdf(residual(law, 1.0, tail), tape.token(level))

    return walk(tree, token_at)


def rrsw(tree: Tree, p: Laws, tape: Tape) -> Walked:
    """Recursive rejection without replacement: children in slot order against a running law r, which starts as p.

    Head children are tested with one coin: the i-th is taken if u lies below the cumulative p of the first i and not
    below that of the first i - 1. This is what one coin after the other does, r being renormalised in between. Only
    heads with the sampled child behind them are tested so. Fills, and heads if the sampled child was pruned, come last
    in the list: they share the draw y ~ r.
    """

    def token_at(node: int, level: int) -> int:
        r, mass, sampled = p[node], 1.0, tree.sampled_child(node)
        if sampled is None:
            return inverse_cdf(r, tape.token(level))
        heads = [int(tree.tokens[child]) for child in tree.children(node) if tree.kinds[child] == "head"]
        if heads:
            r = r.copy()
            r[heads] = 0.0
            mass = float(r.sum())
            taken = inverse_cdf(np.append(p[node][heads], mass), tape.coin(level, 0))
            if taken < len(heads):
                return heads[taken]
        x, tail = sampled_token(tree, sampled)
        if tape.coin(level, 1) < acceptance(r, mass, tail, x):
            return x
        return inverse_cdf(residual(r, mass, tail), tape.token(level))

    return walk(tree, token_at)


def match(tree: Tree, p: Laws, tape: Tape) -> Walked:
    """One-hot verification, as in EAGLE-2/3 above temperature 0: y ~ p."""
    return walk(tree, lambda node, level: inverse_cdf(p[node], tape.token(level)))


def flow(tree: Tree, p: Laws, tape: Tape) -> Walked:
    """FlowVerification: insert all nodes in rank order, then y by the masses that result. One draw a node, no coin."""
    masses = Masses(tree, p)
    for node in range(1, len(tree)):
        masses.insert(node)
    full = masses.full()
    return walk(tree, lambda node, level: inverse_cdf(masses.weights(node, full), tape.token(level)))


def _checked(rule: Callable[[Tree, Laws, Tape], Walked]) -> Callable[[Tree, Laws, Tape], Walked]:
    def verify(tree: Tree, p: Laws, tape: Tape) -> Walked:
        same_vocabulary(tree, p)
        return rule(tree, p, tape)

    return verify


RULES: dict[str, Callable[[Tree, Laws, Tape], Walked]] = {
    "rheo": _checked(rheo),
    "rrsw": _checked(rrsw),
    "match": _checked(match),
    "flow": _checked(flow),
}


def sampled_token(tree: Tree, node: int) -> tuple[int, Tail]:
    """The token of a sampled node, and the law it was drawn from."""
    tail = tree.tails[node]
    assert tail is not None
    return int(tree.tokens[node]), tail


def acceptance(r: Floats, mass: float, tail: Tail, x: int) -> float:
    """min(1, r(x)/t(x)) for the law r / mass: one division, of z r(x) by mass q(x)."""
    above, below = tail.z * float(r[x]), mass * float(tail.q[tail.where(x)])
    return above / below if above < below else 1.0


def residual(r: Floats, mass: float, tail: Tail) -> Floats:
    """Weights proportional to (r - t)+ for the law r / mass, computed as (z r - mass q)+.

    A failed coin says that t(X) > r(X), so something of r lies above t; but where the two agree up to rounding, the
    floats may all cancel. Then the weights are r itself. That happens with a probability of the order of rounding, and
    a draw from r is a token that r allows; an empty residual would give token 0 instead.
    """
    weights = tail.z * r
    weights[tail.tokens] = np.maximum(weights[tail.tokens] - mass * tail.q, 0.0)
    return weights if weights.any() else r
