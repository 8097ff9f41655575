"""Power, proved: what a planned check does to one particular faulty law, by arithmetic alone.

The enumerators give the faulty law exactly, hence its exact distance from the right one. A check with n draws refutes
it with a probability of at least

    TV (F1):  1 - exp(-2 n (tv - t)^2),  t = S / (2 sqrt n) + sqrt(ln(1/alpha) / (2n))    where tv > t
    G  (F2):  1 - exp(-2 n (tv - t)^2),  t = sqrt(g / n) / 2                              where tv > t
    cells of probability 0 (F0):  1 - (1 - z)^n,  z the mass that the faulty law has on them

A certificate goes red when somebody lowers n, swaps the model for one on which the fault hardly shows, or asks for a
smaller alpha without paying for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, inf, log, log1p, nextafter, sqrt
from typing import Any

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.number import ZERO, rational, to_fraction
from rheo_proof.stats.cells import TINY, LawLike, level, read_law
from rheo_proof.stats.goodness import SLACK, spread
from rheo_proof.stats.plan import ALPHA, BETA, MARGIN, ROUNDING, g_reach, tv_reach

ROUNDED_UP = 1 + 1e-6
"""Bounds on a probability of missing are multiplied by this, for the rounding of the floats in their exponents."""


@dataclass(frozen=True)
class PowerCertificate:
    """What `draws` draws of a check at levels alpha and beta prove about one faulty law.

    `tv`: its exact distance from the right law; `impossible`: its exact mass on cells where the right law is 0;
    `cells`: k of the right law; `needed`: the fewest draws that prove power 1 - beta; `miss`: an upper bound on the
    probability that `draws` draws do not refute it. `level` is alpha for a single fixed test, and alpha/2 for the
    sequential check, of whose fixed part at the cap it speaks.
    """

    tv: Fraction
    impossible: Fraction
    cells: int
    draws: int
    alpha: float
    beta: float
    level: float
    needed: int
    miss: float

    @property
    def power(self) -> float:
        """A lower bound on the probability that the draws refute the faulty law."""
        return nextafter(1 - self.miss, 0)

    @property
    def holds(self) -> bool:
        """Whether the draws prove power 1 - beta."""
        return self.draws >= self.needed

    def enforce(self) -> PowerCertificate:
        """Return the certificate, or raise an `AssertionError` that says how many draws are missing."""
        if not self.holds:
            raise AssertionError(
                f"{self.draws:,} draws prove power {self.power:.6g} only against TV {self.tv} ({float(self.tv):.6f}) "
                f"on {self.cells} cells; {self.needed:,} draws would prove {1 - self.beta:g}"
            )
        return self


def certify(
    faulty: Mapping[Any, Any],
    law: Mapping[Any, Any],
    draws: int,
    alpha: Any = ALPHA,
    beta: Any = BETA,
    sequential: bool = True,
) -> PowerCertificate:
    """The certificate of a check of `law` against the exact law `faulty`; both are mappings cell -> rational.

    Raises `InputError` for unusable laws and numbers.

    >>> certificate = certify({0: "3/5", 1: "2/5"}, {0: "1/2", 1: "1/2"}, 4000)
    >>> certificate.tv, certificate.holds, certificate.needed
    (Fraction(1, 10), True, 2960)
    """
    right, wrong = read_law(law), read_law(faulty, "faulty law")
    cells = {*right.cells, *wrong.cells}
    apart = sum((abs(right.probability(cell) - wrong.probability(cell)) for cell in cells), ZERO)
    outside = sum((wrong.probability(cell) for cell in wrong.cells if cell not in right.index), ZERO)
    return certify_distance(
        to_fraction(apart / 2), right, draws, alpha, beta, sequential, impossible=to_fraction(outside)
    )


def certify_distance(
    tv: Any,
    law: LawLike | int,
    draws: int,
    alpha: Any = ALPHA,
    beta: Any = BETA,
    sequential: bool = True,
    impossible: Any = 0,
) -> PowerCertificate:
    """The certificate of a check of `law` (or any law on that many cells) against every law at distance `tv`.

    For a fault of which only the distance of the completed output is known, with the law of completed strings.
    """
    distance, mass = to_fraction(rational(tv, "tv")), to_fraction(rational(impossible, "impossible"))
    alpha, beta = level(alpha, "alpha"), level(beta, "beta")
    if draws < 1:
        raise InputError(f"draws: {draws!r} is not a positive number")
    if not 0 <= mass <= distance <= 1:
        raise InputError(f"tv {distance} and mass {mass} on impossible cells: expected 0 <= mass <= tv <= 1")
    if isinstance(law, int):
        cells, s = law, sqrt(law - 1) * (1 + SLACK)
    else:
        target = read_law(law)
        cells, s = target.size, spread(target)
    spent = alpha / 2 if sequential else alpha
    bounds = [_Bound(tv_reach(s, spent, beta), 0.0)]
    if cells > 1:
        bounds.append(_Bound(g_reach(cells, spent, beta), ROUNDING))
    # Rounded to the nearest float, which the margin of the planned numbers covers.
    d, z = float(distance), float(mass)
    needed = min([bound.draws(d) for bound in bounds] + [_zero_draws(z, beta)])
    if needed == inf:
        raise InputError("tv: 0; a law that is right cannot be refuted")
    miss = min([bound.miss(d, draws, beta) for bound in bounds] + [exp(draws * log1p(-z)) if z < 1 else 0.0])
    return PowerCertificate(distance, mass, cells, draws, alpha, beta, spent, int(needed), min(1.0, miss * ROUNDED_UP))


@dataclass(frozen=True)
class _Bound:
    """A bound of the form: power 1 - beta from n = (reach / (tv - rounding))^2 on; the threshold takes its part."""

    reach: float
    rounding: float

    def draws(self, tv: float) -> float:
        return ceil((self.reach * (1 + MARGIN) / (tv - self.rounding)) ** 2) if tv > self.rounding else inf

    def miss(self, tv: float, n: int, beta: float) -> float:
        threshold = self.reach * (1 + MARGIN) - sqrt(log(1 / beta) / 2)
        excess = (tv - self.rounding) * sqrt(n) - threshold
        return exp(-2 * excess**2) if excess > 0 else 1.0


def _zero_draws(z: float, beta: float) -> float:
    return inf if z < TINY else 1 if z >= 1 else ceil(log(beta) / log1p(-z) * (1 + MARGIN))
