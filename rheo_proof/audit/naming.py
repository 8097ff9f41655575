"""How an audited function is called in reports, and how it is found again from its name."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from rheo_proof.audit.errors import AuditError


def name_of(function: Any) -> str:
    """`module:function`, or a description of what has no name.

    >>> name_of(name_of)
    'rheo_proof.audit.naming:name_of'
    """
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", None) or type(function).__module__
    return f"{module}:{name}"


def load(written: str, option: str = "the function") -> Callable[..., Any]:
    """The function that `package.module:function` or `folder/file.py:function` names; also `module:Class.method`.

    Raises `AuditError` with one line that says what was not found.

    >>> load("math:sqrt")(4)
    2.0
    """
    where, colon, path = written.rpartition(":")
    if not colon or not where or not path:
        raise AuditError(f"{option} is {written!r}, expected package.module:function or file.py:function")
    module = load_file(where) if where.endswith(".py") else load_module(where)
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise AuditError(f"{where} has no {path!r}{close_to(path, found)}")
        found = getattr(found, part)
    if isinstance(found, type):
        raise AuditError(f"{written} is a class; name a function, or a method that needs no instance")
    if not callable(found):
        raise AuditError(f"{written} is of type {type(found).__name__}, and cannot be called; name a function")
    return found  # type: ignore[no-any-return]


def close_to(name: str, holder: Any) -> str:
    """The functions that are there instead, if there are few."""
    there = [each for each in vars(holder) if callable(getattr(holder, each)) and not each.startswith("_")]
    return f"; it has {', '.join(sorted(there))}" if isinstance(holder, ModuleType) and 0 < len(there) <= 8 else ""


def load_module(name: str) -> ModuleType:
    """Import a module; the folder that the program was started in is looked at, too."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise AuditError(f"there is no module {name!r} on the path or in this folder") from None
        raise AuditError(f"{name} cannot be imported: there is no module {missing!r}") from None
    except (Exception, SystemExit) as error:
        raise AuditError(f"{name} cannot be imported: {type(error).__name__}: {error}") from None


def load_file(path: str) -> ModuleType:
    """Run a file as a module, with its folder on the path."""
    file = Path(path)
    if not file.is_file():
        raise AuditError(f"there is no file {path!r}")
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    known = sys.modules.get(file.stem)
    again = known is not None and getattr(known, "__file__", None) == str(file.resolve())
    name = file.stem if known is None or again else f"audited_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise AuditError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise AuditError(f"{path} cannot be run: {type(error).__name__}: {error}") from None
    return module
