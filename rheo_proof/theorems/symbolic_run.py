"""Run a random program on symbolic numbers: every outcome of each step, states merged that have become the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rheo_proof.exact.chance import Name, Replay, Site, Token
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.replay import next_script
from rheo_proof.theorems.symbols import vanishes


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


def explored(
    step: Callable[[Any, Replay], Any], start: dict[Any, Any], ends: Callable[[Any], bool], limits: Limits
) -> dict[Any, Any]:
    """Run a program from weighted states until `ends` says so; its last states with their probabilities.

    Raises `SoundnessError` if a step makes no progress, or unless the probabilities sum to 1 everywhere in the region.
    """
    waiting: dict[tuple[int, ...], dict[Any, Any]] = {}
    finals: dict[Any, Any] = {}

    def enter(state: Any, weight: Any) -> None:
        into = finals if ends(state) else waiting.setdefault(state.progress, {})
        into[state] = into[state] + weight if state in into else weight

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
    total = sum(finals.values(), ZERO)
    if not vanishes(total - ONE):
        raise SoundnessError(f"the last states have total probability {total!r}")
    return finals
