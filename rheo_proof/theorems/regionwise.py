"""Decide identities region by region: proved where every difference vanishes, refuted by a rational point of a region.

A refutation does not rest on the symbolic run: the ordinary exact prover is asked for its verdict at the point, by both
of its enumerators. Neither does a proof alone: it is also asked at points of regions that were proved.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import Q
from rheo_proof.exact.step import Wrong
from rheo_proof.schemes.laws import law_by_classes, law_by_replay
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.theorems.cutting import over_regions
from rheo_proof.theorems.emptiness import bent, points, shown_empty
from rheo_proof.theorems.regions import Point, Region
from rheo_proof.theorems.symbols import Symbol, vanishes

Check = Callable[[Region, Point], int]
"""Verify with plain numbers at a point of a proved region; how often that was done. Raises `SoundnessError`."""
CHECKED = 10
"""So many points of each space are looked up in the regions that were found."""
Differences = Sequence[tuple[Prefix, Any]]
"""Strings, each with the difference of the two sides of its identity."""


@dataclass(frozen=True)
class Refutation:
    """A region in which an identity fails, a rational point in it, and what the exact prover finds there.

    `string`: whose identity it is; `difference`: actual minus expected, on the region; `value`: at the point.
    """

    region: tuple[str, ...]
    string: Prefix
    difference: str
    point: dict[str, Q]
    value: Q
    model: ToyModel
    tv: Q
    wrong: Wrong


@dataclass
class Decided:
    """What was found: regions proved, regions that are empty after all, and those that were neither proved nor refuted.

    `shapes`: the proved regions, those that differ by a permutation counted once. `checked`: verifications with plain
    numbers at points of proved regions.
    """

    proved: int = 0
    empty: int = 0
    open: int = 0
    checked: int = 0
    shapes: set[Any] = field(default_factory=set)
    refutation: Refutation | None = None

    @property
    def verdict(self) -> str:
        """`proved`, `refuted` or `undecided`."""
        return "refuted" if self.refutation else "undecided" if self.open else "proved"


def decide(
    parts: Iterable[Region],
    compute: Callable[[Region], Differences],
    concrete: tuple[Callable[[Region, Point], ToyModel], Scheme],
    limits: Limits,
    shape: Callable[[Region], Any] | None = None,
    guide: Point | None = None,
    check: Check | None = None,
    most: int | None = None,
) -> Decided:
    """Go through all regions that the computation needs, up to the first refutation; with a `guide`, to its region.

    `concrete`: the model at a point of a region, and the scheme that the exact prover decides there. `check` is what
    is done at one point of each proved region, or of `most` of them.
    """

    def run(region: Region) -> Differences | SoundnessError:
        limits.watch()
        try:
            return compute(region)
        except SoundnessError as broken:
            return broken

    decided = Decided()
    proved: list[Region] = []
    for part in parts:
        leaves: list[Region] = []
        for region, found in over_regions(part, run, guide):
            leaves.append(region)
            if not isinstance(found, SoundnessError) and all(vanishes(d) for _, d in found):
                decided.proved += 1
                proved.append(region)
                if shape:
                    decided.shapes.add(shape(region))
            elif guide is None and bent(region) and shown_empty(region):
                decided.empty += 1
            elif isinstance(found, SoundnessError):
                if (point := next(points(region), None)) is not None:
                    raise SoundnessError(f"{found}; {placed(region, point)}") from found
                decided.open += 1
            else:
                decided.refutation = refuted(region, found, *concrete, guide)
                if decided.refutation:
                    return decided
                decided.open += 1
        if guide is None:
            check_cover(part, leaves)
    if check:
        decided.checked = checked(proved, check, most, limits)
    return decided


def checked(proved: Sequence[Region], check: Check, most: int | None, limits: Limits) -> int:
    """Verify with plain numbers at a point of each region, or of `most` of them; how often that was done."""
    rng = random.Random(len(proved))
    chosen = proved if most is None or len(proved) <= most else rng.sample(proved, most)
    done = 0
    for region in chosen:
        limits.watch()
        for point in islice(points(region, rng.randrange(1 << 30)), 1):
            done += check(region, point)
    return done


def lossless(scheme: Scheme, model: ToyModel, where: str) -> int:
    """Ask the exact prover about a model at which a scheme was proved; 1. Raises `SoundnessError` if it is biased."""
    law = law_by_classes(scheme, model)
    if law.first_wrong(model) is not None:
        tv = law.total_variation(model)
        raise SoundnessError(f"the symbolic run proves {where}, the exact prover finds TV {tv}")
    return 1


def placed(region: Region, point: Point) -> str:
    """A region and a point in it, in words."""
    at = ", ".join(f"{region.space.names[i]} = {value}" for i, value in sorted(point.items()))
    return f"region {', '.join(described(region)) or 'everywhere'}, point {at}"


def check_cover(part: Region, leaves: Sequence[Region]) -> None:
    """Raise `SoundnessError` unless points of a part, some of them on its boundary, lie in exactly one leaf each.

    No proof that the leaves cover the part; that is how they are made. A lost region would be noticed.
    """
    found = list(islice(points(part), CHECKED))
    if not found:
        raise SoundnessError("nothing was proved: no point of the space is known")
    for point in found:
        if sum(leaf.contains(point) for leaf in leaves) != 1:
            raise SoundnessError(f"the regions do not cover the point {point} once")


def refuted(
    region: Region,
    found: Differences,
    model_at: Callable[[Region, Point], ToyModel],
    scheme: Scheme,
    guide: Point | None = None,
) -> Refutation | None:
    """The refutation at the first point of the region, or at the guide, where a difference is not 0.

    Raises `SoundnessError` if the exact prover calls the scheme lossless there.
    """
    wrong = [(string, d) for string, d in found if not vanishes(d)]
    for point in points(region) if guide is None else (guide,):
        for string, d in wrong:
            value = d.at(point) if isinstance(d, Symbol) else d
            if value:
                return _confirmed(region, point, (string, d, value), model_at(region, point), scheme)
    return None


def _confirmed(
    region: Region, point: Point, failure: tuple[Prefix, Any, Q], model: ToyModel, scheme: Scheme
) -> Refutation:
    string, difference, value = failure
    laws = law_by_classes(scheme, model), law_by_replay(scheme, model)
    tvs = [law.total_variation(model) for law in laws]
    first = laws[0].first_wrong(model)
    if first is None or not tvs[0] or tvs[0] != tvs[1]:
        raise SoundnessError(f"the symbolic run finds {value} at {string}, the exact prover TV {tvs[0]} and {tvs[1]}")
    names = {region.space.names[i]: value for i, value in sorted(point.items())}
    return Refutation(described(region), string, written(difference), names, value, model, Q(tvs[0]), first)


def described(region: Region) -> tuple[str, ...]:
    """The cuts that lead to a region, as inequalities."""
    return tuple(f"{poly.as_expr()} {'=><'[sign]} 0" for poly, sign in region.cuts)


def written(x: Any) -> str:
    """A rational function, factored for display."""
    if not isinstance(x, Symbol):
        return str(x)
    from sympy import factor

    expression = x.above.as_expr()
    for polynomial, power in x.below.items():
        expression /= polynomial.as_expr() ** power
    return str(factor(expression))
