"""A counterexample as a script: the rows as literals, and the same audit of that one case.

The script exits with status 1 as long as the finding stands and with 0 once it is gone, so it can be kept as a test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from pprint import pformat
from typing import Any

from rheo_proof import __version__
from rheo_proof.audit.cases import Case
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.naming import name_of
from rheo_proof.audit.verdict import Verdict

SCRIPT = '''\
"""{kind}: {function}, adapter {adapter}. Written by rheo-prove audit (rheo-proof {version}).

{summary}

Run it where the function can be loaded: python THIS_FILE. It runs the function, unchanged, once for every branch of its
random numbers on the rows below, and prints the law of what it emits beside the target's. Exit status 1: still so; 2:
it cannot be run here.
"""

from rheo_proof.audit import audit
from rheo_proof.audit.cases import Table
from rheo_proof.audit.naming import load
from rheo_proof.audit.saving import rows_from
from rheo_proof.report.audit import repeat

# One table for each request of the call; after each prefix: (target row p, draft row q).
ROWS = {rows}

TABLE = Table(
{table}
    rows=rows_from(ROWS),
)


def again():
    """The same audit, of these rows alone."""
    options = {options}
    return audit(load({source!r}), {adapter!r}, tables=[TABLE], dtypes=[{dtype!r}], **options)


if __name__ == "__main__":
    raise SystemExit(repeat(again))
'''


def case_of(verdict: Verdict) -> Case | None:
    """The case that shows what is wrong: of the counterexample, or of the first finding; None if nothing was found."""
    if verdict.worst is not None:
        return verdict.worst.case
    wanted = next((f.case for f in verdict.findings if f.case and not f.remark), None)
    return next((case for case in verdict.cases if case.name == wanted), None)


def script(verdict: Verdict, source: str = "", sources: Mapping[str, str] | None = None) -> str:
    """The script. `source` is where the function is loaded from, if not by its name; `sources` says it of options.

    Raises `AuditError` if nothing was found, or if the function has no name that it can be loaded by.
    """
    case = case_of(verdict)
    if case is None:
        raise AuditError("there is no counterexample to save")
    source = source or loadable(verdict.function)
    table = case.table
    loaded = {name: f"load({where!r})" for name, where in (sources or {}).items()}
    written_out = {name: loaded.get(name) or literal(value) for name, value in verdict.options.items()}
    options = ",\n".join(f'        "{name}": {text}' for name, text in written_out.items())
    return SCRIPT.format(
        kind=verdict.kind,
        function=verdict.function,
        adapter=verdict.adapter,
        version=__version__,
        summary=summary(verdict),
        rows=pformat([written(request) for request in table.rows], width=118, sort_dicts=False),
        table="\n".join(f"    {x.name}={getattr(table, x.name)!r}," for x in fields(table) if x.name != "rows"),
        options=f"{{\n{options},\n    }}" if options else "{}",
        source=source,
        dtype=case.dtype,
    )


def summary(verdict: Verdict) -> str:
    """The finding in one sentence."""
    worst = verdict.worst
    if worst is not None and worst.wrong is not None:
        wrong = worst.wrong
        tokens = ",".join(map(str, wrong.string))
        return (
            f"Output that starts with {tokens}: expected {wrong.expected}, actual {wrong.actual}; TV {worst.distance}."
        )
    return next((f"{f.topic}: {f.text}." for f in verdict.findings if not f.remark), "")


def written(rows: Mapping[Any, Any]) -> dict[Any, Any]:
    """Rows of one request, numbers as fractions in strings."""
    return {prefix: tuple([text(x) for x in row] for row in pair) for prefix, pair in rows.items()}


def rows_from(requests: Sequence[Mapping[Any, Any]]) -> tuple[dict[Any, Any], ...]:
    """The rows that `written` wrote."""
    return tuple(
        {prefix: tuple(tuple(number(x) for x in row) for row in pair) for prefix, pair in rows.items()}
        for rows in requests
    )


def number(written: str) -> Fraction | float:
    """A number of a row from its text."""
    return math.nan if written == "nan" else Fraction(written)


def text(value: Any) -> str:
    """A number of a row."""
    return "nan" if isinstance(value, float) and math.isnan(value) else str(value)


def literal(value: Any) -> str:
    """An option as Python source; a function as what loads it."""
    return f"load({loadable(name_of(value))!r})" if callable(value) else repr(value)


def loadable(name: str) -> str:
    """A name that a function can be loaded by."""
    if "<" in name or name.startswith("__main__:"):
        raise AuditError(f"{name} cannot be loaded from a script; put it into a module of its own")
    return name
