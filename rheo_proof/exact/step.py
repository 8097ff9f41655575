"""The step law: the exact law of the string that one decoding step emits, and whether it is lossless.

A step emits a non-empty string S. It is *lossless* for a model iff S, completed with fresh target samples, has the
target's law; equivalently, iff for every proper prefix v of an emitted string and every token x

    Pr[S starts with v x] = Pr[v is a proper prefix of S] * p(x|v)

Both sides are computed here from one table: what is emitted, grouped by the accepted prefix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, to_fraction


class Lump(NamedTuple):
    """Tokens emitted after one prefix: y with probability `density` * law(y) for y in `among`.

    Without a law, `among` is one token and `density` its probability.
    """

    law: Law | None
    among: tuple[int, ...]
    density: Q

    @property
    def mass(self) -> Q:
        """The total probability."""
        return self.density if self.law is None else self.density * self.law.mass(self.among)

    def whole(self, p: Law) -> bool:
        """Whether this is the whole law p, scaled."""
        return self.law is not None and self.law == p and len(self.among) == len(p.support)


class Wrong(NamedTuple):
    """The first string, shorter ones first, that the completed output starts with too often or too rarely."""

    string: Prefix
    expected: Fraction
    actual: Fraction


class StepLaw:
    """The law of the emitted string S, as lumps by accepted prefix. Raises `SoundnessError` unless the mass is 1.

    >>> from rheo_proof.exact.families import family_model
    >>> model = family_model("uniform", 0, 2, 1)
    >>> law = StepLaw.of_strings({(0, 0): ONE / 4, (0, 1): ONE / 4, (1,): ONE / 2})
    >>> law.expected_tokens, law.acceptance(1)
    (Fraction(3, 2), [Fraction(1, 2)])
    """

    def __init__(self, lumps: Mapping[Prefix, list[Lump]]) -> None:
        self.lumps = {prefix: lumps[prefix] for prefix in sorted(lumps, key=lambda u: (len(u), u))}
        self._emitted = {prefix: sum((x.mass for x in group), ZERO) for prefix, group in self.lumps.items()}
        if sum(self._emitted.values(), ZERO) != ONE:
            raise SoundnessError(f"a step law has mass {sum(self._emitted.values(), ZERO)}")

    @classmethod
    def of_strings(cls, law: Mapping[Prefix, Q]) -> StepLaw:
        """From the probabilities of the emitted strings."""
        lumps: dict[Prefix, list[Lump]] = {}
        for string, mass in law.items():
            if mass:
                lumps.setdefault(string[:-1], []).append(Lump(None, string[-1:], mass))
        return cls(lumps)

    def emission(self, prefix: Prefix, vocab: int) -> list[Q]:
        """Pr[S = prefix y] for every token y."""
        masses = [ZERO] * vocab
        for law, among, density in self.lumps.get(prefix, ()):
            for y in among:
                masses[y] += density if law is None else density * law[y]
        return masses

    def strings(self, vocab: int) -> Iterator[tuple[Prefix, Fraction]]:
        """Every emitted string with its probability, by accepted prefix, shorter ones first."""
        for prefix in self.lumps:
            for y, mass in enumerate(self.emission(prefix, vocab)):
                if mass:
                    yield (*prefix, y), to_fraction(mass)

    @cached_property
    def _through(self) -> dict[Prefix, Q]:
        """R(v) = Pr[v is a proper prefix of S], where positive."""
        through: dict[Prefix, Q] = {}
        for prefix, mass in self._emitted.items():
            for length in range(len(prefix) + 1):
                v = prefix[:length]
                through[v] = through.get(v, ZERO) + mass
        return through

    def passing(self, v: Prefix) -> Q:
        """Pr[v is a proper prefix of S]."""
        return self._through.get(v, ZERO)

    @property
    def expected_tokens(self) -> Fraction:
        """E[tau] + 1, the expected number of emitted tokens (block efficiency)."""
        return to_fraction(sum((mass * len(prefix) for prefix, mass in self._emitted.items()), ONE))

    def acceptance(self, depth: int) -> list[Fraction]:
        """Pr[tau >= l] for l = 1..depth: how often at least l draft tokens are accepted."""
        reach = [ZERO] * (max(depth, *map(len, self._emitted)) + 1)
        for prefix, mass in self._emitted.items():
            reach[len(prefix)] += mass
        return [to_fraction(sum(reach[level:], ZERO)) for level in range(1, depth + 1)]

    def first_wrong(self, model: ToyModel) -> Wrong | None:
        """None iff the criterion holds, else the first string at which it fails.

        Its two probabilities are those of the completed output starting with it: target and actual.
        """
        through = self._through
        for v in sorted(through, key=lambda u: (len(u), u)):
            p, r = model.target(v), through[v]
            if self._only_whole(v, p):
                continue
            emitted = self.emission(v, model.vocab)
            for x in range(model.vocab):
                starts = emitted[x] + through.get((*v, x), ZERO)
                if starts != r * p[x]:
                    # Everything shorter is right, so v itself has its target probability in the completed output.
                    product = target_probability(model, v)
                    actual = starts + p[x] * (product - r)
                    return Wrong((*v, x), to_fraction(product * p[x]), to_fraction(actual))
        return None

    def _only_whole(self, v: Prefix, p: Law) -> bool:
        """Whether every step that gets to v ends there with a draw from p: then nothing can be wrong at v."""
        group = self.lumps.get(v, ())
        return self._through[v] == self._emitted.get(v) and all(lump.whole(p) for lump in group)

    def total_variation(self, model: ToyModel) -> Fraction:
        """The exact distance between the completed output and the target; 0 iff the step is lossless.

        Computed by walking the emitted prefixes with the mass of strings that have already ended, so it does not
        rest on the criterion.
        """
        return to_fraction(self._distance(model, (), ZERO, ONE) / 2)

    def _distance(self, model: ToyModel, v: Prefix, ended: Q, product: Q) -> Q:
        """Sum of |completed - target| below v; `ended`: mass of strings that ended at or before v, completed to v."""
        if v not in self._through:
            return abs(ended - product)
        p = model.target(v)
        if self._only_whole(v, p):
            return abs(ended + self._emitted[v] - product)
        emitted = self.emission(v, model.vocab)
        return sum(
            (self._distance(model, (*v, x), ended * p[x] + emitted[x], product * p[x]) for x in range(model.vocab)),
            ZERO,
        )


def target_probability(model: ToyModel, string: Prefix) -> Q:
    """The product of the target's probabilities along a string; no law is asked for after a token of probability 0."""
    product = ONE
    for length, x in enumerate(string):
        product *= model.target(string[:length])[x]
        if not product:
            break
    return product


def continuation(model: ToyModel, u: Prefix) -> Law:
    """p(.|u), with which an output that ended at u is completed.

    A wrong rule can emit a u that neither model produces; no law is needed there, and token 0 completes it. The target
    gives u probability 0, so such an output is wrong with any completion.
    """
    for length, x in enumerate(u):
        v = u[:length]
        if not (model.target(v)[x] or (length < model.depth and model.draft(v)[x])):
            return Law(ZERO if y else ONE for y in range(model.vocab))
    return model.target(u)
