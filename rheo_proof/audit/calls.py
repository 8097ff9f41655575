"""Ordinary calls beside an enumerated law: whether the function, with nothing taken away, does what the audit says.

The law of an audit is that of the function with its randomness replaced. A function that can tell the difference, by
asking for the type of a random number, say, would be judged by what it does in an audit. So for a few tables it is
called as it is, and the answers are counted. For an answer of probability p, n calls give it at least c times with
probability at most exp(-n KL(c/n, p)) (Chernoff), and likewise at most c times; the bounds are added up over all
answers.

Functions that seed their own generator give one answer for one draft, again and again, and leave the global generators
as they were left the last time. Their noise counts as fresh in an audit, and calls say nothing of it: undecided, unless
no calls are asked for.
"""

from __future__ import annotations

import math
import random
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from rheo_proof.audit.adapters.adapter import Adapter
from rheo_proof.audit.arrays import Arrays
from rheo_proof.audit.cases import Case, Request
from rheo_proof.audit.errors import FAILURES, Unsound
from rheo_proof.audit.exploring import Raised
from rheo_proof.audit.judging import failure
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.plain import Rolled, own_states, seed_globals, states
from rheo_proof.audit.words import string
from rheo_proof.exact.number import ZERO, Q

CALLS = 400
"""Calls on one table, unless told otherwise."""
TABLES = 3
"""Tables on which the function is called."""
LEVEL = 1e-12
"""How improbable calls must be under the enumerated law, for one table, to contradict it."""
GRID = 2.0**-20
"""What the finite grid of a generator can add to a probability, and the ends of a uniform: much more than it does."""


@dataclass(frozen=True)
class Contradiction:
    """The answer that departs most from the enumerated law in ordinary calls."""

    answer: str
    seen: int
    calls: int
    probability: float

    def __str__(self) -> str:
        return (
            f"{self.calls} ordinary calls contradict the enumerated law: {self.answer} was seen {self.seen} times, "
            f"expected {self.calls * self.probability:.1f}; the function does something else when it is audited"
        )


@dataclass(frozen=True)
class Repeated:
    """One answer for each draft, where the enumerated law has several."""

    def __str__(self) -> str:
        return (
            "ordinary calls give one answer for each draft, so that they say nothing of the law: the function seeds a "
            "generator of its own, or does something else when it is audited; without such calls (--calls 0) its noise "
            "counts as fresh"
        )


def contradiction(
    function: Callable[..., Any],
    adapter: Adapter,
    case: Case,
    request: Request,
    law: Mapping[Hashable, Q],
    calls: int,
) -> Contradiction | Repeated | None:
    """Call the function `calls` times on a case, and compare its answers with the law of outcomes of an exploration.

    A function with the enumerated law is contradicted with probability at most `LEVEL`.
    """
    expected: dict[str, Q] = {}
    for outcome, mass in law.items():
        expected[answer(outcome)] = expected.get(answer(outcome), ZERO) + mass
    source = Rolled(case.dtype, random.Random(calls), Arrays(getattr(adapter, "arrays", "torch"), audited=False))
    counts: Counter[str] = Counter()
    by_draft: dict[Hashable, set[tuple[str, int]]] = {}
    with warnings.catch_warnings(), own_states():
        warnings.simplefilter("ignore")
        seed_globals(source.seed())
        for _ in range(calls):
            outcome = one(function, adapter, case, request, source)
            counts[answer(outcome)] += 1
            drafted = outcome.drafted if isinstance(outcome, Outcome) else None
            by_draft.setdefault(drafted, set()).add((answer(outcome), hash(states())))
    said = compared(counts, expected, calls)
    several = len(law) > len({getattr(outcome, "drafted", None) for outcome in law})
    repeated = several and all(len(seen) == 1 for seen in by_draft.values())
    return Repeated() if said is not None and repeated else said


def unseen(calls: int) -> float:
    """How far the probability of one answer must be off to show in so many calls, roundly: n KL is at least 2 n d^2.

    >>> round(unseen(400), 2), round(unseen(40000), 3)
    (0.2, 0.02)
    """
    return math.sqrt(math.log(2 * 100 / LEVEL) / (2 * calls))


def one(
    function: Callable[..., Any], adapter: Adapter, case: Case, request: Request, source: Rolled
) -> Outcome | Raised:
    """One ordinary call. Raises `NotEnumerable` or `Unsound` if the function has kept something random of a run."""
    try:
        return adapter.step(function, case, request, source)
    except Unsound:
        raise
    except FAILURES as error:
        return Raised(type(error).__name__, str(error))


def answer(outcome: Any) -> str:
    """An outcome as what is counted: the emitted string, or that there was none."""
    if isinstance(outcome, Outcome) and not outcome.fault:
        return f"the string {string(outcome.tokens)}"
    return "no usable answer" if isinstance(outcome, Outcome | Raised) else failure(outcome)


def compared(counts: Mapping[str, int], expected: Mapping[str, Q], calls: int) -> Contradiction | None:
    """The answer whose count is too improbable, after dividing the level over all answers and both sides.

    >>> compared({"a": 250, "b": 150}, {"a": Q(1, 2), "b": Q(1, 2)}, 400) is None
    True
    >>> compared({"a": 300, "b": 100}, {"a": Q(1, 2), "b": Q(1, 2)}, 400).seen
    300
    """
    answers = sorted(set(counts) | set(expected))
    needed = math.log(2 * len(answers) / LEVEL)
    worst = max(answers, key=lambda each: evidence(counts.get(each, 0), calls, float(expected.get(each, ZERO))))
    seen, probability = counts.get(worst, 0), float(expected.get(worst, ZERO))
    if evidence(seen, calls, probability) < needed:
        return None
    return Contradiction(worst, seen, calls, probability)


def evidence(seen: int, calls: int, probability: float) -> float:
    """n KL(c/n, p): minus the logarithm of Chernoff's bound; p may be off by `GRID` towards what was seen."""
    share = seen / calls
    if share >= probability:
        p = min(probability + GRID, 1.0)
        if share <= p:
            return 0.0
    else:
        p = max(probability - GRID, 0.0)
        if share >= p:
            return 0.0
    return calls * (_term(share, p) + _term(1 - share, 1 - p))


def _term(a: float, b: float) -> float:
    return a * math.log(a / b) if a else 0.0
