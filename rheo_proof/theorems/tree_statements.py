"""A whole draft tree, q fixed, for all p: the law of the emitted string on unknown target rows at every prefix.

Drafting does not look at p, so the draft trees and their probabilities are numbers, found by replay. Each tree is then
verified by the rule's own program on symbolic numbers, and the criterion of docs/theorem.md is a set of identities:
for every prefix v and token x, Pr[S starts with v x] = Pr[v is a proper prefix of S] p(x|v).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel, key
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission
from rheo_proof.exact.replay import replay
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.schemes.tree import Tree
from rheo_proof.schemes.verifying.flow import Flow
from rheo_proof.theorems.polynomials import Space
from rheo_proof.theorems.regions import Point, Region
from rheo_proof.theorems.symbolic_run import explored
from rheo_proof.theorems.symbols import Symbol, simplex, simplex_law, vanishes


class Failure(NamedTuple):
    """An identity that does not hold: Pr[S starts with `string`] - Pr[it gets there] p(last token)."""

    string: Prefix
    difference: Any


class Drafts(NamedTuple):
    """The draft trees of a scheme on a draft model, with their probabilities."""

    model: ToyModel
    depth: int
    trees: dict[Tree, Q]


def drafts(scheme: Scheme, model: ToyModel, limits: Limits) -> Drafts:
    """All trees, by one run of the drafting program for every way in which its draws turn out."""

    def no_target(prefix: Prefix) -> Law:
        raise SoundnessError("drafting asked for a target row")

    drafted = ToyModel(model.vocab, model.depth, no_target, model.draft, model.name)

    def run(chance: Chance) -> Tree:
        state: Any = scheme.drafting.start()
        while not isinstance(state, Tree):
            state = scheme.drafting.step(drafted, state, chance)
        return state

    return Drafts(model, scheme.drafting.depth, replay(run, lambda paths: limits.watch()))


class Unknowns:
    """The target rows: for each prefix of length 0..depth its block of unknowns."""

    def __init__(self, vocab: int, depth: int) -> None:
        self.vocab, self.depth = vocab, depth
        prefixes = [u for n in range(depth + 1) for u in product(range(vocab), repeat=n)]
        self.space = Space([[f"p{x}|{key(u)}" if u else f"p{x}" for x in range(vocab - 1)] for u in prefixes])
        step = vocab - 1
        self.rows = {u: range(i * step, (i + 1) * step) for i, u in enumerate(prefixes)}

    def whole(self) -> Region:
        """All rows that are laws."""
        one = self.space.constant(ONE)
        rows = [[self.space.unknown(i) for i in row] for row in self.rows.values() if row]
        return Region.whole(self.space, [one - sum(row, 0) for row in rows])

    def target(self, region: Region, prefix: Prefix) -> Law:
        """p(.|prefix)."""
        return simplex_law(region, self.rows[prefix])

    def numbers(self, region: Region, at: Point, drafts: ToyModel) -> ToyModel:
        """The model at a rational point."""

        def row(prefix: Prefix) -> Law:
            entries = simplex(region, self.rows[prefix])
            return Law(x.at(at) if isinstance(x, Symbol) else x for x in entries)

        return ToyModel(self.vocab, self.depth, row, drafts.draft, "the point")


def groups(scheme: Scheme, drafted: Drafts) -> list[Prefix]:
    """Which strings to follow at a time: those through one prefix of length D - 1; for FlowVerification all.

    A rule that walks compares only the rows on its way, so each group needs the regions of these rows alone.
    """
    if isinstance(scheme.verifying, Flow):
        return [()]
    return list(product(range(drafted.model.vocab), repeat=drafted.depth - 1))


def failures(
    scheme: Scheme, drafted: Drafts, unknowns: Unknowns, group: Prefix, limits: Limits, region: Region
) -> list[Failure]:
    """The identities of the strings through `group` that do not hold in the region."""
    model = ToyModel(unknowns.vocab, unknowns.depth, partial(unknowns.target, region), drafted.model.draft)
    start: dict[Any, Any] = {}
    for tree, weight in drafted.trees.items():
        state = scheme.verifying.start(model, tree)
        start[state] = start[state] + weight if state in start else weight

    def ends(state: Any) -> bool:
        return isinstance(state, Emission) or not _together(stood(state), group)

    finals = explored(lambda state, chance: scheme.verifying.step(model, state, chance), start, ends, limits)
    starts: dict[Prefix, Any] = {}
    through: dict[Prefix, Any] = {}
    for state, weight in finals.items():
        at, goes_on = _string(state)
        for length in range(len(at) + 1):
            _add(starts, at[:length], weight)
            if length < len(at) or goes_on:
                _add(through, at[:length], weight)
    found = []
    for v in sorted(through, key=lambda u: (len(u), u)):
        if _together(v, group):
            p = model.target(v)
            for x in range(unknowns.vocab):
                difference = starts.get((*v, x), ZERO) - through[v] * p[x]
                if not vanishes(difference):
                    found.append(Failure((*v, x), difference))
    return found


def stood(state: Any) -> Prefix:
    """The tokens that a running verification has accepted; none while it has only weighed the tree."""
    at = getattr(getattr(state, "walk", state), "prefix", ())
    assert isinstance(at, tuple)
    return at


def _string(state: Any) -> tuple[Prefix, bool]:
    """What the emitted string starts with, and whether more tokens follow."""
    if isinstance(state, Emission):
        assert isinstance(state.token, int)
        return (*state.prefix, state.token), False
    return stood(state), True


def _together(u: Prefix, v: Prefix) -> bool:
    """Whether one of two strings starts with the other."""
    n = min(len(u), len(v))
    return u[:n] == v[:n]


def _add(into: dict[Prefix, Any], at: Prefix, weight: Any) -> None:
    into[at] = into[at] + weight if at in into else weight


def strings(vocab: int, length: int) -> Iterator[Prefix]:
    """All strings of one length."""
    return product(range(vocab), repeat=length)
