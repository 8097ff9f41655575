"""The obvious enumerator: run the whole program once for every way in which its draws and coins can turn out.

Slow and easy to believe. It shares no enumeration code with `classes.py`, and every result of that module is compared
with this one wherever this one can finish.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rheo_proof.exact.chance import Chance, Replay
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.number import ONE, ZERO, Q

T = TypeVar("T")


def replay(run: Callable[[Chance], T], on_path: Callable[[int], None] | None = None) -> dict[T, Q]:
    """The law of the value returned by `run`, by one execution for every path of choices.

    `on_path` is called with the number of paths so far (to show progress, or to stop by an exception). Raises
    `SoundnessError` unless the probabilities of all paths sum to exactly 1.

    >>> from rheo_proof.exact.law import Law
    >>> two = replay(lambda chance: sum(chance.draw(Law.read(["1/3", "2/3"]), ("token", i, 0)) for i in (0, 1)))
    >>> {value: str(mass) for value, mass in two.items()}
    {0: '1/9', 1: '4/9', 2: '4/9'}
    """
    law: dict[T, Q] = {}
    script: list[int] | None = []
    paths = 0
    while script is not None:
        chance = Replay(script)
        value = run(chance)
        law[value] = law.get(value, ZERO) + chance.weight
        script = next_script(chance)
        paths += 1
        if on_path is not None:
            on_path(paths)
    if sum(law.values(), ZERO) != ONE:
        raise SoundnessError(f"the paths have total probability {sum(law.values(), ZERO)}")
    return law


def next_script(chance: Replay) -> list[int] | None:
    """The next script in lexicographic order: raise the last choice that can be raised, forget what follows."""
    for position in reversed(range(len(chance.taken))):
        if chance.taken[position] + 1 < chance.options[position]:
            return [*chance.taken[:position], chance.taken[position] + 1]
    return None
