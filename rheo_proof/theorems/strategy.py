"""A policy that exposes a rule, as a readable strategy, and a check of it that shares no code with the induction.

The check is a drafting method that follows the strategy slot by slot in the order of its insertions; the replay
enumerator runs it with the rule. The probability must be the one that backward induction found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.replay import replay
from rheo_proof.exact.step import StepLaw, continuation
from rheo_proof.schemes.drafting.expansion import Expansion
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.laws import run
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.schemes.tree import Node, Path, Tree
from rheo_proof.theorems.policies import Action, Policies, State


@dataclass(frozen=True)
class Strategy:
    """What a policy does at a state: stop (`action` None), or insert and go on by the revealed token.

    `value` is the probability of the event from here on, `size` the number of states that the strategy has from here.
    """

    state: State
    action: Action | None
    value: Q
    size: int = 1
    then: tuple[tuple[int | None, Strategy], ...] = ()


def starts_with(law: StepLaw, model: ToyModel, v: Prefix) -> Q:
    """The probability that the completed output starts with v."""
    ended = ZERO
    for length, x in enumerate(v):
        u = v[:length]
        ended = ended * continuation(model, u)[x] + law.emission(u, model.vocab)[x]
    return ended + law.passing(v)


def attaining(policies: Policies, v: Prefix, upper: bool, limits: Limits | None = None) -> Strategy:
    """A policy with the largest (`upper`) or smallest probability of v; among them one of the shortest ones."""
    limits = limits or Limits()
    known: dict[State, Strategy] = {}

    def best(state: State) -> Strategy:
        if state in known:
            return known[state]
        limits.watch()
        found = Strategy(state, None, starts_with(policies.stop(state, limits), policies.model, v))
        for action in policies.actions(state):
            after = [(x, mass, best(reached)) for x, mass, reached in policies.successors(state, action)]
            value = sum((mass * then.value for _, mass, then in after), ZERO)
            size = 1 + sum(then.size for _, _, then in after)
            better = value > found.value if upper else value < found.value
            if better or (value == found.value and size < found.size):
                found = Strategy(state, action, value, size, tuple((x, then) for x, _, then in after))
        known[state] = found
        return found

    return best(policies.start())


def lines(policies: Policies, strategy: Strategy) -> list[str]:
    """The strategy in words: an insertion a line; what is done for some of the tokens revealed stands indented."""
    if strategy.action is None:
        return ["stop"]
    first = policies.phrase(strategy.state, strategy.action)
    below: dict[tuple[str, ...], list[int]] = {}
    for x, then in strategy.then:
        text = tuple(lines(policies, then))
        if x is None:
            return [first, *text]
        below.setdefault(text, []).append(x)
    if len(below) == 1:
        return [f"{first}, whatever X is", *next(iter(below))]
    found = [f"{first}:"]
    for text, tokens in below.items():
        case = f"  if X = {' or '.join(map(str, sorted(tokens)))}:"
        found += [f"{case} {text[0]}"] if len(text) == 1 else [case, *(f"    {line}" for line in text)]
    return found


class Following(NamedTuple):
    """On the way through a strategy: what is in, in the order of insertion, and the slots of nodes with a drawn X."""

    strategy: Strategy
    nodes: tuple[Node, ...] = ()
    drawn: tuple[tuple[Path, tuple[Node, ...]], ...] = ()


class Followed:
    """A drafting method that follows a strategy. It knows nothing but the revealed tokens; `depth` D layers."""

    def __init__(self, strategy: Strategy, draftings: tuple[Rheo, ...]) -> None:
        self.strategy, self.draftings, self.depth = strategy, draftings, draftings[0].depth

    def start(self) -> Following:
        """Nothing inserted."""
        return Following(self.strategy)

    def step(self, model: ToyModel, state: Following, chance: Chance) -> Following | Tree:
        """The next insertion, or the tree."""
        strategy, nodes, drawn = state
        if strategy.action is None:
            return Tree(nodes)
        parent, kind, slot = strategy.action
        revealed = None
        at = dict(drawn)
        if kind in ("sampled", "look") and parent not in at:
            at[parent] = tuple(self.draw(model, nodes, strategy.action, chance))
            revealed = chance.value(at[parent][slot].token)
        if kind == "head":
            node = next(islice(self.slots(model, nodes, strategy.action, chance), slot, None))
        else:
            node = at[parent][slot]
        if kind != "look":
            nodes = (*nodes, node)
        return Following(dict(strategy.then)[revealed], nodes, tuple(at.items()))

    def slots(self, model: ToyModel, nodes: tuple[Node, ...], action: Action, chance: Chance) -> Iterator[Node]:
        """The slots of the action's node from its draft law; X is drawn when the iterator gets to it, not before."""
        tokens = {node.path: chance.value(node.token) for node in nodes}
        prefix = tuple(tokens[action.parent[: length + 1]] for length in range(len(action.parent)))
        drafting, at = next(self.fitting(model, prefix, action))
        return (node for _, node in drafting.slots_of(at, action.parent, chance, len(prefix), 0))

    def draw(self, model: ToyModel, nodes: tuple[Node, ...], action: Action, chance: Chance) -> list[Node]:
        """All slots of the action's node, its X drawn."""
        return list(self.slots(model, nodes, action, chance))

    def fitting(self, model: ToyModel, prefix: Prefix, action: Action) -> Iterator[tuple[Rheo, Expansion]]:
        """The draftings whose m makes the action's slot what the action says it is."""
        for drafting in self.draftings:
            at = drafting.expansion(model.draft(prefix))
            m = len(at.head)
            if action.slot < m if action.kind == "head" else action.slot == m and at.t is not None:
                yield drafting, at


def checked(policies: Policies, strategy: Strategy, v: Prefix, limits: Limits | None = None) -> StepLaw:
    """The step law under the strategy, by replay. Raises `SoundnessError` unless v has the strategy's probability."""
    model, limits = policies.model, limits or Limits()
    scheme = Scheme(Followed(strategy, policies.draftings), policies.verifying)

    def once(chance: Chance) -> Prefix:
        limits.watch()
        return run(scheme, model, chance)

    strings = replay(once)
    found = ZERO
    for s, mass in strings.items():
        if s[: len(v)] == v:
            found += mass
        elif v[: len(s)] == s:
            found += mass * completing(model, s, v)
    if found != strategy.value:
        raise SoundnessError(f"replay finds {found} under the strategy, backward induction {strategy.value}")
    return StepLaw.of_strings(strings)


def completing(model: ToyModel, s: Prefix, v: Prefix) -> Q:
    """The target's probability of v after s."""
    product = ONE
    for length in range(len(s), len(v)):
        product *= continuation(model, v[:length])[v[length]]
    return product
