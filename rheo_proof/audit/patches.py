"""The random sources of Python and NumPy, taken away for the time of an audit.

`Patches` is installed once, for as many runs as are wanted; `Patches.run` is what each run costs. After the end,
everything is as before. A generator that moves although no audited draw asked for it is noticed at the end of the run.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from random import Random
from types import FunctionType, TracebackType
from typing import Any

from rheo_proof.audit import python_float, python_math, python_random
from rheo_proof.audit.draws import Draws
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.replacing import Swap, replace
from rheo_proof.audit.sites import is_foreign
from rheo_proof.audit.streams import active, streams_of


def _numpy_layer() -> Any:
    """`numpy_patches`, or None where NumPy is not installed."""
    return import_module("rheo_proof.audit.numpy_patches") if find_spec("numpy") is not None else None


_numpy = _numpy_layer()
_installed: Patches | None = None


class Patches:
    """Context manager: while it is open, runs can be made. One at a time.

    Generators, `math`, `float(...)` and the rest are replaced where they are found at its beginning.
    """

    def __init__(self) -> None:
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
            functions = {**python_math.wrapped(), **python_random.operating_system()}
            swaps += [Swap(old, new, in_globals=True) for old, new in functions.items()]
            if _numpy is not None:
                stack.callback(_numpy.patch_cells())
                swaps += _numpy.swaps(living[object])
            stack.callback(replace(swaps, _own_modules()))
            stack.callback(python_float.patch_calls(living[FunctionType]))
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
        with streams_of(run):
            try:
                yield
            except Exception:
                self._check()
                raise
            self._check()

    def _check(self) -> None:
        python_random.check(self._instances)
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
def installed() -> Iterator[Patches]:
    """Patches for many runs, which stay if they are there already."""
    with ExitStack() as stack:
        yield _installed or stack.enter_context(Patches())


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
    with installed() as patches, ExitStack() as stack:
        streams = active()
        if streams is None or streams.run is not run:
            stack.enter_context(patches.run(run))
        yield patches.substituted(arguments)


def _living() -> dict[type, list[Any]]:
    """The objects of the process that matter: instances of `Random`, NumPy's generators, functions of audited code."""
    everything = gc.get_objects()
    kinds = set(map(type, everything))
    numpys = {kind for kind in kinds if _numpy is not None and issubclass(kind, _numpy.REAL)}
    randoms = {kind for kind in kinds if issubclass(kind, Random)}
    wanted = numpys | randoms | {FunctionType}
    found: dict[type, list[Any]] = {Random: [], object: [], FunctionType: []}
    for x in everything:
        kind = type(x)
        if kind in wanted:
            if kind is not FunctionType:
                found[Random if kind in randoms else object].append(x)
            elif is_foreign(x.__code__.co_filename):
                found[FunctionType].append(x)
    return found


def _own_modules() -> list[dict[str, Any]]:
    """The globals of the files that need the real objects."""
    return [
        vars(module)
        for name, module in list(sys.modules.items())
        if name.startswith("rheo_proof.audit.") and name.count(".") == 2
    ]
