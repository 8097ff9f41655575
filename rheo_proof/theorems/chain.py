"""A decoding step as a Markov chain: drafting, then verifying, every random request a transition of its own.

Here nothing is latent and nothing is grouped. A state of the chain is a state of the program with all its tokens known,
or such a state with the answers that its next step has had so far. Two of them are one only if they are equal. So the
chain rests on none of the ideas of `classes.py`: what is known of a token, splitting, joining. What they share is the
scheme itself and the meaning of a request.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rheo_proof.exact.chance import OnePath, Site
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.model import Prefix, ToyModel, key
from rheo_proof.exact.number import ONE, Q
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.schemes.tree import Path, Tree
from rheo_proof.theorems.process import Process, Way, explored, numbered, out

PHASES = ("draft", "tree", "verify", "emitted")
"""States are numbered in this order; within a phase, as they are met; what is emitted, by the string."""

TREE = "tree"
"""The label of the kept trees: drafting is over, verification has not begun."""


class Point(NamedTuple):
    """Where the program stands: in a phase, at a state, with the answers that its next step has had already."""

    phase: str
    kind: type
    state: Any
    answers: tuple[int, ...] = ()


def between(phase: str, state: Hashable) -> Point:
    """A state between two steps."""
    return Point(phase, type(state), state)


class _Asked(Exception):
    """A step asks for something that it has no answer to yet."""

    def __init__(self, weights: Sequence[tuple[int, Q]], site: Site) -> None:
        self.weights = weights
        self.site = site


class _Answers(OnePath):
    """Give the answers that are there, and stop at the first request without one; a certain one needs none."""

    def __init__(self, answers: Sequence[int]) -> None:
        self.left = list(answers)

    def pick(self, weights: Sequence[tuple[int, Q]], site: Site) -> int:
        """The next answer."""
        if len(weights) == 1:
            return weights[0][0]
        if not self.left:
            raise _Asked(weights, site)
        return weights[self.left.pop(0)][0]


@dataclass(frozen=True)
class Program:
    """One decoding step of a scheme on a model, taken apart into its random requests.

    With `complete`, target samples follow until the string has as many tokens as the scheme can emit: `depth` + 1.
    """

    scheme: Scheme
    model: ToyModel
    complete: bool = False

    def start(self) -> Point:
        """Nothing drafted."""
        return between("draft", self.scheme.drafting.start())

    def way(self, point: Point) -> Way:
        """Where the program goes from a point."""
        if point.phase == "emitted":
            length = self.scheme.drafting.depth + 1 if self.complete else 0
            return emitted(point, self.model, length, len(PHASES))
        order = (PHASES.index(point.phase),)
        labels = (TREE,) if point.phase == "tree" else ()
        try:
            return Way(order, _standing(point), [("", [(self._moved(point), ONE)])], labels)
        except _Asked as asked:
            after = [(self._answered(point, index), mass) for index, (_, mass) in enumerate(asked.weights)]
            return Way(order, f"{point.phase}: {_request(asked.site)}", [("", after)], labels)

    def _answered(self, point: Point, answer: int) -> Point:
        """Where the program is after one more answer: in the same step, or behind it."""
        point = point._replace(answers=(*point.answers, answer))
        try:
            return self._moved(point)
        except _Asked:
            return point

    def _moved(self, point: Point) -> Point:
        """The state behind the next step. Raises `_Asked` if the step lacks an answer."""
        chance = _Answers(point.answers)
        reached = self._stepped(point, chance)
        if chance.left:
            raise SoundnessError(f"a step of {point.phase} did not ask again what it had asked before")
        return reached

    def _stepped(self, point: Point, chance: _Answers) -> Point:
        if point.phase == "draft":
            drafted = self.scheme.drafting.step(self.model, point.state, chance)
            return between("tree" if isinstance(drafted, Tree) else "draft", drafted)
        if point.phase == "tree":
            return between("verify", self.scheme.verifying.start(self.model, point.state))
        verified = self.scheme.verifying.step(self.model, point.state, chance)
        if not isinstance(verified, Emission):
            return between("verify", verified)
        return between("emitted", (*verified.prefix, chance.value(verified.token)))


def emitted(point: Point, model: ToyModel, length: int, rank: int) -> Way:
    """At a string that was emitted: it is the output, unless target samples are to complete it to `length` tokens."""
    string: Prefix = point.state
    if len(string) >= length:
        return Way((rank, string), f"output {key(string)}", [("", [(point, ONE)])], (out(string),))
    p = model.target(string)
    leads = [(between("emitted", (*string, x)), p[x]) for x in p.support]
    return Way((rank - 1, string), f"completes {key(string)}", [("", leads)])


def _request(site: Site) -> str:
    what, level, index = site
    if what == "coin":
        return f"coin {index} at level {level}"
    return f"token {index} of layer {level}" if what == "draft" else f"token at level {level}"


def _standing(point: Point) -> str:
    """A state at which nothing is asked."""
    if point.phase != "tree":
        return f"{point.phase}: moves on"
    tokens = {node.path: node.token for node in point.state.nodes}
    return "kept tree: " + ("; ".join(f"{_along(n.path, tokens)} {n.kind}" for n in point.state.nodes) or "empty")


def _along(path: Path, tokens: dict[Path, Any]) -> str:
    """The tokens on the way to a node; a question mark for one that was not kept."""
    return ",".join(str(tokens.get(path[: length + 1], "?")) for length in range(len(path)))


def markov_chain(
    scheme: Scheme,
    model: ToyModel,
    complete: bool = False,
    states: int | None = None,
    watch: Callable[[], None] = lambda: None,
) -> Process:
    """The chain of one decoding step; `out_...` labels the end states by their string, `tree` the kept trees.

    Raises `LimitReached` when there are more than `states` of them; `watch` is called for each and may raise, too.

    >>> from rheo_proof.exact.families import family_model
    >>> from rheo_proof.schemes.scheme import Parameters, plain
    >>> scheme = plain(Parameters(slots=1, head=0, depth=1, nodes=1))
    >>> chain = markov_chain(scheme, family_model("random", 0, 2, 1))
    >>> len(chain.choices), list(chain.labels)
    (13, ['tree', 'out_0_0', 'out_0_1', 'out_1', 'out_1_0', 'out_1_1'])
    """
    program = Program(scheme, model, complete)
    return numbered(explored(program.start(), program.way, states, watch))
