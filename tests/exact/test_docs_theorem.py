"""The worked fractions in docs/specification.md and docs/theorem.md, computed again from scratch.

Nothing of the package is imported: laws are tuples of `Fraction`, and the few lines of RheoSampling that the
examples need are written out here. A computed number must appear, as it is printed, in the sentence or row
that quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

Law = tuple[Fraction, ...]

DOCS = Path(__file__).resolve().parents[2] / "docs"
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


def test_without_a_fault_every_tiny_instance_of_the_table_is_right() -> None:
    for q, m, slots, nodes in [(Q, 0, 2, 1), (Q, 1, 2, 1), (Q, 1, 2, 2), (THIRDS, 1, 3, 2), (Q, 0, 2, 2)]:
        assert first_token(q, m, slots=slots, nodes=nodes) == P
    rrsw_in_slot_order = first_token(Q, 0, answer=lambda kept, x: rrsw(P, Q, kept))
    assert rrsw_in_slot_order == P
    assert rheo(P, point(0), 0) == P
    require_row(THEOREM, "`shared-coin`", f"q = {show(point(0))}")
    require_text(THEOREM, f"it should be p = {show(P)}", f"q = {show(Q)}", f"t = {show(tail_law(Q, 1))}")


@pytest.mark.parametrize(("name", "faulty"), faulty_laws().items(), ids=list(faulty_laws()))
def test_first_token_of_a_fault_is_as_printed_and_wrong(name: str, faulty: Law) -> None:
    assert sum(faulty) == 1
    assert faulty != P
    require_row(THEOREM, f"`{name}`", f"| {show(faulty)} |")


# docs/specification.md


def test_node_by_hand() -> None:
    t, proxy = tail_law(Q, 1), paper_proxy(Q, 1)
    assert proxy == min(Q[0], 1 - Q[0])
    require_text(
        SPECIFICATION,
        f"`q = {show(Q)}`",
        f"z = {1 - Q[0]} t = {show(t)} proxy = min({Q[0]}, {1 - Q[0]}) = {proxy}",
        f"With probability {t[1]} the sampled token is 1 and the fill is token 2 with factor {Q[2]};",
        f"the fill is token 1 with factor {Q[1]}.",
        f"In both cases the factors read head {Q[0]}, sampled {proxy},",
    )
    best_fill, z = Q[1], 1 - Q[0]
    whole, half = max(z, best_fill), max(z / 2, best_fill)
    require_text(
        SPECIFICATION,
        f'`proxy = "tail"` gives {whole} at `proxy_scale = 1` and {half} at `proxy_scale = 1/2`',
    )


def test_tree_by_hand() -> None:
    head, sampled = Q[0], paper_proxy(Q, 1)
    values = {
        "`0` (head)": head,
        "`X` (sampled)": sampled,
        "`0 0` (head)": head * head,
        "`0 Y` (sampled)": head * sampled,
        "`X 0` (head)": sampled * head,
        "`X Z` (sampled)": sampled * sampled,
    }
    assert list(values.values()) == sorted(values.values(), reverse=True)
    for node, value in values.items():
        require_row(SPECIFICATION, node, f"| {value} |")
    require_text(SPECIFICATION, f"The tie at {head * sampled} goes")


def test_rheo_by_hand() -> None:
    t = tail_law(Q, 1)
    coins = {x: min(ONE, P[x] / t[x]) for x in (1, 2)}
    residual = excess(P, t)
    assert norm(residual) == point(0)
    one, two = t[1] * coins[1], t[2] * coins[2]
    assert (1 - one - two, one, two) == P
    require_text(
        SPECIFICATION,
        f"with `p = {show(P)}`: the coin is {coins[1]} for `X = 1` and {coins[2]} for `X = 2`,",
        f"`norm({show(residual)})`",
        f"probability {t[1]} * {coins[1]} = {one}, token 2 with {t[2]} * {coins[2]} = {two},",
        f"the remaining {1 - one - two}",
    )


def test_flow_by_hand() -> None:
    t = tail_law(Q, 1)
    a = min(ONE, P[1] / t[1])
    rest = sum(excess(t, P))
    rho = (1 - a) / rest
    other = rho * max(P[2] - t[2], ZERO)
    assert (rho * P[0], a, other) == rheo(P, t, 1)
    require_text(
        SPECIFICATION,
        f"the head gets `c = {P[0]}`; then `a = {a}`, `rest = {rest}` and `rho = {rho}`,",
        f"scaled to {rho * P[0]}, the sampled child gets {a} and token 2 gets {other}.",
    )


def test_acceptance_of_the_first_level() -> None:
    t, tail = tail_law(Q, 1), 1 - P[0]
    of_rheo = P[0] + sum(min(P[x], t[x]) for x in (1, 2))
    of_rrsw = P[0] + sum(min(P[x], tail * t[x]) for x in (1, 2))
    tested = [(t[x], rrsw(P, t, [(0, False), (x, True)])) for x in (1, 2)]
    assert mix(tested) == P
    taken = P[0] + sum(t[x] * tail * min(ONE, P[x] / tail / t[x]) for x in (1, 2))
    assert of_rrsw == taken
    require_text(SPECIFICATION, f"In the root above the two numbers are {of_rheo} and {of_rrsw}.")


def test_toy_model_of_the_file_format_has_proper_laws() -> None:
    text = SPECIFICATION.read_text(encoding="utf-8")
    laws = re.findall(r'\[("[0-9/]+"(?:, "[0-9/]+")*)\]', text)
    assert len(laws) == 4
    for entries in laws:
        law(*(entry.strip('"') for entry in entries.split(", ")))


# docs/theorem.md


def test_head_that_is_inserted_after_the_draw_but_tested_before_it() -> None:
    rows = {0: [(1, False), (0, True)], 1: [(1, True)], 2: [(2, True)]}
    laws = {x: rrsw(P, THIRDS, children) for x, children in rows.items()}
    for x, wrong in laws.items():
        require_row(THEOREM, str(x), f"{show(wrong)} |")
    after_head = norm([P[0], ZERO, P[2]])
    require_row(THEOREM, "0", f"is taken with {P[1]}; else r = {show(after_head)}")
    require_row(THEOREM, "1", f"passes with {P[1] / THIRDS[1]};")
    require_row(THEOREM, "2", f"passes with {P[2] / THIRDS[2]};")
    average = mix([(THIRDS[x], wrong) for x, wrong in laws.items()])
    assert average != P
    require_text(THEOREM, f"Let p = {show(P)} and let t be uniform", f"The average is {show(average)}, not p.")
    in_insertion_order = {**rows, 0: [(0, True), (1, False)]}
    assert mix([(THIRDS[x], rrsw(P, THIRDS, children)) for x, children in in_insertion_order.items()]) == P


def test_rrsw_with_the_tail_proxy() -> None:
    q = law("2/5", "3/10", "3/10")
    t, z, head = tail_law(q, 1), 1 - q[0], q[0]
    best = Fraction(9, 10)
    below_one = z * max(best, 1 - best)
    uniform_tail = 1 - THIRDS[0]
    below_two = z * max(THIRDS[0], uniform_tail)
    assert z > head
    assert below_one > head
    assert below_two == head
    laws = {1: rrsw(P, t, [(1, True)]), 2: rrsw(P, t, [(0, False), (2, True)])}
    average = mix([(t[x], part) for x, part in laws.items()])
    assert average != P
    require_row(THEOREM, "`rrsw-tail-proxy`", f"| {show(average)} |")
    require_text(
        THEOREM,
        f"At the root q = {show(q)}",
        f"ranks first with value {z}, the head second with {head}.",
        f"have probability {best}; that child has value {below_one}",
        f"there the best child has value {below_two}, the tie goes",
    )


def test_one_random_number_for_the_coins_of_two_levels() -> None:
    p, q = law("1/2", "1/2"), law("1", "0")
    coin = min(ONE, p[0] / q[0])
    assert rheo(p, q, 0) == p
    require_text(
        THEOREM,
        f"V = 2, p = {show(p)} and q = {show(q)} everywhere",
        f"Each of the two coins is true with probability {coin}.",
        f"Pr[S starts with 0 0] = {coin}, although it should be {p[0] * p[0]}.",
    )


# FlowVerification in the form of section 7: a law on strings of two tokens, changed by each reveal.

Strings = Mapping[tuple[int, ...], Fraction]


def product_law(first: Law, second: Law) -> Strings:
    return {(x, y): first[x] * second[y] for x, y in product(range(len(first)), repeat=2)}


def reveal(mass: Strings, u: tuple[int, ...], t: Law, x: int) -> Strings:
    """The law after the sampled slot of u turned out to hold x."""
    depth = len(u)

    def part(s: tuple[int, ...]) -> int | None:
        return s[depth] if s[:depth] == u else None

    level = tuple(sum((m for s, m in mass.items() if part(s) == y), ZERO) for y in range(len(t)))
    a = min(ONE, level[x] / t[x])
    rho = (1 - a) / sum(excess(t, level)) if a < 1 else ZERO
    new = tuple(a if y == x else rho * max(level[y] - t[y], ZERO) for y in range(len(t)))
    out = {}
    for s, m in mass.items():
        y = part(s)
        if y is None:
            out[s] = rho * m
        else:
            out[s] = m * new[y] / level[y] if level[y] else ZERO
    assert sum(out.values()) == 1
    return out


def first_is_zero(
    root: Law,
    below: Law,
    first: tuple[tuple[int, ...], Law],
    second: tuple[tuple[int, ...], Law],
    swapped: bool,
) -> Fraction:
    """Pr[first token is 0] when the second slot is inserted iff the first one holds 0."""
    start = product_law(root, below)
    (u, t), (v, s) = first, second
    total = ZERO
    for x, weight in enumerate(t):
        ends: list[tuple[Fraction, Strings]] = []
        if not weight:
            continue
        if x:
            ends.append((weight, reveal(start, u, t, x)))
        else:
            for y, chance in enumerate(s):
                if chance:
                    steps = [(v, s, y), (u, t, x)] if swapped else [(u, t, x), (v, s, y)]
                    mass = start
                    for node, its_law, token in steps:
                        mass = reveal(mass, node, its_law, token)
                    ends.append((weight * chance, mass))
        total += sum((w * m for w, end in ends for string, m in end.items() if string[0] == 0), ZERO)
    return total


def test_flow_in_another_order_depth_first() -> None:
    half, t = law("1/2", "1/2"), law("3/4", "1/4")
    y_then_z = (half, half, ((1,), t), ((0,), t))
    right, wrong = first_is_zero(*y_then_z, swapped=False), first_is_zero(*y_then_z, swapped=True)
    start = product_law(half, half)
    after = [sum((m for s, m in reveal(start, (1,), t, y).items() if s[0] == 0), ZERO) for y in (0, 1)]
    assert right == half[0]
    assert wrong != right
    require_text(
        THEOREM,
        f"Let V = 2, p = {show(half)} after every prefix, and t = {show(t)} for both",
        f"is {t[0]} * {after[0]} + {t[1]} * {after[1]} = {right}, as it should be.",
        f"as a depth-first sweep does, it gets {wrong}.",
    )


def test_flow_in_another_order_by_layers() -> None:
    root, below = law("1/2", "1/4", "1/4"), law("1/2", "1/2", "0")
    t_below, t_root = law("3/4", "1/4", "0"), law("0", "3/4", "1/4")
    y_then_x = (root, below, ((0,), t_below), ((), t_root))
    right, wrong = first_is_zero(*y_then_x, swapped=False), first_is_zero(*y_then_x, swapped=True)
    assert right == root[0]
    assert wrong != right
    require_text(
        THEOREM,
        f"V = 3, p = {show(root)} at the root and p = {show(below)} below token 0.",
        f"with t = {show(t_below)}; if Y = 0,",
        f"with t = {show(t_root)}; if Y = 1, stop. In this order Pr[first token is 0] = {right}.",
        f"because it is shallower, it is {wrong}.",
    )


def test_a_number_that_is_not_on_the_page_is_noticed() -> None:
    with pytest.raises(AssertionError, match="does not say"):
        require_text(THEOREM, "(11/13, 1/13, 1/13)")
    with pytest.raises(AssertionError, match="does not say"):
        require_row(THEOREM, "`skip-residual`", f"| {show(P)} |")
    with pytest.raises(AssertionError, match="0 rows"):
        require_row(THEOREM, "`no-such-fault`")
