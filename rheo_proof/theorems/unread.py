"""What a symbolic run leaves out because no rule should look at it: to look at it is an error, not an assumption."""

from __future__ import annotations

from typing import Any, NoReturn

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix
from rheo_proof.schemes.tree import Branch
from rheo_proof.schemes.verifying.walk import Walk


def _refuse(*_: Any) -> NoReturn:
    raise SoundnessError("a rule that walks looked at what is off its way, which a symbolic run leaves out")


class Unread:
    """In place of the children of a node. Raises `SoundnessError` if it is looked at.

    `some`: it is known that there are children, and this may be asked; without it, not even this.
    """

    __slots__ = ("some",)

    def __init__(self, some: bool) -> None:
        self.some = some

    def __bool__(self) -> bool:
        return self.some or _refuse()

    __len__ = __iter__ = __getitem__ = __contains__ = __eq__ = __ne__ = _refuse
    __add__ = __radd__ = __reversed__ = __lt__ = __le__ = __gt__ = __ge__ = __getattr__ = _refuse

    def __hash__(self) -> int:
        raise TypeError("what is left out has no hash")

    def __repr__(self) -> str:
        return "(left out)"


class UnreadLaw(Law):
    """In place of the target's law at a prefix. Raises `SoundnessError` if more than its length is looked at."""

    __slots__ = ("_vocab",)

    def __init__(self, vocab: int) -> None:
        self._vocab = vocab

    def __len__(self) -> int:
        return self._vocab

    def __getattr__(self, name: str) -> NoReturn:
        _refuse()

    def __eq__(self, other: object) -> bool:
        _refuse()

    def __hash__(self) -> int:
        raise TypeError("what is left out has no hash")

    def __repr__(self) -> str:
        return "(left out)"


def without_what_is_off(state: Any, group: Prefix) -> Any:
    """The start of a walk, `Unread` in place of what is kept below nodes that do not go with the group.

    Draft trees that differ there only start alike then, and are one.
    """
    if isinstance(state, Walk):
        return state._replace(children=_kept(state.children, state.prefix, group))
    return state


def without_what_is_below(state: Any) -> Any:
    """The start of a walk, `Unread` in place of what is kept below the children of the root."""
    if isinstance(state, Walk):
        unread: Any = Unread(some=False)
        return state._replace(children=tuple(child._replace(children=unread) for child in state.children))
    return state


def _kept(children: tuple[Branch, ...], above: Prefix, group: Prefix) -> tuple[Branch, ...]:
    found = []
    for child in children:
        assert isinstance(child.token, int)
        u = (*above, child.token)
        below: Any = child.children
        if below:
            below = _kept(below, u, group) if together(u, group) else Unread(some=True)
        found.append(child._replace(children=below))
    return tuple(found)


def together(u: Prefix, v: Prefix) -> bool:
    """Whether one of two strings starts with the other."""
    n = min(len(u), len(v))
    return u[:n] == v[:n]
