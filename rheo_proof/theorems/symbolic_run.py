"""Run a random program on symbolic numbers: every outcome of each step, states merged that have become the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rheo_proof.exact.chance import Name, Replay, Site, Token
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.replay import next_script
from rheo_proof.theorems.symbols import Symbol, vanishes
from rheo_proof.theorems.unread import Unread, UnreadLaw


class SymbolicReplay(Replay):
    """Follow a script. An outcome is left out only if its probability is known to be 0, and may be 0 at some points."""

    def latent(self, law: Law, site: Site, name: Name, order: Sequence[int] | None = None) -> Token:
        """Draw now."""
        return self.pick([(x, law[x]) for x in order or range(len(law)) if not vanishes(law[x])], site)

    def coin(self, a: Q, site: Site) -> bool:
        """Toss now. Raises `SoundnessError` where a is not in [0, 1]."""
        if a < ZERO or a > ONE:
            raise SoundnessError(f"a coin of probability {a!r}")
        weights = [(x, mass) for x, mass in ((1, a), (0, ONE - a)) if not vanishes(mass)]
        return self.pick(weights, site) == 1


def outcomes(run: Callable[[Replay], Any]) -> Iterator[tuple[Any, Any]]:
    """Every value that a random program can return, path by path, with the probability of the path."""
    script: list[int] | None = []
    while script is not None:
        chance = SymbolicReplay(script)
        value = run(chance)
        yield value, chance.weight
        script = next_script(chance)


class Weighted:
    """States with their probabilities; states of one form are one."""

    def __init__(self) -> None:
        self._entries: dict[Any, tuple[Any, Any]] = {}

    def add(self, state: Any, weight: Any) -> None:
        """A state, reached once more."""
        at = form(state)
        self._entries[at] = (state, self._entries[at][1] + weight if at in self._entries else weight)

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Each state with its probability."""
        return self._entries.values()


def form(state: Any) -> Any:
    """What states are merged by: symbolic numbers have no hash, so they are compared by how they are written.

    Equal numbers of different forms keep their states apart, which is harmless. Rules have no part in this.
    """
    try:
        hash(state)
    except TypeError:
        pass
    else:
        return type(state), state
    if isinstance(state, Symbol):
        return state.form
    if isinstance(state, Unread):
        return Unread, state.some
    if isinstance(state, UnreadLaw):
        return UnreadLaw
    if isinstance(state, Law):
        return (Law, *map(form, state.probs))
    if isinstance(state, tuple):
        return (type(state), *map(form, state))
    raise SoundnessError(f"states that hold a {type(state).__name__} cannot be compared")


def explored(
    step: Callable[[Any, Replay], Any], start: Weighted, ends: Callable[[Any], bool], limits: Limits
) -> Weighted:
    """Run a program from weighted states until `ends` says so; its last states with their probabilities.

    Raises `SoundnessError` if a step makes no progress, or unless the probabilities sum to 1 everywhere in the region.
    """
    waiting: dict[tuple[int, ...], Weighted] = {}
    finals = Weighted()

    def enter(state: Any, weight: Any) -> None:
        (finals if ends(state) else waiting.setdefault(state.progress, Weighted())).add(state, weight)

    for state, weight in start.items():
        enter(state, weight)
    while waiting:
        progress = min(waiting)
        for state, weight in waiting.pop(progress).items():
            limits.spend()
            for reached, share in outcomes(lambda chance, state=state: step(state, chance)):  # type: ignore[misc]
                if not ends(reached) and reached.progress <= progress:
                    raise SoundnessError(f"no progress: {reached.progress} after {progress}")
                enter(reached, weight * share)
    total = sum((weight for _, weight in finals.items()), ZERO)
    if not vanishes(total - ONE):
        raise SoundnessError(f"the last states have total probability {total!r}")
    return finals
