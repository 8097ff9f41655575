"""Races of noise: which of several random numbers is the largest, without enumerating the noise.

`p / E`, `log p - log E`, `logits + gumbel`, `log(u) / p` and `u ** (1 / p)` with E = -log u or -log(1 - u) are all
monotone functions of the clock E / w with a weight w. Cells that share the function are ordered by their clocks, and
orders of clocks are cones (`cones.py`): the first to ring is i with probability w_i / sum(w), and several races on the
same noise have the joint law that they have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from rheo_proof.audit import cones
from rheo_proof.audit.constants import constant, exponential, finite, is_nan, logarithm
from rheo_proof.audit.errors import AuditError, refuse
from rheo_proof.audit.latents import Group, Latent, merged
from rheo_proof.audit.scalars import Cell, Lazy, Opaque, Scalar, Winner
from rheo_proof.audit.standing import at_its_end, beaten
from rheo_proof.audit.steps import Step, Steps, extended
from rheo_proof.exact.number import ONE, ZERO, Q

GUARD = Q(1, 10**6)
"""Constants inside noise up to this size, as in -log(u + 1e-20), are ignored; what that changes enters the slack."""


NEGLIGIBLE = Q(1, 10**800)


class Clock(NamedTuple):
    """The form of a cell in a race: increasing (`sign` 1) or decreasing (-1) in E / rate, by a function `shape`.

    In logarithmic shapes `rate` is the logarithm of the rate; `Race` makes numbers of it that do not overflow.
    """

    latent: Latent
    complement: bool
    rate: Q
    sign: int
    shape: tuple[Any, ...]


def clock(cell: Scalar) -> Clock | None:
    """The cell as a function of a clock, or None if it is none."""
    steps = list(cell.steps)
    complement = False
    slack = ZERO
    while steps and steps[0] != ("log",):
        step = steps[0]
        flip = step[0] == "affine" and step[1] < ZERO and not complement
        if flip:
            # 1 - u is as uniform as u.
            step = ("affine", -step[1], step[1] + step[2])
        moved = _moved(step)
        if moved is None or moved > GUARD:
            break
        complement = complement or flip
        slack += moved
        del steps[0]
    # u itself is e^-E.
    form = _form(steps[1:] if steps and steps[0] == ("log",) else [("exp",), *steps])
    if form is None or form[3] > GUARD:
        return None
    rate, sign, shape, guard = form
    cell.latent.run.ignored(slack + guard)
    return Clock(cell.latent, complement, rate, sign, shape)


def _moved(step: Step) -> Q | None:
    """How far, in total variation, a step moves the uniform law on (0, 1); None if it is no small correction."""
    match step:
        case ("affine", a, b):
            return Q(abs(b) + abs(ONE - a - b))
        case ("clamp", low, high):
            return Q((low if low is not None else ZERO) + (ONE - high if high is not None else ZERO))
    return None


def _form(steps: Sequence[Step]) -> tuple[Q, int, tuple[Any, ...], Q] | None:
    """What is done to L = log u = -E: (rate, sign, shape, guard), or None.

    First linear in E, then perhaps its inverse, or s log E + b; whatever follows is a suffix that all cells of a race
    must share, and which is strictly monotone.
    """
    sign, scale, guard = -1, ONE, ZERO  # the value is sign * scale * E
    position = 0
    while position < len(steps):
        match steps[position]:
            case ("affine", a, b):
                if a < ZERO:
                    sign = -sign
                scale *= abs(a)
                guard += abs(b) / scale
            case ("clamp", low, high):
                near, far = (
                    (low, high) if sign > 0 else (None if high is None else -high, None if low is None else -low)
                )
                guard += (near / scale if near is not None and near > ZERO else ZERO) + (
                    exponential(-far / scale) if far is not None else ZERO
                )
            case _:
                break
        if guard > GUARD:
            return None
        position += 1
    rest = steps[position:]
    if not rest:
        return ONE / scale, sign, ("linear",), guard
    if any(step[0] == "clamp" for step in rest):
        # A number that is cut off ties with others: which of them wins is not said by their clocks.
        return None
    if rest[0] == ("inv",):
        # sign / (scale E); a factor belongs to the rate.
        c = ONE
        if len(rest) > 1 and rest[1][0] == "affine" and rest[1][2] == ZERO:
            c = rest[1][1]
            rest = rest[1:]
        direction, suffix = _suffix(rest[1:])
        return abs(c) / scale, -sign * (1 if c > ZERO else -1) * direction, ("inverse", c > ZERO, suffix), guard
    if rest[0] == ("log",) and sign > 0:
        s, b = ONE, logarithm(scale)
        if len(rest) > 1 and rest[1][0] == "affine":
            s, b = rest[1][1], rest[1][1] * b + rest[1][2]
            rest = rest[1:]
        direction, suffix = _suffix(rest[1:])
        # s log E + b = s log(E e^(b/s))
        return -b / s, (1 if s > ZERO else -1) * direction, ("log", s, suffix), guard
    direction, suffix = _suffix(rest)
    return ONE / scale, sign * direction, ("linear", suffix), guard


def _suffix(steps: Sequence[Step]) -> tuple[int, Steps]:
    """Whether the remaining steps increase (1) or decrease (-1), and the steps."""
    direction = 1
    for step in steps:
        if step == ("inv",) or (step[0] == "affine" and step[1] < ZERO):
            direction = -direction
    return direction, tuple(steps)


class Race:
    """Random cells that share a function of their clocks; `largest` says whether the largest value wins."""

    def __init__(self, cells: Sequence[Scalar], largest: bool) -> None:
        clocks = []
        for cell in cells:
            found = clock(cell)
            if found is None:
                refuse("race of random numbers", "not of the form of exponential or Gumbel noise with weights")
            clocks.append(found)
        if len({(each.shape, each.sign) for each in clocks}) > 1:
            refuse("race of random numbers", "the numbers are not one function of their noise")
        self.earliest = (clocks[0].sign > 0) is not largest
        if clocks[0].shape[0] == "log":
            # Only ratios of rates matter.
            top = max(each.rate for each in clocks)
            clocks = [each._replace(rate=exponential(each.rate - top)) for each in clocks]
        self.clocks = clocks
        if not self.earliest and not all(each.rate for each in clocks):
            refuse("race of random numbers", "one of the weights is too small")

    def winner(self, among: Sequence[int]) -> int:
        """Which of these cells wins, decided now."""
        running = [i for i in among if self.clocks[i].rate]
        if len(running) < len(among):
            # Rates of e^-2000 and less, as of logits masked with -1e9.
            self.clocks[0].latent.run.ignored(NEGLIGIBLE)
            if not running and len(among) > 1:
                refuse("race of random numbers", "the order of numbers with negligible weights was asked for")
            among = running or among
        if len(among) == 1:
            return among[0]
        clocks = [self.clocks[i] for i in among]
        for each in clocks:
            each.latent.looked_at()
        untouched = all(each.latent.fresh for each in clocks) and len({id(each.latent) for each in clocks}) == len(
            clocks
        )
        group = merged([each.latent for each in clocks], [each.complement for each in clocks])
        if untouched and self.earliest and len(group.members) == len(clocks):
            regions = [[cones.first_of([each.rate for each in clocks], i)] for i in range(len(clocks))]
        else:
            regions = [self._region(group, clocks, i) for i in range(len(clocks))]
        masses = [group.mass(region) for region in regions]
        total = sum(masses, ZERO)
        possible = [i for i, mass in enumerate(masses) if mass]
        index = 0
        if len(possible) > 1:
            run = group.members[0].run
            name = f"race of {', '.join(each.latent.name for each in clocks)}"
            index = run.choose([masses[i] / total for i in possible], name, group.members[0].site)
        group.narrow(regions[possible[index]])
        return among[possible[index]]

    def _region(self, group: Group, clocks: Sequence[Clock], winner: int) -> list[cones.Cone]:
        """Where one clock beats all others; a clock raced against itself at one rate ties, and the first wins."""
        region = group.region
        for i, other in enumerate(clocks):
            if i == winner:
                continue
            difference = self._difference(group, clocks[winner], other)
            if not any(difference):
                if i < winner:
                    return []
                continue
            below, above = cones.cut(region, difference)
            region = below if self.earliest else above
        return region

    def _difference(self, group: Group, one: Clock, other: Clock) -> cones.Vector:
        """E_one / rate_one - E_other / rate_other as a linear functional of the group."""
        a = [ZERO] * len(group.members)
        a[group.position(one.latent)] += ONE / one.rate
        a[group.position(other.latent)] -= ONE / other.rate
        return tuple(a)


def _field(cells: Sequence[Any], largest: bool) -> tuple[list[Any], list[int]]:
    """The cells with everything lazy decided, and which of them can win a race: (values, positions of random ones)."""
    values = []
    for cell in cells:
        value = cell.settle() if isinstance(cell, Lazy) else cell
        if isinstance(value, Scalar):
            value = at_its_end(value)
        if isinstance(value, Opaque):
            value.look()
        if not isinstance(value, Cell):
            exact = constant(value)
            if exact is None:
                raise AuditError(f"{value!r} of type {type(value).__name__} is no number")
            value = exact
        values.append(value)
    return values, [i for i, value in enumerate(values) if isinstance(value, Cell)]


def _cut_off(cells: Sequence[Scalar]) -> bool:
    """Whether all are functions of one latent, and some are cut off at a number: no noise with weights."""
    return len({id(cell.latent) for cell in cells}) == 1 and any(map(_clamped, cells))


def _clamped(cell: Scalar) -> bool:
    return bool(cell.steps) and cell.steps[-1][0] == "clamp"


def _best_of_one_latent(values: Sequence[Any], largest: bool) -> int:
    """The first of the largest (or smallest), by comparing one after the other, as for `minimum(cdf, u * total)`."""
    from rheo_proof.audit.arithmetic import apply, decide

    def inside(value: Any) -> Any:
        if not isinstance(value, Scalar) or not _clamped(value):
            return value
        _, low, high = value.steps[-1]
        inner = Scalar(value.latent, value.steps[:-1])
        if high is not None and decide(inner, "ge", high):
            return high
        return low if low is not None and decide(inner, "le", low) else inner

    known = [inside(value) for value in values]
    best = 0
    for i, value in enumerate(known):
        if apply("gt" if largest else "lt", value, known[best]):
            best = i
    return best


def argmax(cells: Sequence[Any], largest: bool = True) -> Winner | int:
    """The index of the largest (or smallest) of some cells and constants; lazy if it is random. NaN wins, as in torch.

    >>> from rheo_proof.audit.exploring import explore
    >>> def gumbel(run):
    ...     return int(argmax([-((-run.uniform().log()).log()) + w for w in (0.0, -math.inf, 0.0)]))
    >>> {winner: str(mass) for winner, mass in explore(gumbel).law.items()}
    {0: '1/2', 2: '1/2'}
    """
    if not any(isinstance(cell, Cell) for cell in cells):
        return _plain(cells, largest)
    return Winner(lambda: _order(cells, 1, largest, True)[0], "winner of a race")


def _plain(values: Sequence[Any], largest: bool) -> int:
    exact: list[Any] = [constant(value) for value in values]
    for i, value in enumerate(exact):
        if is_nan(value):
            return i
    best = (max if largest else min)(exact)
    return exact.index(best)


def order(cells: Sequence[Any], k: int, largest: bool = True) -> list[int]:
    """The indices of the k largest (or smallest) cells, best first, decided now; ties go to the first, NaN is large."""
    return _order(cells, k, largest, largest)


def _order(cells: Sequence[Any], k: int, largest: bool, nan_first: bool) -> list[int]:
    values, racing = _field(cells, largest)
    if k == 1 and _cut_off([values[i] for i in racing]) and not any(map(is_nan, values)):
        return [_best_of_one_latent(values, largest)]
    ranked: list[int] = []
    plain = [i for i in range(len(values)) if i not in racing]
    nan = [i for i in plain if is_nan(values[i])]
    plain = [i for i in plain if i not in nan]
    plain.sort(key=lambda i: values[i], reverse=largest)
    rivals = [values[j] for j in racing]
    ahead = [i for i in plain if racing and not beaten(values[i], rivals, largest, whole=k > 1)]
    ranked += (nan if nan_first else []) + ahead
    plain = [i for i in plain if i not in ahead]
    if racing and len(ranked) < k:
        race = Race([values[i] for i in racing], largest)
        left = list(range(len(racing)))
        while left and len(ranked) < k:
            best = race.winner(left)
            left.remove(best)
            ranked.append(racing[best])
    return (ranked + plain + ([] if nan_first else nan))[:k]


def first_is_smaller(x: Scalar, y: Scalar) -> bool:
    """Whether x < y, for two random numbers with clocks of their own, decided now."""
    return Race([x, y], largest=False).winner([0, 1]) == 0


def softmax_row(cells: Sequence[Any]) -> list[Any]:
    """The softmax of a row of noise: cells that only a race within the row may look at."""
    values, racing = _field(cells, True)
    if not racing:
        raise AuditError("softmax_row: nothing in the row is random")
    run = values[racing[0]].latent.run
    step = ("row", run.next_row())
    result: list[Any] = []
    for value in values:
        if isinstance(value, Scalar):
            result.append(Scalar(value.latent, extended(value.steps, step)))
        elif not finite(value) and value == -math.inf:
            result.append(ZERO)
        else:
            result.append(Opaque(run, "softmax of a constant beside noise"))
    return result
