"""The verdict on a function: one kind, by a fixed precedence, and everything that was found.

If ordinary calls of the function contradict what was enumerated (`calls.py`), nothing that was enumerated counts, and
the verdict is `not enumerable`. Else, from what the battery showed, in this order:

1. `contract broken`, if the reported draft law is not the one drawn from, whatever the law of the output; if that
   departs somewhere and reuse of random variables was confirmed as the cause (draft and verifier share noise; one is
   used twice); if two draws share their noise in a way of which no law is known; or if the law departs only where the
   function raises or returns no emitted string.
2. `lossy by design`, if the law departs and that was declared; also if it follows a declared other target.
3. `biased`, if the law departs otherwise.
4. `contract broken`, if the law is right, but a token of target probability 0 can be emitted, the input is changed, or
   a row of nan is accepted.
5. `not enumerable`, if nothing of this was found and a case could not be decided, or there was no law to judge.
6. `lossless but slower than the ratio rule`, if fewer draft tokens are accepted than by the ratio rule on some case;
   never said of functions that draft by themselves, since their drafts may be others.
7. `lossless`.

Where draws were tested and no law was found (mode `sampled`), it is `biased` or `not refuted`.

A refutation on one case stands whatever the other cases are; a proof needs all of them. The law departs where its
distance from the target is larger than what roundings explain (`judging.rounding_bound`) and than 1e-6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rheo_proof.audit.cases import Case
from rheo_proof.audit.contract import CHANGED, FAILING, IMPOSSIBLE, LENGTHS, NAN, TOPICS, Finding
from rheo_proof.audit.declaring import Declared
from rheo_proof.audit.judging import GUARD, Judged
from rheo_proof.audit.lines import Departure
from rheo_proof.exact.number import to_fraction

if TYPE_CHECKING:
    from rheo_proof.audit.sampled import SampledReport

LOSSLESS = "lossless"
BIASED = "biased"
LOSSY = "lossy by design"
SLOWER = "lossless but slower than the ratio rule"
BROKEN = "contract broken"
UNDECIDED = "not enumerable"
NOT_REFUTED = "not refuted"
"""Only in mode `sampled`, which proves nothing."""

MODES = ("auto", "exact", "piecewise", "sampled")
"""`auto` is exact, and says which other mode would work where that gets stuck."""

STATUS = {LOSSLESS: 0, SLOWER: 0, BIASED: 1, LOSSY: 1, BROKEN: 1, UNDECIDED: 3, NOT_REFUTED: 3}
"""Exit status of `rheo-prove audit`; 2 is unusable input."""


READABLE = 16
"""Two probabilities with more characters than this are not shown as the counterexample if others are there."""


@dataclass(frozen=True)
class Undecided:
    """A case without an answer, and why; `contradicted`: because ordinary calls say something else."""

    case: str
    why: str
    contradicted: bool = False


@dataclass(frozen=True)
class Counted:
    """Random variables: the largest counts of a run, over all runs."""

    drawn: int = 0
    used: int = 0
    unused: int = 0
    used_twice: int = 0
    shared: int = 0


@dataclass(frozen=True)
class Speed:
    """Mean expected accepted draft tokens over the cases: of the function, of the ratio rule, of the optimum."""

    accepted: Fraction
    ratio: Fraction
    optimum: Fraction | None
    cases: int
    worst: Judged | None


@dataclass(frozen=True, repr=False)
class Verdict:
    """What an audit found. `kind` is a key of `STATUS`; `findings` is everything; `worst` holds the counterexample.

    `worst` is the smallest case whose law departs, with its exact law and first wrong string, and `departure` the line
    of the function that decides it, where one was found. `basis` has to be said with the verdict: what it assumes, or
    its error rates; `called` counts ordinary calls, `calls` of
    them on each table; `hint` names modes for what is undecided; `sampled` holds what draws said, in that mode.
    """

    kind: str
    function: str
    adapter: str
    judged: tuple[Judged, ...]
    findings: tuple[Finding, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    declared: Declared | None = None
    worst: Judged | None = None
    departure: Departure | None = None
    counted: Counted = Counted()
    runs: int = 0
    called: int = 0
    seconds: float = 0.0
    refusals: int = 0
    tolerance: Fraction = Fraction(0)
    cases: tuple[Case, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "exact"
    basis: str = ""
    hint: str = ""
    sampled: SampledReport | None = None
    calls: int = 0

    @property
    def passes(self) -> bool:
        """Whether nothing speaks against the function, in the mode that was asked for."""
        return self.lossless or self.kind == NOT_REFUTED

    def __repr__(self) -> str:
        return f"Verdict({self.kind!r}, {self.function!r}, adapter={self.adapter!r}, laws={len(self.judged)})"

    @property
    def lossless(self) -> bool:
        """Whether the output has the target's law, with or without the speed of the ratio rule."""
        return self.kind in (LOSSLESS, SLOWER)

    @property
    def status(self) -> int:
        """The exit status of the command."""
        return STATUS[self.kind]

    @property
    def distance(self) -> Fraction:
        """The largest total variation distance from the law that was to be met, over the cases."""
        return max((judged.distance for judged in self.judged), default=Fraction(0))

    @property
    def lost(self) -> Fraction:
        """The largest distance from the target p, which is another one where another target was declared."""
        return max((judged.lost for judged in self.judged), default=Fraction(0))

    @property
    def exact(self) -> int:
        """The number of laws that equal the target's as rationals."""
        return sum(not judged.distance for judged in self.judged)

    @property
    def guarded(self) -> tuple[Judged, ...]:
        """The laws that are off by more than roundings explain and by less than any fault."""
        return tuple(judged for judged in self.judged if judged.guarded)

    @property
    def speed(self) -> Speed | None:
        """How many draft tokens are accepted, in the mean over the cases."""
        return speed(self.judged)


def kind_of(
    judged: Sequence[Judged],
    findings: Sequence[Finding],
    undecided: Sequence[Undecided],
    declared: Declared | None,
) -> str:
    """The kind, by the precedence that this module states."""
    if any(each.contradicted for each in undecided):
        return UNDECIDED
    departing = [each for each in judged if each.departs]
    if any(finding.cause and not finding.remark for finding in findings):
        return BROKEN
    if departing:
        if all(each.only_fails for each in departing):
            return BROKEN
        return BIASED if declared is None or declared.weight is not None else LOSSY
    if any(f.topic in (IMPOSSIBLE, CHANGED, NAN, LENGTHS, FAILING) and not f.remark for f in findings):
        return BROKEN
    if undecided or not judged:
        return UNDECIDED
    if declared is not None and declared.weight is not None and any(each.lost > each.allowed for each in judged):
        return LOSSY
    return SLOWER if any(slower(each) for each in judged) else LOSSLESS


def slower(judged: Judged) -> bool:
    """Whether fewer draft tokens are accepted than by the ratio rule on the same drafts, roundings and guards apart."""
    if not judged.comparable:
        return False
    room = max(judged.allowed, judged.distance, to_fraction(GUARD)) * (judged.case.length + 1)
    return judged.accepted + room < judged.baseline.ratio


def speed(judged: Sequence[Judged]) -> Speed | None:
    """Means over the cases; the worst is the case on which the ratio rule is ahead most, if it is at all."""
    if not judged:
        return None
    optima = [each.baseline.optimum for each in judged]
    behind = [each for each in judged if slower(each)]
    return Speed(
        mean([each.accepted for each in judged]),
        mean([to_fraction(each.baseline.ratio) for each in judged]),
        None if any(value is None for value in optima) else mean([to_fraction(v) for v in optima if v is not None]),
        len(judged),
        max(behind, key=lambda each: to_fraction(each.baseline.ratio) - each.accepted, default=None),
    )


def mean(values: Sequence[Fraction]) -> Fraction:
    """The arithmetic mean."""
    return sum(values, Fraction(0)) / len(values)


def smallest(judged: Sequence[Judged]) -> Judged | None:
    """The departing case that is easiest to look at: few tokens, short strings, one request, short fractions."""

    def size(each: Judged) -> tuple[int, ...]:
        wrong = each.wrong
        string = len(wrong.string) if wrong else 0
        digits = len(f"{wrong.expected}{wrong.actual}") if wrong else 0
        plain = "dyadic" in each.case.tags and digits <= READABLE
        return (each.only_fails, each.case.batch, each.case.vocab, string, not plain, each.case.length, digits)

    return min((each for each in judged if each.departs), key=size, default=None)


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings by topic, each text once, with the first case that showed it and how many others did."""
    first: dict[tuple[str, bool], list[Finding]] = {}
    for finding in findings:
        first.setdefault((finding.topic, finding.remark), []).append(finding)
    merged = []
    for _, group in sorted(first.items(), key=lambda item: (TOPICS.index(item[0][0]), item[0][1])):
        others = len({finding.case for finding in group}) - 1
        merged.append(replace(group[0], others=others))
    return tuple(merged)
