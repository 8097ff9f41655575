"""A decoder as a step function of its tape: find the cells on which it is constant and add up their volumes.

The uniforms are taken in the order in which the decoder reads them. With the earlier ones fixed, the decision made with
the next one splits [0, 1) at break points. The prover's program says where they should be; the decoder is run at both
ends of every piece and must decide as expected there, and in four corners of every cell, where it must do the same.
Decisions are by inverse cdf, monotone in the uniform, so that settles the piece. Where the decoder does not agree, its
own break points are searched, and what they give is reported.

A break point that is a float must be the decoder's to the last bit; one that is not lies between two floats and may be
off by a few units in the last place. FlowVerification divides on the way, so all of its break points have that slack.
With that, the volumes are exact rationals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from rheo_proof.exact.chance import OnePath, Site
from rheo_proof.exact.errors import LimitReached
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, to_fraction
from rheo_proof.schemes.laws import run
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.schemes.verifying.flow import Flow

SLACK = 32
"""Units in the last place by which a decoder's break point may be off."""

PROBES = 64
"""Where the prover's break points do not fit, the decoder is probed at this many points before bisection."""

Decisions: TypeAlias = Sequence[tuple[Site, int]]
"""For each uniform read, in order: its site and what was decided with it."""

Decoder: TypeAlias = Callable[[Mapping[Site, float]], tuple[Prefix, Decisions]]
"""One step: uniforms by site (0 where none is given) -> the emitted string and the decisions."""


@dataclass
class Cells:
    """The law of a decoder as the sum of cell volumes, how many cells, and where decisions were not as expected."""

    law: dict[Prefix, Fraction] = field(default_factory=dict)
    cells: int = 0
    surprises: list[str] = field(default_factory=list)


class _Asked(Exception):
    """The prover's program asks for a uniform that has not been decided."""

    def __init__(self, site: Site, weights: Sequence[tuple[int, Q]]) -> None:
        self.site, self.weights = site, list(weights)


class _Guide(OnePath):
    """Follow the decisions made so far; stop at the first open one."""

    def __init__(self, decided: Mapping[Site, int]) -> None:
        self.decided = decided

    def pick(self, weights: Sequence[tuple[int, Q]], site: Site) -> int:
        if site not in self.decided or self.decided[site] not in dict(weights):
            raise _Asked(site, weights)
        return self.decided[site]


def cells(decoder: Decoder, scheme: Scheme, model: ToyModel, most: int = 200_000) -> Cells:
    """Walk all cells of the decoder. Raises `LimitReached` after `most` of them."""
    found = Cells()
    stack: list[tuple[dict[Site, float], dict[Site, float], dict[Site, int], Q]] = [({}, {}, {}, ONE)]
    while stack:
        fixed, far, decided, volume = stack.pop()
        string, decisions = decoder(fixed)
        open_site = next((site for site, _ in decisions if site not in fixed), None)
        if open_site is None:
            found.law[string] = found.law.get(string, Fraction(0)) + to_fraction(volume)
            found.cells += 1
            _same_at_other_corners(decoder, fixed, far, (string, decisions), found)
            if found.cells > most:
                raise LimitReached(f"more than {most} cells")
            continue
        for low, high, (inside, end), outcome in _pieces(decoder, scheme, model, fixed, decided, open_site, found):
            corner = ({**fixed, open_site: inside}, {**far, open_site: end})
            stack.append((*corner, {**decided, open_site: outcome}, volume * (high - low)))
    return found


def _same_at_other_corners(
    decoder: Decoder,
    near: dict[Site, float],
    far: dict[Site, float],
    expected: tuple[Prefix, Decisions],
    found: Cells,
) -> None:
    """A cell is a box; run the decoder at the opposite corner and at two mixed ones as well."""
    mixed = [{site: (near, far)[(i + odd) % 2][site] for i, site in enumerate(near)} for odd in (0, 1)]
    for corner in (far, *mixed):
        if decoder(corner) != expected:
            found.surprises.append(
                f"not constant on the cell at {list(near.items())}: differs at {list(corner.items())}"
            )
            return


Piece: TypeAlias = tuple[Q, Q, tuple[float, float], int]
"""An interval [low, high), a float near either end of it, and what is decided there."""


def _pieces(
    decoder: Decoder,
    scheme: Scheme,
    model: ToyModel,
    fixed: dict[Site, float],
    decided: dict[Site, int],
    site: Site,
    found: Cells,
) -> list[Piece]:
    def decide(u: float) -> int | None:
        return dict(decoder({**fixed, site: u})[1]).get(site)

    expected = _expected(scheme, model, decided, site)
    if expected is not None and all(decide(u) == o for _, _, ends, o in expected for u in ends):
        return expected
    pieces = _searched(decide)
    found.surprises.append(
        f"at {site} after {list(decided.items())}: expected "
        f"{'no decision' if expected is None else [(str(low), o) for low, _, _, o in expected]}, "
        f"found {[(str(low), o) for low, _, _, o in pieces]}"
    )
    return pieces


def _expected(scheme: Scheme, model: ToyModel, decided: dict[Site, int], site: Site) -> list[Piece] | None:
    """The pieces according to the prover's program: bounds, a float near either end, the decision."""
    try:
        run(scheme, model, _Guide(decided))
    except _Asked as asked:
        if asked.site != site:
            return None
        pieces, low, sharp = [], ZERO, not (isinstance(scheme.verifying, Flow) and site[0] == "token")
        for outcome, mass in asked.weights:
            high = low + mass
            pieces.append((low, high, (_at_or_above(low, sharp), _below(high, sharp)), outcome))
            low = high
        return pieces
    return None


def _at_or_above(bound: Q, sharp: bool) -> float:
    """The first float that belongs to a piece from here on; a few further unless the bound is sharp and a float."""
    u = _nearest(bound)
    for _ in range(0 if not bound or (sharp and u == to_fraction(bound)) else SLACK):
        u = math.nextafter(u, 1)
    return u


def _below(bound: Q, sharp: bool) -> float:
    """The last float before a bound; a few further down unless the bound is sharp and a float."""
    u = _nearest(bound)
    for _ in range(1 if bound == ONE or (sharp and u == to_fraction(bound)) else SLACK):
        u = math.nextafter(u, 0)
    return u


def _nearest(bound: Q) -> float:
    return int(bound.numerator) / int(bound.denominator)


def _searched(decide: Callable[[float], int | None]) -> list[Piece]:
    """The decoder's own pieces: probe, bisect to neighbouring floats, read each break point as a simple fraction."""
    probes = [i / PROBES for i in range(PROBES)] + [math.nextafter(1, 0)]
    pieces: list[Piece] = []
    start, inside = ZERO, 0.0
    for a, b in pairwise(probes):
        while decide(a) != decide(b):
            low, high = a, b
            while (middle := (low + high) / 2) not in (low, high):
                low, high = (middle, high) if decide(middle) == decide(a) else (low, middle)
            simple = Fraction(high).limit_denominator(10**6)
            cut = Q(simple.numerator, simple.denominator)
            pieces.append((start, cut, (inside, low), _known(decide(inside))))
            start, inside, a = cut, high, high
    pieces.append((start, ONE, (inside, probes[-1]), _known(decide(inside))))
    return pieces


def _known(outcome: int | None) -> int:
    return -1 if outcome is None else outcome
