"""The worked fractions in docs/specification.md, computed again from scratch; nothing of the package is imported."""

from __future__ import annotations

import re

import pytest

from tests.docs_fractions import (
    ONE,
    SPECIFICATION,
    THEOREM,
    ZERO,
    P,
    Q,
    excess,
    law,
    mix,
    norm,
    paper_proxy,
    point,
    require_row,
    require_text,
    rheo,
    rrsw,
    show,
    tail_law,
)


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


def test_a_number_that_is_not_on_the_page_is_noticed() -> None:
    with pytest.raises(AssertionError, match="does not say"):
        require_text(THEOREM, "(11/13, 1/13, 1/13)")
    with pytest.raises(AssertionError, match="does not say"):
        require_row(THEOREM, "`skip-residual`", f"| {show(P)} |")
    with pytest.raises(AssertionError, match="0 rows"):
        require_row(THEOREM, "`no-such-fault`")
