"""Certificates about all predictable policies: a table of states with the law of the output, or one policy as a table.

States are merged less than the induction merges them: for FlowVerification not at all, for the other rules only where
the tree is the same. So the table says itself that nothing depends on more, instead of trusting what a rule looks at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rheo_proof.exact.errors import LimitReached, SoundnessError
from rheo_proof.exact.files import write_model
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel, key
from rheo_proof.exact.number import Q
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.scheme import RULES
from rheo_proof.schemes.tree import Path
from rheo_proof.theorems.adversary import Adversary, Decided
from rheo_proof.theorems.certificate import CHECKED_RULES, FORMAT, check_numbers
from rheo_proof.theorems.exposing import exposed
from rheo_proof.theorems.induction import Events
from rheo_proof.theorems.policies import Policies, State
from rheo_proof.theorems.strategy import Strategy, attaining

MOST_STATES = 20_000
"""No certificate has more states than this."""


class States(Limits):
    """Limits that count states."""

    def spend(self) -> None:
        """One more state."""
        try:
            super().spend()
        except LimitReached:
            if self.classes is not None and self.spent > self.classes:
                raise LimitReached(f"more than {self.classes} states") from None
            raise


def certificate(results: Iterable[Decided], deadline: float | None = None) -> dict[str, Any]:
    """The certificate of some results. Raises `LimitReached` if it would be too large or cannot be had, or in time.

    >>> from rheo_proof.schemes.scheme import Parameters
    >>> from rheo_proof.theorems.adversary import decide
    >>> from rheo_proof.theorems.instances import Source
    >>> adversary = Adversary("rheo", Parameters(slots=2, depth=1, nodes=2), (1,))
    >>> written = certificate([decide(adversary, Source("random", 0, 3, 1), Limits())])
    >>> written["verdict"], len(written["claims"][0]["states"])
    ('lossless', 6)
    """
    limits, models, claims = States(MOST_STATES, deadline), dict[Any, tuple[int, ToyModel]](), []
    for result in results:
        if result.bounds is None:
            raise LimitReached(f"not everything was decided: {result.why}")
        number, model = models.setdefault(result.source, (len(models), result.source.load()))
        claims.append({"model": number, **_claim(result, model, limits)})
    content: dict[str, Any] = {
        "format": FORMAT,
        "statement": "policies",
        "verdict": "biased" if any(claim["wrong"] for claim in claims) else "lossless",
        "models": [write_model(model, Limits(deadline=deadline)) for _, model in models.values()],
        "claims": claims,
    }
    check_numbers(content)
    return content


def known(adversary: Adversary) -> bool:
    """Whether the checker knows these policies: a rule of its own, one m for all nodes, and no look at X.

    >>> from rheo_proof.schemes.scheme import Parameters
    >>> [known(Adversary("rheo", Parameters(slots=2), (1,), peek=peek)) for peek in (False, True)]
    [True, False]
    """
    return adversary.name in CHECKED_RULES and not adversary.peek and len(adversary.heads) == 1


def _claim(result: Decided, model: ToyModel, limits: Limits) -> dict[str, Any]:
    adversary = result.adversary
    policies = _unmerged(adversary, model)
    p, wrong = adversary.parameters, None
    if result.verdict == "lossless":
        states = list(_table(policies, limits))
    else:
        found = exposed(adversary, model, limits)
        if found is None:
            raise SoundnessError(f"{model.name}: biased, but no policy shows it")
        states = list(_followed(attaining(policies, found.string, found.upper, limits), found.string, limits))
        wrong = {"string": key(found.string), "expected": str(found.expected), "actual": str(found.actual)}
    return {
        "scheme": {
            "slots": p.slots,
            "head": adversary.heads[0],
            "depth": p.depth,
            "nodes": p.nodes,
            "sparse": p.sparse,
            "heads_first": adversary.heads_first,
            "verify": adversary.name,
        },
        "verdict": result.verdict,
        "states": states,
        "wrong": wrong,
    }


def _unmerged(adversary: Adversary, model: ToyModel) -> Policies:
    """The decision process with states that the checker can tell apart. Raises `LimitReached` if it knows no such."""
    policies = adversary.policies(model)
    plain = known(adversary) and type(policies.verifying) is RULES[adversary.name]
    if not plain or type(policies.draftings[0]) is not Rheo:
        raise LimitReached(f"{adversary.name} with these options is not what the checker knows")
    sees = "order" if adversary.name == "flow" else "tree"
    return Policies(model, policies.verifying, policies.draftings, sees, adversary.heads_first)  # type: ignore[arg-type]


def _table(policies: Policies, limits: Limits) -> Iterator[dict[str, Any]]:
    """Every state that some policy reaches."""
    events = Events(policies.model, policies.depth)
    states, seen = [policies.start()], {policies.start()}
    for state in states:
        limits.spend()
        value = zip(events.strings, events.of(policies.stop(state)), strict=True)
        yield _state(state, {v: mass for v, mass in value if mass}, None)
        for action in policies.actions(state):
            for _, _, reached in policies.successors(state, action):
                if reached not in seen:
                    seen.add(reached)
                    states.append(reached)


def _followed(strategy: Strategy, string: Prefix, limits: Limits) -> Iterator[dict[str, Any]]:
    """Every state that one policy reaches."""
    strategies, seen = [strategy], {strategy.state}
    for at in strategies:
        limits.spend()
        action = at.action
        yield _state(at.state, {string: at.value}, None if action is None else (*action.parent, action.slot))
        for _, then in at.then:
            if then.state not in seen:
                seen.add(then.state)
                strategies.append(then)


def _state(state: State, value: dict[Prefix, Q], insert: Path | None) -> dict[str, Any]:
    return {
        "nodes": [{"slots": key(node.path), "token": node.token} for node in state.nodes],
        "value": {key(v): str(mass) for v, mass in value.items()},
        "insert": None if insert is None else key(insert),
    }
