"""One reveal under DX: what each value of X owes, what is left to trade, and who gets it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeAlias

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.schemes.verifying.settled import Place

Measure: TypeAlias = dict[Prefix, Q]
"""The mass of every string of full length."""

Column: TypeAlias = int | None
"""A child of u that is no head, or None for all settled strings together."""


class Laws(NamedTuple):
    """The law of the output under DX, and under RheoVerification."""

    own: Measure
    rheo: Measure


class Trade(NamedTuple):
    """Rows are the values of X, with what is left of their probability; columns with what is left of their mass.

    `owed` is what a slot of a row gets in any case: as much as under RheoVerification.
    """

    room: dict[int, Q]
    left: dict[Column, Q]
    owed: dict[int, dict[int, Q]]


def mass_below(measure: Mapping[Prefix, Q], u: Prefix) -> Q:
    """The mass of the strings that start with u."""
    return sum((mass for s, mass in measure.items() if s[: len(u)] == u), ZERO)


def revealed(laws: Laws, settled: AbstractSet[Prefix], at: Place, x: int) -> Laws:
    """Both laws after X_u = x. Raises `SoundnessError` if more is owed than there is."""
    own, level = laws.own, len(at.u)
    rheo = {s: mass * at.factor(x, s[level]) if s[:level] == at.u else mass for s, mass in laws.rheo.items()}
    trade = owing(laws, settled, at)
    whole = {column: mass_below(own, (*at.u, column)) for column in trade.left if column is not None}
    pool = sum((own[s] for s in settled), ZERO)
    given = matched(at, trade)[x]
    after: Measure = {}
    for s, mass in own.items():
        y = s[level]
        if s in settled:
            after[s] = mass * given[None] / (at.law[x] * pool) if mass else ZERO
        elif s[:level] != at.u:
            after[s] = mass
        elif y in at.head:
            after[s] = rheo[s] + mass - laws.rheo[s]
        else:
            after[s] = mass * (trade.owed[x].get(y, ZERO) + given[y] / at.law[x]) / whole[y] if mass else ZERO
    return Laws(after, rheo)


def owing(laws: Laws, settled: AbstractSet[Prefix], at: Place) -> Trade:
    """What is owed: everything outside u as it is, heads their factor, slots their share, all but settled strings."""
    own, level, rows = laws.own, len(at.u), at.law.support
    c = mass_below(laws.rheo, at.u)
    owed = {row: {y: c * at.share(row, y) for y in at.slots(row)} for row in rows}
    fixed = moving = ZERO
    for s, mass in own.items():
        if s not in settled and (s[:level] != at.u or s[level] in at.head):
            fixed += mass
            moving += laws.rheo[s] if s[:level] == at.u else ZERO
    room = {
        row: at.law[row] * (ONE - fixed - moving * (at.kappa(row) - ONE) - sum(owed[row].values(), ZERO))
        for row in rows
    }
    left: dict[Column, Q] = {None: sum((own[s] for s in settled), ZERO)}
    for y in range(len(at.p)):
        if y not in at.head:
            left[y] = mass_below(own, (*at.u, y)) - sum((at.law[row] * owed[row].get(y, ZERO) for row in rows), ZERO)
    if min(*room.values(), *left.values()) < ZERO:
        raise SoundnessError(f"what is owed at {at.u} does not fit")
    return Trade(room, left, owed)


def matched(at: Place, trade: Trade) -> dict[int, dict[Column, Q]]:
    """What each row gets of each column: X of itself, then fill candidates of the last fill, then all in proportion."""
    room, left = dict(trade.room), dict(trade.left)
    got: dict[int, dict[Column, Q]] = {row: dict.fromkeys(left, ZERO) for row in room}

    def give(row: int, column: Column, mass: Q) -> None:
        room[row] -= mass
        left[column] -= mass
        got[row][column] += mass

    for row in room:
        give(row, row, min(room[row], left[row]))
    if at.fills < len(at.tail):
        last = at.tail[at.fills]
        for row in at.tail[: at.fills]:
            give(row, last, min(room[row], left[last]))
    total = sum(room.values(), ZERO)
    shares = {(row, column): a * b / total for row, a in room.items() for column, b in left.items() if a and b}
    for (row, column), mass in shares.items():
        give(row, column, mass)
    return got
