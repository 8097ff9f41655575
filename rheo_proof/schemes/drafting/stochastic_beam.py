"""Stochastic beam search (RSD-S, arXiv 2402.14160): in every layer the W strings that win a race are kept.

Every string x of full length arrives after an exponential time of rate Q(x), independently, and a shorter one when the
first of its continuations does; this is the race that adding Gumbel noise to log-probabilities runs. Times need not be
drawn: in what order the strings of full length arrive has the law of draws from Q without replacement, and the kept
strings of a layer are the first W different prefixes in that order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rheo_proof.exact.chance import Chance, Var
from rheo_proof.exact.law import normalised
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.schemes.drafting.growing import at_least_1
from rheo_proof.schemes.drafting.without_replacement import rest
from rheo_proof.schemes.tree import Node, Path, Tree


class Race(NamedTuple):
    """The strings of full length that have arrived, in order."""

    arrived: tuple[Prefix, ...]

    @property
    def progress(self) -> tuple[int, ...]:
        """How many have."""
        return (len(self.arrived),)

    def variables(self) -> Iterator[Var]:
        """None: every draw is looked at."""
        return iter(())


@dataclass(frozen=True)
class StochasticBeam:
    """`width` W strings in each of `depth` layers. Siblings are in the order of their arrival.

    Which sibling arrives next does not depend on when it does: it is a draw from q without the earlier ones. How many
    are kept depends on times only. So every child carries the law of that draw, and recursive rejection with these laws
    is lossless (`verifying/rrs.py`).
    """

    width: int
    depth: int

    def __post_init__(self) -> None:
        at_least_1(width=self.width, depth=self.depth)

    def start(self) -> Race:
        """Nobody has arrived."""
        return Race(())

    def step(self, model: ToyModel, state: object, chance: Chance) -> Race | Tree:
        """One more arrival, until every layer is full or everybody is there."""
        assert isinstance(state, Race)
        masses = drafted(model, self.depth)
        left = [ZERO if x in state.arrived else mass for x, mass in masses.items()]
        layers = [self.kept(state.arrived, masses, length) for length in range(1, self.depth + 1)]
        if any(left) and min(map(len, layers)) < self.width:
            index = chance.draw(normalised(left), ("draft", len(state.arrived), 0))
            return Race((*state.arrived, list(masses)[index]))
        return Tree(tuple(node for layer in placed(model, layers) for node in layer))

    def kept(self, arrived: tuple[Prefix, ...], masses: dict[Prefix, Q], length: int) -> list[Prefix]:
        """The first W prefixes of one length."""
        return list(dict.fromkeys(x[:length] for x in arrived))[: self.width]


def drafted(model: ToyModel, depth: int) -> dict[Prefix, Q]:
    """Q(x) of all strings of one length that the draft can write."""
    masses: dict[Prefix, Q] = {(): ONE}
    for _ in range(depth):
        masses = {(*u, x): mass * model.draft(u)[x] for u, mass in masses.items() for x in model.draft(u).support}
    return masses


def placed(model: ToyModel, layers: list[list[Prefix]]) -> Iterator[list[Node]]:
    """The nodes of each layer, every child behind its elder siblings and with the law of its draw after theirs."""
    places: dict[Prefix, Path] = {(): ()}
    for layer in layers:
        seen: dict[Prefix, tuple[int, ...]] = {}
        nodes = []
        for string in layer:
            u, x = string[:-1], string[-1]
            elder = seen.get(u, ())
            places[string] = (*places[u], len(elder))
            nodes.append(Node(places[string], x, "sampled", rest(model.draft(u), elder)))
            seen[u] = (*elder, x)
        yield nodes
