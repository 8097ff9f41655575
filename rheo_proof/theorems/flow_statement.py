"""One reveal of FlowVerification, for all p, t and w: the mean of the new masses over X ~ t is the old masses.

This is condition (M) of docs/theorem.md for a node u of mass w in (0, 1]; everything else has mass 1 - w.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO
from rheo_proof.schemes.tree import Node
from rheo_proof.schemes.verifying.flow import Flow, Revealing
from rheo_proof.schemes.verifying.flow_masses import Mass
from rheo_proof.theorems.cutting import by_permutation
from rheo_proof.theorems.polynomials import Poly, Space
from rheo_proof.theorems.regions import Point, Region
from rheo_proof.theorems.symbolic_run import SymbolicReplay
from rheo_proof.theorems.symbols import at_point, numerator, simplex, unknown, vanishes


def parts(vocab: int, every_order: bool) -> list[Region]:
    """All v = w p with 0 < w <= 1 and all t; or so many that each is a rearrangement of some."""
    space = Space([[*(f"v{i}" for i in range(vocab)), *(f"t{i}" for i in range(vocab - 1))]])
    entries = [space.unknown(i) for i in range(len(space.names))]
    one, v, t = space.constant(ONE), entries[:vocab], entries[vocab:]
    whole = Region.whole(space, [one - sum(part, 0) for part in (v, t) if part], [sum(v, 0)])
    return [whole] if every_order else by_permutation(whole, lambda region: compared(vocab, region))


def compared(vocab: int, region: Region) -> list[list[Poly]]:
    """w p - t and w p, token by token."""
    t = simplex(region, range(vocab, 2 * vocab - 1))
    v = [unknown(region, y) for y in range(vocab)]
    return [[numerator(region, v[y] - t[y]), numerator(region, v[y])] for y in range(vocab)]


def shape(vocab: int, region: Region) -> tuple[Any, ...]:
    """What a region says that stays when tokens change places: signs of w p - t and of p by token, and of 1 - w."""
    v = [unknown(region, y) for y in range(vocab)]
    rest = numerator(region, ONE - sum(v, ZERO))
    signs = sorted(tuple(tuple(sorted(region.signs(poly))) for poly in pair) for pair in compared(vocab, region))
    return (*signs, tuple(sorted(region.signs(rest))))


def differences(verifying: Flow, vocab: int, region: Region) -> list[tuple[Prefix, Any]]:
    """Mean over X of the new mass, minus the old one: of every token at u, and, last, of everything else."""
    v = [unknown(region, y) for y in range(vocab)]
    return changes(verifying, v, simplex(region, range(vocab, 2 * vocab - 1)))


def checked(verifying: Flow, vocab: int, orders: Sequence[Sequence[int]], region: Region, at: Point) -> int:
    """Run the reveal with plain numbers, the tokens in several orders. Raises `SoundnessError` if (M) fails."""
    t = simplex(region, range(vocab, 2 * vocab - 1))
    for order in orders:
        here = [at[y] for y in order], [at_point(t[y], at) for y in order]
        wrong = [change for _, change in changes(verifying, *here) if change]
        if wrong:
            raise SoundnessError(
                f"the symbolic run proves (M) at w p = {here[0]}, t = {here[1]}; it is off by {wrong[0]}"
            )
    return len(orders)


def changes(verifying: Flow, v: Sequence[Any], t: Sequence[Any]) -> list[tuple[Prefix, Any]]:
    """Mean over X ~ t of the new masses, minus the old ones, where w p = v."""
    vocab, w = len(v), sum(v, ZERO)
    p, told = Law(x / w for x in v), Law(t)
    model = ToyModel(vocab, 1, lambda u: p, lambda u: told)
    elsewhere = (vocab,)
    before = (Mass((), (), w), Mass(elsewhere, elsewhere, ONE - w))
    means: list[Any] = [ZERO] * (vocab + 1)
    for x in range(vocab):
        if vanishes(t[x]):
            continue
        state = Revealing(before, (Node((0,), x, "sampled", told),))
        after = {mass.path: mass for mass in verifying.reveal(model, state, SymbolicReplay()).done}
        masses = [after[()].of(p, y) for y in range(vocab)]
        masses[x] = after[0,].c if (0,) in after else ZERO
        masses.append(after[elsewhere].c if elsewhere in after else ZERO)
        means = [mean + t[x] * mass for mean, mass in zip(means, masses, strict=True)]
    return [((y,), mean - old) for y, (mean, old) in enumerate(zip(means, [*v, ONE - w], strict=True))]
