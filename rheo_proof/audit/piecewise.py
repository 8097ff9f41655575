"""The piecewise-exact mode: the law of a function that takes its uniforms as arguments, without looking inside.

For compiled code nothing can be intercepted. But a function without randomness of its own is a step function of its
uniforms: every draft is handed over with its exact probability, the boxes on which the function is constant are found
by bisection (`carving.py`), races of exponentials inside them too (`racing.py`), and volumes are added up. What remains
an assumption is stated with the law.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from rheo_proof.audit.adapters.adapter import Adapter
from rheo_proof.audit.arrays import Arrays
from rheo_proof.audit.boxes import MISS, PROBES, NotBoxes, Pieces, unseen
from rheo_proof.audit.breakpoints import Floats
from rheo_proof.audit.carving import MOST_CELLS, Search, settle
from rheo_proof.audit.cases import Case, Request
from rheo_proof.audit.errors import FAILURES, AuditError, Unsound
from rheo_proof.audit.exploring import Raised
from rheo_proof.audit.plain import Plain, Scripted
from rheo_proof.audit.racing import Answer, Noise, RaceSearch
from rheo_proof.exact.errors import LimitReached
from rheo_proof.exact.number import ONE, ZERO, Q

Once = Callable[[Plain], Hashable]
"""One plain run; what is random in its arguments is asked from a source."""


class Boundary(NamedTuple):
    """What can be emitted where one uniform is exactly 0, though it has probability 0 in the law."""

    uniform: int
    outcome: Hashable


@dataclass(frozen=True)
class PiecewiseLaw:
    """The law of one function on one input. `resolution`: how far in TV it depends on where in between two neighbouring
    floats the break points are. `probes`: fresh random points that agreed with the boxes. `drawn` uniforms and
    exponentials were set, of which `used` make a difference.
    """

    law: Mapping[Hashable, Q]
    drawn: int
    used: int
    cells: int
    breaks: int
    calls: int
    probes: int
    resolution: Q
    at_zero: tuple[Boundary, ...]


def assumption(probes: int) -> str:
    """The sentence that belongs to a verdict of this mode.

    >>> print(assumption(2048))
    piecewise-exact: assumes that no box hides a thinner feature than was probed; 2,048 fresh random points for each \
table agreed with the boxes, which a law wrong by TV 0.0118 survives with probability at most 1e-09
    """
    return (
        f"piecewise-exact: assumes that no box hides a thinner feature than was probed; {probes:,} fresh random points "
        f"for each table agreed with the boxes, which a law wrong by TV {unseen(probes):.3g} survives with probability "
        f"at most {MISS:g}"
    )


def table_law(
    function: Callable[..., Any],
    adapter: Adapter,
    case: Case,
    request: Request,
    probes: int = PROBES,
    watch: Callable[[], None] = lambda: None,
) -> PiecewiseLaw:
    """The law for one request: over all drafts, each with its exact probability and its share of the probes.

    Raises `NotBoxes` where the regions are not boxes, an argument is random in another way, or the function has
    randomness of its own, and `LimitReached` beyond `MOST_CELLS` boxes for one draft. `watch` is called before each run
    and may raise.
    """
    arrays = Arrays(getattr(adapter, "arrays", "torch"), audited=False)

    def once(source: Plain) -> Hashable:
        watch()
        source.arrays = arrays
        outcome: Hashable = adapter.step(function, case, request, source)
        return outcome

    generator = random.Random(f"{case.name} {request}")
    return law_of(once, case.dtype, candidates(case, request), probes, MOST_CELLS, generator, case.vocab)


def law_of(
    once: Once,
    dtype: str,
    hints: Iterable[Q] = (),
    probes: int = PROBES,
    most_cells: int = MOST_CELLS,
    generator: random.Random | None = None,
    size: int = 0,
) -> PiecewiseLaw:
    """The law of a program that asks its source for uniforms, and for choices, which are followed one by one.

    What is chosen before the first uniform, such as the draft, has boxes of its own for each choice. `hints`: likely
    break points. `size`: V, the length of a row of exponentials.

    >>> law = law_of(lambda source: "accepted" if source.uniform() < 0.25 else "rejected", "float32")
    >>> {outcome: str(mass) for outcome, mass in sorted(law.law.items())}
    {'accepted': '1/4', 'rejected': '3/4'}
    """
    dice = generator or random.Random(0)
    searches = [
        (search_of(once, dtype, first, dice, hints, most_cells, size), first.first_weight)
        for first in first_choices(once, dtype)
    ]
    settle(searches, probes)
    return mixed([(share, search.pieces()) for search, share in searches])


def first_choices(once: Once, dtype: str) -> Iterator[Scripted]:
    """A run for each way in which the choices before the first uniform can come out."""
    script: list[int] | None = []
    while script is not None:
        source = Scripted(dtype, None, script)
        outcome_of(once, source)
        yield source
        script = source.next_script(0, source.leading)


def search_of(
    once: Once, dtype: str, first: Scripted, generator: random.Random, hints: Iterable[Q], most_cells: int, size: int
) -> Search:
    """The boxes for the first choices of a run, which shows how many uniforms and exponentials there are to set."""
    floats, clocks = Floats(dtype), first.asked_exponentials
    script = first.taken[: first.leading]

    def asked(uniforms: Sequence[float], noise: Noise = ()) -> Answer:
        return law_at(once, dtype, script, uniforms, noise)

    if not clocks:
        return Search(lambda points: [asked(u) for u in points], first.asked, floats, generator, hints, most_cells)
    if not size or clocks % size:
        raise NotBoxes(f"{clocks} exponentials are not rows of one for each token of {size}")
    return RaceSearch(asked, first.asked, clocks // size, size, floats, generator, hints, most_cells)


def law_at(once: Once, dtype: str, chosen: Sequence[int], uniforms: Sequence[float], noise: Noise = ()) -> Answer:
    """The law of the outcome for given first choices, uniforms and exponentials: pairs of outcome and probability."""
    law: dict[Hashable, Q] = {}
    script: list[int] | None = list(chosen)
    while script is not None:
        source = Scripted(dtype, uniforms, script, noise)
        outcome = outcome_of(once, source)
        if source.leading != len(chosen):
            raise Unsound("what is drawn before the first uniform depends on the uniforms")
        law[outcome] = law.get(outcome, ZERO) + source.weight / source.first_weight
        script = source.next_script(len(chosen))
    return frozenset(law.items())


def outcome_of(once: Once, source: Plain) -> Hashable:
    """What one run returns, or how it failed."""
    try:
        return once(source)
    except (AuditError, LimitReached, NotBoxes, Unsound):
        raise
    except FAILURES as error:
        return Raised(type(error).__name__, str(error))


def mixed(parts: Sequence[tuple[Q, Pieces]]) -> PiecewiseLaw:
    """The law of the outcome, from boxes whose answers are laws."""
    law: dict[Hashable, Q] = {}
    boundaries: dict[Boundary, None] = {}
    for share, pieces in parts:
        for answer, volume in pieces.law.items():
            for outcome, mass in pairs(answer):
                law[outcome] = law.get(outcome, ZERO) + share * volume * mass
        found = (Boundary(i, outcome) for i, _, answer in pieces.at_zero for outcome, _ in pairs(answer))
        boundaries.update(dict.fromkeys(found))
    if sum(law.values(), ZERO) != ONE:
        raise Unsound(f"the boxes have total probability {sum(law.values(), ZERO)}")
    return PiecewiseLaw(
        law,
        max(pieces.drawn for _, pieces in parts),
        max(pieces.used for _, pieces in parts),
        sum(len(pieces.cells) for _, pieces in parts),
        sum(pieces.breaks for _, pieces in parts),
        sum(pieces.calls for _, pieces in parts),
        sum(pieces.probes for _, pieces in parts),
        sum((share * pieces.resolution for share, pieces in parts), ZERO),
        tuple(boundary for boundary in boundaries if boundary.outcome not in law),
    )


def pairs(answer: Hashable) -> Iterator[tuple[Hashable, Q]]:
    """The outcomes and probabilities of a law that is the answer on a box."""
    if not isinstance(answer, frozenset):
        raise Unsound(f"{answer!r} is no law")
    yield from answer


def candidates(case: Case, request: Request) -> set[Q]:
    """Likely break points: ratios p/q, cumulative sums of p and of the normalised residual, at all prefixes."""
    found: set[Q] = set()
    prefixes = [u for k in range(case.length + 1) for u in product(range(case.vocab), repeat=k)]
    for u in [] if case.refusal else prefixes:
        p = case.target(request.index, (*request.context, *u))
        found |= set(cumulated(p.probs))
        if len(u) < case.length:
            q = case.draft(request.index, (*request.context, *u))
            found |= {a / b for a, b in zip(p, q, strict=True) if b}
            found |= set(cumulated([max(a - b, ZERO) for a, b in zip(p, q, strict=True)]))
    return found


def cumulated(weights: Sequence[Q]) -> Iterator[Q]:
    """Cumulative sums of weights, divided by their total; nothing where all are 0.

    >>> [str(c) for c in cumulated([Q(1), Q(0), Q(3)])]
    ['1/4', '1/4', '1']
    """
    total, running = sum(weights, ZERO), ZERO
    for w in weights if total else ():
        running += w
        yield running / total
