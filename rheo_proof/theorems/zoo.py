"""Where named schemes are looked up: those of the registry, and those whose plan is a maximal flow.

A scheme may not know how an optimal transport plan is computed; `transport.py` does. Here the two come together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rheo_proof.exact.errors import InputError
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.registry import ALL, CONTROLS, KNOWN, settled, united
from rheo_proof.schemes.scheme import Named
from rheo_proof.schemes.zoo_weighted import planned
from rheo_proof.theorems.transport import optimal_plan

PLANNED = united(
    settled(replace(named, line=f"{named.line}, plan from a maximal flow"))
    for named in planned(optimal_plan, "-flow")
    if named.name.startswith("ot-")
)
"""Optimal transport by a plan from a maximal flow in integers; needs networkx.

Optimal plans are not unique: below the first level such a scheme may accept more or less than the one without `-flow`.
"""

SCHEMES_KNOWN: Mapping[str, Named] = united(KNOWN.values(), PLANNED.values())
"""What `--scheme` takes."""

FAULTS_KNOWN: Mapping[str, Named] = united(FAULTS.values(), CONTROLS.values())
"""What `--fault` takes: faults of RheoSampling, then of the schemes of the zoo."""

EVERY: Mapping[str, Named] = united(ALL.values(), PLANNED.values())
"""Everything that has a name."""


def scheme_named(name: str) -> Named:
    """The scheme or variation of that name. Raises `InputError` that lists the known ones.

    >>> scheme_named("ot-iid-flow").lossless, scheme_named("relaxed").expected
    (True, 'lossy by design')
    """
    return look_up(name, SCHEMES_KNOWN, "scheme")


def fault_named(name: str) -> Named:
    """The fault of that name. Raises `InputError` that lists the known ones."""
    return look_up(name, FAULTS_KNOWN, "fault")


def look_up(name: str, known: Mapping[str, Named], what: str) -> Named:
    """The one of that name. Raises `InputError` that lists the known ones."""
    if name not in known:
        raise InputError(f"unknown {what} {name!r}; known are {', '.join(known)}")
    return known[name]
