"""Statement "instance": this scheme, on this model, emits exactly the target's law; and a battery of such models."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import nsmallest
from typing import Any

from rheo_proof.exact.errors import InputError, LimitReached, SoundnessError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.files import read_model, write_model
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel, key
from rheo_proof.exact.step import StepLaw, Wrong
from rheo_proof.schemes.laws import DraftClasses, class_law, draft_classes
from rheo_proof.schemes.scheme import Named, Parameters, Scheme
from rheo_proof.theorems.zoo import EVERY

LIKELY = 40
"""How many of the likeliest strings a result keeps."""


@dataclass(frozen=True)
class Source:
    """Where a model comes from, in a form that another process can load: a family and a seed, or parsed JSON."""

    family: str
    seed: int
    vocab: int
    depth: int
    data: Any = field(default=None, compare=False)
    name: str = ""

    def load(self) -> ToyModel:
        """The model. Raises `InputError` when it is unusable."""
        if self.data is None:
            return family_model(self.family, self.seed, self.vocab, self.depth)
        return read_model(self.data, self.name)


@dataclass(frozen=True)
class Entry:
    """A named scheme with the parameters it is to be run with."""

    name: str
    parameters: Parameters

    @classmethod
    def of(cls, name: str, parameters: Parameters) -> Entry:
        """The scheme `name`, which may fix some of the parameters. Raises `InputError` for parameters out of range."""
        entry = cls(name, EVERY[name].fix(parameters))
        entry.scheme()
        return entry

    def scheme(self) -> Scheme:
        """The scheme itself."""
        return self.named.build(self.parameters)

    @property
    def named(self) -> Named:
        """What is known of it."""
        return EVERY[self.name]


@dataclass(frozen=True)
class Result:
    """What was found for one scheme on one model; `why` says why it is undecided.

    `classes` counts classes of draft trees, `assignments` the fully resolved drafts they stand for, `walked` all
    classes met, verification included. `likely` are the likeliest of the emitted `strings`; `law` has all of them.
    """

    entry: Entry
    source: Source
    seconds: float
    tv: Fraction | None = None
    expected_tokens: Fraction | None = None
    acceptance: tuple[Fraction, ...] = ()
    classes: int = 0
    walked: int = 0
    assignments: int = 0
    wrong: Wrong | None = None
    why: str = ""
    likely: tuple[tuple[Prefix, Fraction], ...] = ()
    strings: int = 0
    law: dict[str, str] | None = None
    model: dict[str, Any] | None = None

    @property
    def verdict(self) -> str:
        """`lossless`, `biased`, `lossy by design` or `undecided`.

        A rule that gives up the law on purpose is lossy where it does; on a model where it happens not to, lossless.
        """
        if self.tv is None:
            return "undecided"
        if self.wrong is None:
            return "lossless"
        return "lossy by design" if self.entry.named.lossy else "biased"


def battery(count: int, seed: int, vocab: int, depth: int, families: Sequence[str] = ()) -> list[Source]:
    """The first `count` models of the battery: families in turn, the seed going up after each round.

    >>> [source.family for source in battery(3, 0, 5, 3)]
    ['random', 'near', 'peaked']
    """
    names = list(families) or list(FAMILIES)
    for name in names:
        if name not in FAMILIES:
            raise InputError(f"unknown family {name!r}; known are {', '.join(FAMILIES)}")
    return [Source(names[i % len(names)], seed + i // len(names), vocab, depth) for i in range(count)]


@dataclass(frozen=True)
class Effort:
    """How hard to try: classes for one scheme on one model, a point in monotonic time, and what to keep."""

    max_classes: int | None = None
    deadline: float | None = None
    keep_laws: bool = False

    def limits(self, spent: int = 0) -> Limits:
        """Fresh limits, of which `spent` classes are used up."""
        limits = Limits(self.max_classes, self.deadline)
        limits.spent = spent
        return limits


def prove(source: Source, entries: Sequence[Entry], effort: Effort = Effort()) -> list[Result]:
    """Decide every scheme on one model; schemes with the same draft trees share their enumeration.

    >>> result, = prove(Source("random", 0, 3, 2), [Entry.of("rheo", Parameters(slots=2, depth=2, nodes=4))])
    >>> result.verdict, result.tv
    ('lossless', Fraction(0, 1))
    """
    bench = Bench(source, effort)
    return [bench.decide(entry) for entry in entries]


class Bench:
    """One model on which schemes are decided one after the other; what they share is computed once."""

    def __init__(self, source: Source, effort: Effort) -> None:
        self.source, self.effort = source, effort
        self.model = source.load()
        self._written = _written(self.model, effort) if effort.keep_laws else None
        self._drafted: dict[Any, DraftClasses | LimitReached] = {}

    def drafts(self, scheme: Scheme) -> DraftClasses:
        """The classes of its draft trees. Raises `LimitReached`."""
        if scheme.drafting not in self._drafted:
            self._drafted[scheme.drafting] = _draft(scheme, self.model, self.effort)
        drafts = self._drafted[scheme.drafting]
        if isinstance(drafts, LimitReached):
            raise drafts
        return drafts

    def decide(self, entry: Entry) -> Result:
        """Decide one scheme. Raises `InputError` if it does not apply to the model or needs what is not installed."""
        begin = time.perf_counter()
        scheme = entry.scheme()
        try:
            drafts = self.drafts(scheme)
            law, walked = class_law(scheme.verifying, self.model, drafts, self.effort.limits(drafts.walked))
            found = Result(
                entry,
                self.source,
                time.perf_counter() - begin,
                classes=drafts.count,
                walked=drafts.walked + walked,
                assignments=drafts.assignments,
                model=self._written,
            )
            return _decided(found, law, self.model, self.effort.keep_laws)
        except LimitReached as limit:
            return Result(entry, self.source, time.perf_counter() - begin, why=str(limit), model=self._written)


def _written(model: ToyModel, effort: Effort) -> dict[str, Any] | None:
    try:
        return write_model(model, effort.limits())
    except LimitReached:
        return None


def _draft(scheme: Scheme, model: ToyModel, effort: Effort) -> DraftClasses | LimitReached:
    try:
        return draft_classes(scheme.drafting, model, effort.limits())
    except LimitReached as limit:
        return limit


def _decided(found: Result, law: StepLaw, model: ToyModel, keep_law: bool) -> Result:
    """Add the verdict, which two computations must agree on: the criterion and the distance of completed laws."""
    tv, wrong = law.total_variation(model), law.first_wrong(model)
    if (tv == 0) != (wrong is None):
        raise SoundnessError(f"{model.name}: the criterion says {wrong}, the distance is {tv}")
    strings = list(law.strings(model.vocab))
    return Result(
        found.entry,
        found.source,
        found.seconds,
        tv,
        law.expected_tokens,
        tuple(law.acceptance(found.entry.parameters.depth)),
        found.classes,
        found.walked,
        found.assignments,
        wrong,
        likely=tuple(nsmallest(LIKELY, strings, key=lambda pair: (-pair[1], pair[0]))),
        strings=len(strings),
        law={key(string): str(mass) for string, mass in strings} if keep_law else None,
        model=found.model,
    )
