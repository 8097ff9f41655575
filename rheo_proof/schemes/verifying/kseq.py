"""K-SEQ: test all drafts against the same scaled-down target (Sun et al., arXiv 2310.15141)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import ToyModel, key
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.walk import Walk, Walking


@dataclass(frozen=True)
class KSeq(Walking):
    """At u with X_1 .. X_K i.i.d. from q: the first X_i that passes Bern(min(1, p(X_i) / (rho q(X_i)))) is moved to.

    When none passes, y ~ norm(v), moved to if it is listed, with

        v(x) = p(x) - gamma min(p(x)/rho, q(x)),  gamma = (1 - (1 - beta)^K) / beta,  beta = sum min(p/rho, q)

    which makes the law p if no v(x) is negative, and only then. `rho` None takes the smallest valid one at each node
    (`smallest_divisor`). Raises `InputError` at a node where the given rho is too small.
    """

    rho: Q | None = None

    def __post_init__(self) -> None:
        if self.rho is not None:
            rho = rational(self.rho, "rho")
            if rho < ONE:
                raise InputError(f"rho is {rho}, expected at least 1")
            object.__setattr__(self, "rho", rho)

    def divisor(self, p: Law, q: Law, drafts: int) -> Q:
        """The rho of a node."""
        return smallest_divisor(p, q, drafts) if self.rho is None else self.rho

    def rest(self, walk: Walk, v: Sequence[Q], rho: Q) -> Law:
        """What y is drawn from. Called before the first test: whether rho is valid does not depend on the drafts."""
        if min(v) < ZERO:
            raise InputError(f"rho is {rho}, too small at prefix {key(walk.prefix)!r}: the rest {min(v)} is negative")
        return normalised(v)

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The test of the next draft, or the draw."""
        drafts = len(walk.children)
        if walk.tested == drafts:
            return self.last_draw(model, walk, walk.children, chance)
        child, p = walk.children[walk.tested], walk.r
        q, x = child.law, chance.value(child.token)
        assert q is not None
        rho = self.divisor(p, q, drafts)
        v = unspent(p, q, rho, drafts)
        rest = self.rest(walk, v, rho) if any(v) else p
        if chance.coin(min(ONE, p[x] / (rho * q[x])), ("coin", len(walk.prefix), walk.tested)):
            return self.move(model, (*walk.prefix, x), child.children)
        last = walk.tested + 1 == drafts
        return Walk(walk.prefix, rest if last else p, walk.children, walk.tested + 1)


@lru_cache(maxsize=1 << 12)
def unspent(p: Law, q: Law, rho: Q, drafts: int) -> tuple[Q, ...]:
    """v, the part of p that the tests leave over.

    >>> p, q = Law.read(["1/2", "3/10", "1/5"]), Law.read(["3/10", "1/10", "3/5"])
    >>> [str(mass) for mass in unspent(p, q, rational("3/2"), 2)]
    ['3/50', '23/150', '1/225']
    """
    passing = [min(a / rho, b) for a, b in zip(p, q, strict=True)]
    beta = sum(passing, ZERO)
    gamma = (ONE - (ONE - beta) ** drafts) / beta if beta else Q(drafts)
    return tuple(a - gamma * mass for a, mass in zip(p, passing, strict=True))


@lru_cache(maxsize=1 << 12)
def smallest_divisor(p: Law, q: Law, drafts: int, steps: int = 8) -> Q:
    """A rho with v >= 0 that is at most 2^-steps (K - 1) above the smallest one, by bisection of [1, K].

    rho = K is always valid (Bernoulli's inequality); larger ones than a valid one are.

    >>> p, q = Law.read(["1/2", "3/10", "1/5"]), Law.read(["3/10", "1/10", "3/5"])
    >>> str(smallest_divisor(p, q, 2, 6))
    '47/32'
    """
    low, high = ONE, Q(drafts)
    if min(unspent(p, q, low, drafts)) >= ZERO:
        return low
    for _ in range(steps):
        middle = (low + high) / 2
        if min(unspent(p, q, middle, drafts)) >= ZERO:
            high = middle
        else:
            low = middle
    return high
