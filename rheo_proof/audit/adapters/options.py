"""The options of the ready-made adapters: for each its kind, what it is for, and its usual value.

`find` reads the options of an adapter by this table and by nothing else, and docs/audit-reference.md lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from rheo_proof.audit.arrays import KINDS
from rheo_proof.audit.drafts import METHODS
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.models import FORMS, VALUES
from rheo_proof.audit.reading import Returns
from rheo_proof.audit.roles import Role

MOST_NODES = 16
"""Draft tokens of a tree: twice as many as any battery table could be enumerated with."""
COLDEST, HOTTEST = Fraction(1, 100), Fraction(100)
"""Temperatures; beyond, logits say nothing of a row any more."""


class Kind(NamedTuple):
    """What an option can be, in words, and how a value is read; `read` raises `ValueError` or `TypeError`."""

    expected: str
    read: Callable[[Any], Any]


class Option(NamedTuple):
    """One option. `flag` is the option of the command that sets it, where it is not `--set`."""

    kind: Kind
    about: str
    usual: str
    flag: str = "--set"


def only(value: Any, *types: type) -> Any:
    """The value, if it is of one of these types; True and False are no numbers."""
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise TypeError
    return value


def word(*words: str) -> Kind:
    """One of some words."""

    def read(value: Any) -> str:
        if value not in words:
            raise ValueError
        return str(value)

    return Kind(" or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0], read)


def whole(low: int, high: int) -> Kind:
    """A whole number in a range."""

    def read(value: Any) -> int:
        if not low <= only(value, int) <= high:
            raise ValueError
        return int(value)

    return Kind(f"a whole number from {low} to {high}", read)


def _switch(value: Any) -> bool:
    return {"true": True, "false": False}[value.lower()] if isinstance(value, str) else bool(only(value, bool))


def _temperature(value: Any) -> Fraction:
    found = Fraction(str(value)) if isinstance(value, float) else Fraction(only(value, int, str, Fraction))
    if not COLDEST <= found <= HOTTEST:
        raise ValueError
    return found


def _parents(value: Any) -> tuple[int, ...]:
    found = tuple(only(each, int) for each in only(value, tuple, list))
    if not 1 <= len(found) <= MOST_NODES or any(not -1 <= parent < node for node, parent in enumerate(found)):
        raise ValueError
    return found


def _role(value: Any, parameter: str = "role") -> str:
    Role.read(only(value, str), parameter)
    return str(value)


def _roles(value: Any) -> dict[str, str]:
    return {only(name, str): _role(role, name) for name, role in only(value, Mapping).items()}


def _order(value: Any) -> tuple[str, ...]:
    return tuple(_role(each) for each in only(value, tuple, list))


def _axes(value: Any) -> dict[str, tuple[str, ...]]:
    found = {
        only(role, str): tuple(only(each, str) for each in only(axes, tuple, list)) for role, axes in value.items()
    }
    return {role: Role.read(f"{role}[{','.join(axes)}]").axes or () for role, axes in found.items()}


def _constants(value: Any) -> dict[str, Any]:
    return {only(name, str): constant for name, constant in only(value, Mapping).items()}


def _returns(value: Any) -> str:
    if value != "sequence":
        Returns.read(only(value, str))
    return str(value)


def _function(value: Any) -> Any:
    if not callable(value):
        raise TypeError
    return value


SWITCH = Kind("True or False", _switch)
COUNT = whole(1, MOST_NODES)
TEMPERATURE = Kind(f"a number from {COLDEST} to {HOTTEST}", _temperature)
PARENTS = Kind(
    f"up to {MOST_NODES} numbers such as (-1, -1, 0), for each node that of an earlier one, or -1 for the root",
    _parents,
)
ROLES = Kind("parameters and their roles, such as {'p': 'target_probs[B,K,V]'}", _roles)
ORDER = Kind("roles, such as ('draft_tokens', 'target_probs')", _order)
AXES = Kind("roles and their axes, such as {'bonus_token': ('B', '1')}", _axes)
CONSTANTS = Kind("parameters and their values, such as {'top_k': 3}", _constants)
RETURNS = Kind("what comes back, such as 'tokens' or 'length,token'", _returns)
FUNCTION = Kind("a Python function, which only `audit(...)` can be handed", _function)
DRAFTER = Kind("a Python function", _function)

EVERYWHERE: dict[str, Option] = {
    "arrays": Option(word(*KINDS), "what arrays the function is handed", "torch", "--arrays"),
    "roles": Option(ROLES, "what its parameters are", "by their usual names", "--map"),
    "returns": Option(RETURNS, "what it returns", "see Adapters", "--returns"),
    "order": Option(ORDER, "the roles of its required parameters, where a name is not known", "see Adapters"),
    "constants": Option(CONSTANTS, "values of parameters that are no roles", "{}"),
}
VERIFYING: dict[str, Option] = {
    **EVERYWHERE,
    "drafter": Option(DRAFTER, "who draws the draft, and reports its rows", "the audit", "--drafter"),
    "batched": Option(SWITCH, "whether requests come first, in arguments and in what is returned", "False"),
    "bonus": Option(SWITCH, "whether a step always ends with a token that is no draft token", "True"),
    "prompt": Option(whole(0, 64), "tokens at the beginning of a returned string that were there before", "0"),
    "temperature": Option(TEMPERATURE, "handed over, with logits times it", "1"),
    "axes": Option(AXES, "axes of roles that are written without", "see Adapters"),
    "names": Option(ROLES, "further usual names of parameters", "{}"),
    "target_process": Option(FUNCTION, "what the function does to target laws before they count", "nothing"),
    "draft_process": Option(FUNCTION, "the same for draft laws", "nothing"),
}
METHOD = Option(word(*METHODS), "how siblings are drawn", "iid")
TREE = {"parents": Option(PARENTS, "the parents of the nodes of the tree", "see Adapters"), "method": METHOD}
STEPPING: dict[str, Option] = {
    **EVERYWHERE,
    "form": Option(word(*FORMS), "the rows that a model returns: of the next token, or after every token", "next"),
    "values": Option(word(*VALUES), "what these rows hold", "probs"),
    "wrap": Option(SWITCH, "whether a model returns an object with the rows in `logits`", "False"),
    "loops": Option(SWITCH, "whether the function takes several steps", "False"),
}

OPTIONS: dict[str, dict[str, Option]] = {
    "chain": VERIFYING,
    "siblings": {**VERIFYING, "count": Option(COUNT, "candidates for the position", "2"), "method": METHOD},
    "tree": {**VERIFYING, **TREE},
    "step": STEPPING,
    "hf": VERIFYING,
    "vllm": VERIFYING,
    "eagle": {**VERIFYING, **TREE, "method": METHOD._replace(usual="fixed")},
}


def options_of(adapter: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an adapter, read by their kinds. Raises `AuditError` for one that it has not, or of another kind.

    >>> options_of("siblings", {"count": 3, "batched": "true"})
    {'count': 3, 'batched': True}
    """
    known = OPTIONS[adapter]
    return {name: value_of(f"adapter {adapter}", known, name, value) for name, value in given.items()}


def value_of(where: str, known: Mapping[str, Option], name: str, value: Any) -> Any:
    """The value of one option."""
    if name not in known:
        raise AuditError(f"{where} has no option {name!r}; it has {', '.join(known)}")
    kind = known[name].kind
    try:
        return kind.read(value)
    except AuditError as error:
        raise AuditError(f"{where}, {name}: {error}") from None
    except (TypeError, ValueError, KeyError, ArithmeticError, AttributeError):
        raise AuditError(f"{where}, {name}: {shown(value)} is no value for it; expected {kind.expected}") from None


def shown(value: Any) -> str:
    """A value in a message, not too long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
