"""The tree as an adversary: a finite Markov decision process of insertions.

A *predictable policy* inserts slots one by one, always below a node that is in already, and decides which one, or to
stop, from what has been revealed so far. Its states are the inserted slots with their tokens; its only chance is the
token of a sampled slot, revealed once the slot is in. When it stops, the verification rule runs on the tree. What the
values of the slots are, and what a beam or a budget makes of them, plays no part: whatever they do is one policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from rheo_proof.exact.classes import Weight
from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel, key
from rheo_proof.exact.number import ONE, Q
from rheo_proof.exact.replay import replay
from rheo_proof.exact.step import StepLaw
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.laws import DraftClasses, class_law
from rheo_proof.schemes.tree import Node, Path, Tree
from rheo_proof.schemes.verifying.walk import Verifying

Sees: TypeAlias = Literal["order", "reveals", "tree"]
"""What a rule looks at besides the tree itself: the order of all insertions, that of the sampled slots, or no order."""


class Action(NamedTuple):
    """Insert slot `slot` of the node at `parent`; `look` reveals its sampled token without inserting it."""

    parent: Path
    kind: Literal["head", "sampled", "fill", "look"]
    slot: int

    def __str__(self) -> str:
        where = f"node {'.'.join(map(str, self.parent))}" if self.parent else "the root"
        what = {"head": f"insert head {self.slot}", "fill": f"insert the fill in slot {self.slot}"}
        what |= {"sampled": f"insert the sampled slot {self.slot}", "look": f"look at the sampled token {self.slot}"}
        return f"{what[self.kind]} of {where}"


class State(NamedTuple):
    """The nodes that are in, all tokens known; `seen`: sampled tokens that were looked at and are not in, by path."""

    nodes: tuple[Node, ...]
    seen: tuple[tuple[Path, int], ...] = ()

    @property
    def rank(self) -> int:
        """Larger after every action."""
        return 2 * len(self.nodes) + len(self.seen)

    def token(self, path: Path) -> int | None:
        """The token of a node that is in, or of a slot that was looked at."""
        for node in self.nodes:
            if node.path == path:
                assert isinstance(node.token, int)
                return node.token
        return dict(self.seen).get(path)

    def prefix(self, path: Path) -> Prefix:
        """The tokens on the way to a node that is in, its own included."""
        tokens = {node.path: node.token for node in self.nodes}
        found = tuple(tokens[path[:length]] for length in range(1, len(path) + 1))
        assert all(isinstance(x, int) for x in found)
        return found  # type: ignore[return-value]


Successor: TypeAlias = tuple[int | None, Q, State]
"""The revealed token or None, its probability, the next state."""


class Slots(NamedTuple):
    """The heads of a node; and for each X, by token, its probability and the sampled slot with the fills."""

    heads: tuple[Node, ...]
    drawn: dict[int, tuple[Q, tuple[Node, ...]]]


@lru_cache(maxsize=1 << 12)
def slots_of(drafting: Rheo, q: Law) -> Slots:
    """The slots of a node with draft law q, found by running the drafting program for every value of X.

    >>> slots = slots_of(Rheo(3, 1, 1, 3, 8), Law.read(["1/2", "1/4", "1/4"]))
    >>> [node.token for node in slots.heads], {x: [node.token for node in at] for x, (_, at) in slots.drawn.items()}
    ([0], {1: [1, 2], 2: [2, 1]})
    """
    at = drafting.expansion(q)
    drafts = replay(
        lambda chance: tuple(
            node._replace(token=chance.value(node.token)) for _, node in drafting.slots_of(at, (), chance, 0, 0)
        )
    )
    heads = {tuple(node for node in nodes if node.kind == "head") for nodes in drafts}
    drawn: dict[int, tuple[Q, tuple[Node, ...]]] = {}
    for nodes, mass in drafts.items():
        rest = tuple(node for node in nodes if node.kind != "head")
        if rest:
            x = rest[0].token
            assert isinstance(x, int)
            drawn[x] = (mass, rest)
    if len(heads) != 1 or len(drawn) not in (0, len(drafts)):
        raise SoundnessError("the heads of a node depend on its sampled token")
    return Slots(heads.pop(), drawn)


class Policies:
    """All predictable policies for one model and one rule, up to N nodes in D layers.

    `draftings` say what the slots of a node are, one for each m that a policy may choose at a node; K, D and N are
    those of the first. `heads_first`: no head is inserted after the sampled slot of its node. `peek`: the control, a
    policy that may look at X before it decides on inserting it, hence not predictable. `sees` is what the rule looks
    at; states that are the same to it are merged. Raises `InputError` for a model that is not deep enough.
    """

    def __init__(
        self,
        model: ToyModel,
        verifying: Verifying,
        draftings: Sequence[Rheo],
        sees: Sees = "order",
        heads_first: bool = False,
        peek: bool = False,
    ) -> None:
        self.model, self.verifying, self.draftings = model, verifying, tuple(draftings)
        self.depth, self.nodes = draftings[0].depth, draftings[0].nodes
        self.sees, self.heads_first, self.peek = sees, heads_first, peek
        if self.depth > model.depth:
            raise InputError(f"{model.name}: depth {model.depth} is less than the depth {self.depth} of the trees")

    def start(self) -> State:
        """Nothing inserted."""
        return State(())

    def actions(self, state: State) -> Iterator[Action]:
        """What can be inserted; to stop is possible, too, at every state."""
        if len(state.nodes) >= self.nodes:
            return
        children: dict[Path, list[Node]] = {(): []} | {node.path: [] for node in state.nodes}
        for node in state.nodes:
            children[node.path[:-1]].append(node)
        for path, inside in children.items():
            if len(path) < self.depth:
                yield from self._below(state, path, inside)

    def _below(self, state: State, path: Path, inside: Sequence[Node]) -> Iterator[Action]:
        """The insertions below one node, whose children so far are `inside`."""
        q = self.model.draft(state.prefix(path))
        taken = {node.path[-1] for node in inside}
        sampled = next((node for node in inside if node.kind == "sampled"), None)
        looked = next((place[-1] for place, _ in state.seen if place[:-1] == path), None)
        chosen = looked if sampled is None else sampled.path[-1]
        every = [slots_of(drafting, q) for drafting in self.draftings]
        if chosen is not None:
            every = [slots for slots in every if len(slots.heads) == chosen and slots.drawn]
        if sampled is None or not self.heads_first:
            for slot in range(max(len(slots.heads) for slots in every)):
                if slot not in taken:
                    yield Action(path, "head", slot)
        if sampled is not None:
            for node in every[0].drawn[_known(sampled)][1][1:]:
                if node.path[-1] not in taken:
                    yield Action(path, "fill", node.path[-1])
            return
        for slot in sorted({len(slots.heads) for slots in every if slots.drawn}):
            if all(other < slot for other in taken):
                yield Action(path, "sampled" if looked is not None or not self.peek else "look", slot)

    def successors(self, state: State, action: Action) -> tuple[Successor, ...]:
        """What an action leads to; the probabilities sum to 1."""
        parent, kind, slot = action
        q = self.model.draft(state.prefix(parent))
        every = [slots_of(drafting, q) for drafting in self.draftings]
        if kind == "head":
            heads = max((slots.heads for slots in every), key=len)
            return ((None, ONE, self._with(state, parent, heads[slot])),)
        if kind == "fill":
            sampled = next(node for node in state.nodes if node.path[:-1] == parent and node.kind == "sampled")
            drawn = self._drawn(every, sampled.path[-1])[_known(sampled)][1]
            return ((None, ONE, self._with(state, parent, next(node for node in drawn if node.path[-1] == slot))),)
        drawn_at, place = self._drawn(every, slot), (*parent, slot)
        looked = dict(state.seen).get(place)
        if looked is not None:
            known = State(state.nodes, tuple(pair for pair in state.seen if pair[0] != place))
            return ((None, ONE, self._with(known, parent, drawn_at[looked][1][0])),)
        if kind == "look":
            seen = (*state.seen, (place, 0))
            return tuple(
                (x, mass, State(state.nodes, tuple(sorted((*seen[:-1], (place, x))))))
                for x, (mass, _) in drawn_at.items()
            )
        return tuple((x, mass, self._with(state, parent, nodes[0])) for x, (mass, nodes) in drawn_at.items())

    def _drawn(self, every: Sequence[Slots], slot: int) -> dict[int, tuple[Q, tuple[Node, ...]]]:
        return next(slots.drawn for slots in every if len(slots.heads) == slot and slots.drawn)

    def _with(self, state: State, parent: Path, node: Node) -> State:
        """One more node, the state as far as the rule can tell it from others."""
        nodes = (*state.nodes, node._replace(path=(*parent, *node.path)))
        return State(canonical(nodes, self.sees), state.seen)

    def stop(self, state: State, limits: Limits | None = None) -> StepLaw:
        """The law of what the rule emits on the tree that is in. Raises `LimitReached` when out of time."""
        drafted = DraftClasses({Tree(state.nodes): {(): Weight(ONE, 1)}}, 0)
        clock = None if limits is None else Limits(deadline=limits.deadline)
        return class_law(self.verifying, self.model, drafted, clock)[0]

    def phrase(self, state: State, action: Action) -> str:
        """An action in words, the node named by its tokens."""
        where = f"the node {key(state.prefix(action.parent))}" if action.parent else "the root"
        if action.kind in ("sampled", "look"):
            known = action.kind == "sampled" and (*action.parent, action.slot) in dict(state.seen)
            verb = "look at X, the sampled token" if action.kind == "look" else "insert the sampled slot"
            return f"{verb} of {where}{', which was looked at' if known else ''}"
        ((_, _, after),) = self.successors(state, action)
        token = after.token((*action.parent, action.slot))
        return f"insert the {action.kind} {token} (slot {action.slot}) below {where}"


def _known(node: Node) -> int:
    assert isinstance(node.token, int)
    return node.token


def canonical(nodes: Sequence[Node], sees: Sees) -> tuple[Node, ...]:
    """An order of insertion that stands for all those that a rule does not tell apart.

    `order`: that of the nodes given. `tree`: by path. `reveals`: nodes that carry a law keep their order; any other
    comes as early as it can, after its parent, and a fill after its sampled sibling.
    """
    if sees == "order":
        return tuple(nodes)
    by_path = sorted(nodes, key=lambda node: node.path)
    if sees == "tree":
        return tuple(by_path)
    reveals = [node for node in nodes if node.law is not None]
    others = [node for node in by_path if node.law is None]
    done: list[Node] = []
    paths: set[Path] = {()}
    open_fills: set[Path] = set()
    while reveals or others:
        free = [
            node for node in others if node.path[:-1] in paths and (node.kind != "fill" or node.path[:-1] in open_fills)
        ]
        if not free:
            reveal = reveals.pop(0)
            open_fills.add(reveal.path[:-1])
            free = [reveal]
        done += free
        paths.update(node.path for node in free)
        others = [node for node in others if node.path not in paths]
    return tuple(done)
