"""Masses: with which probability which child of a node is to succeed, given the list of children that was drafted.

The list t of the children of a node has the law D. Masses C(t, y) for the tokens y of t are feasible for the scaled
target w p if C >= 0, sum_y C(t, y) <= D(t) and m(y) = sum_t C(t, y) <= w p(y). The rules in `weighted.py` and
`optimal_transport.py` are lossless for all feasible masses, so feasibility is checked and nothing else about them used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import ONE, ZERO, Q

Tuples: TypeAlias = dict[tuple[int, ...], Q]
"""D: the law of the list of children of a node."""

Masses: TypeAlias = dict[tuple[tuple[int, ...], int], Q]
"""C, by (t, y)."""

TupleLaw: TypeAlias = Callable[[Law, int], Tuples]
"""D of a node with draft law q and k children: what a rule is told of the drafting method."""

PlanMaker: TypeAlias = Callable[[Law, Tuples], Masses]
"""Makes masses from the target law p and D: a transport plan."""


class Plans:
    """The masses of each node that comes up, made and checked once: `make(w p, D)` gives them, `tuples` says D."""

    def __init__(self, tuples: TupleLaw, make: Callable[[tuple[Q, ...], Tuples], Masses]) -> None:
        self.tuples = tuples
        self.make = make
        self._known: dict[object, tuple[Tuples, Masses, tuple[Q, ...]]] = {}

    def shares(self, scaled: tuple[Q, ...], q: Law, t: tuple[int, ...]) -> tuple[dict[int, Q], tuple[Q, ...]]:
        """C(t, y) / D(t) for the tokens of t in the order of t, and w p - m.

        Raises `SoundnessError` unless the masses are feasible and D(t) > 0.
        """
        key = (q, len(t), scaled)
        if key not in self._known:
            tuples = self.tuples(q, len(t))
            masses = self.make(scaled, tuples)
            self._known[key] = (tuples, masses, rest_of(scaled, tuples, masses))
        tuples, masses, rest = self._known[key]
        if not tuples.get(t):
            raise SoundnessError(f"children {t} were drafted, which have probability 0")
        return {y: masses.get((t, y), ZERO) / tuples[t] for y in t}, rest


def rest_of(scaled: tuple[Q, ...], tuples: Tuples, masses: Masses) -> tuple[Q, ...]:
    """w p(y) - m(y), what the masses leave of each token.

    Raises `SoundnessError` unless the masses are feasible and D is a law.

    >>> [str(mass) for mass in rest_of((ONE / 2, ONE / 4), {(0,): ONE}, {((0,), 0): ONE / 2})]
    ['0', '1/4']
    """
    if sum(tuples.values(), ZERO) != ONE:
        raise SoundnessError(f"the law of the drafted tuples has mass {sum(tuples.values(), ZERO)}, not 1")
    rest, used = list(scaled), dict.fromkeys(tuples, ZERO)
    for (t, y), mass in masses.items():
        if mass < ZERO or t not in tuples or y not in t:
            raise SoundnessError(f"token {y} of the drafted tuple {t} has the mass {mass}")
        used[t] += mass
        rest[y] -= mass
    for t, mass in used.items():
        if mass > tuples[t]:
            raise SoundnessError(f"the drafted tuple {t} has mass {mass}, more than its probability {tuples[t]}")
    for y, mass in enumerate(rest):
        if mass < ZERO:
            raise SoundnessError(f"token {y} has {-mass} more than its scaled target probability {scaled[y]}")
    return tuple(rest)


def rejection_masses(scaled: tuple[Q, ...], tuples: Tuples) -> Masses:
    """The masses of recursive rejection: x_1 is tested against the scaled target, x_2 against what is left, and so on.

    C(t, x_i) is D(t) times the probability that x_1, ..., x_{i-1} are rejected and x_i is not, added up for equal
    tokens; x_i is tested with its law given x_1, ..., x_{i-1}. For one child that is min(q(x), w p(x)).
    """
    masses: Masses = {}
    _reject(masses, scaled, tuples, (), ONE)
    return masses


def _reject(masses: Masses, r: tuple[Q, ...], tuples: Tuples, seen: Prefix, reached: Q) -> None:
    """Add the masses of all tuples that start with `seen`, whose tokens were rejected with probability `reached`."""
    k, total = len(seen), sum(tuples.values(), ZERO)
    below: dict[int, Tuples] = {}
    for t, mass in tuples.items():
        if len(t) > k and mass:
            below.setdefault(t[k], {})[t] = mass
    law = [sum(below.get(x, {}).values(), ZERO) / total for x in range(len(r))]
    rejected = sum((d - mass for d, mass in zip(law, r, strict=True) if d > mass), ZERO)
    for x, group in below.items():
        a = min(ONE, r[x] / law[x])
        for t, mass in group.items():
            masses[t, x] = masses.get((t, x), ZERO) + mass * reached * a
        if a < ONE:
            left = tuple((mass - d) / rejected if mass > d else ZERO for mass, d in zip(r, law, strict=True))
            _reject(masses, left, group, (*seen, x), reached * (ONE - a))
