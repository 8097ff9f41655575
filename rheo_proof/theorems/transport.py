"""The most that any lossless verification of one level can accept: optimal transport, computed in three ways.

A drafting method proposes a tuple of tokens with law D, and a verification moves to one of them or draws another token;
the token it ends with has to have the law p. A *plan* C(t, y) is the probability that t is proposed and its member y
accepted. It is feasible iff sum over y of C(t, y) <= D(t) and sum over t of C(t, y) <= p(y), and every feasible plan is
a lossless verification (arXiv 2310.15141, 2502.18779). The optimum alpha* is the largest total of a feasible plan.

`by_subsets` proves an upper bound, `by_max_flow` a lower one by a plan; both are rationals, and they are equal. The
third way, `by_linear_program`, shares neither code nor arithmetic with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from math import lcm
from typing import Any, NamedTuple, TypeAlias

from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.number import ONE, ZERO, Q

Tuples: TypeAlias = dict[tuple[int, ...], Q]
"""The law D of the candidates of one node: each list of tokens with its probability."""

Plan: TypeAlias = dict[tuple[tuple[int, ...], int], Q]
"""(t, y) -> probability that t is proposed and y, one of its tokens, accepted."""

MOST_TOKENS = 16
"""`by_subsets` looks at all subsets of the candidates, and refuses to look at more than 2^16."""


class Cut(NamedTuple):
    """A proof that nothing accepts more than `acceptance`: a set H of tokens, `acceptance` = 1 + p(H) - D(all in H).

    When all candidates lie in H, the accepted token lies in H as well; that happens with at most p(H).
    """

    acceptance: Q
    inside: tuple[int, ...]


def check_tuples(p: Law, tuples: Mapping[tuple[int, ...], Q]) -> None:
    """Raise `InputError` unless D is a law on tuples of tokens of p."""
    for t, mass in tuples.items():
        if type(mass) is not Q or mass < ZERO:
            raise InputError(f"candidates {t}: the probability {mass!r} is not a rational of at least 0")
        if not all(0 <= x < len(p) for x in t):
            raise InputError(f"candidates {t}: the target law has tokens 0 to {len(p) - 1}")
    if sum(tuples.values(), ZERO) != ONE:
        raise InputError(f"the law of the candidates sums to {sum(tuples.values(), ZERO)}, expected exactly 1")


def within(tuples: Mapping[tuple[int, ...], Q], inside: Iterable[int]) -> Q:
    """D(all candidates in H)."""
    return sum((mass for t, mass in tuples.items() if set(t) <= set(inside)), ZERO)


def by_subsets(p: Law, tuples: Tuples) -> Cut:
    """alpha* = 1 + min over sets H of tokens of (p(H) - D(all in H)), with a minimising H, the smallest one first.

    The formula is the minimal cut of the flow in `by_max_flow` (arXiv 2502.18779); tokens outside all tuples cannot
    help H. Raises `InputError` for more than `MOST_TOKENS` candidate tokens, or if D is not a law.

    >>> q = Law.read(["3/10", "1/10", "3/5"])
    >>> two_draws = {(x, y): q[x] * q[y] for x in range(3) for y in range(3)}
    >>> cut = by_subsets(Law.read(["1/2", "3/10", "1/5"]), two_draws)
    >>> str(cut.acceptance), cut.inside
    ('21/25', (2,))
    """
    check_tuples(p, tuples)
    grouped = by_members(tuples)
    tokens = sorted(set().union(*grouped))
    if len(tokens) > MOST_TOKENS:
        raise InputError(f"{len(tokens)} candidate tokens: too many subsets, at most {MOST_TOKENS} tokens")
    sets = (inside for size in range(len(tokens) + 1) for inside in combinations(tokens, size))
    return min((Cut(cut_value(p, grouped, inside), inside) for inside in sets), key=lambda cut: cut.acceptance)


def cut_value(p: Law, grouped: Mapping[frozenset[int], Q], inside: Iterable[int]) -> Q:
    """1 + p(H) - D(all in H), an upper bound on the acceptance for every H."""
    chosen = frozenset(inside)
    return ONE + p.mass(chosen) - sum((mass for members, mass in grouped.items() if members <= chosen), ZERO)


def by_members(tuples: Tuples) -> dict[frozenset[int], Q]:
    """D by the set of tokens in the tuple: order and repetition do not matter to what can be accepted."""
    grouped: dict[frozenset[int], Q] = {}
    for t, mass in tuples.items():
        if mass:
            grouped[frozenset(t)] = grouped.get(frozenset(t), ZERO) + mass
    return grouped


def by_max_flow(p: Law, tuples: Tuples) -> tuple[Q, Plan]:
    """alpha* and a plan that attains it: the maximal flow source -> t (D(t)) -> y in t -> sink (p(y)).

    The probabilities are scaled by their common denominator, so that the flow is one of integers. Raises `InputError`
    without networkx or if D is not a law, `SoundnessError` if the plan is not feasible or not worth the flow.

    >>> alpha, plan = by_max_flow(Law.read(["1/2", "1/2"]), {(0,): ONE / 4, (1, 0): ONE * 3 / 4})
    >>> str(alpha), sorted(plan)
    ('1', [((0,), 0), ((1, 0), 0), ((1, 0), 1)])
    """
    check_tuples(p, tuples)
    grouped = by_members(tuples)
    whole = lcm(*(int(mass.denominator) for mass in (*p, *grouped.values())))
    graph = _networkx().DiGraph()
    graph.add_nodes_from(("source", "sink"))
    for members, mass in grouped.items():
        graph.add_edge("source", members, capacity=int(mass * whole))
        graph.add_edges_from((members, y, {"capacity": int(mass * whole)}) for y in members)
    for y in p.support:
        graph.add_edge(y, "sink", capacity=int(p[y] * whole))
    value, flow = _networkx().maximum_flow(graph, "source", "sink")
    plan: Plan = {}
    for t, mass in tuples.items():
        if mass:
            share = mass / grouped[frozenset(t)]
            plan.update({(t, y): share * Q(out, whole) for y, out in sorted(flow[frozenset(t)].items()) if out})
    if accepted_by(p, tuples, plan) != Q(value, whole):
        raise SoundnessError(f"the plan accepts {accepted_by(p, tuples, plan)}, the flow is {Q(value, whole)}")
    return Q(value, whole), plan


def optimal_plan(p: Law, tuples: Tuples) -> Plan:
    """A feasible plan C(t, y) that accepts alpha*; entries of 0 are left out (arXiv 2310.15141).

    A verification that knows t moves to its member y with probability C(t, y) / D(t), and otherwise draws from what is
    left of p. Raises what `by_max_flow` raises, and `SoundnessError` if `by_subsets`, asked for up to `MOST_TOKENS`
    candidate tokens, allows more.

    >>> plan = optimal_plan(Law.read(["1/2", "1/2"]), {(0,): ONE / 4, (1, 0): ONE * 3 / 4})
    >>> {key: str(mass) for key, mass in plan.items()}
    {((0,), 0): '1/4', ((1, 0), 0): '1/4', ((1, 0), 1): '1/2'}
    """
    alpha, plan = by_max_flow(p, tuples)
    if len(set().union(*map(set, tuples))) <= MOST_TOKENS and alpha != by_subsets(p, tuples).acceptance:
        raise SoundnessError(f"the flow accepts {alpha}, the subsets allow {by_subsets(p, tuples).acceptance}")
    return plan


def accepted_by(p: Law, tuples: Tuples, plan: Plan) -> Q:
    """The total of a plan. Raises `SoundnessError`, naming the violated condition, unless it is feasible.

    >>> accepted_by(Law.read(["1/2", "1/2"]), {(0,): ONE}, {((0,), 0): ONE})
    Traceback (most recent call last):
    ...
    rheo_proof.exact.errors.SoundnessError: the plan accepts token 0 with 1, the target allows 1/2
    """
    by_tuple: dict[tuple[int, ...], Q] = {}
    by_token: dict[int, Q] = {}
    for (t, y), mass in plan.items():
        if mass < ZERO or y not in t:
            raise SoundnessError(f"the plan accepts {y} from {t} with {mass}")
        by_tuple[t] = by_tuple.get(t, ZERO) + mass
        by_token[y] = by_token.get(y, ZERO) + mass
    for t, mass in by_tuple.items():
        if mass > tuples.get(t, ZERO):
            raise SoundnessError(f"the plan accepts {mass} from {t}, which is proposed with {tuples.get(t, ZERO)}")
    for y, mass in by_token.items():
        if mass > p[y]:
            raise SoundnessError(f"the plan accepts token {y} with {mass}, the target allows {p[y]}")
    return sum(plan.values(), ZERO)


def by_linear_program(p: Law, tuples: Tuples) -> tuple[Q, Q]:
    """Two rationals with alpha* between them, from the linear program as POT solves it in double precision.

    Moving D to p at cost 0 from t to its members and 1 to other tokens costs 1 - alpha*. POT's plan and its dual are
    read back as the rationals they are: the plan, less what it exceeds its margins by, is a lower bound, and any dual
    with u(t) + v(y) <= cost an upper one. They are at most `tolerance` apart. Raises `InputError` without POT.

    >>> low, high = by_linear_program(Law.read(["1/2", "1/2"]), {(0,): ONE / 4, (1, 0): ONE * 3 / 4})
    >>> low <= ONE <= high, high - low <= tolerance(2, 2)
    (True, True)
    """
    check_tuples(p, tuples)
    rows, columns = [t for t, mass in tuples.items() if mass], list(p.support)
    supply, demand = [tuples[t] for t in rows], [p[y] for y in columns]
    cost = [[0 if y in t else 1 for y in columns] for t in rows]
    moved, dual = _pot(supply, demand, cost)
    columns_of = list(zip(*moved, strict=True))
    excess = sum((max(sum(row, ZERO) - mass, ZERO) for row, mass in zip(moved, supply, strict=True)), ZERO)
    excess += sum((max(sum(c, ZERO) - mass, ZERO) for c, mass in zip(columns_of, demand, strict=True)), ZERO)
    accepted = sum((x for row, line in zip(moved, cost, strict=True) for x, c in zip(row, line, strict=True) if not c))
    u = [min(c - v for c, v in zip(line, dual, strict=True)) for line in cost]
    dearest = sum((a * b for a, b in zip(u, supply, strict=True)), ZERO)
    dearest += sum((a * b for a, b in zip(dual, demand, strict=True)), ZERO)
    return ZERO + accepted - excess, ONE - dearest


def tolerance(rows: int, columns: int) -> Q:
    """How far the two bounds of `by_linear_program` may be apart, for so many tuples and tokens.

    Each of the rows + columns margins is a number of at most 1; it is rounded when it is read, when POT rescales it
    and when the simplex method moves it along its tree, by at most 2^-53 each time. Eight such errors are allowed for;
    with more of them the bounds would be further apart, but still be bounds.
    """
    return Q(8 * (rows + columns), 1 << 53)


def _pot(supply: list[Q], demand: list[Q], cost: list[list[int]]) -> tuple[list[list[Q]], list[Q]]:
    """The plan that POT finds, and its dual variables of the columns: floats, written as the rationals they are."""
    try:
        import numpy
        import ot
    except ImportError:
        raise InputError("needs POT; pip install 'rheo-proof[transport]'") from None
    a, b, m = (numpy.array(values, dtype="float64") for values in (supply, demand, cost))
    moved, log = ot.lp.emd(a, b, m, log=True)
    if log["warning"] is not None:
        raise SoundnessError(f"POT: {log['warning']}")
    return [[max(exactly(x), ZERO) for x in row] for row in moved], [exactly(x) for x in log["v"]]


def exactly(x: Any) -> Q:
    """A float as the rational that it is."""
    return Q(*x.as_integer_ratio())


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise InputError("needs networkx; pip install 'rheo-proof[transport]'") from None
    return networkx
