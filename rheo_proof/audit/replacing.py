"""Put stand-ins in the place of objects, wherever Python code keeps them, and put the objects back.

The garbage collector knows who refers to an object: dictionaries of modules, classes and instances, lists, tuples,
closures, defaults, bound methods, partials. What it cannot reach (sets, C code) keeps the real object; somebody else
must notice that.
"""

from __future__ import annotations

import functools
import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinMethodType, CellType, FrameType, FunctionType, MethodType
from typing import Any

DEPTH = 4
"""How many tuples or bound methods may lie between an object and the place that holds it."""

Place = tuple[Callable[[], Any], Callable[[Any], Any]]
"""How to read a place, and how to write it."""


class Hidden:
    """Base of what may hold real objects: no stand-in is put into it."""

    __slots__ = ()


class Swap(Hidden):
    """An object and its stand-in. `in_globals`: replaced in the globals of modules alone, as fits a function."""

    __slots__ = ("in_globals", "new", "old")

    def __init__(self, old: Any, new: Any, in_globals: bool = False) -> None:
        self.old = old
        self.new = new
        self.in_globals = in_globals


Known = dict[int, Swap]


def replace(swaps: Iterable[Swap], spared: Iterable[dict[str, Any]] = ()) -> Callable[[], None]:
    """Replace objects everywhere but in the `spared` dictionaries; returns what puts them back."""
    undo: list[Callable[[], None]] = []
    known = {id(swap.old): swap for swap in swaps}
    skipped = {id(each) for each in spared}
    level = known
    for _ in range(DEPTH):
        between: Known = {}
        for holder in _holders(level) if level else ():
            if id(holder) in skipped:
                continue
            swap = _between(holder, known)
            if swap is not None:
                between[id(holder)] = swap
            else:
                _swap_in(holder, known, undo)
        known.update(between)
        level = between

    def restore() -> None:
        for each in reversed(undo):
            each()

    return restore


def _holders(level: Known) -> list[Any]:
    """Who refers to these objects."""
    olds = [swap.old for swap in level.values()]
    return [x for x in gc.get_referrers(*olds) if x is not olds and not isinstance(x, (Hidden, FrameType))]


def _between(holder: Any, known: Known) -> Swap | None:
    """A tuple or bound method, which has to be replaced itself where it is kept."""
    if type(holder) is tuple:
        swaps = [known.get(id(x)) for x in holder]
        if any(swap is not None and not swap.in_globals for swap in swaps):
            return Swap(
                holder,
                tuple(x if s is None or s.in_globals else s.new for x, s in zip(holder, swaps, strict=True)),
            )
    elif isinstance(holder, (MethodType, BuiltinMethodType)):
        swap = known.get(id(holder.__self__))
        if swap is not None and not swap.in_globals and hasattr(swap.new, holder.__name__):
            return Swap(holder, getattr(swap.new, holder.__name__))
    return None


def _swap_in(holder: Any, known: Known, undo: list[Callable[[], None]]) -> None:
    """Replace what a container holds."""
    is_globals = isinstance(holder, dict) and ("__builtins__" in holder or "__spec__" in holder)

    def swap_of(value: Any) -> Swap | None:
        swap = known.get(id(value))
        return None if swap is None or swap.new is swap.old or (swap.in_globals and not is_globals) else swap

    for read, write in _places(holder, swap_of):
        swap = swap_of(read())
        if swap is not None:
            write(swap.new)
            undo.append(functools.partial(_put_back, read, write, swap))


def _put_back(read: Callable[[], Any], write: Callable[[Any], Any], swap: Swap) -> None:
    """The old object again, unless the audited code has put something else there."""
    if read() is swap.new:
        write(swap.old)


def _places(holder: Any, swap_of: Callable[[Any], Swap | None]) -> Iterator[Place]:
    if isinstance(holder, dict):
        keys = [key for key, value in list(holder.items()) if swap_of(value) is not None]
        yield from _places_of_dict(holder, keys) if keys else ()
    elif isinstance(holder, (list, deque)):
        for i in range(len(holder)):
            yield functools.partial(_item, holder, i), functools.partial(holder.__setitem__, i)
    elif isinstance(holder, CellType):
        yield from _attributes(holder, ["cell_contents"])
    elif isinstance(holder, FunctionType):
        yield from _attributes(holder, ["__defaults__"])
    elif isinstance(holder, functools.partial):
        for i in range(2):
            yield functools.partial(_part, holder, i), functools.partial(_set_part, holder, i)
    elif not isinstance(holder, (type, tuple)):
        yield from _attributes(holder, [*getattr(holder, "__dict__", ()), *_slots(type(holder))])


def _item(holder: Any, i: int) -> Any:
    return holder[i] if i < len(holder) else None


def _places_of_dict(holder: dict[Any, Any], keys: list[Any]) -> Iterator[Place]:
    owner = None
    if "__module__" in holder:
        # Writing into the dictionary of a class would go past its caches.
        owner = next((x for x in gc.get_referrers(holder) if isinstance(x, type)), None)
    for key in keys:
        write = (
            functools.partial(dict.__setitem__, holder, key)
            if owner is None
            else functools.partial(setattr, owner, key)
        )
        yield functools.partial(holder.get, key), write


def _slots(kind: type) -> Iterator[str]:
    for each in kind.__mro__:
        names = vars(each).get("__slots__", ())
        yield from [names] if isinstance(names, str) else names


def _attributes(holder: Any, names: Iterable[str]) -> Iterator[Place]:
    for name in names:
        try:
            getattr(holder, name)
        except (AttributeError, ValueError):
            continue
        yield functools.partial(getattr, holder, name, None), functools.partial(object.__setattr__, holder, name)


def _part(holder: Any, i: int) -> Any:
    return holder.__reduce__()[2][i]


def _set_part(holder: Any, i: int, value: Any) -> None:
    state = list(holder.__reduce__()[2])
    state[i] = value
    holder.__setstate__(tuple(state))
