"""Small models on which the faults show, chosen by exact distance: what each fault needs to be refuted by sampling.

A sampler of decoding steps emits the string S, from which the accepted length follows (len(S) - 1). So the cells of a
check are the strings, its law is the step law of the correct scheme, and the distance that matters is that of the
faulty scheme's step law. It may be larger than the distance of the completed output, which can even be 0: a fault may
be harmless on a model and still visible in its steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import family_model
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import Q
from rheo_proof.exact.step import StepLaw
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, Scheme, plain
from rheo_proof.stats.certificate import PowerCertificate, certify
from rheo_proof.stats.plan import ALPHA, BETA, plan_draws

Strings = dict[Prefix, Fraction]
"""A step law: emitted string -> probability."""


@dataclass(frozen=True)
class Fixture:
    """A toy model of a family with parameters, and the faults that it is meant to show.

    >>> FIXTURES["chains"].eps
    Fraction(7, 75)
    """

    name: str
    family: str
    seed: int
    vocab: int
    parameters: Parameters
    faults: tuple[str, ...]

    def model(self) -> ToyModel:
        """The model itself."""
        return family_model(self.family, self.seed, self.vocab, self.parameters.depth)

    def faulty(self, fault: str) -> Scheme:
        """The scheme with the fault. Raises `InputError` for an unknown one."""
        if fault not in FAULTS:
            raise InputError(f"unknown fault {fault!r}; known are {', '.join(FAULTS)}")
        return FAULTS[fault].build(FAULTS[fault].fix(self.parameters))

    def correct(self, fault: str) -> Parameters:
        """The parameters of the scheme that the fault pretends to be: same rule, the fixture's own proxy."""
        return replace(FAULTS[fault].fix(self.parameters), variant=None, proxy=self.parameters.proxy)

    def laws(self, fault: str) -> tuple[Strings, Strings]:
        """The exact step laws of the faulty and of the correct scheme."""
        return _strings(self, self.faulty(fault)), _strings(self, plain(self.correct(fault)))

    def completed_tv(self, fault: str) -> Fraction:
        """The distance of the completed output from the target, as `rheo-prove --fault` prints it."""
        return _step_law(self, self.faulty(fault)).total_variation(self.model())

    @property
    def eps(self) -> Fraction:
        """The smallest distance among its faults: what a check on this fixture has to see."""
        return min(certify(*self.laws(fault), draws=1).tv for fault in self.faults)

    def draws(self, fault: str, alpha: Any = ALPHA, beta: Any = BETA) -> int:
        """The cap of a sequential check planned for `eps` and the step law of the correct scheme."""
        return plan_draws(self.laws(fault)[1], self.eps, alpha, beta).cap

    def certificate(self, fault: str, draws: int, alpha: Any = ALPHA, beta: Any = BETA) -> PowerCertificate:
        """What so many draws of a sequential check prove about the fault."""
        return certify(*self.laws(fault), draws, alpha, beta)


@lru_cache(maxsize=256)
def _step_law(fixture: Fixture, scheme: Scheme) -> StepLaw:
    return law_by_classes(scheme, fixture.model())


def _strings(fixture: Fixture, scheme: Scheme) -> Strings:
    return dict(_step_law(fixture, scheme).strings(fixture.vocab))


FIXTURES: dict[str, Fixture] = {
    fixture.name: fixture
    for fixture in (
        Fixture(
            "broad",
            "random",
            1,
            3,
            Parameters(slots=3, head=1, depth=2, nodes=6),
            (
                "own-probability",
                "tail-probability",
                "low-proxy",
                "verify-full-q",
                "draw-full-q",
                "drop-unlikely",
                "skip-residual",
                "residual-of-q",
                "shared-coin",
                "stale-bonus",
                "second-token",
                "resort-siblings",
                "ratio-on-top-k",
            ),
        ),
        Fixture(
            "spikes",
            "peaked",
            0,
            4,
            Parameters(slots=3, head=1, depth=2, nodes=4),
            ("tie-by-token", "rrsw-tail-proxy"),
        ),
        Fixture(
            "fills",
            "random",
            37,
            3,
            Parameters(slots=2, head=1, depth=2, beam=1, nodes=6, proxy="tail", fill_scale=Q(1, 2)),
            ("flow-depth-first", "bonus-from-draft"),
        ),
        Fixture("chains", "peaked", 7, 2, Parameters(slots=2, head=0, depth=3, nodes=8), ("flow-layers",)),
    )
}
"""Fixtures by name; together they show every fault."""


@dataclass(frozen=True)
class Need:
    """What one fault needs on its fixture: the certificate holds the exact distance and the fewest draws."""

    fault: str
    fixture: Fixture
    rule: str
    certificate: PowerCertificate


def needs(alpha: Any = ALPHA, beta: Any = BETA) -> list[Need]:
    """One line for each fault, in the order of the registry, on the first fixture that is meant to show it."""
    found = []
    for fault in FAULTS:
        fixture = next(fixture for fixture in FIXTURES.values() if fault in fixture.faults)
        certificate = fixture.certificate(fault, fixture.draws(fault, alpha, beta), alpha, beta)
        found.append(Need(fault, fixture, fixture.correct(fault).verify, certificate))
    return found
