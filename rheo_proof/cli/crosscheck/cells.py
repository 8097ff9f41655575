"""A decoder as a step function of its tape: find the cells on which it is constant and add up their volumes.

The uniforms are taken in the order in which the decoder reads them. With the earlier ones fixed, the decision made with
the next one splits [0, 1) at break points. The prover's program says where they should be; the decoder is run at both
ends of every piece and must decide as expected there, and in four corners of every cell, where it must do the same.
Decisions are by inverse cdf, monotone in the uniform, so that settles the piece. Where the decoder does not agree, its
own break points are searched (`search.py`), and what they give is reported.

A break point that is a float must be the decoder's to the last bit; one that is not lies between two floats and may be
off by a few units in the last place. FlowVerification divides on the way, so all of its break points have that slack.
With that, the volumes are exact rationals.

A decoder is asked for many tapes at a time: many boxes are cut further side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from rheo_proof.cli.crosscheck.search import Answer, Decoder, Piece, Tape, decision, searched
from rheo_proof.exact.chance import OnePath, Site
from rheo_proof.exact.errors import LimitReached
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, to_fraction
from rheo_proof.schemes.laws import run
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.schemes.verifying.flow import Flow

SLACK = 32
"""Units in the last place by which a decoder's break point may be off."""

CHUNK = 1024
"""Boxes that are cut side by side: enough to hide what one call costs. What waits is a few chunks, not all cells."""


@dataclass
class Cells:
    """The law of a decoder as the sum of cell volumes, how many cells, and where decisions were not as expected."""

    law: dict[Prefix, Fraction] = field(default_factory=dict)
    cells: int = 0
    surprises: list[str] = field(default_factory=list)


class Box(NamedTuple):
    """Part of the tape: the uniforms read so far lie between two corners and decide alike; the others are free.

    `answer` is the decoder's at the near corner, the free uniforms being 0.
    """

    near: dict[Site, float]
    far: dict[Site, float]
    decided: dict[Site, int]
    volume: Q
    answer: Answer

    @property
    def open_site(self) -> Site | None:
        """The next uniform that the decoder reads; None in a cell."""
        return next((site for site, _ in self.answer[1] if site not in self.near), None)

    def cut(self, site: Site, piece: Piece, answer: Answer) -> Box:
        """The part of the box where one more uniform lies in a piece."""
        near, far = piece.ends
        return Box(
            {**self.near, site: near},
            {**self.far, site: far},
            {**self.decided, site: piece.outcome},
            self.volume * (piece.high - piece.low),
            answer,
        )


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
    waiting = [Box({}, {}, {}, ONE, decoder([{}])[0])]
    while waiting:
        taken = waiting[-CHUNK:]
        del waiting[-CHUNK:]
        whole = [box for box in taken if box.open_site is None]
        found.cells += len(whole)
        for box in whole:
            string = box.answer[0]
            found.law[string] = found.law.get(string, Fraction(0)) + to_fraction(box.volume)
        if found.cells > most:
            raise LimitReached(f"more than {most} cells")
        waiting += _cut(decoder, scheme, model, whole, [box for box in taken if box.open_site is not None], found)
    return found


def _cut(
    decoder: Decoder, scheme: Scheme, model: ToyModel, whole: Sequence[Box], boxes: Sequence[Box], found: Cells
) -> list[Box]:
    """Check the corners of cells, and cut the other boxes at the next uniform: one call for all of them."""
    corners = [_other_corners(box) for box in whole]
    sites = [site for box in boxes if (site := box.open_site)]
    expected = [_expected(scheme, model, box.decided, site) for box, site in zip(boxes, sites, strict=True)]
    tapes: list[Tape] = [corner for three in corners for corner in three]
    for box, site, pieces in zip(boxes, sites, expected, strict=True):
        tapes += [{**box.near, site: u} for piece in pieces or () for u in piece.ends]
    answers = iter(decoder(tapes))
    for box, three in zip(whole, corners, strict=True):
        _same_at_other_corners(box, three, [next(answers) for _ in three], found)
    made, lost = list[Box](), list[int]()
    for i, (box, site, pieces) in enumerate(zip(boxes, sites, expected, strict=True)):
        ends = [(next(answers), next(answers)) for _ in pieces or ()]
        if pieces and all(decision(at, site) == p.outcome for p, two in zip(pieces, ends, strict=True) for at in two):
            made += [box.cut(site, piece, near) for piece, (near, _) in zip(pieces, ends, strict=True)]
        else:
            lost.append(i)
    for i, pairs in zip(lost, searched(decoder, [(boxes[i].near, sites[i]) for i in lost]), strict=True):
        box, site = boxes[i], sites[i]
        found.surprises.append(_surprise(box, site, expected[i], [piece for piece, _ in pairs]))
        made += [box.cut(site, piece, near) for piece, near in pairs]
    return made


def _other_corners(box: Box) -> list[dict[Site, float]]:
    """A cell is a box: the opposite corner, and two mixed ones."""
    both = (box.near, box.far)
    return [box.far, *({site: both[(i + odd) % 2][site] for i, site in enumerate(box.near)} for odd in (0, 1))]


def _same_at_other_corners(box: Box, corners: Sequence[Tape], answers: Sequence[Answer], found: Cells) -> None:
    for corner, answer in zip(corners, answers, strict=True):
        if answer != box.answer:
            found.surprises.append(
                f"not constant on the cell at {list(box.near.items())}: differs at {list(corner.items())}"
            )
            return


def _surprise(box: Box, site: Site, expected: Iterable[Piece] | None, pieces: Iterable[Piece]) -> str:
    return (
        f"at {site} after {list(box.decided.items())}: expected "
        f"{'no decision' if expected is None else [(str(piece.low), piece.outcome) for piece in expected]}, "
        f"found {[(str(piece.low), piece.outcome) for piece in pieces]}"
    )


def _expected(scheme: Scheme, model: ToyModel, decided: Mapping[Site, int], site: Site) -> list[Piece] | None:
    """The pieces according to the prover's program: bounds, a float near either end, the decision."""
    try:
        run(scheme, model, _Guide(decided))
    except _Asked as asked:
        if asked.site != site:
            return None
        pieces, low, sharp = list[Piece](), ZERO, not (isinstance(scheme.verifying, Flow) and site[0] == "token")
        for outcome, mass in asked.weights:
            high = low + mass
            pieces.append(Piece(low, high, (_at_or_above(low, sharp), _below(high, sharp)), outcome))
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
