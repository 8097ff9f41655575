"""Whether a region has points: some of its points, or a proof that there are none. Where neither is found, not known.

For linear facts both always succeed; for others they are attempts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.theorems.linear import Row, interior, maximum
from rheo_proof.theorems.polynomials import Poly, degree, number, partly, unknowns, value
from rheo_proof.theorems.regions import Point, Region, rows, sign_of

TRIES = 40


def bent(region: Region) -> bool:
    """Whether a fact is not linear: then linear programs alone do not show which parts are empty."""
    return any(degree(fact) > 1 for fact in region.facts)


def shown_empty(region: Region) -> bool:
    """Whether linear programming proves the region empty with facts that are not linear taken into account.

    Every product of powers of unknowns is an unknown of the program. Products of two linear facts are added; if
    that is not enough, those of a linear and another fact, too.
    """
    facts = [(fact * max(signs, key=abs), 0 not in signs) for fact, signs in region.facts.items() if signs != {0}]
    occurring = sorted({i for fact, _ in facts for i in unknowns(fact)})
    flat = [fact for fact, _ in facts if degree(fact) == 1] + [region.space.unknown(i) for i in occurring]
    bent = [fact for fact, _ in facts if degree(fact) > 1]
    pairs = [a * b for k, a in enumerate(flat) for b in flat[k:]]
    return any(contradictory(facts, more) for more in (pairs, [*pairs, *(a * b for a in flat for b in bent)]))


def points(region: Region, seed: int = 0) -> Iterator[Point]:
    """Rational points of the region, found by linear programming block by block; each is checked."""
    rng = random.Random(seed)
    for _ in range(TRIES):
        point = _attempt(region, rng)
        if point is not None and region.contains(point):
            yield point


def _attempt(region: Region, rng: random.Random) -> Point | None:
    chosen: Point = {}
    for block in region.space.blocks:
        free = [i for i in block if i not in region.solved]
        facts = [(partly(fact, chosen), signs) for fact, signs in region.facts.items()]
        if any(fact.is_ground and sign_of(value(fact, {})) not in signs for fact, signs in facts):
            return None
        usable = {fact: signs for fact, signs in facts if degree(fact) == 1}
        order = sorted({i for fact in usable for i in unknowns(fact)} | set(free))
        strict, weak = rows(usable, order)
        inside = interior(strict, weak, len(order))
        if inside is None:
            return None
        aim = [ZERO + rng.randint(-3, 3) for _ in order]
        corner = maximum([*strict, *weak], aim)
        share = Q(rng.randint(1, 4), 4)
        at = dict(zip(order, inside, strict=True))
        if corner is not None and share < ONE:
            at = {i: share * at[i] + (ONE - share) * y for i, y in zip(order, corner[1], strict=True)}
        chosen.update((i, at[i]) for i in free)
    for i, (above, below) in region.solved.items():
        bottom = value(below, chosen)
        if not bottom:
            return None
        chosen[i] = value(above, chosen) / bottom
    return chosen


def contradictory(facts: Sequence[tuple[Poly, bool]], more: Sequence[Poly]) -> bool:
    """Whether no choice of values for all products of powers makes the facts positive (strict) or not negative.

    `more` are polynomials that are not negative where the facts hold.
    """
    terms = sorted({e for poly in (*more, *(fact for fact, _ in facts)) for e in poly if any(e)})
    place = {exponents: k for k, exponents in enumerate(terms)}
    strict = [form(poly, place) for poly, is_strict in facts if is_strict]
    weak = [form(poly, place) for poly in (*more, *(fact for fact, is_strict in facts if not is_strict))]
    return interior(strict, weak, len(terms)) is None


def form(poly: Poly, place: Mapping[tuple[int, ...], int]) -> Row:
    """A polynomial as a linear form in its products of powers."""
    a, b = [ZERO] * len(place), ZERO
    for exponents, coefficient in poly.items():
        if any(exponents):
            a[place[exponents]] = number(coefficient)
        else:
            b = number(coefficient)
    return Row(tuple(a), b)
