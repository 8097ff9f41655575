"""Checks a certificate of rheo-proof: `python checker.py FILE`. One file, the standard library, nothing else of ours.

Read it from the top: what a file may hold; RheoSampling's draft tree (arXiv 2609.21827); what a rule does on a tree; a
claim, which is rebuilt from the least that decides it and must be what was rebuilt. Nothing is searched for: each class
is gone through once. So for given V, K, D, B and N the operations with fractions grow in proportion to the file.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple, TypeAlias

ZERO, ONE = Fraction(0), Fraction(1)
Prefix: TypeAlias = tuple[int, ...]
Law: TypeAlias = list[Fraction]  # one entry for each token
Chances: TypeAlias = dict[Prefix, Fraction]
Turn: TypeAlias = list[Chances]  # two of them at a prefix: go on to these kept children; emit these tokens and stop

KINDS: dict[Any, tuple[str, str]] = {  # what is written in quotes: what an error calls it, and how it is written
    Fraction: ("a rational in quotes of up to 5000 digits", r"-?[0-9]{1,5000}(/(?=0*[1-9])[0-9]{1,5000})?"),
    tuple: ("tokens in quotes, joined by commas", r"((0|[1-9][0-9]{0,8})(,(?!$)|$))*"),
    str: ("a name of small letters, digits, - and /", r"[a-z0-9][a-z0-9/-]{0,39}"),
}
CLAIM = "model scheme verdict tv expected_tokens acceptance law classes wrong"
SCHEME = "slots head depth beam nodes sparse proxy proxy_scale fill_scale verify"
RULES = ("rheo", "rrsw", "match", "flow")
UNNAMED = (*RULES, "top-k", "chain", "block", "rrsw-tail-proxy")  # they are worked out, whatever a file calls them


class Refused(Exception):
    """The certificate is wrong. What is no certificate at all is a `ValueError`."""


def need(condition: object, otherwise: str) -> None:
    if not condition:
        raise Refused(otherwise)


def a(kind: Any, value: Any) -> Any:
    name, pattern = KINDS.get(kind, (f"a JSON {kind.__name__}", ""))
    if type(value) is not (str if pattern else kind) or (pattern and not re.fullmatch(pattern, value)):
        raise ValueError(f"it holds {repr(value)[:30]} where {name} belongs")
    return tuple(map(int, value.split(","))) if kind is tuple and value else kind(value)


def parts(value: Any, keys: str) -> list[Any]:
    """The values of an object that has exactly these keys."""
    if a(dict, value).keys() != {*keys.split()}:
        raise ValueError(f"an object with the keys {keys} is missing")
    return [value[key] for key in keys.split()]


def text(tokens: Iterable[int]) -> str:
    return ",".join(map(str, tokens))


def load(path: str) -> Any:
    """The content of a JSON file in which no key is given twice and numbers without quotes are small and whole."""

    def once(pairs: list[tuple[str, Any]]) -> Any:
        return dict(pairs) if len(dict(pairs)) == len(pairs) else small("a key that is given twice")

    def small(number: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", number):
            raise ValueError(f"it holds {number[:30]}")
        return int(number)

    with open(path, encoding="utf-8") as file:
        return json.load(file, object_pairs_hook=once, parse_int=small, parse_float=small, parse_constant=small)


class Model:
    """Target laws p and draft laws q: one for each prefix that either of them can produce, and for no other."""

    def __init__(self, data: Any) -> None:
        vocab, depth, *tables = parts(data, "vocab depth target draft")
        read = [{a(tuple, u): [a(Fraction, x) for x in a(list, law)] for u, law in a(dict, t).items()} for t in tables]
        (self.p, self.q), self.vocab, self.depth = read, a(int, vocab), a(int, depth)
        for u, law in (*self.p.items(), *self.q.items()):
            fine = len(law) == self.vocab and sum(law) == 1 and min(law) >= 0
            need(fine, f"a law after {text(u)!r} is not {self.vocab} masses of 0 or more that sum to 1")
        drafted, layer = set[Prefix](), {Prefix()}
        for _ in range(min(self.depth, len(self.p))):  # in each layer there is a prefix, or a law is missing
            drafted |= layer
            layer = {(*u, x) for u in layer for laws in read for x, mass in enumerate(laws.get(u, [])) if mass}
        off = (self.p.keys() ^ (drafted | layer)) | (self.q.keys() ^ drafted)
        need(not off, f"a law after {text(min(off, default=()))!r} is missing, or cannot be reached")


class Node(NamedTuple):
    """The slots and the tokens on the way to a drafted node (-1: not known); `mass`: the chance of what X may be."""

    path: Prefix = ()
    here: Prefix = ()
    kind: str = "root"
    value: Fraction = ONE
    mass: Fraction = ONE


class Scheme:
    """RheoSampling: in D layers the best B nodes get K slots each, of which m are heads; the best N of all are kept."""

    def __init__(self, data: Any, model: Model) -> None:
        named = {"name", "fault"} & {*a(dict, data)}  # then it is another scheme, which is not known here
        self.name, fault, *values = parts(data, f"name fault {SCHEME}") if named else ["", None, *parts(data, SCHEME)]
        *sizes, sparse, self.proxy, proxy_scale, fill_scale, self.verify = values
        need(not named or a(str, self.name) not in UNNAMED, f"{self.name} is worked out here and needs no name")
        need(fault in (None, self.name), "the fault is neither null nor the name")
        self.slots, self.head, self.depth, self.beam, self.nodes = (a(int, size) for size in sizes)
        self.sparse = model.vocab if sparse is None else a(int, sparse)
        self.proxy_scale, self.fill_scale = a(Fraction, proxy_scale), a(Fraction, fill_scale)
        sizes = [*sizes[:1], *sizes[2:], self.sparse, 0 < self.proxy_scale <= 1, 0 < self.fill_scale <= 1]
        need(all(sizes) and self.head <= self.slots, "a size or a scale is out of range")
        need(self.proxy in ("paper", "tail") and (a(str, self.verify) in RULES or named), "proxy or rule is unknown")
        self.p, self.q, self.known = model.p, model.q, dict[Prefix, tuple[Law, list[int], list[int], Law]]()

    def order(self, u: Prefix) -> tuple[Law, list[int], list[int], Law]:
        """At u: the draft law cut to its S best tokens; m heads; the tail, empty if no slot is sampled; its law t."""
        if u not in self.known:
            q, m = self.q[u], self.head
            best = sorted((x for x, mass in enumerate(q) if mass), key=lambda x: (-q[x], x))[: self.sparse]
            tail = best[m:] if m < self.slots else []
            self.known[u] = restricted(q, best), best[:m], tail, restricted(q, tail)
        return self.known[u]

    def expand(self, u: Node, held: dict[Prefix, set[int]], asked: dict[Prefix, set[int]]) -> Iterator[Node]:
        """Head, one sampled slot, fill. `held`: what its token X may be; `asked`: what had to be known of X so far."""
        q, head, tail, t = self.order(u.here)
        yield from (Node((*u.path, slot), (*u.here, x), "head", u.value * q[x]) for slot, x in enumerate(head))
        if tail:
            path, room, z = (*u.path, len(head)), self.slots - len(head) - 1, sum(q[x] for x in tail)
            paper, best = min(q[head[-1]], z) if head else z, max(self.proxy_scale * z, q[tail[0]])
            drawn, fills = held.get(u.path, set()), {*tail[:room]}
            need(drawn and drawn <= {*tail} and (len(drawn) == 1 or not drawn & fills), f"a draw {u.path} is {drawn}")
            asked[u.path] = drawn if drawn & fills else {*tail} - fills
            token = max(drawn) if len(drawn) == 1 else -1
            value, chance = u.value * (best if self.proxy == "tail" else paper), sum((t[x] for x in drawn), ZERO)
            yield Node(path, (*u.here, token), "sampled", value, chance)
            for slot, x in enumerate([x for x in tail if x != token][:room], len(head) + 1):
                yield Node((*u.path, slot), (*u.here, x), "fill", u.value * self.fill_scale * q[x])

    def tree(self, held: dict[Prefix, set[int]]) -> tuple[list[Node], Fraction]:
        """The kept nodes of a class in rank order, and its chance. Questions about draws and their answers form a tree.
        A class is a leaf of it: it knows what was asked for, nothing else. So different classes exclude each other."""
        asked, layer, every = dict[Prefix, set[int]](), [Node()], list[Node]()
        for number in range(self.depth + 1):
            nodes, most = (layer, self.beam) if number < self.depth else (every, self.nodes)
            best = sorted(nodes, key=lambda node: -node.value)[:most]  # stable: of equal ones the first created
            for node in best:
                need(-1 not in node.here, f"the draw at {node.path} must be known")
                asked.update({node.path[:-1]: {node.here[-1]}} if node.kind == "sampled" else {})
            layer = [child for u in best for child in self.expand(u, held, asked)] if number < self.depth else []
            every += layer
        need(asked == held, "a class knows more or less of its draws than is asked for")
        return best, prod((node.mass for node in every), start=ONE)

    def turns(self, kept: Iterable[Node]) -> dict[Prefix, Turn]:
        """What the rule does at each prefix that it reaches; what has no chance is left out."""
        kids = dict[Prefix, list[Node]]()
        for node in sorted(kept, key=lambda node: node.path):
            kids.setdefault(node.here[:-1], []).append(node)
        flowing = flow(self, [*kept], kids) if self.verify == "flow" else {}
        found, reached = dict[Prefix, Turn](), [Prefix()]
        for u in reached:
            turn = flowing[u] if flowing else self.in_turn(u, kids.get(u, []))
            found[u] = [{v: mass for v, mass in chances.items() if mass} for chances in turn]
            reached += [u + x for x in found[u][0]]
        return found

    def in_turn(self, u: Prefix, kids: list[Node]) -> Turn:
        """Children are tested in turn against what is left of p: a sampled one by min(1, r/t), the others by r. That is
        RRSw; with the sampled one first RheoVerification (testing by r is drawing from r); with r for all, Match."""
        r, left, go = self.p[u], ONE, Chances()
        for node in sorted(kids, key=lambda node: self.verify == "rheo" and node.kind != "sampled"):
            x, ratio = node.here[-1], self.verify != "match" and node.kind == "sampled"
            t = self.order(u)[3] if ratio else [ONE if y == x else ZERO for y in range(len(r))]
            accept = min(ONE, r[x] / t[x])
            go[x,], left = left * accept, left * (1 - accept)
            rest = excess(r, t) if left else r
            r = [mass / sum(rest) for mass in rest]
        return [go, {(y,): left * mass for y, mass in enumerate(r)}]


def restricted(law: Law, to: list[int]) -> Law:
    total, inside = sum(law[x] for x in to), {*to}
    return [mass / total if x in inside else ZERO for x, mass in enumerate(law)]


def quoted(chances: Chances) -> dict[str, str]:
    return {text(v): str(mass) for v, mass in chances.items()}


def excess(r: Law, t: Law) -> Law:
    return [max(x - y, ZERO) for x, y in zip(r, t, strict=True)]


def flow(scheme: Scheme, kept: list[Node], kids: dict[Prefix, list[Node]]) -> dict[Prefix, Turn]:
    """FlowVerification: nodes get mass in rank order; a sampled one scales all that came before it by rho. Masses are
    held in units of the product of all rho since the last one that was 0; what is older than that is 0."""
    p, age, unit, c, full, turns = scheme.p, 0, ONE, {Prefix(): (0, ONE)}, Chances(), dict[Prefix, Turn]()
    f = dict[Prefix, tuple[tuple[int, Fraction], Law]]()  # where the sampled child is in: f, and (w p - t)+

    def now(held: tuple[int, Fraction]) -> Fraction:
        return held[1] * unit if held[0] == age else ZERO

    def loose(u: Prefix, y: int) -> Fraction:
        return now(f[u][0]) * f[u][1][y] if u in f else now(c[u]) * p[u][y]

    for node in kept:
        u, x = node.here[:-1], node.here[-1]
        mass = loose(u, x)
        if node.kind == "sampled":
            t, w = scheme.order(u)[3], now(c[u])
            wp = [w * y for y in p[u]]
            mass = min(ONE, wp[x] / t[x])
            rho = (1 - mass) / sum(excess(t, wp)) if mass < 1 else ZERO
            age, unit = (age, unit * rho) if rho else (age + 1, ONE)
            f[u] = (age, rho / unit), excess(wp, t)
        c[node.here] = age, mass / unit
    for u in reversed([(), *(node.here for node in kept)]):
        go: Chances = {node.here[-1:]: full[node.here] for node in kids.get(u, ())}
        stop = {(y,): loose(u, y) for y in range(len(p[u])) if (y,) not in go}
        full[u] = sum((*go.values(), *stop.values()), ZERO)
        turns[u] = [{v: mass / (full[u] or ONE) for v, mass in chances.items()} for chances in (go, stop)]
    return turns


class Claim:
    """A claim: its classes, which are taken as stated if the scheme has a name, and what follows from them."""

    def __init__(self, claim: Any, models: list[Model]) -> None:
        number, scheme, *_, classes, wrong = parts(claim, CLAIM)
        need(a(int, number) < len(models), f"there is no model {number}")
        self.model, self.scheme = models[number], Scheme(scheme, models[number])
        need(self.scheme.depth <= self.model.depth, "the scheme is deeper than the model")
        draws = {json.dumps(parts(one, "draws weight nodes laws")[0], sort_keys=True) for one in a(list, classes)}
        need(len(draws) == len(classes), "a class is there twice")
        found = [self.rebuilt(one) for one in classes]
        weights, law = [a(Fraction, one["weight"]) for one in found], Chances()
        need(sum(weights) == 1 and min(weights) > 0, "the weights are not positive numbers that sum to 1")
        strings = [self.strings(one) for one in found]
        for weight, chances in zip(weights, strings, strict=True):
            for v, mass in chances.items():
                law[v] = law.get(v, ZERO) + weight * mass
        inside = self.inside(law)
        tv = sum((abs(x - y) / 2 for v, (x, y) in self.starts(law, inside).items() if v not in inside), ZERO)
        tokens = sum(len(v) * mass for v, mass in law.items())
        longer = (sum((mass for v, mass in law.items() if len(v) > n + 1), ZERO) for n in range(self.scheme.depth))
        if tv:
            v = a(tuple, a(dict, wrong).get("string"))
            way = self.inside([v])
            actual, expected = self.starts(law, way)[v]
            need(actual != expected, f"string {text(v)!r} has the target's probability, it shows nothing")
            shares = [str(self.starts(chances, way)[v][0]) for chances in strings]
            wrong = {"string": text(v), "expected": str(expected), "actual": str(actual), "by_class": shares}
        verdict, wrong = ("biased", wrong) if tv else ("lossless", None)
        follows = [verdict, str(tv), str(tokens), [*map(str, longer)], quoted(law), found, wrong]
        for key, value in zip(CLAIM.split()[2:], follows, strict=True):
            need(json.dumps(value, sort_keys=True) == json.dumps(claim[key], sort_keys=True), f"{key} does not follow")

    def rebuilt(self, one: Any) -> Any:
        """A class, of which the draws are believed; of a scheme with a name all of it."""
        held = {u: {*a(tuple, x)} for u, x in a(dict, one["draws"]).items()}
        if self.scheme.name:
            return one
        kept, weight = self.scheme.tree({a(tuple, u): x for u, x in held.items()})
        nodes = [{"slots": text(n.path), "token": n.here[-1], "kind": n.kind} for n in kept]
        laws = {text(u): {"go": quoted(go), "stop": quoted(stop)} for u, (go, stop) in self.scheme.turns(kept).items()}
        draws = {u: text(sorted(x)) for u, x in held.items()}
        return {"draws": draws, "weight": str(weight), "nodes": nodes, "laws": laws}

    def strings(self, one: Any) -> Chances:
        """The strings that come out of a class: its laws lead along its nodes, and each sums to 1."""
        here, strings, walks, laws = {(): Prefix()}, Chances(), [(Prefix(), ONE)], a(dict, one["laws"])
        for slots, token, kind in (parts(node, "slots token kind") for node in a(list, one["nodes"])):
            path = a(tuple, slots)
            need(a(str, kind) and path and path[:-1] in here and path not in here, "the nodes form no tree")
            here[path] = (*here[path[:-1]], a(int, token))
        inside = {*here.values()}
        for u, chance in walks:
            need(u in inside and text(u) in laws, f"at {text(u)!r} a class has no node, or no law")
            two = parts(laws[text(u)], "go stop")
            go, stop = ({a(tuple, v): a(Fraction, x) for v, x in a(dict, each).items()} for each in two)
            masses = [*go.values(), *stop.values()]
            fine = sum(masses) == 1 and min(masses) > 0 and {len(x) for x in go} <= {1} and () not in stop
            need(fine, f"the law of a class at {text(u)!r} is not positive masses of tokens that sum to 1")
            walks += [(u + x, chance * mass) for x, mass in go.items()]
            for y, mass in stop.items():
                strings[u + y] = strings.get(u + y, ZERO) + chance * mass
        need(len(walks) == len(laws), "there is a law that nothing leads to")
        return strings

    def inside(self, strings: Iterable[Prefix]) -> set[Prefix]:
        """The proper prefixes of some strings, which the model must have laws for."""
        for v in strings:
            need(v and v[:-1] in self.model.p and v[-1] < self.model.vocab, f"no law leads to string {text(v)[:60]!r}")
        return {v[:length] for v in strings for length in range(len(v))}

    def starts(self, strings: Chances, inside: set[Prefix]) -> dict[Prefix, tuple[Fraction, Fraction]]:
        """Below the prefixes `inside`: the chances that a string, completed by p, and that p itself starts so."""
        through, ended, found = Chances(), {Prefix(): ZERO}, {Prefix(): (ONE, ONE)}
        for u, mass in ((v[:length], mass) for v, mass in strings.items() for length in range(len(v))):
            through[u] = through.get(u, ZERO) + mass
        for u in sorted(inside, key=len):
            for x, share in enumerate(self.model.p[u]):
                ended[*u, x] = ended[u] * share + strings.get((*u, x), ZERO)
                found[*u, x] = ended[*u, x] + through.get((*u, x), ZERO), found[u][1] * share
        return found


def main(path: str) -> int:
    """Print what was found. 0: it proves its claims; 1: it is wrong; 2: it is no certificate; 3: not all is proved."""
    place, found = "", list[Claim]()
    try:
        form, statement, verdict, models, claims = parts(load(path), "format statement verdict models claims")
        if (form, statement) != ("rheo-proof certificate 1", "instance"):
            raise ValueError("its format or its statement is another (policies: see policy_checker.py)")
        about = {json.dumps(parts(claim, CLAIM)[:2], sort_keys=True) for claim in a(list, claims)}
        need(len(about) == len(claims), "two claims have the same model and scheme")
        read = [Model(data) for data in a(list, models)]
        for number, data in enumerate(claims):
            place = f"claim {number}: "
            found.append(Claim(data, read))
        place, biased = "", sum(claim["verdict"] == "biased" for claim in claims)
        need(found and {claim["model"] for claim in claims} == {*range(len(read))}, "a model has no claim")
        need(verdict == ("biased" if biased else "lossless"), "the verdict is not that of the claims")
    except Refused as error:
        print(f"WRONG: {place}{error}.")
        return 1
    except (OSError, ValueError, RecursionError) as error:
        print(f"{path or repr(path)}: no certificate: {place}{error}", file=sys.stderr)
        return 2
    stated = ", ".join(sorted({claim.scheme.name for claim in found} - {""}))
    first, last = ("CONSISTENT", f"; taken as stated, not proved here: {stated}") if stated else ("HOLDS", "")
    print(f"{first}: {len(found) - biased} claims of lossless, {biased} of biased, on {len(read)} models{last}.")
    proved = [claim.scheme.verify for claim in found if not claim.scheme.name]
    print("Proved from the scheme:", ", ".join(f"{proved.count(x)} with {x}" for x in RULES if x in proved) or "none")
    return 3 if stated else 0


if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    if len(sys.argv) != 2:
        print("usage: python checker.py FILE", file=sys.stderr)
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else 2)
