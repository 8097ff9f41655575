"""What the tests of docs/specification.md and docs/theorem.md compute with: one level of RheoSampling from scratch.

Nothing of the package is imported: laws are tuples of `Fraction`, and the few lines of RheoSampling that the
examples need are written out here. A computed number must appear, as it is printed, in the sentence or row
that quotes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

Law = tuple[Fraction, ...]

DOCS = Path(__file__).resolve().parents[1] / "docs"
SPECIFICATION = DOCS / "specification.md"
THEOREM = DOCS / "theorem.md"

ZERO, ONE = Fraction(0), Fraction(1)


def law(*entries: str) -> Law:
    values = tuple(Fraction(entry) for entry in entries)
    assert sum(values) == 1
    return values


P = law("1/2", "3/10", "1/5")
Q = law("3/5", "3/10", "1/10")
THIRDS = law("1/3", "1/3", "1/3")


def show(values: Sequence[Fraction]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"


def require_text(page: Path, *pieces: str) -> None:
    """Each piece stands in the page, line breaks aside."""
    text = " ".join(page.read_text(encoding="utf-8").split())
    for piece in pieces:
        if piece not in text:
            raise AssertionError(f"{page.name} does not say: {piece}")


def require_row(page: Path, start: str, *pieces: str) -> None:
    """The table has one row that starts with `start`, and each piece stands in it."""
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {start} |")]
    if len(rows) != 1:
        raise AssertionError(f"{page.name} has {len(rows)} rows that start with {start}")
    for piece in pieces:
        if piece not in rows[0]:
            raise AssertionError(f"{page.name}, row {start}, does not say: {piece}")


# One level of RheoSampling.


def norm(weights: Sequence[Fraction]) -> Law:
    total = sum(weights, ZERO)
    return tuple(x / total for x in weights)


def excess(a: Law, b: Law) -> Law:
    return tuple(max(x - y, ZERO) for x, y in zip(a, b, strict=True))


def mix(parts: Sequence[tuple[Fraction, Law]]) -> Law:
    return tuple(sum((weight * part[y] for weight, part in parts), ZERO) for y in range(len(parts[0][1])))


def point(x: int, size: int = 3) -> Law:
    return tuple(ONE if y == x else ZERO for y in range(size))


def order(q: Law) -> list[int]:
    return sorted((x for x in range(len(q)) if q[x]), key=lambda x: (-q[x], x))


def tail_law(q: Law, m: int) -> Law:
    head = order(q)[:m]
    return norm([ZERO if x in head else q[x] for x in range(len(q))])


def paper_proxy(q: Law, m: int) -> Fraction:
    z = ONE - sum((q[x] for x in order(q)[:m]), ZERO)
    return min(q[order(q)[m - 1]], z) if m else z


def accept_or(p: Law, t: Law, x: int, otherwise: Law) -> Law:
    """Law of y: x with the coin min(1, p(x)/t(x)), else a draw from `otherwise`."""
    coin = min(ONE, p[x] / t[x]) if t[x] else ONE
    return mix([(coin, point(x, len(p))), (1 - coin, otherwise)])


def rheo(p: Law, t: Law, x: int) -> Law:
    return accept_or(p, t, x, norm(excess(p, t)) if any(excess(p, t)) else p)


def rrsw(p: Law, t: Law, children: Sequence[tuple[int, bool]]) -> Law:
    """Law of y for children (token, sampled?) in the order in which they are tested."""
    parts, reached, r = [], ONE, p
    for x, sampled in children:
        coin = min(ONE, r[x] / t[x]) if sampled else r[x]
        parts.append((reached * coin, point(x, len(p))))
        reached *= 1 - coin
        if not reached:
            return mix(parts)
        r = norm(excess(r, t) if sampled else [ZERO if y == x else r[y] for y in range(len(p))])
    return mix([*parts, (reached, r)])


def reused_uniform(p: Law, t: Law, x: int) -> Law:
    """Law of y when the residual is drawn, by inverse cdf, with the uniform that has just failed the coin."""
    a, low, parts = min(ONE, p[x] / t[x]), ZERO, []
    for y, mass in enumerate(norm(excess(p, t))):
        parts.append((max(ZERO, low + mass - max(low, a)), point(y)))
        low += mass
    return mix([(a, point(x)), *parts])


Ranking = Callable[[int, int, Fraction], tuple[Fraction | int, ...]]


def by_slot(slot: int, x: int, value: Fraction) -> tuple[Fraction | int, ...]:
    return -value, slot


def kept_children(
    q: Law, m: int, slots: int, nodes: int, x: int, proxy: Fraction, ranking: Ranking = by_slot
) -> list[tuple[int, bool]]:
    """Children (token, sampled?) of the root in slot order, for D = 1 and the sampled token x."""
    head, tail = order(q)[:m], [y for y in order(q)[m:] if y != x]
    row = [(y, False, q[y]) for y in head] + [(x, True, proxy)]
    row += [(y, False, q[y]) for y in tail[: slots - m - 1]]
    ranked = sorted(enumerate(row), key=lambda item: ranking(item[0], item[1][0], item[1][2]))
    return [(y, sampled) for _, (y, sampled, _) in sorted(ranked[:nodes])]


def first_token(
    q: Law,
    m: int,
    *,
    slots: int = 2,
    nodes: int = 2,
    proxy: Callable[[int], Fraction] | None = None,
    ranking: Ranking = by_slot,
    answer: Callable[[list[tuple[int, bool]], int], Law] | None = None,
    draw: Law | None = None,
) -> Law:
    """Law of the first token of the page's tiny instance; without options it has no fault."""
    t = tail_law(q, m)

    def rheo_answer(children: list[tuple[int, bool]], x: int) -> Law:
        return rheo(P, t, x) if (x, True) in children else P

    parts = []
    for x, weight in enumerate(draw or t):
        if weight:
            factor = proxy(x) if proxy else paper_proxy(q, m)
            children = kept_children(q, m, slots, nodes, x, factor, ranking)
            parts.append((weight, (answer or rheo_answer)(children, x)))
    return mix(parts)


def faulty_laws() -> dict[str, Law]:
    t = tail_law(Q, 1)
    low = paper_proxy(Q, 0) / 3
    return {
        "own-probability": first_token(Q, 0, nodes=1, proxy=lambda x: Q[x]),
        "tail-probability": first_token(Q, 1, nodes=1, proxy=lambda x: t[x]),
        "low-proxy": first_token(Q, 0, nodes=1, proxy=lambda x: low),
        "tie-by-token": first_token(THIRDS, 1, slots=3, ranking=lambda slot, x, value: (-value, x)),
        "drop-unlikely": first_token(Q, 1, answer=lambda kept, x: P if 2 * Q[x] < Q[1] else rheo(P, t, x)),
        "verify-full-q": first_token(Q, 1, answer=lambda kept, x: rheo(P, Q, x)),
        "draw-full-q": first_token(Q, 1, draw=Q),
        "ratio-on-top-k": accept_or(P, Q, 0, norm(excess(P, Q))),
        "skip-residual": first_token(Q, 1, answer=lambda kept, x: accept_or(P, t, x, P)),
        "residual-of-q": first_token(Q, 1, answer=lambda kept, x: accept_or(P, t, x, norm(excess(P, Q)))),
        "resort-siblings": first_token(Q, 0, answer=lambda kept, x: rrsw(P, Q, sorted(kept))),
        "shared-coin": reused_uniform(P, point(0), 0),
    }
