"""Run a computation on every part of a region that its comparisons tell apart.

Where a sign it asks for is not the same everywhere, `Undecided` is raised, the region is cut in three, positive,
negative and zero, and the computation starts anew on each part. So the leaves cover the region whatever the computation
asks. A part is left out only if it is proved to be empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.theorems.polynomials import Poly
from rheo_proof.theorems.regions import Empty, Point, Region, Undecided

T = TypeVar("T")


def over_regions(
    region: Region, compute: Callable[[Region], T], guide: Point | None = None
) -> Iterator[tuple[Region, T]]:
    """Run a computation on a region, cut wherever it raises `Undecided`; the parts, each with its result.

    With a `guide`, only the part that holds this point.
    """
    waiting = [region]
    while waiting:
        part = waiting.pop()
        try:
            result = compute(part)
        except Undecided as question:
            parts = reversed(cut(part, question.poly))
            waiting += [each for each in parts if guide is None or each.contains(guide)]
        except Empty:
            continue
        else:
            yield part, result


def cut(region: Region, poly: Poly) -> list[Region]:
    """The parts of a region by the sign of a polynomial: positive, negative, zero; empty ones left out."""
    try:
        parts = [region.where(poly, sign) for sign in (1, -1, 0)]
    except Undecided as question:  # first of the coefficient of an unknown
        return cut(region, question.poly)
    found = [part for part in parts if part is not None]
    if len(found) == 1 and found[0].facts == region.facts and found[0].solved == region.solved:
        raise SoundnessError(f"a cut at {poly.as_expr()} that learns nothing")
    return found


def by_permutation(region: Region, signed: Callable[[Region], Sequence[Sequence[Poly]]]) -> list[Region]:
    """Parts that hold, of every point, some rearrangement: the signs fall from token to token, +, 0, -.

    `signed` lists polynomials for each token; tokens are compared by the sign of the first, then of the next. Enough
    where tokens may change places.
    """
    tokens = signed(region)
    parts: list[tuple[Region, tuple[int, ...]]] = [(region, tuple(1 for _ in polys)) for polys in tokens[:1]]
    for token, polys in enumerate(tokens):
        grown: list[tuple[Region, tuple[int, ...], tuple[int, ...]]] = [(part, high, ()) for part, high in parts]
        for k in range(len(polys)):
            grown = [
                (smaller, highest, (*signs, sign))
                for part, highest, signs in grown
                for sign in (1, 0, -1)
                if (*signs, sign) <= highest[: k + 1]
                and (smaller := part.where(signed(part)[token][k], sign)) is not None
            ]
        parts = [(part, signs) for part, _, signs in grown]
    return [part for part, _ in parts] or [region]
