"""The class enumerator: walk equivalence classes of runs instead of runs.

A *class* is a state of the program together with what has been found out about the latent tokens it refers to: for
each, the law it was drawn from and the set it is known to lie in. A latent token is split only where a step asks about
it. Classes that have become the same are merged, also across the values of a token whose difference turned out not to
matter, if their densities are equal. All of this is bookkeeping. It rests on two things only: a step is a function of
its state and of the answers it gets, so it may not tell a latent token from a known one in any other way than by
asking; and every request to `Chance` is fresh. Nothing is assumed about which draws matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from rheo_proof.exact.chance import Chance, Name, Site, Token, Var
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import State, Step


class Belief(NamedTuple):
    """What is known of a latent token: drawn from `law`, found to lie in `among`, which has probability `mass`."""

    law: Law
    among: tuple[int, ...]
    mass: Q


Beliefs: TypeAlias = tuple[tuple[Name, Belief], ...]


class Weight(NamedTuple):
    """The probability of a class, and how many assignments of values to the draws made so far it stands for."""

    mass: Q
    assignments: int


Classes: TypeAlias = dict[Any, dict[Beliefs, Weight]]
"""State -> what is known of its latent tokens -> weight."""

F = TypeVar("F", bound=State)


class Refining(Chance):
    """Answer one execution of one step: follow `script`, then take the first answer and note the others in `agenda`."""

    def __init__(self, beliefs: Mapping[Name, Belief], script: tuple[int, ...], agenda: list[tuple[int, ...]]) -> None:
        self.beliefs = dict(beliefs)
        self.script = script
        self.agenda = agenda
        self.taken = 0
        self.weight = ONE

    def latent(self, law: Law, site: Site, name: Name, order: object = None) -> Token:
        """A new token of which nothing is known; a token that can only be one is known at once."""
        if name in self.beliefs:
            raise SoundnessError(f"two latent tokens named {name}")
        if len(law.support) == 1:
            return law.support[0]
        self.beliefs[name] = Belief(law, law.support, ONE)
        return Var(name)

    def find(self, token: Token, among: Sequence[int]) -> int | None:
        """Split off the tokens asked for, each on its own; the others stay together."""
        if not isinstance(token, Var):
            return token if token in among else None
        law, known, _ = self.beliefs[token.name]
        wanted = [x for x in known if x in among]
        if not wanted:
            return None
        rest = tuple(x for x in known if x not in among)
        parts: list[tuple[int, ...]] = [(x,) for x in wanted]
        part = self._split(token.name, law, [*parts, rest] if rest else parts)
        return part[0] if part is not rest else None

    def value(self, token: Token) -> int:
        """Split into single tokens."""
        if not isinstance(token, Var):
            return token
        law, known, _ = self.beliefs[token.name]
        return known[0] if len(known) == 1 else self._split(token.name, law, [(x,) for x in known])[0]

    def _split(self, name: Name, law: Law, parts: list[tuple[int, ...]]) -> tuple[int, ...]:
        part = parts[self._choose(len(parts))]
        mass = law[part[0]] if len(part) == 1 else law.mass(part)
        self.weight *= mass / self.beliefs[name].mass
        self.beliefs[name] = Belief(law, part, mass)
        return part

    def coin(self, a: Q, site: Site) -> bool:
        """Both sides, unless the coin is certain."""
        if type(a) is not Q or not ZERO <= a <= ONE:
            raise SoundnessError(f"a coin of probability {a!r} of type {type(a).__name__}")
        if a in (ZERO, ONE):
            return a == ONE
        heads = self._choose(2) == 0
        self.weight *= a if heads else ONE - a
        return heads

    def _choose(self, n: int) -> int:
        if self.taken == len(self.script):
            self.agenda += [(*self.script, index) for index in range(1, n)]
            self.script = (*self.script, 0)
        index = self.script[self.taken]
        self.taken += 1
        return index


def successors(step: Step[F], state: Any, known: Beliefs) -> Iterator[tuple[Any, Beliefs, Q, int]]:
    """Every outcome of one step: the state reached, what is known there, its probability, and a count of assignments.

    The count is (assignments after) / (assignments before) times the size of the box of `known`; see `explore`.
    """
    before = dict(known)
    agenda: list[tuple[int, ...]] = [()]
    while agenda:
        chance = Refining(before, agenda.pop(), agenda)
        reached = step(state, chance)
        after = chance.beliefs
        live = tuple((name, after[name]) for name in dict.fromkeys(var.name for var in reached.variables()))
        size = 1
        for belief in after.values():
            size *= len(belief.among)
        yield reached, live, chance.weight, size


def box(known: Beliefs) -> int:
    """How many assignments the latent tokens of a class still have open."""
    size = 1
    for _, belief in known:
        size *= len(belief.among)
    return size


def explore(step: Step[F], start: Classes, final: type[F], limits: Limits) -> tuple[Classes, int]:
    """Run a program from weighted start classes; return its final classes and how many classes were walked.

    States of equal progress are held together, so that equal ones meet; each is executed once for each way in which
    its requests can be answered. Raises `SoundnessError` if a step does not make progress or mass is lost, and
    `LimitReached` when `limits` are.
    """
    total = sum((weight.mass for known in start.values() for weight in known.values()), ZERO)
    waiting: dict[tuple[int, ...], Classes] = {}
    finals: Classes = {}
    for state, entries in start.items():
        into = finals if isinstance(state, final) else waiting.setdefault(state.progress, {})
        into.setdefault(state, {}).update(entries)
    walked = 0
    while waiting:
        progress = min(waiting)
        for state, entries in waiting.pop(progress).items():
            for known, weight in coarsest(entries).items():
                walked += 1
                limits.spend()
                open_before = box(known)
                for reached, live, chance, size in successors(step, state, known):
                    limits.watch()
                    if isinstance(reached, final):
                        into = finals
                    else:
                        if reached.progress <= progress:
                            raise SoundnessError(f"no progress: {reached.progress} after {progress}")
                        into = waiting.setdefault(reached.progress, {})
                    count = weight.assignments * size // open_before
                    add(into.setdefault(reached, {}), live, Weight(weight.mass * chance, count))
    finals = {state: coarsest(entries) for state, entries in finals.items()}
    if sum((weight.mass for known in finals.values() for weight in known.values()), ZERO) != total:
        raise SoundnessError("probability was lost on the way")
    return finals, walked


def coarsest(entries: dict[Beliefs, Weight]) -> dict[Beliefs, Weight]:
    """Join classes of one state that differ in what is known of a single latent token, where that is sound.

    Two of them are one class if the token has the same law, its sets are disjoint, and the probability of the class
    divided by that of the set is the same (so is the number of assignments divided by the size of the set): then the
    token is distributed by its law on the union. Classes for which this does not hold are left as they are.
    """
    changed = len(entries) > 1
    while changed:
        changed = False
        for position in range(len(next(iter(entries)))):
            joined = _join(entries, position)
            changed = changed or len(joined) < len(entries)
            entries = joined
    return entries


def _join(entries: dict[Beliefs, Weight], position: int) -> dict[Beliefs, Weight]:
    """Join along the latent token at one position."""
    groups: dict[Any, list[tuple[Beliefs, Weight]]] = {}
    for known, weight in entries.items():
        belief = known[position][1]
        density = (weight.mass / belief.mass, weight.assignments // len(belief.among))
        groups.setdefault((known[:position], known[position + 1 :], belief.law, density), []).append((known, weight))
    joined: dict[Beliefs, Weight] = {}
    for group in groups.values():
        sets = [known[position][1].among for known, _ in group]
        union = tuple(sorted(x for among in sets for x in among))
        if len(group) == 1 or len(set(union)) < len(union):
            for known, weight in group:
                add(joined, known, weight)
            continue
        (known, _), (name, first) = group[0], group[0][0][position]
        mass = sum((k[position][1].mass for k, _ in group), ZERO)
        merged = (*known[:position], (name, Belief(first.law, union, mass)), *known[position + 1 :])
        for _, weight in group:
            add(joined, merged, weight)
    return joined


def add(entries: dict[Beliefs, Weight], known: Beliefs, weight: Weight) -> None:
    """Add to the weight of a class."""
    before = entries.get(known)
    entries[known] = (
        weight if before is None else Weight(before.mass + weight.mass, before.assignments + weight.assignments)
    )
