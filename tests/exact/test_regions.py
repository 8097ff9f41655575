"""Regions, symbolic numbers and the linear programs below them: what the symbolic proofs rest on."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from typing import Any

import pytest

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.schemes.scheme import Parameters, plain
from rheo_proof.schemes.verifying.flow import Flow
from rheo_proof.theorems import flow_statement
from rheo_proof.theorems.cutting import over_regions
from rheo_proof.theorems.emptiness import points as points_of
from rheo_proof.theorems.emptiness import shown_empty
from rheo_proof.theorems.linear import Row, interior, maximum
from rheo_proof.theorems.node_statements import Case, differences
from rheo_proof.theorems.polynomials import Space
from rheo_proof.theorems.regions import Point, Region, Undecided
from rheo_proof.theorems.symbols import Symbol, unknown

RNG = random.Random(5)


def small(rng: random.Random, n: int, total: int = 4) -> list[Q]:
    """A law with denominator `total`: zeros, ties and one-hot laws are common."""
    cuts = sorted(rng.randint(0, total) for _ in range(n - 1))
    return [Q(b - a, total) for a, b in zip([0, *cuts], [*cuts, total], strict=True)]


# Linear programs


def vertices(rows: list[Row]) -> list[tuple[Q, Q]]:
    """Every crossing of two of the lines row = 0, x = 0, y = 0."""
    lines = [*rows, Row((ONE, ZERO), ZERO), Row((ZERO, ONE), ZERO)]
    found = []
    for (a, b), s in ((r.a, r.b) for r in lines):
        for (c, d), t in ((r.a, r.b) for r in lines):
            if a * d - b * c:
                found.append(((b * t - d * s) / (a * d - b * c), (c * s - a * t) / (a * d - b * c)))
    return found


def test_the_maximum_is_the_best_of_all_vertices() -> None:
    rng, solvable = random.Random(1), 0
    for _ in range(300):
        rows = [Row((Q(rng.randint(-3, 3)), Q(rng.randint(-3, 3))), Q(rng.randint(-3, 3))) for _ in range(4)]
        rows.append(Row((-ONE, -ONE), Q(5)))
        aim = [Q(rng.randint(-3, 3)), Q(rng.randint(-3, 3))]
        inside = [v for v in vertices(rows) if min(v) >= 0 and all(row.at(v) >= 0 for row in rows)]
        found = maximum(rows, aim)
        assert (found is None) == (not inside)
        if found is not None:
            solvable += 1
            assert found[0] == max(aim[0] * x + aim[1] * y for x, y in inside)
            assert min(found[1]) >= 0
            assert all(row.at(found[1]) >= 0 for row in rows)
    assert 50 < solvable < 290


def test_an_interior_point_is_inside_and_a_strict_contradiction_has_none() -> None:
    above, below = Row((ONE,), Q(-1, 4)), Row((-ONE,), Q(1, 4))
    assert interior([above], [Row((-ONE,), Q(1, 2))], 1) is not None
    assert interior([], [above, below], 1) == (Q(1, 4),)
    assert interior([above], [below], 1) is None


# Symbolic numbers


def line() -> Region:
    """Points (x, y) with x + y at most 1, both positive."""
    space = Space([["x", "y"]])
    x, y = space.unknown(0), space.unknown(1)
    return Region.whole(space, [space.constant(ONE) - x - y], [x, y])


def test_arithmetic_of_symbols_is_arithmetic_at_every_point() -> None:
    region = line()
    at: Point = {0: Q(1, 5), 1: Q(2, 7)}
    symbols: list[Any] = [unknown(region, 0), unknown(region, 1), Q(2, 3)]
    numbers: list[Any] = [at[0], at[1], Q(2, 3)]
    operations: list[Callable[[Any, Any, Any], Any]] = [
        lambda a, b, x: a + b,
        lambda a, b, x: a - b * b,
        lambda a, b, x: a * b,
        lambda a, b, x: (a - b) / (x + 1),
        lambda a, b, x: 1 / (x + x * x) - a * b / x,
    ]
    for _ in range(200):
        i, j, operation = RNG.randrange(len(symbols)), RNG.randrange(len(symbols)), RNG.choice(operations)
        made, number = (operation(side[i], side[j], side[0]) for side in (symbols, numbers))
        assert (made.at(at) if isinstance(made, Symbol) else made) == number
        if len(symbols) < 10:
            symbols.append(made)
            numbers.append(number)


def test_a_symbol_refuses_floats_and_numbers_of_another_region() -> None:
    x, other = unknown(line(), 0), unknown(line(), 0)
    with pytest.raises(TypeError):
        x + 0.5
    with pytest.raises(TypeError):
        assert x < 0.5
    with pytest.raises(TypeError, match="compared"):
        assert x == 0.5
    for nothing in (
        lambda: x + 0.0,
        lambda: 0.0 + x,
        lambda: x * 1.0,
        lambda: 1.0 * x,
        lambda: x - 0.0,
        lambda: x / 1.0,
    ):
        with pytest.raises(TypeError):
            nothing()
    assert (x + 0, x * 1) == (x, x)
    for convert in (float, int, round):
        with pytest.raises(TypeError):
            convert(x)
    with pytest.raises(SoundnessError, match="two regions"):
        x + other


def test_a_symbol_and_a_law_of_symbols_are_in_no_set_or_table() -> None:
    x = unknown(line(), 0)
    for held in (x, Law([x, ONE - x])):
        for ask in (lambda h: h in {ONE}, lambda h: {Q(1, 3): ONE}.get(h), lambda h: {h}):
            with pytest.raises(TypeError, match="no hash"):
                ask(held)
    with pytest.raises(Undecided):
        assert x in [ONE - x, x]


def test_a_law_takes_symbols_and_still_refuses_floats() -> None:
    x = unknown(line(), 0)
    assert Law([x, ONE - x])[0] == x
    with pytest.raises(SoundnessError, match="float"):
        Law([0.5, 0.5])  # type: ignore[list-item]
    below = line().where(1 - line().space.unknown(0), 1)
    assert below is not None
    with pytest.raises(SoundnessError, match="mass"):
        Law([ONE, unknown(below, 0)])


def test_division_by_what_is_zero_in_the_region_is_an_error() -> None:
    region = line()
    flat = region.where(region.space.unknown(0) - region.space.unknown(1), 0)
    assert flat is not None
    x, y = unknown(flat, 0), unknown(flat, 1)
    assert x == y
    with pytest.raises(SoundnessError, match="division by zero"):
        ONE / (x - y)


def test_the_inverse_of_what_is_negative_is_negative() -> None:
    region = line()
    low = region.where(region.space.unknown(0) - region.space.unknown(1), -1)
    assert low is not None
    x, y = unknown(low, 0), unknown(low, 1)
    assert (ONE / (x - y)).at({0: Q(1, 4), 1: Q(1, 2)}) == -4
    assert ONE / (x - y) < 0


def test_equal_numbers_are_at_most_and_at_least_each_other() -> None:
    region = line()
    flat = region.where(region.space.unknown(0) - region.space.unknown(1), 0)
    assert flat is not None
    x, y = unknown(flat, 0), unknown(flat, 1)
    assert x <= y
    assert x >= y
    assert not x < y
    assert not x > y


# Regions


def node_leaves(vocab: int, head: int) -> tuple[Case, list[Region]]:
    """The regions of RheoVerification at one node."""
    case = Case(vocab, head, "X")
    scheme = plain(case.parameters(Parameters(verify="rheo")))
    compute = partial(differences, scheme, case, Limits(), False)
    return case, [region for region, _ in over_regions(case.whole(), compute)]


def node_points(case: Case, count: int) -> list[Point]:
    """Laws p and t with few different entries, so that most points lie on a boundary."""
    points = []
    for _ in range(count):
        p, t = small(RNG, case.vocab), small(RNG, case.vocab - case.head)
        points.append(dict(enumerate([*p[:-1], *t[:-1]])))
    return points


def covers(leaves: list[Region], points: list[Point]) -> bool:
    """Whether every point lies in exactly one region."""
    return all(sum(leaf.contains(point) for leaf in leaves) == 1 for point in points)


@pytest.mark.parametrize("head", [0, 1])
def test_every_point_lies_in_exactly_one_region_boundaries_included(head: int) -> None:
    case, leaves = node_leaves(3, head)
    points = node_points(case, 150)
    assert covers(leaves, points)
    used = [leaf for leaf in leaves if any(leaf.contains(point) for point in points)]
    assert len(used) > len(leaves) // 2
    for k in range(len(used)):
        assert not covers(used[:k] + used[k + 1 :], points), "a dropped region was not noticed"


def test_at_one_node_there_are_as_many_regions_as_sign_patterns() -> None:
    for vocab in (2, 3, 4):
        patterns = [s for s in product((1, 0, -1), repeat=vocab) if (1 in s) == (-1 in s)]
        assert len(node_leaves(vocab, 0)[1]) == len(patterns) == 3**vocab - 2 ** (vocab + 1) + 2


def test_every_point_is_a_rearrangement_of_one_in_the_sorted_regions() -> None:
    case = Case(3, 0, "X")
    parts = case.parts(every_order=False)
    assert len(parts) == 4
    for _ in range(60):
        p, t = small(RNG, 3), small(RNG, 3)
        orders = [dict(enumerate([p[a], p[b], t[a], t[b]])) for a, b, _ in permutations(range(3))]
        assert sum(any(part.contains(point) for point in orders) for part in parts) == 1


def test_sorted_regions_have_the_shapes_of_all_regions() -> None:
    case = Case(4, 0, "X")
    every = {case.shape(leaf) for leaf in node_leaves(4, 0)[1]}
    scheme = plain(case.parameters(Parameters(verify="rheo")))
    compute = partial(differences, scheme, case, Limits(), False)
    sorted_parts = case.parts(every_order=False)
    assert {case.shape(leaf) for part in sorted_parts for leaf, _ in over_regions(part, compute)} == every
    assert len(every) == 7


def test_the_same_for_a_reveal_of_flow_verification() -> None:
    compute, shape = partial(flow_statement.differences, Flow(), 2), partial(flow_statement.shape, 2)
    shapes = [
        {shape(leaf) for part in flow_statement.parts(2, every) for leaf, _ in over_regions(part, compute)}
        for every in (True, False)
    ]
    assert shapes[0] == shapes[1]
    assert len(shapes[0]) > 5


def test_points_lie_in_their_region() -> None:
    for leaf in node_leaves(3, 1)[1]:
        point = next(points_of(leaf))
        assert leaf.contains(point)
        assert not leaf.contains({**point, 0: point[0] + 2})


def bent(bound: Fraction) -> Region:
    """(1 - x)(1 - y) > 1/8 and x > bound."""
    space = Space([["x"], ["y"]])
    x, y, one = space.unknown(0), space.unknown(1), space.constant(ONE)
    eighth, least = space.constant(Q(1, 8)), space.constant(Q(bound.numerator, bound.denominator))
    return Region.whole(space, [one - x, one - y], [(one - x) * (one - y) - eighth, x - least])


def test_a_contradiction_between_products_is_found_and_none_is_invented() -> None:
    assert shown_empty(bent(Fraction(7, 8)))
    assert next(points_of(bent(Fraction(7, 8))), None) is None
    assert not shown_empty(bent(Fraction(6, 8)))
    assert next(points_of(bent(Fraction(6, 8))), None) is not None


def test_a_region_with_points_on_its_boundary_alone_is_not_called_empty() -> None:
    space = Space([["x"]])
    x, one = space.unknown(0), space.constant(ONE)
    assert not shown_empty(Region.whole(space, [x * x - one, one - x]))
    assert shown_empty(Region.whole(space, [one - x], [x * x - one]))


def three() -> tuple[Region, Any, Any, Any, Any]:
    """Points (a, b, c) with a + b + c at most 1; a, b, c and 1."""
    space = Space([["a", "b", "c"]])
    a, b, c = map(space.unknown, range(3))
    one = space.constant(ONE)
    return Region.whole(space, [one - a - b - c]), a, b, c, one


def test_what_a_zero_forces_to_be_zero_is_solved_too() -> None:
    whole, a, b, c, one = three()
    corner = whole.where(a - one, 0)
    assert corner is not None
    assert (corner.solved.keys(), corner.facts) == ({0, 1, 2}, {})
    parts = [corner.where(b * c + 2 * b - one, sign) for sign in (1, -1, 0)]
    assert [part is not None and part.contains({0: ONE, 1: ZERO, 2: ZERO}) for part in parts] == [False, True, False]


def test_all_that_a_zero_forces_to_be_zero_is_solved_at_once() -> None:
    space = Space([["a", "b", "c"]])
    a, b, c = map(space.unknown, range(3))
    part = Region.whole(space, [c - a, c - b]).where(c, 0)
    assert part is not None
    assert part.solved.keys() == {0, 1, 2}


def test_a_zero_that_is_solved_in_two_steps_holds_no_solved_unknown() -> None:
    space = Space([["a", "b", "c"]])
    a, b, c = map(space.unknown, range(3))
    part = Region.whole(space, [-a]).where(a * b + a**2 + c**2 - space.constant(Q(1, 4)), 0)
    assert part is not None
    assert part.solved.keys() == {0}
    assert part.facts == {c**2 - space.constant(Q(1, 4)): {0}}


def test_a_part_whose_facts_contradict_what_was_known_is_empty() -> None:
    space = Space([["a", "b", "c"]])
    a, b, c = map(space.unknown, range(3))
    part = Region.whole(space, (), [a, b]).where(a * b + c, -1)
    assert part is not None
    assert part.signs(a * b) == {1}
    assert part.where(c, 0) is None


def test_what_was_known_of_a_sign_gives_way_to_a_fact() -> None:
    whole, a, b, c, one = three()
    part: Region | None = whole
    for poly, sign in ((6 * a * b - c, -1), (48 * a + 16 * c**2 - 9 * one, 0), (b, 0)):
        assert part is not None
        assert 0 in part.signs(c)
        part = part.where(poly, sign)
    assert part is not None
    assert part.signs(c) == {1}


def test_a_zero_of_a_product_is_solved_where_the_coefficient_has_a_sign() -> None:
    space = Space([["x"], ["y"]])
    x, y, one = space.unknown(0), space.unknown(1), space.constant(ONE)
    whole = Region.whole(space, [one - x, one - y])
    tried: list[Region] = []

    def ask(region: Region) -> int:
        tried.append(region)
        a, b = unknown(region, 0), unknown(region, 1)
        return (a * b > Q(1, 4)) - (a * b < Q(1, 4))

    leaves = list(over_regions(whole, ask))
    assert len(tried) > len(leaves)
    assert {sign for _, sign in leaves} == {-1, 0, 1}
    for a, b in product((ZERO, Q(1, 4), Q(1, 2), Q(3, 4), ONE), repeat=2):
        found = [sign for leaf, sign in leaves if leaf.contains({0: a, 1: b})]
        assert found == [(a * b > Q(1, 4)) - (a * b < Q(1, 4))]
