"""A finite random process written out for other tools: numbered states, exact rows, labels, a few words a state.

Storm does not check that the probabilities of a row sum to 1, and answers all the same. So it is checked here, before
anything is exported: a `Process` that exists is one whose rows are laws.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from rheo_proof.exact.errors import LimitReached, SoundnessError
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import ONE, ZERO, Q

Row: TypeAlias = tuple[tuple[int, Q], ...]
"""Where a choice leads: states in ascending order, each with its positive probability."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Choice(NamedTuple):
    """One way on from a state; `words` say which, and are empty where there is only one."""

    words: str
    row: Row


@dataclass(frozen=True)
class Process:
    """A Markov chain ("dtmc") or a Markov decision process ("mdp"); state 0 is the first.

    `choices` and `words` have an entry for each state; a label names the states at which it holds. Raises
    `SoundnessError` unless every row is a law on the states, each label is a word, and the process can end.

    >>> half = Q(1, 2)
    >>> coin = Process((one((1, half), (2, half)), one((1, ONE)), one((2, ONE))), ("coin", "1", "0"), {"out_1": (1,)})
    >>> coin.kind, coin.transitions
    ('dtmc', 4)
    """

    choices: tuple[tuple[Choice, ...], ...]
    words: tuple[str, ...]
    labels: Mapping[str, tuple[int, ...]]
    kind: Literal["dtmc", "mdp"] = "dtmc"

    def __post_init__(self) -> None:
        states = range(len(self.choices))
        if len(self.words) != len(states):
            raise SoundnessError(f"{len(self.words)} descriptions of {len(states)} states")
        for state, choices in enumerate(self.choices):
            if not choices or (self.kind == "dtmc" and len(choices) > 1):
                raise SoundnessError(f"state {state} has {len(choices)} ways on")
            for choice in choices:
                _check(state, choice.row, states)
        for label, where in self.labels.items():
            if not _NAME.fullmatch(label) or list(where) != sorted(set(where)) or not all(s in states for s in where):
                raise SoundnessError(f"the label {label!r} at {where}")
        if not any(self.ends(state) for state in states):
            raise SoundnessError("the process never ends")

    def ends(self, state: int) -> bool:
        """Whether the process stays at a state for ever."""
        return all(choice.row == ((state, ONE),) for choice in self.choices[state])

    @property
    def transitions(self) -> int:
        """How many probabilities are written down."""
        return sum(len(choice.row) for choices in self.choices for choice in choices)


def one(*row: tuple[int, Q]) -> tuple[Choice, ...]:
    """The choices of a state that has one."""
    return (Choice("", row),)


def _check(state: int, row: Row, states: range) -> None:
    targets = [target for target, _ in row]
    if targets != sorted(set(targets)) or not all(target in states for target in targets):
        raise SoundnessError(f"state {state} leads to {targets}")
    for target, mass in row:
        if type(mass) is not Q or not ZERO < mass <= ONE:
            raise SoundnessError(f"state {state} leads to {target} with probability {mass!r}")
    if sum((mass for _, mass in row), ZERO) != ONE:
        raise SoundnessError(f"the row of state {state} sums to {sum((mass for _, mass in row), ZERO)}")


class Way(NamedTuple):
    """What is found out about a point: `choices` say in words where each leads, `labels` hold there.

    Points are numbered in ascending `order`, those of equal order as they are met.
    """

    order: tuple[Any, ...]
    words: str
    choices: Sequence[tuple[str, Sequence[tuple[Any, Q]]]]
    labels: tuple[str, ...] = ()


def explored(
    start: Hashable,
    way: Callable[[Any], Way],
    states: int | None = None,
    watch: Callable[[], None] = lambda: None,
) -> dict[Any, Way]:
    """All points that can be reached, breadth first; equal points are one point.

    Raises `LimitReached` when there are more than `states`; `watch` is called for each and may raise, too.
    """
    found: dict[Any, Way] = {}
    met: dict[Any, None] = {start: None}
    waiting = [start]
    while waiting:
        layer, waiting = waiting, []
        for point in layer:
            watch()
            found[point] = way(point)
            leads = dict.fromkeys(target for _, row in found[point].choices for target, _ in row)
            waiting += [target for target in leads if target not in met]
            met.update(leads)
            if states is not None and len(met) > states:
                raise LimitReached(f"more than {states} states")
    return found


def numbered(found: Mapping[Any, Way], kind: Literal["dtmc", "mdp"] = "dtmc") -> Process:
    """Points as a process. Raises `SoundnessError` if the first point would not be state 0, or a row is no law."""
    number = {point: index for index, point in enumerate(sorted(found, key=lambda point: found[point].order))}
    if next(iter(number)) != next(iter(found)):
        raise SoundnessError("the first point is not the first state")
    choices = tuple(
        tuple(Choice(words, _row(leads, number)) for words, leads in found[point].choices) for point in number
    )
    labels: dict[str, list[int]] = {}
    for point, index in number.items():
        for label in found[point].labels:
            labels.setdefault(label, []).append(index)
    held = {label: tuple(where) for label, where in labels.items()}
    return Process(choices, tuple(found[point].words for point in number), held, kind)


def _row(leads: Sequence[tuple[Any, Q]], number: Mapping[Any, int]) -> Row:
    masses: dict[int, Q] = {}
    for point, mass in leads:
        masses[number[point]] = masses.get(number[point], ZERO) + mass
    return tuple(sorted(masses.items()))


def out(string: Prefix) -> str:
    """The label of a state at which this string is the output.

    >>> out((0, 12))
    'out_0_12'
    """
    return "_".join(("out", *map(str, string)))


def string_of(label: str) -> Prefix | None:
    """The string of such a label, None for another label.

    >>> string_of("out_0_12"), string_of("tree")
    ((0, 12), None)
    """
    first, *tokens = label.split("_")
    return tuple(map(int, tokens)) if first == "out" else None
