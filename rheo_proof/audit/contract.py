"""What a verifier owes besides the law: honest draft rows, noise of its own, no impossible token, inputs left alone.

Each check gives findings. Causes explain why a law is wrong and come first in a verdict; what is shared or used twice
without any law being wrong for it is a remark at most. The others break the contract even though the law is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from rheo_proof.audit.exploring import Exploration
from rheo_proof.audit.judging import GUARD, Judged, failure, impossible, sorted_out
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.sites import NOWHERE
from rheo_proof.audit.words import shown, string
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ZERO, Q, to_fraction


@dataclass(frozen=True)
class Finding:
    """One thing that was found: what `topic` it is of, in words, and on which case.

    `cause`: it comes before a wrong law, which is its consequence. `remark`: it never decides the verdict. `others`
    counts further cases that show the same.
    """

    topic: str
    text: str
    case: str = ""
    cause: bool = False
    remark: bool = False
    others: int = 0


DRAFT_LAW = "the reported draft law is not the law drawn from"
SHARED = "draft and verifier share noise"
OVERLAP = "two draws share their noise"
TWICE = "a random variable is used twice"
IMPOSSIBLE = "a token of target probability 0 can be emitted"
CHANGED = "the input is changed"
NAN = "a row of nan is accepted"
FAILING = "no usable answer"
LENGTHS = "the answer is no emitted string"
ENDPOINT = "an end of a uniform raises"

TOPICS = (DRAFT_LAW, SHARED, OVERLAP, TWICE, LENGTHS, FAILING, IMPOSSIBLE, CHANGED, NAN, ENDPOINT)
"""In the order in which they are listed."""


@dataclass(frozen=True)
class DraftFault:
    """The first draft token, given what was drafted and reported before it, that does not follow its reported row."""

    context: Prefix
    token: int
    reported: Fraction
    actual: Fraction


def draft_fault(exploration: Exploration, allowed: Q) -> DraftFault | None:
    """Compare what a drafter reports with what it draws: given all rows so far, the next token must follow the last.

    None where nothing was reported, or all of it is true up to `allowed`.
    """
    seen: dict[tuple[Prefix, tuple[tuple[Q, ...], ...]], dict[int, Q]] = {}
    for outcome, mass in exploration.law.items():
        if not isinstance(outcome, Outcome):
            continue
        for length in range(min(len(outcome.drafted), len(outcome.reported))):
            known = (outcome.drafted[:length], outcome.reported[: length + 1])
            drawn = seen.setdefault(known, {})
            drawn[outcome.drafted[length]] = drawn.get(outcome.drafted[length], ZERO) + mass
    for (context, rows), drawn in sorted(seen.items(), key=lambda item: (len(item[0][0]), item[0])):
        total = sum(drawn.values(), ZERO)
        scale = sum(rows[-1], ZERO)
        if not scale:
            continue
        off = {x: drawn.get(x, ZERO) / total - share / scale for x, share in enumerate(rows[-1])}
        token = max(off, key=lambda x: abs(off[x]))
        if total * abs(off[token]) > allowed:
            share = rows[-1][token] / scale
            return DraftFault(context, token, to_fraction(share), to_fraction(share + off[token]))
    return None


def of_draft(fault: DraftFault, case: str) -> Finding:
    """The finding about reported draft rows."""
    return Finding(
        DRAFT_LAW,
        f"{after(fault.context)} the drafter draws token {fault.token} with probability {shown(fault.actual)} and "
        f"reports {shown(fault.reported)}",
        case,
        cause=True,
    )


def most(sites: dict[object, int] | object) -> str:
    """The site that was met most often, in words."""
    counted = dict(sites) if isinstance(sites, dict) else {}
    counted.pop(NOWHERE, None)
    return f"at {max(counted, key=lambda site: counted[site])}" if counted else "outside of the function"


def of_law(judged: Judged) -> Iterator[Finding]:
    """Findings that stand in the law itself: failures, impossible tokens, changed inputs."""
    case = judged.case.name
    for text, mass in judged.failures.items():
        topic = FAILING if text.startswith("raises ") else LENGTHS
        text += f", with probability {shown(to_fraction(mass))}"
        yield Finding(topic, text, case, remark=judged.failing <= max(judged.allowed, to_fraction(GUARD)))
    if judged.impossible is not None:
        yield Finding(IMPOSSIBLE, emitted(judged.impossible, judged.law), case)
    if judged.changed:
        yield Finding(CHANGED, f"the call writes into {', '.join(judged.changed)}", case)


def emitted(found: Prefix, law: dict[Prefix, Q]) -> str:
    """How often an impossible string is emitted."""
    mass = sum((mass for s, mass in law.items() if s[: len(found)] == found), ZERO)
    return f"token {found[-1]} {after(found[:-1])}, emitted with probability {shown(to_fraction(mass))}"


def of_boundary(ends: Exploration, model: ToyModel, judged: Judged) -> Iterator[Finding]:
    """Findings of a search in which a uniform may be exactly 0 (or 1, where its source can return that)."""
    law, failures, _, _ = sorted_out(ends)
    found = impossible(law, model)
    if found is not None and judged.impossible is None:
        text = f"token {found[-1]} {after(found[:-1])}, when a uniform is exactly at an end of its range"
        yield Finding(IMPOSSIBLE, text, judged.case.name)
    for text in failures:
        if text not in judged.failures:
            yield Finding(
                ENDPOINT, f"{text}, when a uniform is exactly at an end of its range", judged.case.name, remark=True
            )


def of_nan(exploration: Exploration, case: str) -> Iterator[Finding]:
    """A case with nan rows that are read: anything but an exception is an answer made of nothing."""
    accepting = [(o, mass) for o, mass in exploration.law.items() if isinstance(o, Outcome)]
    strings = [(o, mass) for o, mass in accepting if not o.fault]
    if strings:
        outcome, mass = max(strings, key=lambda item: item[1])
        text = f"emits {string(outcome.tokens)} with probability {shown(to_fraction(mass))} and does not raise"
        yield Finding(NAN, text, case)
    elif accepting:
        yield Finding(NAN, f"{failure(accepting[0][0])}, and does not raise", case)


def after(context: Prefix) -> str:
    """Where a token stands."""
    return f"after {string(context)}" if context else "at the first position"
