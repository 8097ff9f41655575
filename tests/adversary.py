"""The adversary a second time, from the specification and with the oracle: nothing merged, nothing shared.

It goes through all histories of insertions for one string and keeps the smallest and the largest probability. Laws of
the draft and step laws of trees are the oracle's. It must never import `rheo_proof`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from tests import oracle

Place = tuple[int, ...]
History = tuple[tuple[Place, int], ...]
"""Slots that are in, in the order of insertion, with their tokens."""


class Game:
    """A model as the oracle reads it, and sizes. `heads_first`: no head after the sampled slot of its node."""

    def __init__(self, model: Mapping[str, Any], scheme: Mapping[str, Any], heads_first: bool = False) -> None:
        self.model, self.scheme, self.heads_first = model, oracle.Scheme.parse(scheme), heads_first

    def moves(self, history: History) -> Iterator[list[tuple[Fraction, tuple[Place, int]]]]:
        """Each insertion that is possible, as its outcomes with their probabilities."""
        s, tokens = self.scheme, dict(history)
        if len(history) == s.nodes:
            return
        for place in [(), *tokens]:
            if len(place) == s.depth:
                continue
            draft = oracle.Draft(self.model, s, self.prefix(history, place))
            m = len(draft.head)
            drawn = tokens.get((*place, m))
            for slot, x in enumerate(draft.head):
                if (*place, slot) not in tokens and not (self.heads_first and drawn is not None):
                    yield [(oracle.ONE, ((*place, slot), x))]
            if m >= s.slots or draft.z == 0:
                continue
            if drawn is None:
                yield [(t, ((*place, m), x)) for x, t in enumerate(draft.tail) if t > 0]
                continue
            fills = [x for x in draft.order if x not in draft.head and x != drawn][: s.slots - m - 1]
            for slot, x in enumerate(fills, m + 1):
                if (*place, slot) not in tokens:
                    yield [(oracle.ONE, ((*place, slot), x))]

    def prefix(self, history: History, place: Place) -> tuple[int, ...]:
        """The tokens on the way to a slot."""
        tokens = dict(history)
        return tuple(tokens[place[:length]] for length in range(1, len(place) + 1))

    def stopped(self, history: History, v: tuple[int, ...]) -> Fraction:
        """The probability of v under the step law of the tree that is in."""
        index = {place: sum((slot + 1) * 10 ** (9 - 2 * i) for i, slot in enumerate(place)) for place, _ in history}
        tree = [oracle.Node(0, -1, (), False, oracle.ONE)]
        for place, _ in history:
            up = self.prefix(history, place[:-1])
            sampled = place[-1] == len(oracle.Draft(self.model, self.scheme, up).head)
            parent = index.get(place[:-1], 0)
            tree.append(oracle.Node(index[place], parent, self.prefix(history, place), sampled, oracle.ONE))
        law = oracle.Verifier(self.model, self.scheme, tree).step_law()
        found = Fraction(0)
        for string, chance in law.items():
            if v[: len(string)] == string:
                rest = range(len(string), len(v))
                for k in rest:
                    chance *= oracle.read_law(self.model, "target", v[:k])[v[k]]
                found += chance
        return found

    def extremes(self, v: tuple[int, ...], history: History = ()) -> tuple[Fraction, Fraction]:
        """The smallest and the largest probability of v over all policies, from a history on."""
        low = high = self.stopped(history, v)
        for outcomes in self.moves(history):
            after = [(chance, *self.extremes(v, (*history, node))) for chance, node in outcomes]
            low = min(low, sum((chance * a for chance, a, _ in after), Fraction(0)))
            high = max(high, sum((chance * b for chance, _, b in after), Fraction(0)))
        return low, high


Choice = tuple[Place, int, str]
"""A slot that is in, its token and its kind, which the slot alone does not say where m is chosen node by node."""


def choosing_m(model: Mapping[str, Any], scheme: Mapping[str, Any]) -> set[tuple[Choice, ...]]:
    """All histories of insertions where the policy chooses m at every node."""
    s = oracle.Scheme.parse({**scheme, "head": 0})
    found: set[tuple[Choice, ...]] = {()}
    waiting: list[tuple[Choice, ...]] = [()]
    for history in waiting:
        if len(history) == s.nodes:
            continue
        tokens = {place: x for place, x, _ in history}
        for place in [(), *tokens]:
            if len(place) == s.depth:
                continue
            prefix = tuple(tokens[place[:length]] for length in range(1, len(place) + 1))
            inside = {at[-1]: (x, kind) for at, x, kind in history if at[:-1] == place}
            for slot, x, kind in _below(oracle.Draft(model, s, prefix).order, s.slots, inside):
                after = (*history, ((*place, slot), x, kind))
                if after not in found:
                    found.add(after)
                    waiting.append(after)
    return found


def _below(order: list[int], slots: int, inside: Mapping[int, tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """What can be inserted below a node whose tokens of positive q are `order`, best first."""
    at = next((slot for slot, (_, kind) in inside.items() if kind == "sampled"), None)
    for slot, x in enumerate(order[: slots if at is None else at]):
        if slot not in inside:
            yield slot, x, "head"
    if at is None:
        for m in range(max(inside, default=-1) + 1, min(slots, len(order))):
            for x in order[m:]:
                yield m, x, "sampled"
        return
    fills = [x for x in order[at:] if x != inside[at][0]]
    for slot, x in zip(range(at + 1, slots), fills, strict=False):
        if slot not in inside:
            yield slot, x, "fill"
