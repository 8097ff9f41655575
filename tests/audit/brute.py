"""The laws of the faults of `gallery.py` once more, by brute force in fractions; imports nothing of ours.

`law(program)` runs a program once for every sequence of answers of `pick`. The programs below say in formulas what the
strangers say in code. A coin that is used twice is a cell of [0, 1); clocks that are used twice are integrated.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

Row = Sequence[Fraction]
Pick = Callable[[Row], int]
Law = dict[Hashable, Fraction]


def law(program: Callable[[Pick], Hashable]) -> Law:
    """{outcome: probability}; `pick(weights)` is an index with the given probabilities."""
    found: Law = {}
    todo: list[tuple[int, ...]] = [()]
    while todo:
        script = todo.pop()
        asked: list[Row] = []
        weight = Fraction(1)

        def pick(weights: Row, script: tuple[int, ...] = script, asked: list[Row] = asked) -> int:
            nonlocal weight
            assert min(weights) >= 0
            assert sum(weights) == 1
            step = len(asked)
            asked.append(weights)
            choice = script[step] if step < len(script) else next(x for x, w in enumerate(weights) if w)
            weight *= weights[choice]
            return choice

        outcome = program(pick)
        found[outcome] = found.get(outcome, Fraction(0)) + weight
        for step in range(len(script), len(asked)):
            taken = next(x for x, w in enumerate(asked[step]) if w)
            prefix = script + tuple(next(x for x, w in enumerate(row) if w) for row in asked[len(script) : step])
            todo += [(*prefix, x) for x, w in enumerate(asked[step]) if w and x != taken]
    assert sum(found.values()) == 1
    return found


def variation(a: Law, b: Law) -> Fraction:
    return sum((abs(a.get(x, Fraction(0)) - b.get(x, Fraction(0))) for x in a.keys() | b.keys()), Fraction(0)) / 2


def table(row: Row) -> Law:
    return {(x,): w for x, w in enumerate(row) if w}


def scaled(row: Row) -> list[Fraction]:
    return [w / sum(row) for w in row]


def minus(p: Row, q: Row) -> list[Fraction]:
    return scaled([max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)])


def one_hot(x: int, size: int) -> list[Fraction]:
    return [Fraction(x == y) for y in range(size)]


def coin(pick: Pick, chance: Fraction) -> bool:
    chance = min(Fraction(1), chance)
    return pick([chance, 1 - chance]) == 0


def cell(pick: Pick, cuts: Sequence[Fraction]) -> Fraction:
    """The middle of a cell of [0, 1) that is cut at `cuts`: a uniform that may be looked at more than once."""
    bounds = sorted({Fraction(0), Fraction(1), *(c for c in cuts if 0 < c < 1)})
    chosen = pick([b - a for a, b in pairwise(bounds)])
    return (bounds[chosen] + bounds[chosen + 1]) / 2


def by_cdf(row: Row, u: Fraction) -> int:
    return next(x for x, level in enumerate(accumulate(row)) if u < level)


# One position


def token(
    p: Row,
    q: Row,
    drawn: Row | None = None,
    accept: Callable[[int], Fraction] | None = None,
    rest: Row | Callable[[int], Row] | None = None,
) -> Law:
    """The first token: drafted from `drawn` (q), accepted with `accept` (p / q), else drawn from `rest` (p - q)."""

    def program(pick: Pick) -> Hashable:
        x = pick(drawn or q)
        if coin(pick, accept(x) if accept else p[x] / q[x]):
            return (x,)
        row = minus(p, q) if rest is None else rest(x) if callable(rest) else rest
        return (pick(row),)

    return law(program)


def removed(p: Row, x: int) -> list[Fraction]:
    return scaled([Fraction(0) if y == x else w for y, w in enumerate(p)])


def one_hot_rule(p: Row, drawn: Row) -> Law:
    return token(p, p, drawn, accept=lambda x: p[x], rest=lambda x: removed(p, x))


# Blocks of two


def block(
    p: tuple[Row, Row], q: tuple[Row, Row], thresholds: str, residual: str, drawn: tuple[Row, Row] | None = None
) -> Law:
    """Pairs; `thresholds` "block" or "products", `residual` "block" or "token". A string of one is completed by p."""

    def program(pick: Pick) -> Hashable:
        x, y = (pick(row) for row in drawn or q)
        w1 = min(Fraction(1), p[0][x] / q[0][x])
        w2 = min(Fraction(1), w1 * p[1][y] / q[1][y])
        mass = sum(max(w1 * a - b, Fraction(0)) for a, b in zip(p[1], q[1], strict=True))
        h1 = w1 if thresholds == "products" else Fraction(1) if w1 == 1 else mass / (mass + 1 - w1)
        first, second = coin(pick, h1), coin(pick, w2)
        if second:
            return (x, y)
        if first:
            weight = w1 if residual == "block" else Fraction(1)
            return (x, pick(minus([weight * a for a in p[1]], q[1])))
        return (pick(minus(p[0], q[0])), pick(p[1]))

    return law(program)


# Noise used twice


def clocks(p: Row, q: Row) -> Law:
    """Draft argmin E / q, a free coin, recovery argmin E / (p - q)+ of the same clocks E ~ Exp(1), V = 3."""
    rest = minus(p, q)
    result = [Fraction(0)] * 3
    for x in range(3):
        accept = min(Fraction(1), p[x] / q[x])
        result[x] += q[x] * accept
        if accept < 1:
            for k, mass in first_of_two_races(q, rest, x).items():
                result[k] += (1 - accept) * mass
    return table(result)


def first_of_two_races(q: Row, r: Row, x: int) -> dict[int, Fraction]:
    """P(x wins the race E / q, k wins E / r) for V = 3 where r(x) = 0, integrated over cones.

    With E_x = s: all others exceed their share a_j s of it. For the winner k and the loser j of the second race, the
    loser's clock exceeds max(a_j s, b t) where t is the winner's: two cones of the (s, t) quadrant, exp on each.
    """
    others = [y for y in range(3) if y != x and r[y]]
    idle = [y for y in range(3) if y != x and not r[y]]
    if len(others) == 1:
        return {others[0]: q[x]}
    assert not idle
    wins = {}
    for k, j in (others, others[::-1]):
        a_k, a_j, b = q[k] / q[x], q[j] / q[x], r[j] / r[k]
        # (s, t) with t >= a_k s; the density exp(-s - t) times P(E_j > max(a_j s, b t))
        turn = a_j / b  # above t = turn s, b t is the larger
        low, high = (Fraction(1), a_k), (Fraction(0), Fraction(1))  # rays of the region
        middle = (Fraction(1), max(turn, a_k))
        wins[k] = cone(middle, high, (Fraction(1), 1 + b))
        if turn > a_k:
            wins[k] += cone(low, middle, (1 + a_j, Fraction(1)))
    assert sum(wins.values()) == q[x]
    return wins


def cone(v: tuple[Fraction, Fraction], w: tuple[Fraction, Fraction], rate: tuple[Fraction, Fraction]) -> Fraction:
    """The integral of exp(-rate . z) over the cone spanned by v and w."""

    def dot(z: tuple[Fraction, Fraction]) -> Fraction:
        return rate[0] * z[0] + rate[1] * z[1]

    return abs(v[0] * w[1] - v[1] * w[0]) / (dot(v) * dot(w))


def twin_seeds(p: Row, q: Row) -> Law:
    """Draft by inverse CDF and coin from the same uniform; the residual's draw is free (its own)."""

    def program(pick: Pick) -> Hashable:
        cuts = [*accumulate(q), *(min(Fraction(1), a / b) for a, b in zip(p, q, strict=True))]
        u = cell(pick, cuts)
        x = by_cdf(q, u)
        return (x,) if u < p[x] / q[x] else (pick(minus(p, q)),)

    return law(program)


def last_coin(p: Row, x: int) -> Law:
    """One-hot draft x; the coin of the test draws the residual too."""
    rest = removed(p, x)

    def program(pick: Pick) -> Hashable:
        u = cell(pick, [p[x], *accumulate(rest)])
        return (x,) if u < p[x] else (by_cdf(rest, u),)

    return law(program)


def one_coin(rows: tuple[Row, Row], draft: tuple[int, int]) -> Law:
    """One-hot drafts; one coin for both positions. A string of one is completed by the target."""

    def program(pick: Pick) -> Hashable:
        u = cell(pick, [row[x] for row, x in zip(rows, draft, strict=True)])
        out: tuple[int, ...] = ()
        for row, x in zip(rows, draft, strict=True):
            if u >= row[x]:
                out += (pick(removed(row, x)),)
                break
            out += (x,)
        return out if len(out) == 2 else (*out, pick(rows[1]))

    return law(program)


# Several candidates


def siblings(p: Row, q: Row, order: Sequence[int], dense: bool) -> Law:
    """A fixed list of siblings: accepted with what is left of p (one-hot), or as if drawn from q one by one (dense)."""

    def program(pick: Pick) -> Hashable:
        left, draft = list(p), list(q)
        for x in order:
            if coin(pick, left[x] / draft[x] if dense else left[x]):
                return (x,)
            left = minus(left, draft) if dense else removed(left, x)
            draft = removed(draft, x) if sum(draft) > draft[x] else draft
        return (pick(left),)

    return law(program)
