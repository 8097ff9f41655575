"""A stand-in for the judge: the law of what an adapter reads, its distance from the target, and acceptance."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import pytest

from rheo_proof.audit.adapters import Verify, find
from rheo_proof.audit.cases import Case
from rheo_proof.audit.exploring import explore
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.session import installation
from rheo_proof.audit.tables import table
from rheo_proof.exact.number import ZERO
from rheo_proof.exact.step import StepLaw


@pytest.fixture(scope="module", autouse=True)
def installed():
    """Installing the patches takes longer than a run: once for a file."""
    with installation():
        yield


@dataclass
class Answer:
    """What one exploration says."""

    law: dict
    accepted: Fraction
    distance: Fraction | None
    failures: dict = field(default_factory=dict)
    changed: set = field(default_factory=set)
    runs: int = 0


def audited(function, adapter, case, request):
    adapter.check(function)
    found = explore(adapter.program(function, case, request))
    law, failures, changed, accepted = {}, {}, set(), ZERO
    for outcome, mass in found.law.items():
        if isinstance(outcome, Outcome) and not outcome.fault:
            law[outcome.tokens] = law.get(outcome.tokens, ZERO) + mass
            accepted += mass * outcome.accepted
        else:
            text = outcome.fault if isinstance(outcome, Outcome) else outcome.kind
            failures[text] = failures.get(text, ZERO) + mass
        if isinstance(outcome, Outcome):
            changed |= set(outcome.changed)
    distance = None
    if not failures:
        distance = StepLaw.of_strings(law).total_variation(adapter.target(case, request))
    return Answer(law, accepted, distance, failures, changed, found.runs)


def every(function, adapter, cases=None):
    """All answers, by case and request; cases whose rows are nan or leave a residual empty are left out."""
    return {
        (case, request): audited(function, adapter, case, request)
        for case in (cases or adapter.cases())
        if not case.tags & {"nan", "short"}
        for request in adapter.requests(case)
    }


TENTHS = Case(table("tenths"), "float64")
DYADIC = Case(table("dyadic"), "float64")
TINY = 1e-12


def plain(name="chain", **options):
    return find(name, arrays="list", **options)


def told(case, roles, returns=(0,), **options):
    """The arguments that a function with these roles gets, one call for each run."""
    calls = []

    def spy(**arguments):
        calls.append(arguments)
        return list(returns)

    adapter = Verify(arrays="list", roles=roles, **options)
    explore(adapter.program(spy, case, adapter.requests(case)[0]))
    return calls
