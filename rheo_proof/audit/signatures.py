"""Which argument of a function has which role: by the names of its parameters, or by their order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rheo_proof.audit.errors import AuditError, stopped
from rheo_proof.audit.roles import SPELLINGS, Role

UNASKED = ("generator", "generators", "uniforms", "exponentials", "eos", "none")
"""Roles of parameters with a default value that keep it unless the user says otherwise."""

_Parameter = inspect.Parameter


@dataclass(frozen=True)
class Argument:
    """One argument: its parameter, its role or its constant value, and whether it has no keyword."""

    parameter: str
    role: Role | None
    constant: Any = None
    positional: bool = False


def named(function: Callable[..., Any]) -> str:
    """What to call a function in messages."""
    return str(getattr(function, "__qualname__", type(function).__name__))


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function, a method, or a module with `forward`. Raises `AuditError` if they are unknown."""
    target = getattr(function, "forward", function)
    try:
        return list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        raise AuditError(f"{named(function)}: its parameters are not known; wrap it in a Python function") from None


def arguments(
    function: Callable[..., Any],
    roles: Mapping[str, str],
    order: Sequence[str],
    constants: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
) -> list[Argument]:
    """The arguments to pass: roles that are given, then roles by usual names, else `order` for the required ones.

    `names` are usual names of this kind of function. Raises `AuditError` that names a parameter without a role, or a
    role without a parameter.

    >>> def verify(draft_token_ids, q, p, rng=None): ...
    >>> [(a.parameter, a.role.kind) for a in arguments(verify, {}, ())]
    [('draft_token_ids', 'draft_tokens'), ('q', 'draft_probs'), ('p', 'target_probs')]
    """
    known, constants = parameters(function), dict(constants or {})
    spellings = {**SPELLINGS, **(names or {})}
    declared = [p.name for p in known]
    if not roles and all(p.kind in (_Parameter.VAR_POSITIONAL, _Parameter.VAR_KEYWORD) for p in known):
        return [Argument(text, Role.read(text, text), positional=True) for text in order]
    open_ended = any(p.kind is _Parameter.VAR_KEYWORD for p in known)
    for name in (*roles, *constants):
        if name not in declared and not open_ended:
            raise AuditError(f"{named(function)} has no parameter {name!r}; it has {', '.join(declared)}")
    found: list[Argument] = []
    missing: list[str] = []
    for p in known:
        argument = _by_name(p, roles, constants, spellings)
        if argument is not None:
            found.append(argument)
        elif p.default is _Parameter.empty and p.kind not in (_Parameter.VAR_POSITIONAL, _Parameter.VAR_KEYWORD):
            missing.append(p.name)
    found += [Argument(name, Role.read(text, name)) for name, text in roles.items() if name not in declared]
    found += [Argument(name, None, value) for name, value in constants.items() if name not in declared]
    if not missing:
        return found
    given = [a for a in found if a.parameter in constants]
    return _in_order(function, known, () if roles else order, missing) + given


def _by_name(
    p: inspect.Parameter, roles: Mapping[str, str], constants: Mapping[str, Any], spellings: Mapping[str, str]
) -> Argument | None:
    """The argument for a parameter, from what the user says or from its name."""
    positional = p.kind is _Parameter.POSITIONAL_ONLY
    if p.name in constants:
        return Argument(p.name, None, constants[p.name], positional)
    if p.name in roles:
        return Argument(p.name, Role.read(roles[p.name], p.name), None, positional)
    text = spellings.get(p.name)
    if text is None or (p.default is not _Parameter.empty and text in UNASKED):
        return None
    return Argument(p.name, Role.read(text, p.name), None, positional)


def _in_order(
    function: Callable[..., Any], known: list[inspect.Parameter], order: Sequence[str], missing: list[str]
) -> list[Argument]:
    """Roles by position, if there are as many required parameters as the adapter has roles."""
    kinds = (_Parameter.POSITIONAL_ONLY, _Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in known if p.kind in kinds and p.default is _Parameter.empty]
    others = [p for p in known if p.kind is _Parameter.KEYWORD_ONLY and p.default is _Parameter.empty]
    if not order or len(required) != len(order) or others:
        expected = f", or have {len(order)} parameters for {', '.join(order)}" if order else ""
        raise AuditError(
            f"{named(function)}: parameter {missing[0]!r} has no role; give one, such as "
            f"{missing[0]}=target_probs{expected}"
        )
    return [
        Argument(p.name, Role.read(text, p.name), None, p.kind is _Parameter.POSITIONAL_ONLY)
        for p, text in zip(required, order, strict=True)
    ]


def call(function: Callable[..., Any], known: list[Argument], values: Mapping[str, Any]) -> Any:
    """Call a function with a value for each of its arguments. Raises what has stopped it, if it has caught that."""
    positional = [values[a.parameter] for a in known if a.positional]
    try:
        return function(*positional, **{a.parameter: values[a.parameter] for a in known if not a.positional})
    finally:
        if stopped:
            raise stopped.pop()
