"""A law: finitely many tokens, no negative entry, mass exactly 1.

The four operations every verification rule is made of live here: mass, `normalised`, `residual`, `total_variation`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache, wraps
from typing import TypeVar

from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.exact.number import EXACT, ONE, ZERO, Q, rational


class Law:
    """A probability law on the tokens 0..V-1, held as V exact rationals.

    Raises `SoundnessError` unless every entry is of an exact type, none is negative and the sum is exactly 1.

    >>> p = Law.read(["1/2", "3/10", "1/5"])
    >>> p[1] == rational("3/10"), p.support
    (True, (0, 1, 2))
    """

    __slots__ = ("_hash", "_support", "probs")

    def __init__(self, probs: Iterable[Q]) -> None:
        self.probs: tuple[Q, ...] = tuple(probs)
        for x in self.probs:
            if type(x) not in EXACT:
                raise SoundnessError(f"a law holds {x!r} of type {type(x).__name__}, expected {Q.__name__}")
            if x < ZERO:
                raise SoundnessError(f"a law holds the negative entry {x}")
        if sum(self.probs, ZERO) != ONE:
            raise SoundnessError(f"a law has mass {sum(self.probs, ZERO)}, not 1")
        self._support: tuple[int, ...] | None = None
        self._hash: int | None = None

    @property
    def support(self) -> tuple[int, ...]:
        """The tokens of positive probability, in token order."""
        if self._support is None:
            self._support = tuple(x for x, mass in enumerate(self.probs) if mass)
        return self._support

    @classmethod
    def read(cls, values: object, where: str = "law", vocab: int | None = None) -> Law:
        """Read a law from outside (a list of rationals), checking everything a user can get wrong.

        `vocab` is the expected number of entries. Raises `InputError` that starts with `where`.
        """
        if not isinstance(values, (list, tuple)):
            raise InputError(f"{where}: {values!r} is not a list of rationals")
        if vocab is not None and len(values) != vocab:
            raise InputError(f"{where}: {len(values)} entries, expected {vocab} (one for each token)")
        if not values:
            raise InputError(f"{where}: empty; a law needs at least one token")
        probs = [rational(value, f"{where}, token {x}") for x, value in enumerate(values)]
        for x, mass in enumerate(probs):
            if mass < ZERO:
                raise InputError(f"{where}, token {x}: {mass} is negative")
        if sum(probs, ZERO) != ONE:
            raise InputError(f"{where}: sums to {sum(probs, ZERO)}, expected exactly 1")
        return cls(probs)

    def __getitem__(self, token: int) -> Q:
        return self.probs[token]

    def __len__(self) -> int:
        return len(self.probs)

    def __iter__(self) -> Iterator[Q]:
        return iter(self.probs)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Law) and self.probs == other.probs)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.probs)
        return self._hash

    def __repr__(self) -> str:
        return f"Law({', '.join(map(str, self.probs))})"

    def mass(self, tokens: Iterable[int]) -> Q:
        """The probability of a set of tokens."""
        return sum((self.probs[x] for x in tokens), ZERO)


def normalised(weights: Sequence[Q]) -> Law:
    """The law proportional to non-negative weights: `norm(w) = w / sum(w)`.

    Raises `SoundnessError` when all weights are 0: an empty residual must never be drawn from.

    >>> normalised([rational(1), rational(0), rational(3)])
    Law(1/4, 0, 3/4)
    """
    total = sum(weights, ZERO)
    if not total:
        raise SoundnessError("an empty residual was reached: all weights are 0")
    return Law(w / total for w in weights)


A = TypeVar("A", bound=Hashable)
B = TypeVar("B", bound=Hashable)
C = TypeVar("C")


def remembered(compute: Callable[[A, B], C]) -> Callable[[A, B], C]:
    """Keep results, except for arguments that cannot be hashed: laws of symbolic numbers."""
    known = lru_cache(maxsize=1 << 14)(compute)

    @wraps(compute)
    def look_up(first: A, second: B) -> C:
        try:
            hash((first, second))
        except TypeError:
            return compute(first, second)
        return known(first, second)

    return look_up


@remembered
def residual(p: Law, t: Law) -> Law:
    """`norm((p - t)+)`, what is left of p once t has been tested (arXiv 2211.17192, 2302.01318).

    >>> residual(Law.read(["1/2", "3/10", "1/5"]), Law.read(["1/5", "3/10", "1/2"]))
    Law(1, 0, 0)
    """
    return normalised([a - b if a > b else ZERO for a, b in zip(p, t, strict=True)])


@remembered
def without(p: Law, tokens: tuple[int, ...]) -> Law:
    """p with some tokens deleted, renormalised.

    >>> without(Law.read(["1/2", "3/10", "1/5"]), (0,))
    Law(0, 3/5, 2/5)
    """
    return normalised([ZERO if x in tokens else mass for x, mass in enumerate(p)])


def total_variation(p: Law, q: Law) -> Q:
    """Half the sum of absolute differences of two laws on the same tokens.

    >>> str(total_variation(Law.read(["1/2", "1/2"]), Law.read(["1", "0"])))
    '1/2'
    """
    return sum((abs(a - b) for a, b in zip(p, q, strict=True)), ZERO) / 2


def point(token: int, vocab: int) -> Law:
    """The law that puts all mass on one token."""
    return Law(ONE if x == token else ZERO for x in range(vocab))
