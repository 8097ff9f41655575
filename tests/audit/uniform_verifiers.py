"""Small verifiers that are handed their uniforms one by one, right ones and wrong ones, and how they are compared.

Each asks a source for uniforms and choices, as `explore` and the piecewise mode offer them, and computes in floats.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from rheo_proof.exact.number import ZERO, Q

P = (0.5, 0.3125, 0.1875)
P_NEXT = (0.25, 0.125, 0.625)
DRAFT = (0.1875, 0.3125, 0.5)
Program = Callable[[Any], Hashable]


def exactly(row: Sequence[float]) -> list[Q]:
    return [Q(*x.as_integer_ratio()) for x in row]


def chosen(source: Any, row: Sequence[float]) -> int:
    """A token of a row, drawn by the audit."""
    support = [x for x, mass in enumerate(row) if mass]
    index: int = source.choose([exactly(row)[x] for x in support], "draft")
    return support[index]


def inverse_cdf(u: Any, weights: Sequence[float]) -> int:
    """The first token whose cumulative weight is above u times the total."""
    running = 0.0
    for x, w in enumerate(weights):
        running += w
        if u * sum(weights) < running:
            return x
    return len(weights) - 1


def residual(p: Sequence[float], q: Sequence[float]) -> list[float]:
    return [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]


def chain(source: Any, accepts: Callable[[Any, float, float], Any], wrong_row: bool = False) -> Hashable:
    """Two draft tokens, a coin for each, and one uniform for the recovered or the bonus token."""
    drafts = [chosen(source, DRAFT), chosen(source, DRAFT)]
    coins = [source.uniform(), source.uniform()]
    last = source.uniform()
    for k, p in enumerate((P, P_NEXT)):
        x = drafts[k]
        if not accepts(coins[k], p[x], DRAFT[x]):
            return (*drafts[:k], inverse_cdf(last, residual(P if wrong_row else p, DRAFT)))
    return (*drafts, inverse_cdf(last, P))


def ratio(u: Any, p: float, q: float) -> Any:
    return u * q < p


def ratio_or_equal(u: Any, p: float, q: float) -> Any:
    return u * q <= p


def right_chain(source: Any) -> Hashable:
    return chain(source, ratio)


def recovers_from_the_first_row(source: Any) -> Hashable:
    return chain(source, ratio, wrong_row=True)


def accepts_by_target_alone(source: Any) -> Hashable:
    return chain(source, lambda u, p, q: u < p)


def siblings(source: Any, reuse: bool) -> Hashable:
    """One coin against the cumulative target mass of three fixed siblings, then a draw from what is left."""
    coin, last = source.uniform(), source.uniform()
    running = 0.0
    for x in (1, 2):
        running += P[x]
        if coin < running:
            return (x,)
    left = [mass if x == 0 else 0.0 for x, mass in enumerate(P)]
    left_next = [0.25, 0.0, 0.75]
    return (inverse_cdf(last, left), inverse_cdf(coin if reuse else last, left_next))


def right_siblings(source: Any) -> Hashable:
    return siblings(source, reuse=False)


def reuses_the_coin(source: Any) -> Hashable:
    return siblings(source, reuse=True)


def one_draw(source: Any) -> Hashable:
    return inverse_cdf(source.uniform(), P)


def one_draw_of_the_draft(source: Any) -> Hashable:
    return inverse_cdf(source.uniform(), DRAFT)


def returns_a_law(source: Any) -> Hashable:
    """The last token is drawn by the audit, from a vector that depends on the coin."""
    accepted = bool(source.uniform() < 0.75)
    return (accepted, chosen(source, P if accepted else P_NEXT))


def distance(first: Mapping[Hashable, Q], second: Mapping[Hashable, Q]) -> Q:
    """Total variation."""
    cells = dict.fromkeys([*first, *second])
    return sum((abs(first.get(x, ZERO) - second.get(x, ZERO)) for x in cells), ZERO) / 2


# Exponentials as arguments


def row_of_noise(source: Any) -> list[Any]:
    return [source.exponential() for _ in P]


def race(weights: Sequence[float], noise: Sequence[float]) -> int:
    return max(range(len(weights)), key=lambda x: weights[x] / noise[x])


def racing_chain(source: Any, rows: int, wrong_row: bool = False) -> Hashable:
    """As `chain`, with the last token from a race; with a single row of noise it serves every position."""
    drafts = [chosen(source, DRAFT), chosen(source, DRAFT)]
    coins = [source.uniform(), source.uniform()]
    noise = [row_of_noise(source) for _ in range(rows)]
    for k, p in enumerate((P, P_NEXT)):
        x = drafts[k]
        if not ratio(coins[k], p[x], DRAFT[x]):
            return (*drafts[:k], race(residual(P if wrong_row else p, DRAFT), noise[k % rows]))
    return (*drafts, race(P, noise[-1]))


def one_row_for_all(source: Any) -> Hashable:
    return racing_chain(source, 1)


def a_row_for_each(source: Any) -> Hashable:
    return racing_chain(source, 3)


def races_for_the_first_row(source: Any) -> Hashable:
    return racing_chain(source, 3, wrong_row=True)
