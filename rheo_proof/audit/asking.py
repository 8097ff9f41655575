"""What an audit is asked for beside the options of its adapter, read before anything is run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from rheo_proof.audit.adapters.options import DRAFTER, SWITCH, Kind, only, shown, whole, word
from rheo_proof.audit.cases import DTYPES, Case, Table
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.verdict import MODES


def _seconds(value: Any) -> float | None:
    if value is not None and not 0 <= only(value, int, float) < math.inf:
        raise ValueError
    return value  # type: ignore[no-any-return]


def _several(value: Any, *types: type) -> tuple[Any, ...]:
    if isinstance(value, str | Table):
        raise TypeError
    return tuple(only(each, *types) for each in value)


def _dtypes(value: Any) -> tuple[str, ...]:
    found = _several(value, str)
    for dtype in found:
        if dtype not in DTYPES:
            raise AuditError(f"dtype {dtype!r}: expected {' or '.join(DTYPES)}")
    if not found:
        raise ValueError
    return found


def _tables(value: Any) -> tuple[str | Table, ...] | None:
    return None if value is None else _several(value, str, Table)


def perhaps(kind: Kind) -> Kind:
    """The same, or None."""
    return Kind(f"{kind.expected}, or None", lambda value: None if value is None else kind.read(value))


MOST = 10**9
KINDS: dict[str, Kind] = {
    "dtypes": Kind(f"a list of types, such as ['{DTYPES[0]}']", _dtypes),
    "tables": Kind("a list of names or tables, such as ['dyadic'], or None for all", _tables),
    "declared": perhaps(Kind("a few words", lambda value: only(value, str))),
    "max_runs": whole(1, MOST),
    "timeout": Kind("a number of seconds, or None", _seconds),
    "allow_in_place": SWITCH,
    "allow_nan": SWITCH,
    "calls": perhaps(whole(0, MOST)),
    "told": perhaps(DRAFTER),
    "mode": word(*MODES),
}
"""What `audit` takes; `tolerance` and `eps` are read where they are used."""


def read(**given: Any) -> dict[str, Any]:
    """The arguments of `audit`, read by their kinds. Raises `AuditError` for one of another kind.

    >>> read(tables=["dyadic"], calls=0)
    {'tables': ('dyadic',), 'calls': 0}
    """
    found = {}
    for name, value in given.items():
        try:
            found[name] = KINDS[name].read(value)
        except (TypeError, ValueError, KeyError) as error:
            if isinstance(error, AuditError):
                raise
            raise AuditError(f"{name} is {shown(value)}, expected {KINDS[name].expected}") from None
    return found


def all_fit(tables: Iterable[str | Table] | None, cases: Iterable[Case], named: str) -> None:
    """Raise `AuditError` if a table that was asked for by name has no case: it would be left out without a word."""
    from rheo_proof.audit.tables import table

    there = {case.table.name for case in cases}
    for asked in tables or ():
        found = table(asked)
        if found.name not in there:
            raise AuditError(f"table {found.name!r} does not fit adapter {named}: {why(found)}; leave it out")


def why(table: Table) -> str:
    """What a table has that an adapter may not be able to hand over."""
    if len(table.rows) > 1:
        return f"it is {len(table.rows)} requests in one call, which goes with batched=True"
    if table.eos is not None:
        return "it has an end of sequence, which goes with a parameter of role eos or done"
    if "nan" in table.tags:
        return "its rows of nan go with drafts that are drawn independently"
    return f"it has V = {table.vocab} tokens and K = {table.length}, of types {', '.join(table.dtypes)}"
