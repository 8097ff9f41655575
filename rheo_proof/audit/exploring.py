"""The exact law of a program that is run once for every branch of the randomness it looks at.

A `Run` follows a script of branches, then takes the first branch each time. What is drawn in a run is a latent: nothing
is decided until the program looks. `explore` writes the scripts, depth first, and checks that the probabilities of all
runs sum to exactly 1 and that equal scripts meet equal questions: a source of randomness that was not taken away shows
there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rheo_proof.audit.draws import Draws
from rheo_proof.audit.errors import FAILURES, AuditError, Unsound, pending, refuse, unsound
from rheo_proof.audit.latents import Latent, Tally
from rheo_proof.audit.scalars import Lazy
from rheo_proof.audit.sites import NOWHERE, Site, starts_here, user_site
from rheo_proof.exact.errors import LimitReached
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import ONE, ZERO, Q

MOST_DECISIONS = 1000
"""Decisions of one run: a loop that goes on until it succeeds has a branch in which it never does."""


class Decision(NamedTuple):
    """One branch taken: where in the audited code, about what, and which of the branches."""

    site: Site
    what: str
    branch: int


class Raised(NamedTuple):
    """The outcome of a run that ended in an exception of the audited code."""

    kind: str
    message: str


class Leaf(NamedTuple):
    """One run from beginning to end."""

    outcome: Hashable
    weight: Q
    decisions: tuple[Decision, ...]


@dataclass
class Usage:
    """What became of the random variables, over all runs: the largest count of a run, and where it can be seen."""

    drawn: int = 0
    used: int = 0
    unused: int = 0
    used_twice: int = 0
    shared: int = 0
    twice_at: Counter[Site] = field(default_factory=Counter)
    shared_at: Counter[Site] = field(default_factory=Counter)

    def add(self, tally: Tally) -> None:
        """One more run."""
        self.drawn = max(self.drawn, tally.drawn)
        self.used = max(self.used, tally.used)
        self.unused = max(self.unused, tally.drawn - tally.used)
        self.used_twice = max(self.used_twice, len(tally.twice))
        self.shared = max(self.shared, len(tally.shared))
        self.twice_at.update(tally.twice)
        self.shared_at.update(tally.shared)


@dataclass
class Exploration:
    """The law of the outcome, the runs that it is made of, and how randomness was used.

    `slack` bounds what ignoring numeric guards inside noise (such as `-log(u + 1e-20)`) can have changed, as a total
    variation distance.
    """

    law: dict[Hashable, Q]
    leaves: list[Leaf]
    runs: int
    usage: Usage
    slack: Q


class Run(Draws):
    """One run of the program: the branches it takes, and their probability."""

    def __init__(self, script: Sequence[int], asked: list[tuple[str, tuple[Q, ...]]], boundary: bool) -> None:
        super().__init__(boundary)
        self.script = script
        self.asked = asked
        self.taken: list[int] = []
        self.weight = ONE
        self.decisions: list[Decision] = []
        self.over = False

    def choose(self, weights: Sequence[Q], what: str, drawn: Site = NOWHERE) -> int:
        """Branch: one of several outcomes with these positive probabilities, which sum to exactly 1.

        `drawn` is noted as the place if the code decides this only after it has returned.
        """
        if sum(weights, ZERO) != ONE or any(w <= ZERO for w in weights):
            raise unsound(f"{what}: branches of weights {', '.join(map(str, weights))}")
        index = self._branch(tuple(weights), what, drawn)
        self.weight *= weights[index]
        return index

    def fork(self, ways: int, what: str) -> int:
        """Branch without a weight, for the search of outcomes that are possible at all."""
        return self._branch((ZERO,) * ways, what)

    def _branch(self, weights: tuple[Q, ...], what: str, drawn: Site = NOWHERE) -> int:
        if self.over:
            raise unsound(
                f"{what} belongs to an earlier run: the function keeps random numbers from one call to the next"
            )
        position = len(self.taken)
        if position >= MOST_DECISIONS:
            refuse("a loop over random numbers", f"more than {MOST_DECISIONS} decisions in one run")
        question = (what, weights)
        if position < len(self.script):
            index = self.script[position]
            if self.asked[position] != question:
                raise unsound(
                    f"the same beginning of a run came to two questions, {self.asked[position][0]} and {what}: the "
                    f"function keeps something from one call to the next, or draws from a source that was not taken "
                    f"away (at {user_site()})"
                )
        else:
            index = 0
            del self.asked[position:]
            self.asked.append(question)
        self.taken.append(index)
        site = user_site()
        self.decisions.append(Decision(drawn if site is NOWHERE else site, what, index))
        return index


_current: Run | None = None


def current() -> Run:
    """The run in progress. Raises `AuditError` outside of one."""
    if _current is None:
        raise AuditError("a random number of an audit was used outside of a run")
    return _current


def in_a_run() -> bool:
    """Whether audited code is being run."""
    return _current is not None


def explore(
    program: Callable[[Run], Hashable],
    limits: Limits | None = None,
    boundary: bool = False,
    split: Callable[[Draws, str, bool, bool], Latent] | None = None,
) -> Exploration:
    """The law of what `program` returns; an `Exception` that it raises is an outcome, too.

    With `boundary`, one uniform of each run may also be exactly 0, with no weight: then only the support of the law
    means something. With `split`, latents are made by it: the law is then that of another program, which tells what
    causes what (`splitting.py`). Raises `Unsound` unless the runs can be repeated and their probabilities sum to
    exactly 1, `LimitReached` after the limits' number of runs or seconds, and `NotEnumerable`.

    >>> def chain(run: Run) -> Hashable:
    ...     return "accepted" if run.uniform() < 0.25 else "rejected"
    >>> {outcome: str(mass) for outcome, mass in explore(chain).law.items()}
    {'accepted': '1/4', 'rejected': '3/4'}
    """
    law: dict[Hashable, Q] = {}
    leaves: list[Leaf] = []
    usage = Usage()
    slack = ZERO
    script: list[int] | None = []
    asked: list[tuple[str, tuple[Q, ...]]] = []
    while script is not None:
        if limits is not None:
            try:
                limits.spend()
            except LimitReached as limit:
                raise LimitReached(f"{limit}{_most_branches(leaves, asked)}") from None
        run = Run(script, asked, boundary)
        run.split = split
        outcome = _outcome(program, run)
        if len(run.taken) < len(script):
            raise Unsound("a run ended before the branches that it took the last time: it cannot be repeated")
        del asked[len(run.taken) :]
        law[outcome] = law.get(outcome, ZERO) + run.weight
        leaves.append(Leaf(outcome, run.weight, tuple(run.decisions)))
        usage.add(run.tally())
        slack = max(slack, run.slack)
        script = _next_script(run.taken, asked)
    if not boundary and sum(law.values(), ZERO) != ONE:
        raise Unsound(f"the runs have total probability {sum(law.values(), ZERO)}")
    return Exploration(law, leaves, len(leaves), usage, slack)


def _most_branches(leaves: list[Leaf], asked: list[tuple[str, tuple[Q, ...]]]) -> str:
    """Where the last run had the most branches, in words."""
    if not leaves or not leaves[-1].decisions:
        return ""
    widths = [len(weights) for _, weights in asked]
    at = max(range(min(len(widths), len(leaves[-1].decisions))), key=lambda i: widths[i])
    site = leaves[-1].decisions[at].site
    return "" if site is NOWHERE else f"; most branches, {widths[at]}, at {site}"


def _outcome(program: Callable[[Run], Hashable], run: Run) -> Hashable:
    """What the program returns in this run, or how it failed."""
    global _current
    before, _current = _current, run
    pending.clear()
    try:
        outcome = program(run)
        if isinstance(outcome, Lazy):
            outcome = outcome.settle()
    except FAILURES as error:
        if isinstance(error, AuditError):
            raise
        outcome = Raised(type(error).__name__, str(error))
    finally:
        _current = before
    # What is lazy in the outcome is decided now, as part of the run.
    hash(outcome)
    run.over = True
    if pending:
        # The audited code caught what it must not catch.
        raise pending[0]
    return outcome


starts_here(_outcome.__code__)


def _next_script(taken: list[int], asked: list[tuple[str, tuple[Q, ...]]]) -> list[int] | None:
    """The next script in lexicographic order: raise the last branch that can be raised, forget what follows."""
    for position in reversed(range(len(taken))):
        if taken[position] + 1 < len(asked[position][1]):
            return [*taken[:position], taken[position] + 1]
    return None
