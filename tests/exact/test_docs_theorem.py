"""The worked fractions in docs/theorem.md, computed again from scratch; nothing of the package is imported."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import pytest

from tests.docs_fractions import (
    ONE,
    THEOREM,
    THIRDS,
    ZERO,
    Law,
    P,
    Q,
    excess,
    faulty_laws,
    first_token,
    law,
    mix,
    norm,
    point,
    require_row,
    require_text,
    rheo,
    rrsw,
    show,
    tail_law,
)


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
