"""Where in the audited function the law departs: the line that decides what is wrong.

At the first wrong context v, what the runs through v do is compared with what a lossless rule can do there. Accepted
draft tokens must not have more mass than p; with one draft they should have min(p, q). What is emitted in their place
should be what is left of p. Whichever of the two is off, the line is the one whose random decision tells the runs
apart: accepted from rejected, or one emitted token from another.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rheo_proof.audit.exploring import Leaf
from rheo_proof.audit.outcomes import Outcome
from rheo_proof.audit.sites import NOWHERE, Site
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ZERO, Q, to_fraction

ACCEPTANCE = "acceptance of draft tokens"
RECOVERY = "token emitted in place of a rejected draft"
BONUS = "bonus token after all drafts were accepted"


@dataclass(frozen=True)
class Departure:
    """What is off after the context, for which token, and the line that decides it; no `site` if none was found."""

    what: str
    context: Prefix
    token: int
    expected: Fraction
    actual: Fraction
    site: Site | None

    @property
    def source(self) -> str:
        """The text of the line, if its file can be read."""
        return "" if self.site is None else linecache.getline(self.site.file, self.site.line).strip()


def departure(leaves: Sequence[Leaf], model: ToyModel, context: Prefix, allowed: Q) -> Departure | None:
    """What departs from a lossless rule after `context`, and where; None if the runs do not show it."""
    through = [leaf for leaf in emitting(leaves) if passes(leaf, context)]
    total = sum((leaf.weight for leaf in through), ZERO)
    if not total:
        return None
    rejected = rejecting(through, context, model.depth)
    accepted = masses(through, context, model.vocab, lambda o: not rejected(o))
    instead = masses(through, context, model.vocab, rejected)
    p = [total * share for share in model.target(context)]
    at_end = len(context) >= model.depth
    what, expected, actual = blamed(accepted, instead, p, None if at_end else ratio(model, context, total), allowed)
    if what == RECOVERY and not any(accepted):
        what = BONUS if at_end else RECOVERY
    off = [a - e for a, e in zip(actual, expected, strict=True)]
    # Of two that are off by as much, the one that is emitted too often: something emits it.
    token = max(range(model.vocab), key=lambda x: (abs(off[x]), off[x]))
    if abs(off[token]) <= allowed:
        return None
    if what == ACCEPTANCE:
        # Where nothing after the context is left to decide, acceptance was decided before it.
        site = deciding(through, rejected) or deciding(emitting(leaves), rejected)
    else:
        last = [leaf for leaf in through if rejected(outcome_of(leaf))]
        # Where a rejection leaves nothing to decide, it was what decided the token.
        site = deciding(last, lambda outcome: outcome.tokens[len(context)]) or deciding(through, rejected)
    return Departure(what, context, token, to_fraction(expected[token]), to_fraction(actual[token]), site)


def ratio(model: ToyModel, context: Prefix, total: Q) -> list[Q]:
    """The masses that one draft with the ratio rule has accepted: min(p, q)."""
    p, q = model.target(context), model.draft(context)
    return [total * min(a, b) for a, b in zip(p, q, strict=True)]


def blamed(
    accepted: list[Q], instead: list[Q], p: list[Q], rule: list[Q] | None, allowed: Q
) -> tuple[str, list[Q], list[Q]]:
    """Acceptance or what is emitted instead; with its expected and actual masses.

    Acceptance is to blame if a token is accepted more often than the target has it, or if it is not the ratio rule's
    while the tokens emitted instead are drawn in the proportions of the ratio rule's residual.
    """
    if not any(accepted):
        return RECOVERY, p, instead
    left = [a - b for a, b in zip(p, accepted, strict=True)]
    if min(left) < -allowed:
        return ACCEPTANCE, p if rule is None else rule, accepted
    if rule is not None and far(accepted, rule, allowed):
        residual = [a - b for a, b in zip(p, rule, strict=True)]
        if not far(scaled(instead), scaled(residual), allowed):
            return ACCEPTANCE, rule, accepted
    return RECOVERY, left, instead


def far(one: list[Q], other: list[Q], allowed: Q) -> bool:
    """Whether two lists of masses differ by more than is allowed."""
    return any(abs(a - b) > allowed for a, b in zip(one, other, strict=True))


def scaled(weights: list[Q]) -> list[Q]:
    """Weights as a law, where they have mass."""
    total = sum(weights, ZERO)
    return [w / total for w in weights] if total else weights


def outcome_of(leaf: Leaf) -> Outcome:
    """The outcome of a run that emitted something."""
    assert isinstance(leaf.outcome, Outcome)
    return leaf.outcome


def emitting(leaves: Sequence[Leaf]) -> list[Leaf]:
    """The runs that emitted a string."""
    return [leaf for leaf in leaves if isinstance(leaf.outcome, Outcome) and not leaf.outcome.fault]


def passes(leaf: Leaf, context: Prefix) -> bool:
    """Whether a run emitted this context and something after it."""
    tokens = outcome_of(leaf).tokens
    return len(tokens) > len(context) and tokens[: len(context)] == context


def rejecting(leaves: Sequence[Leaf], context: Prefix, depth: int) -> Callable[[Outcome], bool]:
    """What tells whether the token after the context is no accepted draft token.

    A string that is the whole draft and nothing else looks accepted. Where longer strings show that a bonus token
    follows an accepted draft, its last token is not.
    """
    bonus = any(len(outcome_of(leaf).tokens) > depth for leaf in leaves)

    def rejected(outcome: Outcome) -> bool:
        accepted = min(outcome.accepted, len(outcome.tokens) - 1) if bonus else outcome.accepted
        return accepted <= len(context)

    return rejected


def masses(leaves: Sequence[Leaf], context: Prefix, vocab: int, counts: Callable[[Outcome], bool]) -> list[Q]:
    """The mass of each token after the context, over the runs that count."""
    found = [ZERO] * vocab
    for leaf in leaves:
        if counts(outcome_of(leaf)):
            found[outcome_of(leaf).tokens[len(context)]] += leaf.weight
    return found


def deciding(leaves: Sequence[Leaf], label: Callable[[Outcome], Hashable]) -> Site | None:
    """The line whose decisions tell apart most of the runs with one label from those with another."""
    found: dict[Site, Q] = {}
    tell_apart([(leaf, label(outcome_of(leaf))) for leaf in leaves], 0, found)
    found.pop(NOWHERE, None)
    return max(found, key=lambda site: found[site], default=None)


def tell_apart(labelled: list[tuple[Leaf, Hashable]], depth: int, found: dict[Site, Q]) -> None:
    """Add to `found` the mass that each line's decisions split into parts with one label each.

    The leaves have taken the same `depth` first decisions.
    """
    if len({label for _, label in labelled}) < 2:
        return
    parts: dict[int, list[tuple[Leaf, Hashable]]] = {}
    for leaf, label in labelled:
        if len(leaf.decisions) > depth:
            parts.setdefault(leaf.decisions[depth][2], []).append((leaf, label))
    pure = {labels.pop() for part in parts.values() if len(labels := {label for _, label in part}) == 1}
    if len(pure) > 1:
        site = next(leaf for leaf, _ in labelled if len(leaf.decisions) > depth).decisions[depth].site
        found[site] = found.get(site, ZERO) + sum((leaf.weight for leaf, _ in labelled), ZERO)
    for part in parts.values():
        tell_apart(part, depth + 1, found)
