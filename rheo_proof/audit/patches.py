"""The random sources of Python and NumPy, taken away for the time of an audit.

`Patches` is installed once, for as many runs as are wanted; `Patches.run` is what each run costs. After the end,
everything is as before. A generator that moves although no audited draw asked for it is noticed at the end of the run.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePath
from random import Random
from types import FunctionType, TracebackType
from typing import Any

from rheo_proof.audit import python_float, python_math, python_random, python_system
from rheo_proof.audit.draws import Draws
from rheo_proof.audit.errors import FAILURES, AuditError
from rheo_proof.audit.replacing import Swap, replace
from rheo_proof.audit.sites import is_foreign
from rheo_proof.audit.streams import Streams, active, streams_of


def _numpy_layer() -> Any:
    """`numpy_patches`, or None where NumPy is not installed."""
    return import_module("rheo_proof.audit.numpy_patches") if find_spec("numpy") is not None else None


_numpy = _numpy_layer()
_installed: Patches | None = None


class Patches:
    """Context manager: while it is open, runs can be made. One at a time.

    Generators, `math`, `float(...)` and the rest are replaced where they are found at its beginning; `float(...)` in
    code of the packages of these functions, and in what no package manager has installed.
    """

    def __init__(self, *functions: Any) -> None:
        self._packages = {package_of(function) for function in functions}
        self._stack = ExitStack()
        self._instances: list[tuple[Any, Any]] = []

    def __enter__(self) -> Patches:
        global _installed
        if _installed is not None:
            raise AuditError("an audit is in progress already")
        living = _living()
        self._instances = python_random.states(living[Random])
        with ExitStack() as stack:
            stack.callback(python_random.patch_classes())
            swaps = [Swap(each, each) for each in living[Random]]
            functions = {**python_math.wrapped(), **python_system.operating_system()}
            swaps += [Swap(old, new, in_globals=True) for old, new in functions.items()]
            if _numpy is not None:
                stack.callback(_numpy.patch_cells())
                swaps += _numpy.swaps(living[object])
            stack.callback(replace(swaps, _own_modules()))
            audited = [f for f in living[FunctionType] if is_audited(f.__code__.co_filename, self._packages)]
            stack.callback(python_float.patch_calls(audited))
            self._stack = stack.pop_all()
        _installed = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _installed
        _installed = None
        self._stack.close()

    @contextmanager
    def run(self, run: Draws) -> Iterator[None]:
        """One run: inside, every source belongs to it. Refuses, at the end, a generator that moved by itself."""
        if _numpy is not None:
            _numpy.twins().rewind()
        # Between runs the process may draw what it likes.
        self._instances = python_random.states([instance for instance, _ in self._instances])
        with streams_of(run) as streams:
            try:
                yield
            except FAILURES:
                self._check(streams)
                raise
            self._check(streams)

    def _check(self, streams: Streams) -> None:
        python_random.check([*self._instances, *streams.instances])
        if _numpy is not None:
            _numpy.twins().check()

    def substituted(self, argument: Any) -> Any:
        """An argument of the audited function with stand-ins for the generators in it."""
        if type(argument) in (list, tuple):
            return type(argument)(map(self.substituted, argument))
        if type(argument) is dict:
            return {key: self.substituted(value) for key, value in argument.items()}
        return argument if _numpy is None else _numpy.standing_in(argument)


@contextmanager
def installed(*functions: Any) -> Iterator[Patches]:
    """Patches for many runs of these functions, which stay if they are there already."""
    with ExitStack() as stack:
        yield _installed or stack.enter_context(Patches(*functions))


@contextmanager
def patched(
    run: Draws, function: Callable[..., Any] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """One run of a function, with patches that are installed for it unless they are there already.

    Gives the arguments to call it with. Entered again in the same run, for another function, it changes nothing.

    >>> import random
    >>> from rheo_proof.audit.exploring import explore
    >>> def program(run):
    ...     with patched(run):
    ...         return bool(random.random() < 0.25)
    >>> {outcome: str(mass) for outcome, mass in explore(program).law.items()}
    {True: '1/4', False: '3/4'}
    """
    with installed(function) as patches, ExitStack() as stack:
        streams = active()
        if streams is None or streams.run is not run:
            stack.enter_context(patches.run(run))
        yield patches.substituted(arguments)


def _living() -> dict[type, list[Any]]:
    """The objects of the process that matter: instances of `Random`, NumPy's generators, functions."""
    everything = gc.get_objects()
    kinds = set(map(type, everything))
    numpys = {kind for kind in kinds if _numpy is not None and issubclass(kind, _numpy.REAL)}
    randoms = {kind for kind in kinds if issubclass(kind, python_random.CORE)}
    wanted = numpys | randoms | {FunctionType}
    found: dict[type, list[Any]] = {Random: [], object: [], FunctionType: []}
    for x in [x for x in everything if type(x) in wanted]:
        kind = type(x)
        found[kind if kind is FunctionType else Random if kind in randoms else object].append(x)
    return found


def package_of(function: Any) -> str:
    """The name of the package that a function, or an object that is called, comes from; empty if there is none."""
    return str(getattr(function, "__module__", None) or "").partition(".")[0]


@cache
def _installed_package(file: str) -> str | None:
    """The package of a file that a package manager has installed; None for other files."""
    parts = PurePath(file).parts
    for folder in ("site-packages", "dist-packages"):
        if folder in parts:
            return parts[parts.index(folder) + 1].removesuffix(".py")
    return None


def is_audited(file: str, packages: set[str]) -> bool:
    """Whether calls of `float` in this file are rewritten."""
    if file.startswith("<"):
        # Typed in, or a doctest.
        return not file.startswith("<frozen")
    if not is_foreign(file):
        return False
    package = _installed_package(file)
    return package is None or package in packages


def _own_modules() -> list[dict[str, Any]]:
    """The globals of the files that need the real objects."""
    return [
        vars(module)
        for name, module in list(sys.modules.items())
        if name.startswith("rheo_proof.audit.") and name.count(".") == 2
    ]
