"""A decoding step as a Markov chain: drafting, then verifying, every random request a transition of its own.

Here nothing is latent and nothing is grouped. A state of the chain is a state of the program with all its tokens known,
or such a state with the answers that a step has had so far. Two of them are one only if they are equal. So the chain
rests on none of the ideas of `classes.py`: what is known of a token, splitting, joining. It shares `Chance` with it, and
the scheme itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from rheo_proof.exact.chance import OnePath, Site
from rheo_proof.exact.errors import LimitReached, SoundnessError
from rheo_proof.exact.model import Prefix, ToyModel, key
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.schemes.tree import Tree
from rheo_proof.theorems.process import Choice, Process, out

PHASES = ("draft", "tree", "verify", "emitted")
"""In this order states are numbered; within a phase, as they are met."""

TREE = "tree"
"""The label of the kept trees: drafting is over, verification has not begun."""


class Point(NamedTuple):
    """Where the program stands: in a phase, at a state, with the answers that its next step has had already."""

    phase: int
    kind: type
    state: Any
    answers: tuple[int, ...] = ()


def at(phase: str, state: Hashable) -> Point:
    """A state between two steps."""
    return Point(PHASES.index(phase), type(state), state)


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


class Program:
    """One decoding step of a scheme on a model, taken apart into its random requests."""

    def __init__(self, scheme: Scheme, model: ToyModel) -> None:
        self.scheme = scheme
        self.model = model

    def start(self) -> Point:
        """Nothing drafted."""
        return at("draft", self.scheme.drafting.start())

    def way_on(self, point: Point) -> tuple[list[tuple[Point, Q]], str]:
        """Where the program goes from a point, and what it does there in a few words."""
        phase = PHASES[point.phase]
        if phase == "emitted":
            return [(point, ONE)], f"emits {key(point.state)}"
        try:
            return [(self._moved(point), ONE)], _standing(point)
        except _Asked as asked:
            after = [(self._answered(point, index), mass) for index, (_, mass) in enumerate(asked.weights)]
            return after, f"{phase}: {_request(asked)}"

    def _answered(self, point: Point, answer: int) -> Point:
        """Where the program is after one more answer: in the same step, or behind it."""
        point = point._replace(answers=(*point.answers, answer))
        try:
            return self._moved(point)
        except _Asked:
            return point

    def _moved(self, point: Point) -> Point:
        """The state behind the next step. Raises `_Asked` if it lacks an answer."""
        phase = PHASES[point.phase]
        chance = _Answers(point.answers)
        if phase == "draft":
            drafted = self.scheme.drafting.step(self.model, point.state, chance)
            reached = at("tree" if isinstance(drafted, Tree) else "draft", drafted)
        elif phase == "tree":
            reached = at("verify", self.scheme.verifying.start(self.model, point.state))
        else:
            verified = self.scheme.verifying.step(self.model, point.state, chance)
            if isinstance(verified, Emission):
                reached = at("emitted", (*verified.prefix, chance.value(verified.token)))
            else:
                reached = at("verify", verified)
        if chance.left:
            raise SoundnessError(f"a step of {phase} did not ask again what it had asked before")
        return reached


def _request(asked: _Asked) -> str:
    """What is asked for.

    A coin has the outcomes 1 and 0 and a token those of its law; which is which is known from the site.
    """
    what, level, index = asked.site
    if what == "coin":
        return f"coin {index} at level {level}"
    return f"token {index} of layer {level}" if what == "draft" else f"token at level {level}"


def _standing(point: Point) -> str:
    """A state at which nothing is asked."""
    if PHASES[point.phase] != "tree":
        return f"{PHASES[point.phase]}: moves on"
    tokens = {node.path: node.token for node in point.state.nodes}
    below = [f"{key(_along(node.path, tokens))} {node.kind}" for node in point.state.nodes]
    return f"kept tree: {'; '.join(below) or 'empty'}"


def _along(path: tuple[int, ...], tokens: dict[tuple[int, ...], Any]) -> Prefix:
    return tuple(tokens.get(path[: length + 1], -1) for length in range(len(path)))


def markov_chain(
    scheme: Scheme, model: ToyModel, states: int | None = None, watch: Callable[[], None] = lambda: None
) -> Process:
    """The chain of one decoding step; `out_...` labels the end states by what is emitted, `tree` the kept trees.

    Raises `LimitReached` when there are more than `states` of them; `watch` is called for each and may raise, too.

    >>> from rheo_proof.exact.families import family_model
    >>> from rheo_proof.schemes.scheme import Parameters, plain
    >>> scheme = plain(Parameters(slots=1, head=0, depth=1, nodes=1))
    >>> chain = markov_chain(scheme, family_model("random", 0, 2, 1))
    >>> len(chain.choices), [label for label in chain.labels if label != TREE]
    (12, ['out_0', 'out_0_0', 'out_0_1', 'out_1_0', 'out_1_1'])
    """
    program = Program(scheme, model)
    found: dict[Point, tuple[list[tuple[Point, Q]], str]] = {}
    waiting = [program.start()]
    met = set(waiting)
    while waiting:
        layer, waiting = waiting, []
        for point in layer:
            watch()
            found[point] = program.way_on(point)
            new = [target for target in dict.fromkeys(target for target, _ in found[point][0]) if target not in met]
            met.update(new)
            waiting += new
            if states is not None and len(met) > states:
                raise LimitReached(f"more than {states} states")
    return numbered(found)


def numbered(found: dict[Point, tuple[list[tuple[Point, Q]], str]]) -> Process:
    """Points as numbers: by phase, then in the order in which they were found; end states by their string."""
    number = {point: index for index, point in enumerate(sorted(found, key=_order))}
    choices = tuple((Choice("", _row(found[point][0], number)),) for point in number)
    labels: dict[str, tuple[int, ...]] = {TREE: tuple(number[p] for p in number if PHASES[p.phase] == "tree")}
    for point in number:
        if PHASES[point.phase] == "emitted":
            labels[out(point.state)] = (number[point],)
    return Process(choices, tuple(found[point][1] for point in number), labels)


def _order(point: Point) -> tuple[int, Prefix]:
    return point.phase, point.state if PHASES[point.phase] == "emitted" else ()


def _row(leads: list[tuple[Point, Q]], number: dict[Point, int]) -> tuple[tuple[int, Q], ...]:
    masses: dict[int, Q] = {}
    for point, mass in leads:
        masses[number[point]] = masses.get(number[point], ZERO) + mass
    return tuple(sorted(masses.items()))


def outputs(process: Process) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The labels of the outputs, with their states."""
    return ((label, where) for label, where in process.labels.items() if label != TREE)
