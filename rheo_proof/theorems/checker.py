"""Checks a certificate of rheo-proof: `python checker.py FILE`. One file, the standard library, nothing else of ours.

Read in this order: what a file may hold; RheoSampling's draft tree (arXiv 2609.21827); what the rules do on a kept
tree; a claim about one scheme on one model. Nothing is searched for: each class and each tree is gone through once, so
the work grows in proportion to the file. Exit status: 0 the certificate holds, 1 it is wrong, 2 it is no certificate.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

ZERO, ONE = Fraction(0), Fraction(1)
Prefix: TypeAlias = tuple[int, ...]
Law: TypeAlias = list[Fraction]  # one entry for each token
Chances: TypeAlias = dict[Prefix, Fraction]
Turn: TypeAlias = tuple[Chances, Chances]  # at a prefix: go on to these kept children; emit these tokens and stop


class Refused(Exception):
    """The certificate is wrong. What is no certificate at all is a `ValueError`."""


def need(condition: object, otherwise: str) -> None:
    if not condition:
        raise Refused(otherwise)


# What a file may hold. Rationals are written in quotes, and so are strings of tokens (or slots), joined by commas.

FORMAT = "rheo-proof certificate 1"
PATTERNS = {Fraction: r"-?[0-9]{1,25000}(/0*[1-9][0-9]{0,25000})?", tuple: r"((0|[1-9][0-9]{0,8})(,(?!$)|$))*"}
MODEL = {"vocab": int, "depth": int, "target": {tuple: [Fraction]}, "draft": {tuple: [Fraction]}}
RHEO = {"slots": int, "head": int, "depth": int, "beam": int, "nodes": int, "sparse": (None, int), "proxy": str}
RHEO |= {"proxy_scale": Fraction, "fill_scale": Fraction, "verify": str}
NAMED = {"name": str, "fault": (None, str), **RHEO}
TREE = {
    "nodes": [{"slots": tuple, "token": int, "kind": str}],
    "laws": {tuple: {name: {tuple: Fraction} for name in ("go", "stop")}},
}
CLASS = {"draws": {str: tuple}, "weight": Fraction, "tree": int}
WRONG = {"string": tuple, "expected": Fraction, "actual": Fraction, "by_tree": [Fraction]}
CLAIM = {
    "model": int,
    "scheme": dict,
    "verdict": str,
    "tv": Fraction,
    "expected_tokens": Fraction,
    "wrong": (None, WRONG),
}
CLAIM |= {"acceptance": [Fraction], "law": {tuple: Fraction}, "trees": [TREE], "classes": [CLASS]}
FILE = {"format": str, "statement": str, "verdict": str, "models": [MODEL], "claims": [CLAIM]}


def read(shape: Any, value: Any) -> Any:
    """A value of a shape: a type, a list, an object with these keys or with any of a type, null or something else."""
    if isinstance(shape, tuple):
        return None if value is None else read(shape[1], value)
    if shape is dict:
        shape = NAMED if type(value) is dict and "name" in value else RHEO
    wanted = type(shape) if isinstance(shape, dict | list) else str if shape in PATTERNS else shape
    if type(value) is not wanted or (wanted is str and not re.fullmatch(PATTERNS.get(shape, ".*"), value)):
        raise ValueError(f"{str(value)[:20]!r} is not what belongs here")
    if isinstance(shape, list):
        return [read(shape[0], entry) for entry in value]
    if shape is tuple:
        return tuple(map(int, value.split(","))) if value else ()
    if not isinstance(shape, dict):
        return shape(value)
    if isinstance(key := next(iter(shape)), type):
        return {read(key, name): read(shape[key], entry) for name, entry in value.items()}
    if value.keys() != shape.keys():
        raise ValueError(f"expected the keys {', '.join(shape)}")
    return {name: read(shape[name], entry) for name, entry in value.items()}


def load(text: str) -> Any:
    """The content of a certificate. Numbers that are not in quotes are small and whole, no key is given twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return dict(pairs) if len(dict(pairs)) == len(pairs) else small("a key that is given twice")

    def small(number: str) -> Any:
        if not re.fullmatch("[0-9]{1,9}", number):
            raise ValueError(f"it holds {number[:30]}")
        return int(number)

    data = json.loads(text, object_pairs_hook=once, parse_int=small, parse_float=small, parse_constant=small)
    if type(data) is not dict or data.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    return read(FILE, data)


def check_model(vocab: int, depth: int, p: dict[Prefix, Law], q: dict[Prefix, Law]) -> None:
    """There is a law for each prefix that target or draft can produce, and for no other."""
    for law in (*p.values(), *q.values()):
        need(len(law) == vocab and min(law) >= 0 and sum(law) == 1, "what is given for a law is none")
    drafted, layer = set[Prefix](), {Prefix()}
    for _ in range(depth):
        need(layer and layer <= p.keys() & q.keys(), "a law is missing")
        drafted |= layer
        layer = {(*u, x) for u in layer for x in range(vocab) if p[u][x] or q[u][x]}
    need(
        p.keys() == drafted | layer and q.keys() == drafted, "a law is missing, or one that cannot be reached is given"
    )


# RheoSampling's draft tree: expand the root, then the best B nodes of each layer; keep the best N of all.


class Node(NamedTuple):
    """The slots and the tokens on the way to a drafted node; it is a head, sampled or a fill; its value ranks it.

    A token that is not known is -1. `mass`: the probability of all tokens that a sampled slot may hold.
    """

    path: Prefix
    here: Prefix
    kind: str
    value: Fraction = ONE
    mass: Fraction = ONE


class Scheme:
    """RheoSampling on a model: K slots, m of them heads, D layers, beam B, N nodes, options of the tree, a rule."""

    def __init__(self, s: dict[str, Any], model: Any) -> None:
        need(s["head"] <= s["slots"] and s["depth"] <= model["depth"], "a size is out of range")
        need(all(s[name] != 0 for name in ("slots", "depth", "beam", "nodes", "sparse")), "a size is 0")
        need(0 < s["proxy_scale"] <= 1 and 0 < s["fill_scale"] <= 1, "a scale is not in (0, 1]")
        need(s["proxy"] in ("paper", "tail") and s["verify"] in ("rheo", "rrsw", "match", "flow"), "a name is unknown")
        self.s, self.p, self.q = s, model["target"], model["draft"]
        self.known: dict[tuple[Prefix, int], tuple[Law, list[int], list[int], Law]] = {}

    def order(self, u: Prefix, m: int) -> tuple[Law, list[int], list[int], Law]:
        """At u: the draft law cut to its S best tokens; m heads; the tail, empty if no slot is sampled; its law t."""
        if (u, m) not in self.known:
            q = self.q[u]
            best = sorted((x for x, mass in enumerate(q) if mass), key=lambda x: (-q[x], x))[: self.s["sparse"]]
            tail = best[m:] if m < self.s["slots"] else []
            self.known[u, m] = restricted(q, best), best[:m], tail, restricted(q, tail)
        return self.known[u, m]

    def expand(self, u: Node, held: dict[Prefix, set[int]], asked: dict[Prefix, set[int]]) -> Iterator[Node]:
        """Head, one sampled slot, fill. The value of the sampled slot does not depend on its token X.

        `held`: which tokens X may be. `asked`: what had to be known of it, here whether it is among the fills.
        """
        q, head, tail, t = self.order(u.here, self.s["head"])
        for slot, x in enumerate(head):
            yield Node((*u.path, slot), (*u.here, x), "head", u.value * q[x])
        if tail:
            path, room, z = (*u.path, len(head)), self.s["slots"] - len(head) - 1, sum(q[x] for x in tail)
            proxy = min(q[head[-1]], z) if head else z
            proxy = proxy if self.s["proxy"] == "paper" else max(self.s["proxy_scale"] * z, q[tail[0]])
            drawn, fills = held.get(u.path, set()), {*tail[:room]}
            need(drawn and drawn <= {*tail}, f"the draw below {u.path} cannot be {drawn}")
            need(len(drawn) == 1 or drawn.isdisjoint(fills), f"the fills below {u.path} depend on the draw")
            asked[u.path] = {*tail} - fills if drawn.isdisjoint(fills) else drawn
            token = max(drawn) if len(drawn) == 1 else -1
            yield Node(path, (*u.here, token), "sampled", u.value * proxy, sum((t[x] for x in drawn), ZERO))
            for slot, x in enumerate([x for x in tail if x != token][:room], len(head) + 1):
                yield Node((*u.path, slot), (*u.here, x), "fill", u.value * self.s["fill_scale"] * q[x])

    def tree(self, held: dict[Prefix, set[int]]) -> tuple[list[Node], Fraction]:
        """The kept nodes of a class in rank order, and its probability.

        The questions about draws and their answers form a tree, of which a class is a leaf: it must know what is asked
        for, and nothing else. So different classes exclude each other.
        """
        asked = dict[Prefix, set[int]]()

        def best(nodes: list[Node], most: int) -> list[Node]:
            """By value; sorting is stable, so equal ones stay in the order of their creation."""
            chosen = sorted(nodes, key=lambda node: -node.value)[:most]
            for node in chosen:
                need(-1 not in node.here, f"the draw at {node.path} must be known")
                asked.update({node.path[:-1]: {node.here[-1]}} if node.kind == "sampled" else {})
            return chosen

        layer, every, weight = [Node((), (), "root")], list[Node](), ONE
        for _ in range(self.s["depth"]):
            layer = [child for u in best(layer, self.s["beam"]) for child in self.expand(u, held, asked)]
            every += layer
        kept = best(every, self.s["nodes"])
        need(asked == held, "it knows more or less of its draws than is asked for")
        for node in every:
            weight *= node.mass
        return kept, weight

    def laws(self, kept: list[Node]) -> dict[Prefix, Turn]:
        """What the rule does at each prefix that it reaches; what has no chance is left out."""
        kids = dict[Prefix, list[Node]]()
        for node in sorted(kept, key=lambda node: node.path):
            kids.setdefault(node.here[:-1], []).append(node)
        flow = Flow(self, kept, kids) if self.s["verify"] == "flow" else None
        found, reached = dict[Prefix, Turn](), [Prefix()]
        for u in reached:
            go, stop = flow.turn(u) if flow else self.in_turn(u, kids.get(u, []))
            found[u] = {x: mass for x, mass in go.items() if mass}, {y: mass for y, mass in stop.items() if mass}
            reached += [u + x for x in found[u][0]]
        return found

    def in_turn(self, u: Prefix, kids: list[Node]) -> Turn:
        """Children are tested in turn against what is left of p: a sampled one by min(1, r/t), the others by r.

        In slot order this is RRSw. With the sampled child first it is RheoVerification: to test tokens by r one after
        the other is to draw from r. If the sampled child is tested by r, too, it is Match.
        """
        r, left, go = self.p[u], ONE, Chances()
        for node in sorted(kids, key=lambda node: self.s["verify"] == "rheo" and node.kind != "sampled"):
            x, ratio = node.here[-1], self.s["verify"] != "match" and node.kind == "sampled"
            t = self.order(u, node.path[-1])[3] if ratio else [ONE if y == x else ZERO for y in range(len(r))]
            accept = min(ONE, r[x] / t[x])
            go[x,], left = left * accept, left * (1 - accept)
            if not left:
                return go, {}
            rest = excess(r, t)
            r = [mass / sum(rest) for mass in rest]
        return go, {(y,): left * mass for y, mass in enumerate(r)}


def restricted(law: Law, to: list[int]) -> Law:
    """The law given that the token is one of these."""
    total, inside = sum(law[x] for x in to), {*to}
    return [mass / total if x in inside else ZERO for x, mass in enumerate(law)]


def excess(r: Law, t: Law) -> Law:
    return [max(x - y, ZERO) for x, y in zip(r, t, strict=True)]


class Flow:
    """FlowVerification: nodes get mass in rank order; a sampled one scales all that came before it by rho.

    Masses are held in units of the product of all rho since the last one that was 0; what is older than that is 0.
    """

    def __init__(self, scheme: Scheme, kept: list[Node], kids: dict[Prefix, list[Node]]) -> None:
        self.p, self.kids, self.age, self.unit = scheme.p, kids, 0, ONE
        self.c, self.full = {Prefix(): (0, ONE)}, Chances()
        self.f = dict[Prefix, tuple[tuple[int, Fraction], Law]]()  # after a reveal: f, and (w p - t)+
        for node in kept:
            u, x = node.here[:-1], node.here[-1]
            if node.kind == "sampled":
                t, w = scheme.order(u, node.path[-1])[3], self.now(self.c[u])
                wp = [w * y for y in self.p[u]]
                accept = min(ONE, wp[x] / t[x])
                rho = (1 - accept) / sum(excess(t, wp)) if accept < 1 else ZERO
                self.age, self.unit = (self.age, self.unit * rho) if rho else (self.age + 1, ONE)
                self.f[u] = (self.age, rho / self.unit), excess(wp, t)
            self.c[node.here] = self.age, (accept if node.kind == "sampled" else self.mass(u, x)) / self.unit
        for u in ((), *(node.here for node in kept))[::-1]:
            self.full[u] = sum((mass for chances in self.shares(u) for mass in chances.values()), ZERO)

    def now(self, held: tuple[int, Fraction]) -> Fraction:
        return held[1] * self.unit if held[0] == self.age else ZERO

    def mass(self, u: Prefix, y: int) -> Fraction:
        return self.now(self.f[u][0]) * self.f[u][1][y] if u in self.f else self.now(self.c[u]) * self.p[u][y]

    def shares(self, u: Prefix) -> Turn:
        go = {node.here[-1:]: self.full[node.here] for node in self.kids.get(u, ())}
        return go, {(y,): self.mass(u, y) for y in range(len(self.p[u])) if (y,) not in go}

    def turn(self, u: Prefix) -> Turn:
        go, stop = ({x: mass / self.full[u] for x, mass in chances.items()} for chances in self.shares(u))
        return go, stop


# A claim: the step law of a scheme on a model, and what follows from it.


def check_claim(claim: Any, models: Any) -> bool:
    """Whether the classes and the rule were worked out here, from the scheme; else they are taken as stated."""
    need(claim["model"] < len(models), "there is no such model")
    model, trees = models[claim["model"]], claim["trees"]
    scheme = None if "name" in claim["scheme"] else Scheme(claim["scheme"], model)
    weights, built, seen, law = [ZERO] * len(trees), dict[int, list[Node]](), set[Any](), Chances()
    for number, one in enumerate(claim["classes"]):
        need(one["weight"] > 0 and one["tree"] < len(trees), f"class {number} has no weight, or no tree")
        weights[one["tree"]] += one["weight"]
        seen.add(tuple(sorted(one["draws"].items())))
        need(len(seen) == number + 1, f"class {number} is there twice")
        if scheme:
            kept, weight = scheme.tree({read(tuple, path): {*held} for path, held in one["draws"].items()})
            nodes = [{"slots": n.path, "token": n.here[-1], "kind": n.kind} for n in kept]
            need((weight, nodes) == (one["weight"], trees[one["tree"]]["nodes"]), f"class {number} is another")
            built[one["tree"]] = kept
    need(sum(weights) == 1 and all(weights), "the weights do not sum to 1, or a tree has no class")
    by_tree = [emitted(tree, scheme and scheme.laws(built[number])) for number, tree in enumerate(trees)]
    for weight, strings in zip(weights, by_tree, strict=True):
        for v, mass in strings.items():
            law[v] = law.get(v, ZERO) + weight * mass
    need(law == claim["law"], "the step law is not what the classes add up to")
    judge(claim, law, model["target"], model["vocab"])
    verdict, wrong = "biased" if claim["tv"] else "lossless", claim["wrong"]
    need(claim["verdict"] == verdict and (wrong is None) == (verdict == "lossless"), "the verdict does not follow")
    if wrong:
        masses = [starts(strings, wrong["string"], model["target"]) for strings in by_tree]
        actual, expected = (
            starts(law, wrong["string"], model["target"]),
            starts({(): ONE}, wrong["string"], model["target"]),
        )
        need((masses, actual, expected) == (wrong["by_tree"], wrong["actual"], wrong["expected"]), "a mass is another")
        need(actual != expected, "the string is not wrong")
    return scheme is not None


def emitted(tree: Any, expected: dict[Prefix, Turn] | None) -> Chances:
    """What comes out of a tree: its laws are those expected, if any are; they lead along its nodes, each sums to 1."""
    here, strings, walks = {(): Prefix()}, Chances(), [(Prefix(), ONE)]
    for node in tree["nodes"]:
        need(node["slots"] and node["slots"][:-1] in here and node["slots"] not in here, "the nodes form no tree")
        here[node["slots"]] = (*here[node["slots"][:-1]], node["token"])
    laws, nodes = {u: (turn["go"], turn["stop"]) for u, turn in tree["laws"].items()}, {*here.values()}
    need(expected in (None, laws), "the rule does something else on a tree")
    for u, chance in walks:
        need(u in laws and u in nodes, "a law is missing, or off its tree")
        masses = [*laws[u][0].values(), *laws[u][1].values()]
        need(min(masses, default=ZERO) > 0 and sum(masses) == 1 and () not in laws[u][1], "a law does not sum to 1")
        walks += [(u + x, chance * mass) for x, mass in laws[u][0].items()]
        for y, mass in laws[u][1].items():
            strings[u + y] = strings.get(u + y, ZERO) + chance * mass
    need(len(walks) == len(laws), "there are laws that nothing leads to")
    return strings


def starts(strings: Chances, s: Prefix, p: dict[Prefix, Law]) -> Fraction:
    """The chance that a string, completed by the target, starts with s."""
    after = [ONE]
    for length in reversed(range(len(s))):
        need(s[:length] in p and s[length] < len(p[()]), "a string goes beyond the model")
        after.append(after[-1] * p[s[:length]][s[length]])
    ends = [mass * after[len(s) - len(v)] for v, mass in strings.items() if len(v) < len(s) and v == s[: len(v)]]
    return sum(ends, ZERO) + sum((mass for v, mass in strings.items() if v[: len(s)] == s), ZERO)


def judge(claim: Any, law: Chances, p: dict[Prefix, Law], vocab: int) -> None:
    """Expected tokens, acceptance, and the distance of the completed output from the target."""
    through = {v[:length] for v in law for length in range(len(v))}
    need(through <= p.keys() and all(v[-1] < vocab for v in law), "a string goes beyond the model")
    need(claim["expected_tokens"] == sum(len(v) * mass for v, mass in law.items()), "the expected tokens are wrong")
    rates = [sum((mass for v, mass in law.items() if len(v) > n), ZERO) for n in range(1, claim["scheme"]["depth"] + 1)]
    need(claim["acceptance"] == rates, "the acceptance is wrong")
    distance, walks = ZERO, [(Prefix(), ZERO, ONE)]
    for u, ended, product in walks:  # what ended at or before u, completed to u; what the target gives u
        for x, share in enumerate(p[u]):
            v, mass = (*u, x), ended * share + law.get((*u, x), ZERO)
            walks += [(v, mass, product * share)] if v in through else []
            distance += 0 if v in through else abs(mass - product * share) / 2
    need(claim["tv"] == distance, f"the distance is {distance}")


def check(path: str) -> list[str]:
    """What was checked, in words. Raises `Refused` for a wrong certificate, `ValueError` for what is none."""
    digits, place, own = sys.get_int_max_str_digits(), "", list[bool]()
    sys.set_int_max_str_digits(0)
    try:
        with open(path, encoding="utf-8") as file:
            data = load(file.read())
        for number, model in enumerate(data["models"]):
            place = f"model {number}: "
            check_model(*(model[name] for name in MODEL))
        for number, claim in enumerate(data["claims"]):
            place = f"claim {number}: "
            own.append(check_claim(claim, data["models"]))
        place, verdicts = "", [claim["verdict"] for claim in data["claims"]]
        need(
            data["statement"] == "instance"
            and {*range(len(data["models"]))} == {claim["model"] for claim in data["claims"]},
            "a model has no claim",
        )
        need(data["verdict"] == ("biased" if "biased" in verdicts else "lossless"), "the verdict does not follow")
    except Refused as error:
        raise Refused(f"{place}{error}") from None
    finally:
        sys.set_int_max_str_digits(digits)
    return [
        f"{len(own)} claims: {verdicts.count('lossless')} lossless, {verdicts.count('biased')} biased, {sum(own)} own"
    ]


def main(path: str) -> int:
    """Print what was checked, or the one thing that is wrong; the exit status."""
    try:
        print("\n".join(check(path)))
    except Refused as error:
        print(f"WRONG: {error}.")
        return 1
    except (OSError, ValueError, RecursionError) as error:
        print(f"{path}: no certificate: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else "usage: python checker.py FILE")
