"""DX, a rule of this project: never below RheoVerification, on every tree that is built without looking at X.

Like FlowVerification it moves mass between the strings of the output each time a sampled token is revealed, in rank
order. It trades only *settled* strings, which can meet no later node; all others weigh at least what they weigh under
RheoVerification. It keeps the mass of every string, so it is a rule for small models.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.law import normalised
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO
from rheo_proof.exact.program import Emission, Running
from rheo_proof.schemes.tree import Node, Path, Tree
from rheo_proof.schemes.verifying.flow import Flow, FlowWalk, Spot
from rheo_proof.schemes.verifying.seen import Unseen
from rheo_proof.schemes.verifying.settled import Places
from rheo_proof.schemes.verifying.trading import Laws, Measure, mass_below, revealed
from rheo_proof.schemes.verifying.walk import Verifying


class Dx(Verifying):
    """The law L of the output starts as that of the target, changes at every reveal, and then the output is drawn.

    At the reveal of X_u = x, with L^R the law under RheoVerification: what is neither below u nor settled is unchanged;
    what is below a head of u and not settled becomes L^R kappa + (L - L^R), where RheoVerification multiplies the head
    by kappa; X and the fills get at least their L^R. What is left, of the values of X and of the mass, is matched: X
    with itself, then fill candidates with the last fill, then in proportion. `places` are the nodes of the draft.
    """

    def __init__(self, places: Places) -> None:
        self.places = places

    def start(self, model: ToyModel, tree: Tree) -> Unseen:
        """Nothing looked at."""
        return Unseen(tree.nodes)

    def step(self, model: ToyModel, state: Running, chance: Chance) -> Running | Emission:
        """Look at everything and find L, then walk along it."""
        if not isinstance(state, Unseen):
            return Flow().step(model, state, chance)
        tokens = [chance.value(node.token) for node in state.nodes]
        kept, own = self.final(model, state.nodes, tokens)
        return FlowWalk((), spot(model, kept, own, ()))

    def final(self, model: ToyModel, nodes: Sequence[Node], tokens: Sequence[int]) -> tuple[set[Prefix], Measure]:
        """The kept prefixes, and L after all reveals."""
        start: Measure = {(): ONE}
        for _ in range(self.places.depth + 1):
            start = {
                (*u, y): mass * model.target(u)[y] if mass else ZERO
                for u, mass in start.items()
                for y in range(model.vocab)
            }
        laws, known = Laws(start, start), dict[Prefix, int]()
        at: dict[Path, Prefix] = {(): ()}
        for node, x in zip(nodes, tokens, strict=True):
            u = at[node.path[:-1]]
            at[node.path] = (*u, x)
            if node.law is not None:
                settled = {s for s in start if self.places.settled(model, known, u, s)}
                laws = revealed(laws, settled, self.places.at(model, u), x)
                known[u] = x
        return set(at.values()), laws.own


def spot(model: ToyModel, kept: set[Prefix], own: Measure, u: Prefix) -> Spot:
    """The law of the token after u, and the kept children."""
    weights = [mass_below(own, (*u, y)) for y in range(model.vocab)]
    children = [(y, spot(model, kept, own, (*u, y))) for y in range(model.vocab) if (*u, y) in kept and weights[y]]
    return Spot(normalised(weights) if any(weights) else model.target(u), tuple(children))
