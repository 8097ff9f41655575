"""Why a law is wrong: the line that decides it, and whether reuse of random numbers is the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rheo_proof.audit.contract import SHARED, TWICE, Finding, most
from rheo_proof.audit.exploring import Exploration, Leaf
from rheo_proof.audit.judging import GUARD, Judged
from rheo_proof.audit.lines import Departure, departure
from rheo_proof.audit.sites import NOWHERE, Site
from rheo_proof.audit.splitting import by_line, by_look, by_phase, split
from rheo_proof.exact.number import Q

MOST_SPLIT = 24
"""So many random variables of a run are tried as the one that is used twice."""


def line(found: Exploration, judged: Judged) -> Departure | None:
    """What departs at the first wrong string, and the line that decides it."""
    if judged.wrong is None or judged.failing:
        return None
    return departure(found.leaves, judged.model, judged.wrong.string[:-1], max(Q(judged.allowed), GUARD))


def causes(found: Exploration, right: Callable[..., bool | None], case: str) -> Iterator[Finding]:
    """Shared or repeated use of random variables, if the law is right once each use has a variable of its own.

    `right` explores the case again with the given `split` and says whether its law is right then.
    """
    usage = found.usage
    if usage.shared:
        at = most(usage.shared_at)
        if right(split=split(by_phase)):
            yield Finding(SHARED, f"drawn {at}; with noise of its own for each, the law is right", case, cause=True)
            return
        yield Finding(SHARED, f"drawn {at}; whether that is what makes the law wrong is open", case, remark=True)
    if not usage.used_twice:
        return
    if right(split=split(by_line)):
        yield Finding(TWICE, f"{reused(found)}; with a fresh one for each line, the law is right", case, cause=True)
        return
    for number in range(min(usage.drawn, MOST_SPLIT)):
        if right(split=split(by_look, frozenset({f"u{number}"}))):
            at = listed(places(found.leaves).get(f"u{number}", {}))
            text = f"the one that is compared at {at}; with a fresh one for each use, the law is right"
            yield Finding(TWICE, text, case, cause=True)
            return


def places(leaves: Iterable[Leaf]) -> dict[str, dict[Site, None]]:
    """The lines at which each uniform was compared with a threshold."""
    found: dict[str, dict[Site, None]] = {}
    for leaf in leaves:
        for decision in leaf.decisions:
            name, compared, _ = decision.what.partition(" < ")
            if compared and decision.site is not NOWHERE:
                found.setdefault(name, {})[decision.site] = None
    return found


def reused(found: Exploration) -> str:
    """The lines of a uniform that is compared at more than one, or where such a variable is drawn."""
    compared = max(places(found.leaves).values(), key=len, default={})
    if len(compared) > 1:
        return f"the one that is compared at {listed(compared)}"
    return f"drawn {most(found.usage.twice_at)}"


def listed(sites: Iterable[Site]) -> str:
    """Some lines, in words."""
    return " and ".join(map(str, sorted(sites))) or "lines outside of the function"
