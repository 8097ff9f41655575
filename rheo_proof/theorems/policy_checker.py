"""Checks a certificate about all predictable policies: `python policy_checker.py FILE`, with checker.py beside it.

A policy inserts slots one by one below nodes that are in, decides by what has been revealed, and stops when it likes.
If the output has the same law at a state as on average at the states that an insertion leads to, and this holds for
every insertion at every state that can be reached, no policy can change the law that the output has at the start.
To refute that, one policy is enough under which a string has another probability than the target gives it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any, TypeAlias

if __name__ == "__main__":  # as a script: the checker is the file beside it, and no other
    beside = SourceFileLoader("rheo_proof.theorems.checker", str(Path(__file__).with_name("checker.py")))
    if not Path(beside.path).is_file() or (spec := spec_from_loader(beside.name, beside)) is None:
        print(f"{beside.path}: this file is missing; policy_checker.py needs it", file=sys.stderr)
        sys.exit(2)
    sys.modules[beside.name] = module_from_spec(spec)
    beside.exec_module(sys.modules[beside.name])

from rheo_proof.theorems.checker import (
    ONE,
    RULES,
    ZERO,
    Model,
    Node,
    Prefix,
    Refused,
    Scheme,
    a,
    load,
    need,
    parts,
    text,
)

Outcomes: TypeAlias = list[tuple[Fraction, Node]]
Key: TypeAlias = tuple[tuple[Prefix, int], ...]
CLAIM = "model scheme verdict states wrong"
SCHEME = "slots head depth nodes sparse heads_first verify"
OPEN = {"beam": 1, "proxy": "paper", "proxy_scale": "1", "fill_scale": "1"}  # of no account: policies are free in it


class Policies:
    """A claim about all policies for one model, one rule, one m, up to N nodes."""

    def __init__(self, claim: Any, models: list[Model]) -> None:
        number, scheme, verdict, states, wrong = parts(claim, CLAIM)
        need(a(int, number) < len(models), f"there is no model {number}")
        self.model, given = models[number], dict(zip(SCHEME.split(), parts(scheme, SCHEME), strict=True))
        self.heads_first = a(bool, given.pop("heads_first"))
        self.scheme = Scheme({**given, **OPEN}, self.model)
        need(self.scheme.depth <= self.model.depth, "the scheme is deeper than the model")
        self.states: dict[Key, tuple[dict[Prefix, Fraction], Any]] = {}
        for nodes, value, insert in (parts(state, "nodes value insert") for state in a(list, states)):
            listed = [parts(node, "slots token") for node in a(list, nodes)]
            key = tuple((a(tuple, slots), a(int, token)) for slots, token in listed)
            masses = {a(tuple, v): a(Fraction, mass) for v, mass in a(dict, value).items()}
            need(key not in self.states, "a state is there twice")
            self.states[key] = masses, insert if insert is None else a(tuple, insert)
        self.biased = wrong is not None
        need(verdict == ("biased" if self.biased else "lossless"), "the verdict does not follow")
        if self.biased:
            self.refute(*parts(wrong, "string expected actual"))
        else:
            self.prove()

    def prove(self) -> None:
        """Everywhere the law of the output is what is stated, and no insertion changes it on average."""
        for nodes, value, insert in self.reached(everything=True):
            need(insert is None and value == self.output(nodes), f"the output after {self.name(nodes)} has another law")
            for outcomes in self.insertions(nodes):
                need(self.mean(nodes, outcomes) == value, f"an insertion after {self.name(nodes)} changes the law")
        need(self.states[()][0] == self.target(), "the law at the start is not the target's")

    def refute(self, string: Any, expected: Any, actual: Any) -> None:
        """A policy and a string: from the end, what is stated of each state follows from where its insertion leads."""
        v = a(tuple, string)
        need(0 < len(v) <= self.scheme.depth + 1, f"the string has not 1 to {self.scheme.depth + 1} tokens")
        for nodes, value, insert in self.reached(everything=False):
            if insert is None:
                found = {v: starting(self.output(nodes), v)}
            else:
                found = self.mean(nodes, self.chosen(nodes, insert))
            need(value.keys() == {v} and found == value, f"the string has another probability after {self.name(nodes)}")
        need(self.states[()][0][v] == a(Fraction, actual), "the policy does not have this probability")
        need(starting(self.target(), v) == a(Fraction, expected), "the target does not have this probability")
        need(a(Fraction, actual) != a(Fraction, expected), "the string has the target's probability, it shows nothing")

    def reached(self, everything: bool) -> Iterator[tuple[list[Node], dict[Prefix, Fraction], Any]]:
        """Every state that some policy reaches, or that the stated one does; there must be no other."""
        walks, seen = [list[Node]()], {Key()}
        for nodes in walks:
            need(self.key(nodes) in self.states, f"the state after {self.name(nodes)} is missing")
            value, insert = self.states[self.key(nodes)]
            yield nodes, value, insert
            stop = insert is None
            insertions = self.insertions(nodes) if everything else [] if stop else [self.chosen(nodes, insert)]
            for _, node in (outcome for outcomes in insertions for outcome in outcomes):
                if (key := self.key([*nodes, node])) not in seen:
                    seen.add(key)
                    walks.append([*nodes, node])
        need(len(seen) == len(self.states), "there are states that nothing leads to")

    def key(self, nodes: list[Node]) -> Key:
        """A state: what is in, in the order of insertion if the rule looks at it, else by slots."""
        key = [(node.path, node.here[-1]) for node in nodes]
        return tuple(key if self.scheme.verify == "flow" else sorted(key))

    def insertions(self, nodes: list[Node]) -> Iterator[Outcomes]:
        """What can be inserted: for each slot the nodes that it may turn out to be, with their chances."""
        inside = {node.path for node in nodes}
        for u in [Node(), *nodes] if len(nodes) < self.scheme.nodes else []:
            if len(u.path) == self.scheme.depth:
                continue
            _, head, tail, t = self.scheme.order(u.here)
            place = (*u.path, len(head))
            drawn = next((node.here[-1] for node in nodes if node.path == place), -1) if tail else -1
            for slot, x in enumerate(head if drawn < 0 or not self.heads_first else []):
                if (*u.path, slot) not in inside:
                    yield [(ONE, Node((*u.path, slot), (*u.here, x), "head"))]
            if tail and drawn < 0:
                yield [(t[x], Node(place, (*u.here, x), "sampled")) for x in tail]
            room = self.scheme.slots - len(head) - 1
            for slot, x in enumerate([x for x in tail if x != drawn][:room] if drawn >= 0 else [], len(head) + 1):
                if (*u.path, slot) not in inside:
                    yield [(ONE, Node((*u.path, slot), (*u.here, x), "fill"))]

    def chosen(self, nodes: list[Node], insert: Prefix) -> Outcomes:
        """The insertion of this slot."""
        found = [outcomes for outcomes in self.insertions(nodes) if outcomes[0][1].path == insert]
        need(found, f"slot {text(insert)} cannot be inserted after {self.name(nodes)}")
        return found[0]

    def mean(self, nodes: list[Node], outcomes: Outcomes) -> dict[Prefix, Fraction]:
        """The average of what is stated of the states that an insertion leads to."""
        found = dict[Prefix, Fraction]()
        for chance, node in outcomes:
            key = self.key([*nodes, node])
            need(key in self.states, f"the state after {self.name([*nodes, node])} is missing")
            for v, mass in self.states[key][0].items():
                found[v] = found.get(v, ZERO) + chance * mass
        return found

    def output(self, nodes: list[Node]) -> dict[Prefix, Fraction]:
        """The law of what the rule emits on the tree that is in, completed by the target to D + 1 tokens."""
        turns, found = self.scheme.turns(nodes), dict[Prefix, Fraction]()
        walks = [(Prefix(), ONE, True)]
        for u, chance, inside in walks:
            if inside:
                for steps, on in zip(turns[u], (True, False), strict=True):
                    walks += [(u + x, chance * mass, on) for x, mass in steps.items()]
            elif len(u) <= self.scheme.depth:
                walks += [((*u, x), chance * mass, False) for x, mass in enumerate(self.model.p[u]) if mass]
            else:
                found[u] = found.get(u, ZERO) + chance
        return found

    def target(self) -> dict[Prefix, Fraction]:
        """The target's law of D + 1 tokens, token by token; what the rule does has no part in it."""
        found = {Prefix(): ONE}
        for _ in range(self.scheme.depth + 1):
            found = {(*u, x): c * mass for u, c in found.items() for x, mass in enumerate(self.model.p[u]) if mass}
        return found

    def name(self, nodes: list[Node]) -> str:
        return "; ".join(f"{text(node.path)}: {node.here[-1]}" for node in nodes) or "nothing"


def starting(law: dict[Prefix, Fraction], v: Prefix) -> Fraction:
    return sum((mass for w, mass in law.items() if w[: len(v)] == v), ZERO)


def main(path: str) -> int:
    """Print what was checked, or what is wrong. 0: the certificate holds; 1: it is wrong; 2: it is no certificate."""
    place, found = "", list[Policies]()
    try:
        form, statement, verdict, models, claims = parts(load(path), "format statement verdict models claims")
        if (form, statement) != ("rheo-proof certificate 1", "policies"):
            raise ValueError("its format or its statement is another (one step: see checker.py)")
        about = {json.dumps(parts(claim, CLAIM)[:2], sort_keys=True) for claim in a(list, claims)}
        need(len(about) == len(claims), "two claims have the same model and scheme")
        read = [Model(data) for data in a(list, models)]
        for number, data in enumerate(claims):
            place = f"claim {number}: "
            found.append(Policies(data, read))
        place, biased = "", sum(claim.biased for claim in found)
        need(found and {claim["model"] for claim in claims} == {*range(len(read))}, "a model has no claim")
        need(verdict == ("biased" if biased else "lossless"), "the verdict is not that of the claims")
    except Refused as error:
        print(f"WRONG: {place}{error}.")
        return 1
    except (OSError, ValueError, RecursionError) as error:
        print(f"{path or repr(path)}: no certificate: {place}{error}", file=sys.stderr)
        return 2
    states = sum(len(claim.states) for claim in found)
    print(f"HOLDS: {len(found) - biased} claims of lossless under every policy, {biased} of a policy that is biased.")
    rules = [claim.scheme.verify for claim in found]
    print(
        "Proved from the rule:",
        ", ".join(f"{rules.count(rule)} with {rule}" for rule in RULES if rule in rules),
        end="",
    )
    print(f"; {states} states on {len(read)} models.")
    return 0


if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    if len(sys.argv) != 2:
        print("usage: python policy_checker.py FILE", file=sys.stderr)
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else 2)
