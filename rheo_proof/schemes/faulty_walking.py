"""Draft trees and rules of the top-down schemes with one condition broken, for `zoo_walking.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.drafting.chain import Chain
from rheo_proof.schemes.drafting.growing import Child, Draw
from rheo_proof.schemes.drafting.static import Static
from rheo_proof.schemes.drafting.without_replacement import rest
from rheo_proof.schemes.tree import Branch, Path
from rheo_proof.schemes.verifying.kseq import KSeq
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.schemes.verifying.walk import Walk, Walking

FIFTH = rational("1/5")


class SkipRepeated(Rrs):
    """Recursive rejection that does not test a token again which was rejected already."""

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The test of the next child; its copies are left out with it."""
        if not walk.children:
            return super().at(model, walk, chance)
        x = chance.value(walk.children[0].token)
        others = tuple(child for child in walk.children[1:] if chance.value(child.token) != x)
        return super().at(model, walk._replace(children=(walk.children[0], *others)), chance)


class Unnormalised(Walking):
    """Draws without replacement are tested against q with the drawn tokens deleted, not renormalised."""

    def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Walk | Emission:
        """The test of the next child, or the last draw."""
        if walk.tested == len(walk.children):
            return self.last_draw(model, walk, (), chance)
        q, tokens = walk.children[0].law, [chance.value(child.token) for child in walk.children]
        assert q is not None
        x, child, gone = tokens[walk.tested], walk.children[walk.tested], tokens[: walk.tested]
        if chance.coin(min(ONE, walk.r[x] / q[x]), ("coin", len(walk.prefix), walk.tested)):
            return self.move(model, (*walk.prefix, x), child.children)
        left = [max(ZERO, mass - (ZERO if y in gone else q[y])) for y, mass in enumerate(walk.r)]
        return Walk(walk.prefix, normalised(left), walk.children, walk.tested + 1)


@dataclass(frozen=True)
class Sorted(Rrs):
    """Draws without replacement are tested in another order than that of the draws.

    Each is tested against q without the tokens tested before it, as if the sorted order had been that of the draws.
    """

    key: Callable[[Law, int], Q]

    def move(self, model: ToyModel, prefix: Prefix, children: tuple[Branch, ...]) -> Walk:
        """Arrive, and sort the children."""
        if not children:
            return super().move(model, prefix, children)
        q = children[0].law
        assert q is not None
        in_order = sorted(children, key=lambda child: self.key(q, _known(child)))
        tokens = tuple(_known(child) for child in in_order)
        laws = [rest(q, tokens[:i]) for i in range(len(tokens))]
        return super().move(
            model, prefix, tuple(child._replace(law=law) for child, law in zip(in_order, laws, strict=True))
        )


def by_token(q: Law, x: int) -> Q:
    """The order of token ids."""
    return Q(x)


def by_probability(q: Law, x: int) -> Q:
    """Decreasing draft probability."""
    return -q[x]


def _known(child: Branch) -> int:
    """The token of a child; the trees sorted here hold no latent ones."""
    assert isinstance(child.token, int)
    return child.token


@dataclass(frozen=True)
class TopAsDraws(Static):
    """The best tokens, which are deterministic, carry laws as if they had been drawn without replacement."""

    def children(self, model: ToyModel, prefix: Prefix, place: Path, draw: Draw) -> Sequence[Child]:
        """The same children, with laws."""
        tokens = tuple(child.token for child in super().children(model, prefix, place, draw))
        return [Child(x, rest(model.draft(prefix), tokens[:i])) for i, x in enumerate(tokens)]


class Clipped(KSeq):
    """K-SEQ with a divisor that is too small: what is negative in the rest is set to 0."""

    def rest(self, walk: Walk, v: Sequence[Q], rho: Q) -> Law:
        """norm(v+)."""
        return normalised([max(ZERO, mass) for mass in v])


@dataclass(frozen=True)
class DropUnlikely(Chain):
    """A drafted token with q below `floor` is dropped itself, and drafting stops before it."""

    floor: Q = FIFTH

    def children(self, model: ToyModel, prefix: Prefix, place: Path, draw: Draw) -> Sequence[Child]:
        """One draw, unless it is unlikely."""
        q = model.draft(prefix)
        x = draw(q)
        return [] if q[x] < self.floor else [Child(x, q)]
