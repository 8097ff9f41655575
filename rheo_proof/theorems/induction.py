"""Statement "all predictable policies": backward induction over the adversary's choices, in rationals.

For every string v of length D + 1 the smallest and the largest probability, over all policies, that the completed
output is v. If both are the target's for every v, every policy has the target's law: a policy that tosses coins of its
own is a mixture of policies that do not. If one is not, the policy that attains it is a counterexample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from rheo_proof.exact.errors import LimitReached, SoundnessError
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, to_fraction
from rheo_proof.exact.step import StepLaw, continuation, target_probability
from rheo_proof.theorems.policies import Policies, State

Vector = tuple[Q, ...]
"""A probability for each event."""

MOST_STRINGS = 200_000
"""Strings of length D + 1 for which vectors are kept; each state has two."""


class Events:
    """The events "the completed output starts with v", for v of length D + 1, or with `shorter` of every length.

    Laws are asked for only at prefixes that target or draft can produce: below a mass of 0 everything is 0. Raises
    `LimitReached` for more than `MOST_STRINGS` strings, or when `limits` are out of time.
    """

    def __init__(self, model: ToyModel, depth: int, shorter: bool = False, limits: Limits | None = None) -> None:
        self.model, self.length, self._limits = model, depth + 1, limits or Limits()
        if model.vocab**self.length > MOST_STRINGS:
            raise LimitReached(
                f"{model.vocab}^{self.length} strings of D + 1 tokens are more than {MOST_STRINGS}; a smaller --vocab "
                "or --depth helps"
            )
        lengths = range(1, depth + 2) if shorter else (depth + 1,)
        self.strings = [v for length in lengths for v in product(range(model.vocab), repeat=length)]
        self.target: Vector = tuple(self._target(v) for v in self.strings)
        self._shorter = shorter
        self._below: dict[Prefix, Vector] = {}

    def _target(self, v: Prefix) -> Q:
        self._limits.watch()
        return target_probability(self.model, v)

    def of(self, law: StepLaw) -> Vector:
        """The probabilities under a step law, completed with target samples. Raises `SoundnessError` off mass 1."""
        full: list[Q] = []
        self._walk(law, (), ZERO, full)
        if sum(full, ZERO) != ONE:
            raise SoundnessError(f"a completed law has mass {sum(full, ZERO)}")
        if not self._shorter:
            return tuple(full)
        found: list[Q] = []
        for length in range(1, self.length + 1):
            size = self.model.vocab ** (self.length - length)
            found += [sum(full[i : i + size], ZERO) for i in range(0, len(full), size)]
        return tuple(found)

    def _walk(self, law: StepLaw, v: Prefix, ended: Q, full: list[Q]) -> None:
        """Add the strings below v; `ended`: the mass of strings that ended at or before v, completed to v."""
        if not law.passing(v):
            full += [ended * mass for mass in self.below(v)] if ended else self._nothing(v)
            return
        self._limits.watch()
        p, emitted = self.model.target(v), law.emission(v, self.model.vocab)
        for x in range(self.model.vocab):
            self._walk(law, (*v, x), ended * p[x] + emitted[x], full)

    def below(self, v: Prefix) -> Vector:
        """The target's law of the tokens that complete v."""
        if v not in self._below:
            if len(v) == self.length:
                self._below[v] = (ONE,)
            else:
                self._limits.watch()
                p, found = continuation(self.model, v), list[Q]()
                for x in range(self.model.vocab):
                    u = (*v, x)
                    found += [p[x] * mass for mass in self.below(u)] if p[x] else self._nothing(u)
                self._below[v] = tuple(found)
        return self._below[v]

    def _nothing(self, v: Prefix) -> list[Q]:
        """Zero for each string below v."""
        return [ZERO] * self.model.vocab ** (self.length - len(v))


@dataclass(frozen=True)
class Bounds:
    """For each string the target's probability, and the extremes over all policies; `states` were walked."""

    strings: list[Prefix]
    target: Vector
    low: Vector
    high: Vector
    states: int

    @property
    def lossless(self) -> bool:
        """Whether no policy moves the probability of any string."""
        return self.low == self.target == self.high

    @property
    def gap(self) -> Fraction:
        """The largest distance between an extreme and the target's probability; 0 iff lossless."""
        return to_fraction(max(max(abs(t - a), abs(b - t)) for a, t, b in self._triples))

    @property
    def _triples(self) -> list[tuple[Q, Q, Q]]:
        return list(zip(self.low, self.target, self.high, strict=True))

    def worst(self) -> tuple[Prefix, bool, Fraction, Fraction]:
        """The wrong string that is shortest, then furthest off; whether high, its extreme, and the target's."""
        found = []
        for v, (low, target, high) in zip(self.strings, self._triples, strict=True):
            upper = high - target >= target - low
            extreme = high if upper else low
            found.append((len(v), -abs(extreme - target), v, upper, extreme, target))
        _, _, v, upper, extreme, target = min(each for each in found if each[4] != each[5])
        return v, upper, to_fraction(extreme), to_fraction(target)


def layers(
    policies: Policies, limits: Limits, most: int | None = None, told: Callable[[int], None] | None = None
) -> list[list[State]]:
    """All states that can be reached, by rank. Raises `LimitReached` after `most` states."""
    waiting: dict[int, dict[State, None]] = {0: {policies.start(): None}}
    found: list[list[State]] = []
    count = 0
    while waiting:
        rank = min(waiting)
        states = list(waiting.pop(rank))
        found += [[] for _ in range(rank - len(found))]
        found.append(states)
        for state in states:
            count += 1
            if most is not None and count > most:
                raise LimitReached(f"more than {most} states")
            limits.watch()
            if told is not None:
                told(count)
            for action in policies.actions(state):
                for _, _, after in policies.successors(state, action):
                    waiting.setdefault(after.rank, {})[after] = None
    return found


def bounds(
    policies: Policies,
    limits: Limits | None = None,
    most: int | None = None,
    shorter: bool = False,
    told: Callable[[int, int], None] | None = None,
) -> Bounds:
    """The extremes for every string, by backward induction. Raises `LimitReached` after `most` states.

    With `shorter` also of the events that the output starts with a shorter string. `told` hears of states done, of all.

    >>> from rheo_proof.exact.toys import toy
    >>> from rheo_proof.schemes.drafting.rheo import Rheo
    >>> from rheo_proof.schemes.verifying.rrsw import Rrsw
    >>> drafting = Rheo(slots=2, head=1, depth=1, beam=2, nodes=2)
    >>> free, bound = (bounds(Policies(toy(1), Rrsw(), [drafting], heads_first=first)) for first in (False, True))
    >>> free.gap, bound.gap
    (Fraction(3, 100), Fraction(0, 1))
    """
    limits = limits or Limits()
    events = Events(policies.model, policies.depth, shorter, limits)
    ranked = layers(policies, limits, most)
    total, done = sum(map(len, ranked)), 0
    known: dict[int, dict[State, tuple[Vector, Vector]]] = {}
    for rank in reversed(range(len(ranked))):
        known.pop(rank + 3, None)
        here = known.setdefault(rank, {})
        for state in ranked[rank]:
            limits.watch()
            here[state] = _extremes(policies, state, events.of(policies.stop(state, limits)), known, limits)
            done += 1
            if told is not None:
                told(done, total)
        ranked[rank] = []
    low, high = known[0][policies.start()]
    return Bounds(events.strings, events.target, low, high, total)


def _extremes(
    policies: Policies,
    state: State,
    stopped: Vector,
    known: dict[int, dict[State, tuple[Vector, Vector]]],
    limits: Limits,
) -> tuple[Vector, Vector]:
    """The extremes at a state, from those of its successors."""
    low = high = stopped
    for action in policies.actions(state):
        limits.watch()
        after = [(mass, *known[s.rank][s]) for _, mass, s in policies.successors(state, action)]
        if sum((mass for mass, _, _ in after), ZERO) != ONE:
            raise SoundnessError(f"the outcomes of {action} do not sum to 1")
        a = mean([(mass, vector) for mass, vector, _ in after])
        b = a if all(x is y for _, x, y in after) else mean([(mass, vector) for mass, _, vector in after])
        if a != low:
            low = tuple(map(min, low, a))
        if b != high:
            high = tuple(map(max, high, b))
    return (low, low) if low == high else (low, high)


def mean(parts: Sequence[tuple[Q, Vector]]) -> Vector:
    """The mean of vectors with weights that sum to 1."""
    if len(parts) == 1:
        return parts[0][1]
    return tuple(
        sum((mass * x for (mass, _), x in zip(parts, column, strict=True)), ZERO)
        for column in zip(*(v for _, v in parts), strict=True)
    )
