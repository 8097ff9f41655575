"""Where in the audited code something happens: the innermost frame that belongs to nobody else."""

from __future__ import annotations

import os
import sys
import sysconfig
from types import CodeType
from typing import NamedTuple


class Site(NamedTuple):
    """A line of the audited code."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


NOWHERE = Site("?", 0, "?")

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD = tuple(
    os.path.abspath(path) + os.sep
    for name in ("stdlib", "platstdlib")
    if (path := sysconfig.get_paths().get(name)) is not None
)
_SITE_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_LIBRARIES = tuple(f"{base}{name}{os.sep}" for base in _SITE_PACKAGES for name in ("torch", "numpy"))

_known: dict[str, bool] = {}
_outside: set[CodeType] = set()


def starts_here(code: CodeType) -> None:
    """Say that the audited code runs inside of this function; frames beyond are not looked at."""
    _outside.add(code)


def is_foreign(file: str) -> bool:
    """Whether a source file is audited code: not ours, not the standard library's, not torch's or NumPy's.

    >>> is_foreign(os.__file__), is_foreign(__file__), is_foreign("verify.py")
    (False, False, True)
    """
    answer = _known.get(file)
    if answer is None:
        answer = _known[file] = not (
            (file.startswith("<") and not file.startswith("<ipython"))
            or file.startswith(_OURS)
            or any(part in file for part in _LIBRARIES)
            or (file.startswith(_STANDARD) and not any(part in file for part in _SITE_PACKAGES))
        )
    return answer


def user_site() -> Site:
    """The line of audited code that is being run; `NOWHERE` if none is. Who asked for the audit is not looked at."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code in _outside:
            break
        if is_foreign(code.co_filename):
            return Site(code.co_filename, frame.f_lineno, code.co_name)
        following = frame.f_back
        if following is None:
            break
        frame = following
    return NOWHERE
