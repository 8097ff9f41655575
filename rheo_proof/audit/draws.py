"""What a run can draw: uniforms, exponentials, and discrete results that are decided when somebody looks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from rheo_proof.audit.constants import constant, finite
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.latents import Latent, Tally, Variable
from rheo_proof.audit.scalars import Discrete, Scalar
from rheo_proof.audit.sites import NOWHERE, Site
from rheo_proof.exact.number import ONE, ZERO, Q

T = TypeVar("T")


class Draws(ABC):
    """The random variables of one run. `phase` is set by whoever calls the audited code: "draft" or "verify".

    `split` makes the latents, if it is not None: see `splitting.py`.
    """

    def __init__(self, boundary: bool) -> None:
        self.boundary = boundary
        self.pinned: Latent | None = None
        self.phase = "verify"
        self.variables: list[Variable] = []
        self.slack = ZERO
        self.split: Callable[[Draws, str, bool, bool], Latent] | None = None
        self._streams: dict[Hashable, tuple[Any, Any]] = {}
        self._rows = 0

    @abstractmethod
    def choose(self, weights: Sequence[Q], what: str, drawn: Site = NOWHERE) -> int:
        """Branch with these probabilities."""

    @abstractmethod
    def fork(self, ways: int, what: str) -> int:
        """Branch without a weight."""

    def uniform(self, stream: Hashable = None, closed: bool = False) -> Scalar:
        """A uniform on [0, 1), or on [0, 1] if `closed`; the same one again for the same position of a stream."""
        return self._once(stream, "uniform", lambda: Scalar(self._latent("u", True, closed)))

    def exponential(self, stream: Hashable = None) -> Scalar:
        """An Exp(1) variable."""
        return self._once(
            stream,
            "exponential",
            lambda: Scalar(self._latent("e", False), (("log",), ("affine", -ONE, ZERO))),
        )

    def categorical(self, weights: Sequence[Any], stream: Hashable = None) -> Discrete:
        """An index drawn with these weights. Raises `ValueError` unless they are finite, >= 0 and not all 0."""
        exact = exact_weights(weights)
        return self._once(stream, ("categorical", tuple(exact)), lambda: self._drawn(exact))

    def ordered(self, weights: Sequence[Any], n: int, stream: Hashable = None) -> list[Discrete]:
        """n indices drawn without replacement, in order. Raises `ValueError` with too few positive weights."""
        exact = exact_weights(weights)
        if sum(1 for w in exact if w) < n:
            raise ValueError(f"{n} draws without replacement from {sum(1 for w in exact if w)} positive weights")

        def make() -> list[Discrete]:
            draws: list[Discrete] = []
            for _ in range(n):
                draws.append(self._drawn(exact, tuple(draws)))
            return draws

        return self._once(stream, ("ordered", tuple(exact), n), make)

    def permutation(self, n: int, stream: Hashable = None) -> list[Discrete]:
        """A uniformly random order of n things."""
        return self.ordered([ONE] * n, n, stream)

    def _latent(self, kind: str, may_pin: bool, closed: bool = False) -> Latent:
        name = self._name(kind)
        return Latent(self, name, may_pin, closed) if self.split is None else self.split(self, name, may_pin, closed)

    def _drawn(self, weights: list[Q], before: tuple[Discrete, ...] = ()) -> Discrete:
        variable = Variable(self, self._name("draw "))

        def decide() -> int:
            gone = {draw.settle() for draw in before}
            variable.looked_at()
            left = [(i, w) for i, w in enumerate(weights) if w and i not in gone]
            total = sum((w for _, w in left), ZERO)
            if len(left) == 1:
                return left[0][0]
            return left[self.choose([w / total for _, w in left], variable.name, variable.site)][0]

        return Discrete(decide, variable.name)

    def _name(self, kind: str) -> str:
        return f"{kind}{len(self.variables)}"

    def _once(self, stream: Hashable, kind: Hashable, make: Callable[[], T]) -> T:
        """What was drawn at this position of a stream, or something fresh.

        Two draws of different kinds from one position are dependent in a way that only the generator knows: refused.
        """
        if stream is None:
            return make()
        known = self._streams.get(stream)
        if known is None:
            known = self._streams[stream] = (kind, make())
        elif known[0] != kind:
            refuse("two different draws from one state of a generator", "they share their noise", shared=True)
        result: T = known[1]
        return result

    def ignored(self, amount: Q) -> None:
        """A numeric guard inside noise was ignored; `amount` bounds the total variation that this can make."""
        self.slack += amount

    def next_row(self) -> int:
        """A number for one more row of softmax."""
        self._rows += 1
        return self._rows

    def tally(self) -> Tally:
        """How the random variables of this run were used."""
        tally = Tally()
        tally.drawn = len(self.variables)
        for variable in self.variables:
            tally.used += variable.looks > 0
            if variable.looks > 1:
                tally.twice.append(variable.site)
            if len(variable.phases) > 1:
                tally.shared.append(variable.site)
        return tally


def exact_weights(weights: Sequence[Any]) -> list[Q]:
    """Weights as exact rationals. Raises `ValueError` unless they are finite, >= 0 and not all 0.

    >>> exact_weights([0.5, 0.25]) == [ONE / 2, ONE / 4]
    True
    """
    exact = []
    for weight in weights:
        value = constant(weight)
        if value is None or not finite(value) or value < ZERO:
            raise ValueError(f"{weight!r} is no weight: expected a finite number >= 0")
        exact.append(value)
    if not any(exact):
        raise ValueError("all weights are 0")
    return exact
