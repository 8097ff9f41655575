"""Brute-force oracle for the step law of a drafting scheme, in exact rationals.

Written from the specification alone; it shares no code with the package. It does not run a decoder. It goes
through every table of potential draws, builds the one kept tree that a table determines (all candidates, full
sort, prune at the end), computes the step law of that fixed tree by recursion over its nodes, and averages
with the weights of the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

Prefix = tuple[int, ...]
Law = list[Fraction]  # one entry per token
StepLaw = dict[Prefix, Fraction]  # emitted string -> probability
ZERO, ONE = Fraction(0), Fraction(1)
VERIFICATIONS = ("rheo", "rrsw", "match", "flow", "bottom-up")
DRAFT_FAULTS = ("own-probability", "tail-probability", "low-proxy", "draw-full-q")
VERIFY_FAULTS = ("verify-full-q", "flow-depth-first", "flow-layers")


@dataclass(frozen=True)
class Scheme:
    slots: int
    head: int
    depth: int
    nodes: int
    beam: int
    sparse: int | None = None
    verify: str = "rheo"
    proxy: str = "paper"
    proxy_scale: Fraction = ONE
    fill_scale: Fraction = ONE
    fault: str | None = None

    @staticmethod
    def parse(raw: Mapping[str, Any]) -> Scheme:
        scales = {name: Fraction(raw.get(name, "1")) for name in ("proxy_scale", "fill_scale")}
        scheme = Scheme(**{**raw, **scales, "beam": raw.get("beam") or raw["slots"]})
        known_fault = scheme.fault in (None, *DRAFT_FAULTS, *VERIFY_FAULTS)
        if scheme.verify not in VERIFICATIONS or scheme.proxy not in ("paper", "tail") or not known_fault:
            raise ValueError(f"unknown name in {scheme}")
        return scheme


def read_law(model: Mapping[str, Any], name: str, prefix: Prefix) -> Law:
    """The law `target` or `draft` of the model after a prefix."""
    key = prefix[-1:] if model.get("order") == 1 else prefix
    entries = model[name][",".join(map(str, key))]
    if any(isinstance(x, float) for x in entries):
        raise ValueError(f"{name} law at {prefix} holds a float")
    law = [Fraction(x) for x in entries]
    if len(law) != model["vocab"] or min(law) < 0 or sum(law) != 1:
        raise ValueError(f"{name} law at {prefix} is not a probability law on the vocabulary")
    return law


def norm(weights: Law) -> Law:
    total = sum(weights, ZERO)
    return [x / total for x in weights]


def excess(a: Law, b: Law) -> Law:
    """(a - b)+"""
    return [max(x - y, ZERO) for x, y in zip(a, b, strict=True)]


def add(law: StepLaw, more: StepLaw, weight: Fraction = ONE) -> None:
    """law += weight * more"""
    for string, chance in more.items():
        law[string] = law.get(string, ZERO) + weight * chance


class Draft:
    """What does not depend on the draw at a prefix (sections 2 and 3)."""

    def __init__(self, model: Mapping[str, Any], scheme: Scheme, prefix: Prefix) -> None:
        q = read_law(model, "draft", prefix)
        order = sorted((x for x in range(len(q)) if q[x] > 0), key=lambda x: (-q[x], x))
        if scheme.sparse is not None:
            order = order[: scheme.sparse]
            q = norm([q[x] if x in order else ZERO for x in range(len(q))])
        self.q, self.order, self.head = q, order, order[: scheme.head]
        self.z = ONE - sum((q[x] for x in self.head), ZERO)
        self.tail = [ZERO if x in self.head or self.z == 0 else q[x] / self.z for x in range(len(q))]
        self.drawn_from = q if scheme.fault == "draw-full-q" else self.tail
        self.verified_with = q if scheme.fault == "verify-full-q" else self.tail

    def sampled_factor(self, scheme: Scheme, x: int) -> Fraction:
        if scheme.fault == "own-probability":
            return self.q[x]
        if scheme.fault == "tail-probability":
            return self.tail[x]
        if scheme.proxy == "tail":
            factor = max(scheme.proxy_scale * self.z, self.q[self.order[scheme.head]])
        elif scheme.head == 0:
            factor = self.z
        else:
            factor = min(self.q[self.order[scheme.head - 1]], self.z)
        return factor / 3 if scheme.fault == "low-proxy" else factor


@dataclass(frozen=True)
class Node:
    index: int  # creation index, 0 for the root; among siblings it follows slot order
    parent: int
    prefix: Prefix
    sampled: bool
    value: Fraction

    @property
    def token(self) -> int:
        return self.prefix[-1]


# Potential draws X_u, one per node rather than per prefix: every draw uses new randomness, and under
# draw-full-q two siblings can have the same prefix.
Table = dict[Node, int]


class UndrawnError(Exception):
    """The construction needs the draw of a node that the table does not hold yet."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.node = node


def expand(draft: Draft, scheme: Scheme, node: Node, table: Table) -> list[tuple[int, Fraction, bool]]:
    """The slots of one node: token, construction factor, and whether it is the sampled slot."""
    slots = [(x, draft.q[x], False) for x in draft.head]
    if scheme.head < scheme.slots and draft.z > 0:
        if node not in table:
            raise UndrawnError(node)
        drawn = table[node]
        slots.append((drawn, draft.sampled_factor(scheme, drawn), True))
        fill = [x for x in draft.order if x not in draft.head and x != drawn]
        slots += [(x, draft.q[x] * scheme.fill_scale, False) for x in fill]
    return slots[: scheme.slots]


def best(nodes: list[Node], count: int) -> list[Node]:
    return sorted(nodes, key=lambda n: (-n.value, n.index))[:count]


def kept_tree(model: Mapping[str, Any], scheme: Scheme, table: Table) -> list[Node]:
    """The root and the kept nodes in rank order (section 4)."""
    root = Node(0, -1, (), False, ONE)
    candidates: list[Node] = []
    layer = [root]
    for _ in range(scheme.depth):
        parents, layer = best(layer, scheme.beam), []
        for u in parents:
            draft = Draft(model, scheme, u.prefix)
            for token, factor, sampled in expand(draft, scheme, u, table):
                index = 1 + len(candidates) + len(layer)
                layer.append(Node(index, u.index, (*u.prefix, token), sampled, u.value * factor))
        candidates += layer
    return [root, *best(candidates, scheme.nodes)]


def trees(model: Mapping[str, Any], scheme: Scheme, table: Table) -> Iterator[tuple[list[Node], Fraction]]:
    """The kept tree of every table that extends `table`, with its weight; draws are added when needed."""
    try:
        tree = kept_tree(model, scheme, table)
    except UndrawnError as missing:
        for token, chance in enumerate(Draft(model, scheme, missing.node.prefix).drawn_from):
            if chance > 0:
                for tree, weight in trees(model, scheme, {**table, missing.node: token}):
                    yield tree, chance * weight
    else:
        yield tree, ONE


Moves = list[tuple[Node, Fraction]]  # kept child, probability of moving to it
Stops = dict[int, Fraction]  # token -> probability of emitting it and stopping
Rule = Callable[[Node], tuple[Moves, Stops]]  # what happens at a node that the walk has reached


def acceptance(mass: Fraction, tail: Fraction) -> Fraction:
    # tail = 0 happens only under the fault draw-full-q, where it counts as a sure acceptance
    return min(ONE, mass / tail) if tail > 0 else ONE


class Verifier:
    """The step law of one fixed kept tree (section 5)."""

    def __init__(self, model: Mapping[str, Any], scheme: Scheme, tree: list[Node]) -> None:
        self.model, self.scheme, self.tree = model, scheme, tree

    def p(self, u: Node) -> Law:
        return read_law(self.model, "target", u.prefix)

    def t(self, u: Node) -> Law:
        return Draft(self.model, self.scheme, u.prefix).verified_with

    def children(self, u: Node) -> list[Node]:
        """Kept children in slot order."""
        return sorted((n for n in self.tree if n.parent == u.index), key=lambda n: n.index)

    def step_law(self) -> StepLaw:
        if self.scheme.verify == "bottom-up":
            return self.bottom_up(self.tree[0], ONE)[0]
        if self.scheme.verify == "flow":
            return self.walk(self.flow_rule(), self.tree[0], ONE)
        rules: dict[str, Rule] = {"rheo": self.rheo, "rrsw": self.rrsw, "match": self.match}
        return self.walk(rules[self.scheme.verify], self.tree[0], ONE)

    def walk(self, rule: Rule, u: Node, reach: Fraction) -> StepLaw:
        """Measure of the strings emitted by the walk from u, reached with probability `reach`."""
        if reach == 0:
            return {}
        moves, stops = rule(u)
        law = {(*u.prefix, y): reach * chance for y, chance in stops.items()}
        for child, chance in moves:
            add(law, self.walk(rule, child, reach * chance))
        return law

    def settle(self, law: Law, children: list[Node], weight: Fraction) -> tuple[Moves, Stops]:
        """With probability `weight`, draw y from the law; move if y is a child, else emit y and stop."""
        by_token = {n.token: n for n in reversed(children)}
        moves = [(n, weight * law[y]) for y, n in by_token.items()]
        return moves, {y: weight * law[y] for y in range(len(law)) if y not in by_token}

    def rheo(self, u: Node) -> tuple[Moves, Stops]:
        p = self.p(u)
        sampled = [n for n in self.children(u) if n.sampled]
        others = [n for n in self.children(u) if not n.sampled]
        if not sampled:
            return self.settle(p, others, ONE)
        [n], t = sampled, self.t(u)
        accepted = acceptance(p[n.token], t[n.token])
        if accepted == 1:
            return [(n, ONE)], {}
        moves, stops = self.settle(norm(excess(p, t)), others, ONE - accepted)
        return [(n, accepted), *moves], stops

    def match(self, u: Node) -> tuple[Moves, Stops]:
        return self.settle(self.p(u), self.children(u), ONE)

    def rrsw(self, u: Node) -> tuple[Moves, Stops]:
        r = self.p(u)
        moves: Moves = []
        left = ONE  # probability that no child was accepted so far
        for n in self.children(u):
            x = n.token
            accepted = acceptance(r[x], self.t(u)[x]) if n.sampled else r[x]
            moves.append((n, left * accepted))
            left *= ONE - accepted
            if left == 0:
                return moves, {}
            r = norm(excess(r, self.t(u)) if n.sampled else [ZERO if y == x else r[y] for y in range(len(r))])
        return moves, {y: left * r[y] for y in range(len(r))}

    def insertion_order(self) -> list[Node]:
        """The kept nodes in the order in which FlowVerification processes them."""
        if self.scheme.fault == "flow-layers":
            return sorted(self.tree[1:], key=lambda n: len(n.prefix))  # stable: rank order within a layer
        if self.scheme.fault == "flow-depth-first":
            return self.descendants(self.tree[0])
        return self.tree[1:]

    def descendants(self, u: Node) -> list[Node]:
        return [n for child in self.children(u) for n in (child, *self.descendants(child))]

    def flow_rule(self) -> Rule:
        c, f, w = {self.tree[0]: ONE}, dict[Node, Fraction](), dict[Node, Fraction]()

        def mass(u: Node, y: int) -> Fraction:
            p = self.p(u)[y]
            return f[u] * max(w[u] * p - self.t(u)[y], ZERO) if u in f else c[u] * p

        for n in self.insertion_order():
            u = next(v for v in self.tree if v.index == n.parent)
            if not n.sampled:
                c[n] = mass(u, n.token)
                continue
            t, weight = self.t(u), c[u]
            wp = [weight * x for x in self.p(u)]
            a = acceptance(wp[n.token], t[n.token])
            rho = (1 - a) / sum(excess(t, wp)) if a < 1 else ZERO
            c = {v: rho * x for v, x in c.items()}
            f = {v: rho * x for v, x in f.items()}
            f[u], w[u], c[n] = rho, weight, a

        def others(u: Node) -> Stops:
            taken = [n.token for n in self.children(u)]
            return {y: mass(u, y) for y in range(self.model["vocab"]) if y not in taken}

        def full(u: Node) -> Fraction:
            children = self.children(u)
            return sum(map(full, children), sum(others(u).values(), ZERO)) if children else c[u]

        def rule(u: Node) -> tuple[Moves, Stops]:
            moves = [(n, full(n) / full(u)) for n in self.children(u)]
            return moves, {y: m / full(u) for y, m in others(u).items()}

        return rule

    def bottom_up(self, u: Node, w: Fraction) -> tuple[StepLaw, Fraction]:
        """VERIFY(u, w): the measure of the strings it returns, and the probability that it fails."""
        r = [w * x for x in self.p(u)]
        law: StepLaw = {}
        left = alive = ONE  # alive: probability that every call so far has failed
        sampled = [n for n in self.children(u) if n.sampled]
        others = [n for n in self.children(u) if not n.sampled]
        for n in sampled + others:
            x, t = n.token, self.t(u)
            if alive == 0 or (r[x] == 0 and not n.sampled):
                continue
            below, failure = self.bottom_up(n, acceptance(r[x], t[x]) if n.sampled else r[x] / left)
            add(law, below, alive)
            alive *= failure
            if n.sampled:
                left = ONE - sum(map(min, t, r), ZERO)
                r = excess(r, t)
            else:
                left -= r[x]
                r[x] = ZERO
        if alive == 0:
            return law, ZERO
        add(law, {(*u.prefix, y): r[y] / left for y in range(len(r))}, alive)
        return law, alive * (ONE - sum(r, ZERO) / left)


def step_law(model: dict[str, Any], scheme: dict[str, Any]) -> StepLaw:
    """The exact law of the string that one step emits; only strings of positive probability."""
    parsed = Scheme.parse(scheme)
    law: StepLaw = {}
    for tree, weight in trees(model, parsed, {}):
        add(law, Verifier(model, parsed, tree).step_law(), weight)
    return {string: chance for string, chance in law.items() if chance > 0}


def total_variation(model: dict[str, Any], law: Mapping[Prefix, Fraction]) -> Fraction:
    """Total variation distance of the completed law from the target, by brute force over all strings.

    The strings are as long as the longest emitted one. Completing further, to D + 1, appends the same target
    samples on both sides and changes no distance.
    """
    length = max(map(len, law))
    distance = ZERO
    for string in product(range(model["vocab"]), repeat=length):
        chances = [ONE]  # at the end chances[k] is the target probability of string[k:] after string[:k]
        for k in reversed(range(length)):
            chances.insert(0, read_law(model, "target", string[:k])[string[k]] * chances[0])
        completed = sum((law.get(string[:k], ZERO) * chances[k] for k in range(1, length + 1)), ZERO)
        distance += abs(completed - chances[0])
    return distance / 2


def expected_tokens(law: Mapping[Prefix, Fraction]) -> Fraction:
    """Mean length of the emitted string."""
    return sum((len(string) * chance for string, chance in law.items()), ZERO)
