"""One exploration against the target: the law of the emitted string, its distance, the first string that is off.

The emitted string, completed with fresh target samples, must have the target's law. Both laws are written out here
string by string, which is slow and short; `rheo_proof.exact.step` decides the same in another way, and tests hold the
two together.

What a verifier computes in floats is off by its roundings. `rounding_bound` says how far that can put a correct one:
anything below is no bias, and is reported as what it is, never as equality.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from rheo_proof.audit.baselines import Baseline
from rheo_proof.audit.cases import Case, Request
from rheo_proof.audit.declaring import Declared
from rheo_proof.audit.exploring import Exploration, Raised
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, to_fraction
from rheo_proof.exact.step import Wrong, continuation, target_probability

GUARD = Q(1, 10**6)
"""A distance up to this one that roundings do not explain is put down to a numeric guard, such as `p / (q + 1e-9)`."""

PASSES = 16
"""Passes over a row that a verifier may make, each with a rounding for every entry: see `rounding_bound`."""


def rounding_bound(case: Case, slack: Q, positions: int) -> Q:
    """How far roundings can put the law of a correct verifier from the target, in total variation, at the most.

    Take u, the unit roundoff of the type. The probability of one token at one position is made of divisions (p / q),
    differences ((p - q)+), sums of V terms (a total, a cumulative sum) and their quotients. A pass of any of these
    over a row changes an entry by at most (V + 2) u of the largest number in it, and that is at most 1: a residual of
    small mass m has relative errors u / m, but is reached with probability m. So `PASSES` passes move the law of one
    token by at most `PASSES` (V + 2) u; a logarithm that is exponentiated again is such passes, too, |log p| of them.
    The rows themselves are handed over with relative errors of at most `slack`, one for the target and one for the
    draft. Laws of strings add up what happens at their positions, of which there are `positions`.

    The constant is generous on purpose: no fault is near 1e-6, and no correct verifier was seen at a tenth of it.
    """
    return positions * (PASSES * (case.vocab + 2) * case.unit + 2 * slack)


@dataclass(frozen=True)
class Judged:
    """What one exploration showed about one request of one case.

    `model` has the target rows that the output should follow; `lost` is the distance from the target p itself, which
    differs only where another target was declared. `law` is that of emitted strings; `failures` are runs that raised or
    returned no emitted string, with their probability; `impossible` is an emitted string that ends with a token of
    target probability 0. `comparable`: the draft was drawn by us, as the ratio rule's draft is. `allowed` is the
    distance that roundings, guards inside noise and a tolerance that was asked for explain.
    """

    case: Case
    request: Request
    model: ToyModel
    law: dict[Prefix, Q]
    failures: dict[str, Q]
    distance: Fraction
    lost: Fraction
    wrong: Wrong | None
    allowed: Fraction
    accepted: Fraction
    baseline: Baseline
    impossible: Prefix | None = None
    comparable: bool = False
    runs: int = 0
    changed: tuple[str, ...] = ()

    @property
    def failing(self) -> Fraction:
        """The probability of emitting nothing usable."""
        return to_fraction(sum(self.failures.values(), ZERO))

    @property
    def only_fails(self) -> bool:
        """Whether the runs that emit nothing usable are all that is wrong."""
        return 0 < self.failing >= self.distance - max(self.allowed, to_fraction(GUARD))

    @property
    def departs(self) -> bool:
        """Whether the law is not the target's, roundings and guards apart."""
        return self.distance > max(self.allowed, to_fraction(GUARD))

    @property
    def guarded(self) -> bool:
        """Whether the law is off by more than roundings explain, and by less than any fault."""
        return self.allowed < self.distance <= to_fraction(GUARD)


def judge(
    exploration: Exploration,
    case: Case,
    request: Request,
    model: ToyModel,
    baseline: Baseline,
    slack: Q,
    tolerance: Q = ZERO,
    declared: Declared | None = None,
) -> Judged:
    """Compare the law of an exploration with the target `model` of its request, or with what was declared instead."""
    meant = declared.target(model) if declared else model
    law, failures, accepted, changed = sorted_out(exploration, model.depth, case.table.eos is None)
    drafted = max((len(o.drafted) for o in exploration.law if isinstance(o, Outcome)), default=0)
    longest = max(max(map(len, law), default=0), model.depth + 1)
    allowed = rounding_bound(case, slack, max(longest, drafted + 1)) + exploration.slack + tolerance
    ours, theirs = completed(law, meant, longest), target_law(meant, longest)
    distance = total_variation(ours, theirs)
    lost = distance if meant is model else total_variation(completed(law, model, longest), target_law(model, longest))
    return Judged(
        case,
        request,
        meant,
        law,
        failures,
        to_fraction(distance),
        to_fraction(lost),
        first_wrong(ours, theirs, max(allowed, GUARD)),
        to_fraction(allowed),
        accepted=to_fraction(accepted),
        baseline=baseline,
        impossible=impossible(law, meant),
        comparable=drafted > 0 and not any(isinstance(o, Outcome) and o.reported for o in exploration.law),
        runs=exploration.runs,
        changed=changed,
    )


def sorted_out(
    exploration: Exploration, depth: int = 0, endless: bool = False
) -> tuple[dict[Prefix, Q], dict[str, Q], Q, tuple[str, ...]]:
    """The law of emitted strings, the failures, the expected number of accepted draft tokens, the changed inputs.

    A string that is the whole draft and nothing else is read as accepted; where longer strings show that a bonus token
    follows an accepted draft, and nothing ends a string before it, its last token was no accepted one.
    """
    longest = max((len(o.tokens) for o in exploration.law if isinstance(o, Outcome)), default=0)
    bonus = endless and longest > depth > 0
    law: dict[Prefix, Q] = {}
    failures: dict[str, Q] = {}
    accepted = ZERO
    changed: dict[str, None] = {}
    for outcome, mass in exploration.law.items():
        if isinstance(outcome, Outcome):
            changed |= dict.fromkeys(outcome.changed)
            if not outcome.fault:
                law[outcome.tokens] = law.get(outcome.tokens, ZERO) + mass
                accepted += mass * (min(outcome.accepted, len(outcome.tokens) - 1) if bonus else outcome.accepted)
                continue
        text = failure(outcome)
        failures[text] = failures.get(text, ZERO) + mass
    return law, failures, accepted, tuple(changed)


def failure(outcome: object) -> str:
    """What went wrong in a run that emitted nothing usable."""
    if isinstance(outcome, Raised):
        said = " ".join(outcome.message.split())
        return f"raises {outcome.kind}: {said[:120]}" if said else f"raises {outcome.kind}"
    return outcome.fault if isinstance(outcome, Outcome) else f"returns {outcome!r}"


def completed(law: Mapping[Prefix, Q], model: ToyModel, length: int) -> dict[Prefix, Q]:
    """The law of the first `length` tokens if every emitted string is completed with target samples."""
    whole: dict[Prefix, Q] = {}
    for string, mass in law.items():
        for longer, share in completions(string, mass, model, length):
            whole[longer] = whole.get(longer, ZERO) + share
    return whole


def completions(string: Prefix, mass: Q, model: ToyModel, length: int) -> Iterator[tuple[Prefix, Q]]:
    """All continuations of a string up to a length, with their share of its mass."""
    if len(string) >= length:
        yield string, mass
        return
    for x, share in enumerate(continuation(model, string)):
        if share:
            yield from completions((*string, x), mass * share, model, length)


def target_law(model: ToyModel, length: int) -> dict[Prefix, Q]:
    """The target's law of strings of a length."""
    return {
        string: mass
        for string in product(range(model.vocab), repeat=length)
        if (mass := target_probability(model, string))
    }


def total_variation(ours: Mapping[Prefix, Q], theirs: Mapping[Prefix, Q]) -> Q:
    """Half the sum of differences; mass that is missing in `ours` counts as an outcome of its own."""
    missing = ONE - sum(ours.values(), ZERO)
    return (sum((abs(d) for d in differences(ours, theirs).values()), ZERO) + missing) / 2


def differences(ours: Mapping[Prefix, Q], theirs: Mapping[Prefix, Q]) -> dict[Prefix, Q]:
    """Actual minus expected, for every string that either law knows."""
    return {s: ours.get(s, ZERO) - theirs.get(s, ZERO) for s in dict.fromkeys([*theirs, *ours])}


def shortened(law: Mapping[Prefix, Q], length: int) -> dict[Prefix, Q]:
    """The law of the first tokens."""
    short: dict[Prefix, Q] = {}
    for string, mass in law.items():
        short[string[:length]] = short.get(string[:length], ZERO) + mass
    return short


def first_wrong(ours: Mapping[Prefix, Q], theirs: Mapping[Prefix, Q], allowed: Q) -> Wrong | None:
    """Of the shortest strings whose law is off by more than `allowed`, the one that is off most; None if there is none.

    >>> law = {(0,): Q(5, 6), (2,): Q(1, 6)}
    >>> wrong = first_wrong(law, {(0,): Q(1, 2), (1,): Q(3, 10), (2,): Q(1, 5)}, ZERO)
    >>> wrong.string, str(wrong.expected), str(wrong.actual)
    ((0,), '1/2', '5/6')
    """
    for length in range(1, max(map(len, theirs)) + 1):
        actual, expected = shortened(ours, length), shortened(theirs, length)
        if total_variation(actual, expected) <= allowed:
            continue
        off = differences(actual, expected)
        string = max(sorted(off), key=lambda s: abs(off[s]))
        return Wrong(string, to_fraction(expected.get(string, ZERO)), to_fraction(actual.get(string, ZERO)))
    return None


def impossible(law: Mapping[Prefix, Q], model: ToyModel) -> Prefix | None:
    """The shortest beginning of an emitted string that ends with a token of target probability 0."""
    found: set[Prefix] = set()
    for string in law:
        for length, x in enumerate(string):
            if not model.target(string[:length])[x]:
                found.add(string[: length + 1])
                break
    return min(found, key=lambda s: (len(s), s), default=None)
