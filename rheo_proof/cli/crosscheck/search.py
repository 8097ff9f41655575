"""What a decoder is, to the cross-check, and the search for the break points of its decisions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from rheo_proof.exact.chance import Site
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import ZERO, Q

PROBES = 64
"""Where the prover's break points do not fit, the decoder is probed at this many points before bisection."""

Tape: TypeAlias = Mapping[Site, float]
"""Uniforms by site, 0 where none is given."""

Answer: TypeAlias = tuple[Prefix, list[tuple[Site, int]]]
"""The emitted string; and for each uniform read, in order, its site and what was decided with it."""

Decoder: TypeAlias = Callable[[Sequence[Tape]], list[Answer]]
"""One step on each tape."""


class Piece(NamedTuple):
    """An interval [low, high), a float near either end of it, and what is decided there."""

    low: Q
    high: Q
    ends: tuple[float, float]
    outcome: int


def decision(answer: Answer, site: Site) -> int | None:
    """What was decided with the uniform of a site, None if it was not read."""
    return next((outcome for at, outcome in answer[1] if at == site), None)


def searched(decoder: Decoder, places: Sequence[tuple[Tape, Site]]) -> list[list[tuple[Piece, Answer]]]:
    """The decoder's own pieces for one uniform, at each of several places, and its answer at the near end of each.

    Probe, bisect to neighbouring floats, read each break point as a simple fraction. All searches run side by side.
    """
    known: dict[tuple[int, float], Answer] = {}

    def learn(points: Sequence[tuple[int, float]]) -> None:
        new = [point for point in dict.fromkeys(points) if point not in known]
        tapes = [{**places[i][0], places[i][1]: u} for i, u in new]
        known.update(zip(new, decoder(tapes), strict=True))

    def decided(i: int, u: float) -> int | None:
        return decision(known[i, u], places[i][1])

    probes = [i / PROBES for i in range(PROBES)] + [math.nextafter(1, 0)]
    learn([(i, u) for i in range(len(places)) for u in probes])
    jumps: list[list[tuple[float, float]]] = [[] for _ in places]
    # (place, low, high, end): the decision changes between low and high; it is searched up to end.
    active = [(i, a, b, b) for i in range(len(places)) for a, b in pairwise(probes) if decided(i, a) != decided(i, b)]
    while active:
        middles = [(low + high) / 2 for _, low, high, _ in active]
        learn([(i, middle) for (i, *_), middle in zip(active, middles, strict=True)])
        narrowed = []
        for (i, low, high, end), middle in zip(active, middles, strict=True):
            if middle not in (low, high):
                same = decided(i, middle) == decided(i, low)
                narrowed.append((i, middle, high, end) if same else (i, low, middle, end))
                continue
            jumps[i].append((low, high))
            if decided(i, high) != decided(i, end):
                narrowed.append((i, high, end, end))
        active = narrowed
    return [_pieces(sorted(jumps[i]), probes[-1], i, known, site) for i, (_, site) in enumerate(places)]


def _pieces(
    jumps: Sequence[tuple[float, float]], last: float, i: int, known: Mapping[tuple[int, float], Answer], site: Site
) -> list[tuple[Piece, Answer]]:
    """The pieces between jumps, each of which lies between two neighbouring floats."""
    pieces, start, inside = [], ZERO, 0.0
    for low, high in [*jumps, (last, 1.0)]:
        simple = Fraction(high).limit_denominator(10**6)
        cut = Q(simple.numerator, simple.denominator)
        answer = known[i, inside]
        outcome = decision(answer, site)
        pieces.append((Piece(start, cut, (inside, low), -1 if outcome is None else outcome), answer))
        start, inside = cut, high
    return pieces
