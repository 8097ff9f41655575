"""Traversal Verification (arXiv 2505.12398): leaves are tested one by one, depth first; a rejected one is removed."""

from __future__ import annotations

from typing import NamedTuple

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law, normalised, without
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission, Running
from rheo_proof.schemes.verifying.seen import Seeing, Seen


class Spot(NamedTuple):
    """A node that is left: the target law P, the draft law D (None without children) and the weight w, as updated.

    `slots` are its places among its drafted siblings.
    """

    prefix: Prefix
    p: Law
    d: Law | None
    w: Q
    children: tuple[Spot, ...]
    slots: tuple[int, ...]


class Traversing(NamedTuple):
    """The tree that is left, and how many leaves were removed."""

    root: Spot
    removed: int

    @property
    def progress(self) -> tuple[int, ...]:
        """Leaves removed; looking at the tokens came before."""
        return (1, self.removed)

    def variables(self) -> tuple[()]:
        """Everything has been looked at."""
        return ()


class Traversal(Seeing):
    """The first leaf l, depth first, is accepted with probability w_l, and then y ~ P_l; otherwise it is removed.

    w of the root is 1, w of ux is min(1, w_u P_u(x)/D_u(x)). When ux is removed, with s = (w_u P_u - D_u)+ and its sum
    S: P_u = s/S, w_u = S/(S + 1 - w_u), and D_u loses x. The root as a leaf is accepted. Siblings are distinct and in
    the order of a draw without replacement; where i.i.d. draws repeat a token they are merged, in the order of first
    appearance.
    """

    def order(self, children: tuple[Seen, ...]) -> tuple[Seen, ...]:
        """The order of siblings; any other than that of their draw is a fault."""
        return children

    def first(self, root: Spot) -> Prefix:
        """The leaf that is tested next; any other than the first one, depth first, is a fault."""
        while root.children:
            root = root.children[0]
        return root.prefix

    def verify(self, model: ToyModel, children: tuple[Seen, ...], chance: Chance) -> Traversing:
        """The whole tree, nothing removed."""
        return Traversing(weighed(self.spot(model, (), children, ()), ONE), 0)

    def spot(self, model: ToyModel, prefix: Prefix, children: tuple[Seen, ...], slots: tuple[int, ...]) -> Spot:
        """A node and everything below it, weights left open."""
        ordered = self.order(children)
        below = tuple(self.spot(model, (*prefix, x.token), x.children, x.slots) for x in ordered)
        d = children[0].law if children else None
        if children and d is None:
            raise InputError(f"Traversal Verification needs sampled children, but the first one of {prefix} is not")
        return Spot(prefix, model.target(prefix), d, ONE, below, slots)

    def step(self, model: ToyModel, state: Running, chance: Chance) -> Running | Emission:
        """Test one leaf."""
        if not isinstance(state, Traversing):
            return super().step(model, state, chance)
        path = self.first(state.root)
        leaf = state.root
        for x in path[len(leaf.prefix) :]:
            leaf = next(child for child in leaf.children if child.prefix[-1] == x)
        if not path or chance.coin(leaf.w, ("coin", len(path), state.removed)):
            return Emission(path, chance.latent(leaf.p, ("token", len(path), 0), ("y",)))
        return Traversing(removed(state.root, path), state.removed + 1)


def weighed(spot: Spot, w: Q) -> Spot:
    """The same tree with the weight of its root set, and all weights below computed."""
    children = []
    for child in spot.children:
        x = child.prefix[-1]
        assert spot.d is not None
        children.append(weighed(child, min(ONE, w * spot.p[x] / spot.d[x])))
    return spot._replace(w=w, children=tuple(children))


def removed(spot: Spot, path: Prefix) -> Spot:
    """The tree without the leaf `path`; its parent and what is below the parent are updated."""
    if len(spot.prefix) + 1 < len(path):
        changed = (
            removed(child, path) if path[: len(child.prefix)] == child.prefix else child for child in spot.children
        )
        return spot._replace(children=tuple(changed))
    assert spot.d is not None
    x, w = path[-1], spot.w
    s = [max(ZERO, w * a - b) for a, b in zip(spot.p, spot.d, strict=True)]
    total = sum(s, ZERO)
    p, w = (normalised(s), total / (total + ONE - w)) if total else (spot.p, ZERO)
    d = without(spot.d, (x,)) if spot.d[x] < ONE else spot.d
    left = tuple(child for child in spot.children if child.prefix != path)
    return weighed(spot._replace(p=p, d=d, children=left), w)
