"""A finite random process written out for other tools: numbered states, exact rows, labels, a few words a state.

Storm does not check that the probabilities of a row sum to 1, and answers all the same. So it is checked here, before
anything is exported: a `Process` that exists is one whose rows are laws.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from rheo_proof.exact.errors import SoundnessError
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
    """A Markov chain, or a Markov decision process if some state has several choices; state 0 is the first.

    `choices` and `words` have an entry for each state; a label names the states at which it holds. Raises
    `SoundnessError` unless every row is a law on the states, each label is a word, and some state goes nowhere else.

    >>> half = Q(1, 2)
    >>> coin = Process((one((1, half), (2, half)), one((1, ONE)), one((2, ONE))), ("a coin", "1", "0"), {"out_1": (1,)})
    >>> coin.nondeterministic, coin.transitions
    (False, 4)
    """

    choices: tuple[tuple[Choice, ...], ...]
    words: tuple[str, ...]
    labels: Mapping[str, tuple[int, ...]]

    def __post_init__(self) -> None:
        states = range(len(self.choices))
        if len(self.words) != len(states):
            raise SoundnessError(f"{len(self.words)} descriptions of {len(states)} states")
        for state, choices in enumerate(self.choices):
            if not choices:
                raise SoundnessError(f"state {state} has no way on")
            for choice in choices:
                _check(state, choice.row, states)
        for label, where in self.labels.items():
            if not _NAME.fullmatch(label) or list(where) != sorted(set(where)) or not all(s in states for s in where):
                raise SoundnessError(f"the label {label!r} at {where}")
        if not any(choices == one((state, ONE)) for state, choices in enumerate(self.choices)):
            raise SoundnessError("the process never ends")

    @property
    def nondeterministic(self) -> bool:
        """Whether somebody has to choose."""
        return any(len(choices) > 1 for choices in self.choices)

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
