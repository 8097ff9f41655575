"""The options of the ready-made adapters: which adapter has which, and what each takes.

They are checked here and nowhere else, before an adapter is made: what is wrong is said in one line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rheo_proof.audit.arrays import KINDS
from rheo_proof.audit.drafts import METHODS, Drafting
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.models import FORMS, VALUES

VERIFIERS = ("chain", "siblings", "tree", "hf", "vllm", "eagle")
STEPS = ("step",)
MOST = 64
"""Candidates and tokens of a prompt: more is a slip of the pen."""


@dataclass(frozen=True)
class Setting:
    """One option: the adapters that have it, what it takes in words, and the value that is taken from what was given.

    `take` raises `ValueError` or `TypeError` for what makes no sense. `written`: it can be written on a command line
    as `--set name=value`; `instead` is the option of the command that says the same.
    """

    adapters: Sequence[str]
    expected: str
    take: Callable[[Any], Any]
    about: str
    written: bool = True
    instead: str = ""


def flag(value: Any) -> bool:
    """True or False, and nothing that is like them."""
    if not isinstance(value, bool):
        raise TypeError
    return value


def whole(least: int) -> Callable[[Any], int]:
    """A whole number from `least` to `MOST`."""

    def take(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
            raise ValueError
        return value

    return take


def one_of(words: Sequence[str]) -> Callable[[Any], str]:
    """One of these words."""

    def take(value: Any) -> str:
        if value not in words:
            raise ValueError
        return str(value)

    return take


def words(value: Any) -> str:
    """A text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise TypeError
    return value


def sequence(value: Any) -> tuple[Any, ...]:
    """A list or tuple that is not empty."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise TypeError
    return tuple(value)


def shape(value: Any) -> tuple[int, ...]:
    """The parents of the nodes of a tree."""
    return tuple(whole(-1)(parent) for parent in sequence(value))


def texts(value: Any) -> tuple[str, ...]:
    """Some words."""
    return tuple(words(text) for text in sequence(value))


def table(of: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """A mapping from names, with values of one kind."""

    def take(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise TypeError
        return {words(name): of(each) for name, each in value.items()}

    return take


def ratio(value: Any) -> Fraction:
    """A positive number."""
    if isinstance(value, bool):
        raise TypeError
    number = Fraction(str(value))
    if number <= 0:
        raise ValueError
    return number


def function(value: Any) -> Any:
    """Something that can be called, or nothing."""
    if value is not None and not callable(value):
        raise TypeError
    return value


def drafting(value: Any) -> Drafting:
    """A way to draft."""
    if not isinstance(value, Drafting):
        raise TypeError
    return value


BOTH = (*VERIFIERS, *STEPS)
FLAG = "True or False"
NAMED = "a mapping of parameters to"

SETTINGS: dict[str, Setting] = {
    "batched": Setting(VERIFIERS, FLAG, flag, "requests come first in what is handed over and returned"),
    "bonus": Setting(VERIFIERS, FLAG, flag, "every step ends with a token that is no draft token"),
    "prompt": Setting(VERIFIERS, f"a whole number from 0 to {MOST}", whole(0), "tokens before the returned string"),
    "temperature": Setting(
        VERIFIERS, "a positive number such as 1/2", ratio, "handed over, with logits times as much; the law is the same"
    ),
    "count": Setting(("siblings",), f"a whole number from 1 to {MOST}", whole(1), "candidates for the position"),
    "method": Setting(
        ("siblings", "tree", "eagle"),
        " or ".join(METHODS),
        one_of(METHODS),
        "siblings drawn independently, without replacement, or the best tokens of the row",
    ),
    "parents": Setting(
        ("tree", "eagle"),
        "the parent of each node, such as (-1, -1, 0), where -1 is the root",
        shape,
        "the shape of the tree",
    ),
    "form": Setting(STEPS, " or ".join(FORMS), one_of(FORMS), "a model returns the last row, or all rows"),
    "values": Setting(STEPS, " or ".join(VALUES), one_of(VALUES), "what a model returns"),
    "wrap": Setting(STEPS, FLAG, flag, "a model returns its rows in an attribute `logits`"),
    "loops": Setting(STEPS, FLAG, flag, "the function goes on for several steps; `constants` hold its limits"),
    "constants": Setting(
        BOTH, f"{NAMED} values, such as {{'eps': 0}}", table(lambda value: value), "parameters with one value"
    ),
    "arrays": Setting(BOTH, " or ".join(KINDS), words, "what it is handed", False, "--arrays"),
    "returns": Setting(BOTH, "parts such as length,token", words, "what it returns", False, "--returns"),
    "roles": Setting(BOTH, f"{NAMED} roles", table(words), "what its parameters are", False, "--map"),
    "drafter": Setting(VERIFIERS, "a function", function, "who draws the draft", False, "--drafter"),
    "target_process": Setting(VERIFIERS, "a function of a row", function, "the target row that counts", False),
    "draft_process": Setting(VERIFIERS, "a function of a row", function, "the draft row that counts", False),
    "name": Setting(BOTH, "a name", words, "what the adapter is called", False),
    "names": Setting(VERIFIERS, f"{NAMED} roles", table(words), "usual names of its parameters", False),
    "order": Setting(BOTH, "roles, such as ('draft_tokens', 'target_probs')", texts, "roles by position", False),
    "axes": Setting(
        VERIFIERS, "a mapping of roles to axes", table(lambda axes: tuple(map(words, axes))), "usual axes", False
    ),
    "drafting": Setting(("chain",), "a Drafting", drafting, "what is proposed", False),
}
"""Everything that `find` takes, in the order in which pages list it."""


def options_of(adapter: str) -> list[str]:
    """The options that an adapter has and that can be written on a command line.

    >>> options_of("siblings")
    ['batched', 'bonus', 'prompt', 'temperature', 'count', 'method', 'constants']
    """
    return [name for name, setting in SETTINGS.items() if adapter in setting.adapters and setting.written]


def taken(adapter: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the values that the adapter takes. Raises `AuditError` for one it has not, or for a wrong value.

    >>> taken("chain", {"temperature": "1/2", "batched": True})
    {'temperature': Fraction(1, 2), 'batched': True}
    >>> taken("chain", {"batched": "banana"})
    Traceback (most recent call last):
    ...
    rheo_proof.audit.errors.AuditError: batched: 'banana' is not True or False
    """
    values = {}
    for name, value in options.items():
        setting = SETTINGS.get(name)
        if setting is None or adapter not in setting.adapters:
            raise AuditError(f"{name}: adapter {adapter} has no such option; it has {', '.join(options_of(adapter))}")
        try:
            values[name] = setting.take(value)
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            raise AuditError(f"{name}: {value!r} is not {setting.expected}") from None
    return values
