"""Import one module of a package without the rest of it.

Some packages cannot be imported where their accelerator is missing, though the module that verifies is plain PyTorch.
`load` runs that module from its own file, unchanged; the packages above it are empty shells, and the modules named as
stand-ins answer for what it imports and does not use here.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any


class _StandIn(ModuleType):
    """A module in which every name exists: those given, and empty classes."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def load(module: str, stand_ins: Mapping[str, Mapping[str, Any]]) -> ModuleType:
    """The module, executed from its file. Raises ModuleNotFoundError where its package is not installed."""
    parents = _shells(module)
    names = {name for stand_in in stand_ins for name in _prefixes(stand_in)} - set(parents)
    fakes = {name: _StandIn(name) for name in names}
    for name, attributes in stand_ins.items():
        vars(fakes[name]).update(attributes)
    for name, fake in fakes.items():
        above, _, last = name.rpartition(".")
        if above:
            setattr((fakes | parents)[above], last, fake)
    tops = {name.partition(".")[0] for name in (*parents, *fakes)}
    before = {name: held for name, held in sys.modules.items() if name.partition(".")[0] in tops}
    for name in before:
        del sys.modules[name]
    sys.modules.update(parents)
    sys.modules.update(fakes)
    try:
        return importlib.import_module(module)
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
            del sys.modules[name]
        sys.modules.update(before)


def _prefixes(module: str) -> list[str]:
    """`a.b.c` -> `a`, `a.b`, `a.b.c`."""
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _shells(module: str) -> dict[str, ModuleType]:
    """Empty packages for everything above the module, which only know where their files are."""
    *above, _ = _prefixes(module)
    top = importlib.util.find_spec(above[0])
    if top is None or not top.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {above[0]!r}")
    shells: dict[str, ModuleType] = {}
    for name in above:
        shell = ModuleType(name)
        tail = name.split(".")[1:]
        shell.__path__ = ["/".join([place, *tail]) for place in top.submodule_search_locations]
        shells[name] = shell
    return shells
