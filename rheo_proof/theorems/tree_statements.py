"""A whole draft tree, q fixed, for all p: the law of the emitted string on unknown target rows at every prefix.

Drafting does not look at p, so the draft trees and their probabilities are numbers, found by replay. Each tree is then
verified by the rule's own program on symbolic numbers, and the criterion of docs/theorem.md is a set of identities:
for every prefix v and token x, Pr[S starts with v x] = Pr[v is a proper prefix of S] p(x|v).
"""

from __future__ import annotations

from collections.abc import Callable
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
from rheo_proof.theorems.regionwise import lossless, placed
from rheo_proof.theorems.symbolic_run import Weighted, explored
from rheo_proof.theorems.symbols import at_point, simplex
from rheo_proof.theorems.unread import UnreadLaw, together, without_what_is_off


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
    """The target rows: for each prefix of length 0..depth that goes with a group its block of unknowns."""

    def __init__(self, vocab: int, depth: int, group: Prefix = ()) -> None:
        self.vocab, self.depth = vocab, depth
        every = (u for n in range(depth + 1) for u in product(range(vocab), repeat=n))
        prefixes = [u for u in every if together(u, group)]
        self.space = Space([[f"p{x}|{key(u)}" if u else f"p{x}" for x in range(vocab - 1)] for u in prefixes])
        step = vocab - 1
        self.rows = {u: range(i * step, (i + 1) * step) for i, u in enumerate(prefixes)}

    def whole(self) -> Region:
        """All rows that are laws."""
        one = self.space.constant(ONE)
        rows = [[self.space.unknown(i) for i in row] for row in self.rows.values() if row]
        return Region.whole(self.space, [one - sum(row, 0) for row in rows])

    def target(self, region: Region, prefix: Prefix) -> Law:
        """p(.|prefix); where a run has left the group, it has ended, and to read this row is an error."""
        return Law(simplex(region, self.rows[prefix])) if prefix in self.rows else UnreadLaw(self.vocab)

    def point(self, model: ToyModel) -> Point:
        """The point at which the unknown rows are those of a model."""
        return {i: model.target(u)[x] for u, row in self.rows.items() for x, i in enumerate(row)}

    def numbers(self, region: Region, at: Point, drafts: ToyModel) -> ToyModel:
        """The model at a rational point."""

        def row(prefix: Prefix) -> Law:
            if prefix not in self.rows:
                return Law([Q(1, self.vocab)] * self.vocab)
            return Law(at_point(x, at) for x in simplex(region, self.rows[prefix]))

        return ToyModel(self.vocab, self.depth, row, drafts.draft, "the point")


def groups(scheme: Scheme, drafted: Drafts) -> list[Prefix]:
    """Which strings to follow at a time: those through one prefix of length D - 1; for FlowVerification all.

    A rule that walks compares only the rows on its way, so each group needs the regions of these rows alone.
    """
    if isinstance(scheme.verifying, Flow):
        return [()]
    return list(product(range(drafted.model.vocab), repeat=drafted.depth - 1))


def differences(
    scheme: Scheme, drafted: Drafts, unknowns: Unknowns, group: Prefix, limits: Limits, region: Region
) -> list[tuple[Prefix, Any]]:
    """Pr[S starts with v x] - Pr[v is a proper prefix of S] p(x|v), for all v x that go with the group."""
    model = ToyModel(unknowns.vocab, unknowns.depth, partial(unknowns.target, region), drafted.model.draft)
    start = Weighted()
    for tree, weight in drafted.trees.items():
        start.add(without_what_is_off(scheme.verifying.start(model, tree), group), weight)

    def ends(state: Any) -> bool:
        return isinstance(state, Emission) or not together(stood(state), group)

    finals = explored(lambda state, chance: scheme.verifying.step(model, state, chance), start, ends, limits)
    starts: dict[Prefix, Any] = {}
    through: dict[Prefix, Any] = {}
    for state, weight in finals.items():
        at, goes_on = _string(state)
        for length in range(len(at) + 1):
            _add(starts, at[:length], weight)
            if length < len(at) or goes_on:
                _add(through, at[:length], weight)
    return [
        ((*v, x), starts.get((*v, x), ZERO) - through[v] * model.target(v)[x])
        for v in sorted(through, key=lambda u: (len(u), u))
        if together(v, group)
        for x in range(unknowns.vocab)
    ]


def checked(scheme: Scheme, model_at: Callable[[Region, Point], ToyModel], region: Region, at: Point) -> int:
    """Ask the exact prover at a point. Raises `SoundnessError` if it finds a bias."""
    return lossless(scheme, model_at(region, at), placed(region, at))


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


def _add(into: dict[Prefix, Any], at: Prefix, weight: Any) -> None:
    into[at] = into[at] + weight if at in into else weight
