"""What Storm says of a decoding step and of policies, beside what this project says: they have to be equal.

For a step: the law of the emitted string, from the text in each language; the distance of the completed output from the
target; and how many states have different futures, beside the number of equivalence classes (docs/storm.md says how
the two are related). For policies: the least and the largest probability of every completed string.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import to_fraction
from rheo_proof.exact.step import target_probability
from rheo_proof.schemes.laws import DraftClasses, class_law, draft_classes
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.theorems.chain import TREE, markov_chain
from rheo_proof.theorems.export import FORMATS
from rheo_proof.theorems.induction import bounds
from rheo_proof.theorems.policies import Policies
from rheo_proof.theorems.policy_process import policy_process
from rheo_proof.theorems.process import Process
from rheo_proof.theorems.storm import Law, Quotient, bounds_by_storm, law_by_storm, quotient

LANGUAGES = tuple(FORMATS)
ZERO = Fraction(0)


@dataclass(frozen=True)
class Counts:
    """How a chain and the class enumerator count the same thing.

    `trees`: kept trees with all tokens known; `classes`: classes of kept trees, which stand for `boxes` trees;
    `walked`: all classes met, verification included; `strong`, `weak`: Storm's quotients.
    """

    states: int
    trees: int
    classes: int
    boxes: int
    walked: int
    strong: Quotient
    weak: Quotient


@dataclass(frozen=True)
class Difference:
    """An output, what we say of it, and what Storm says of it on reading one of the languages."""

    language: str
    string: Prefix
    ours: str
    storm: str


@dataclass(frozen=True)
class StepOpinion:
    """Storm on one decoding step; `tv` and `storm_tv` are the distances of the completed output from the target."""

    process: Process
    languages: tuple[str, ...]
    outputs: int
    differences: tuple[Difference, ...]
    tv: Fraction
    storm_tv: Fraction
    counts: Counts

    @property
    def agrees(self) -> bool:
        """Whether Storm has the same law and the same distance, as rationals."""
        return not self.differences and self.tv == self.storm_tv


@dataclass(frozen=True)
class PolicyOpinion:
    """Storm on all policies; `gap` is the largest distance of an extreme from the target's probability, ours."""

    process: Process
    languages: tuple[str, ...]
    outputs: int
    differences: tuple[Difference, ...]
    gap: Fraction

    @property
    def agrees(self) -> bool:
        """Whether Storm has the same extremes for every string."""
        return not self.differences


Watch = Callable[[], None]


def step_opinion(
    scheme: Scheme,
    model: ToyModel,
    languages: tuple[str, ...] = LANGUAGES,
    states: int | None = None,
    limits: Limits | None = None,
    slow: int | None = None,
) -> StepOpinion:
    """Storm on one decoding step; it is not given PRISM text of more than `slow` states.

    Raises `InputError` without stormpy and `LimitReached` after `states` states.
    """
    limits = limits or Limits()
    process = markov_chain(scheme, model, states=states, watch=limits.watch)
    languages = _quick(languages, process, slow)
    drafted = draft_classes(scheme.drafting, model, limits)
    law, walked = class_law(scheme.verifying, model, drafted, limits)
    ours = dict(law.strings(model.vocab))
    found = []
    for language in languages:
        found += differences(language, ours, law_by_storm(FORMATS[language](process, ()), language))
    whole = markov_chain(scheme, model, True, states, limits.watch)
    completed = law_by_storm(FORMATS["drn"](whole, ()), "drn")
    tv = distance(completed, model, scheme.drafting.depth + 1)
    return StepOpinion(
        process,
        languages,
        len(ours),
        tuple(found),
        law.total_variation(model),
        tv,
        counts(process, drafted, walked),
    )


def _quick(languages: tuple[str, ...], process: Process, slow: int | None) -> tuple[str, ...]:
    """Without PRISM text where Storm would be slow to read it."""
    long = slow is not None and len(process.choices) > slow
    return tuple(language for language in languages if not (long and language == "prism"))


def counts(process: Process, drafted: DraftClasses, walked: int) -> Counts:
    """The counts of a chain beside those of the class enumerator; `walked` are the classes of verification."""
    return Counts(
        len(process.choices),
        len(process.labels[TREE]),
        drafted.count,
        boxes(drafted),
        drafted.walked + walked,
        quotient(process),
        quotient(process, weak=True),
    )


def boxes(drafted: DraftClasses) -> int:
    """How many kept trees with all tokens known the classes stand for, each in every class that it is in."""
    return sum(
        prod(len(belief.among) for _, belief in known) for entries in drafted.classes.values() for known in entries
    )


def distance(law: Law, model: ToyModel, length: int) -> Fraction:
    """The total variation distance of a law on strings of this length from the target."""
    strings = product(range(model.vocab), repeat=length)
    return sum((abs(law.get(v, ZERO) - to_fraction(target_probability(model, v))) for v in strings), ZERO) / 2


def policy_opinion(
    policies: Policies,
    languages: tuple[str, ...] = LANGUAGES,
    states: int | None = None,
    limits: Limits | None = None,
    slow: int | None = None,
) -> PolicyOpinion:
    """Storm on all policies; arguments and errors as above."""
    limits = limits or Limits()
    process = policy_process(policies, states, limits.watch)
    languages = _quick(languages, process, slow)
    found = bounds(policies, limits)
    ours = {
        string: (to_fraction(low), to_fraction(high))
        for string, low, high in zip(found.strings, found.low, found.high, strict=True)
    }
    differing = []
    for language in languages:
        differing += differences(language, ours, bounds_by_storm(FORMATS[language](process, ()), language))
    return PolicyOpinion(process, languages, len(ours), tuple(differing), found.gap)


def differences(
    language: str,
    ours: Mapping[Prefix, Fraction] | Mapping[Prefix, tuple[Fraction, Fraction]],
    storms: Mapping[Prefix, Fraction] | Mapping[Prefix, tuple[Fraction, Fraction]],
) -> list[Difference]:
    """The outputs of which the two say different things, shorter ones first; what nobody mentions has probability 0.

    >>> half = Fraction(1, 2)
    >>> differences("drn", {(0,): half, (1,): half}, {(0,): half, (1, 0): half})[0]
    Difference(language='drn', string=(1,), ours='1/2', storm='0')
    """
    found = []
    for string in sorted({*ours, *storms}, key=lambda s: (len(s), s)):
        mine, other = ours.get(string, ZERO), storms.get(string, ZERO)
        if _pair(mine) != _pair(other):
            found.append(Difference(language, string, _text(mine), _text(other)))
    return found


def _pair(value: Fraction | tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    return value if isinstance(value, tuple) else (value, value)


def _text(value: Fraction | tuple[Fraction, Fraction]) -> str:
    low, high = _pair(value)
    return str(low) if low == high else f"{low} to {high}"
