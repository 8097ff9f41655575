"""The statements of `rheo-prove symbolic`, one object each: what was run, for which quantifiers, what was found."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rheo_proof.exact.errors import InputError, LimitReached, SoundnessError
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import ToyModel
from rheo_proof.schemes.drafting.rheo import Rheo as RheoDrafting
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import SCHEMES, Named, Parameters
from rheo_proof.schemes.verifying.flow import Flow
from rheo_proof.theorems import flow_statement, node_statements, tree_statements
from rheo_proof.theorems.regionwise import Decided, Refutation, decide

RULES = ("rheo", "rrsw", "match", "flow")
EVERY_ORDER = 4
"""Up to so many tokens, all orders of the tokens are run; beyond, one of each class of rearrangements."""
FLOW_EVERY_ORDER = 3
TREE_POINTS = 6
"""In so many regions of each group of strings on a tree the exact prover is asked, too; at one node, in all."""
ALIKE = "the rule treats tokens alike: one order of the tokens was run of each class"


@dataclass
class Statement:
    """A statement about one rule. `place`: "node" or "tree"; `regions` and `shapes` are summed over its cases.

    `assumed`: what a proof takes for granted; `checked`: verifications with plain numbers at points of its regions.
    """

    rule: str
    place: str
    quantifiers: str
    regions: int = 0
    shapes: int | None = None
    empty: int = 0
    open: int = 0
    checked: int = 0
    assumed: str = ""
    refutation: Refutation | None = None
    parameters: Parameters | None = None
    stopped: str = ""
    seconds: float = 0

    @property
    def verdict(self) -> str:
        """`proved`, `refuted` or `undecided`."""
        if self.refutation:
            return "refuted"
        return "undecided" if self.open or self.stopped or not self.regions else "proved"

    def add(self, found: Decided, parameters: Parameters) -> None:
        """One more case."""
        self.regions += found.proved
        self.empty += found.empty
        self.open += found.open
        self.checked += found.checked
        if found.shapes:
            self.shapes = (self.shapes or 0) + len(found.shapes)
        if found.refutation:
            self.refutation, self.parameters = found.refutation, parameters


def node_statement(
    name: str, named: Named, vocab: int, heads: Sequence[int], base: Parameters, limits: Limits, fault: bool = False
) -> Statement:
    """One node, p and t unknown. For a fault, up to the first refutation."""
    every = base.verify == "match" or vocab <= (FLOW_EVERY_ORDER if base.verify == "flow" else EVERY_ORDER)
    orders = "" if every else ", up to the order of the tokens"
    if base.verify == "flow" and not fault:
        return _flow_node(name, vocab, every, orders, limits)
    m = ", ".join(map(str, heads)) if heads else "0 to V - 1"
    fills = "; fills: none or all" if fault or vocab > node_statements.EVERY_FILL else ""
    draft = "; t falls along the tail; q(x) = 1/(m + 1) on each head" if fault else ""
    quantifiers = f"for all p and all t, V = {vocab}, m = {m}{'' if fault else orders}{draft}{fills}"
    statement = Statement(name, "node", quantifiers, assumed="" if every or fault else ALIKE)
    began = time.monotonic()
    for case in node_statements.cases(base.verify, vocab, tuple(heads), ordered=fault):
        parameters = named.fix(case.parameters(base))
        scheme = named.build(parameters)
        if not isinstance(scheme.drafting, RheoDrafting):
            raise InputError(f"{name} is not on RheoSampling's tree")
        compute = partial(node_statements.differences, scheme, case, limits, fault)
        check = None if fault else partial(node_statements.checked, scheme, case, token_orders(vocab, case.head, every))
        try:
            parts = case.parts(every or fault)
            found = decide(parts, compute, (case.model, scheme), limits, case.shape, check=check)
        except LimitReached as limit:
            statement.stopped = str(limit)
            break
        statement.add(found, parameters)
        if statement.refutation:
            break
    statement.seconds = time.monotonic() - began
    return statement


def token_orders(vocab: int, head: int, every: bool) -> list[list[int]]:
    """The orders of the tokens in which points are checked: as they are, and, where rules are assumed to treat tokens
    alike, two in which all but the first `head` are shuffled.
    """
    rng, orders = random.Random(vocab), [list(range(vocab))]
    for _ in () if every else (1, 2):
        tail = list(range(head, vocab))
        orders.append([*range(head), *rng.sample(tail, len(tail))])
    return orders


def _flow_node(name: str, vocab: int, every: bool, orders: str, limits: Limits) -> Statement:
    quantifiers = f"for all p, all t and all w in (0, 1], V = {vocab}{orders}; one reveal, (M)"
    statement = Statement(name, "node", quantifiers, assumed="" if every else ALIKE)
    began = time.monotonic()

    def no_model(*_: Any) -> ToyModel:
        raise LimitReached("(M) fails, and there is no tree to show it on")

    try:
        scheme = SCHEMES[name].build(Parameters(verify="flow"))
        compute = partial(flow_statement.differences, Flow(), vocab)
        parts = flow_statement.parts(vocab, every)
        check = partial(flow_statement.checked, Flow(), vocab, token_orders(vocab, 0, every))
        shape = partial(flow_statement.shape, vocab)
        found = decide(parts, compute, (no_model, scheme), limits, shape, check=check)
        statement.add(found, Parameters(verify="flow"))
    except LimitReached as limit:
        statement.stopped = str(limit)
    statement.seconds = time.monotonic() - began
    return statement


def tree_statement(
    name: str,
    named: Named,
    model: ToyModel,
    heads: Sequence[int],
    base: Parameters,
    limits: Limits,
    guided: bool = False,
) -> Statement:
    """A whole tree, the draft model fixed, target rows unknown. `guided`: only the regions of the model's own rows."""
    d, m = base.depth, ", ".join(map(str, heads))
    sizes = f"V = {model.vocab}, D = {d}, K = {base.slots}, N = {base.nodes}, m = {m}"
    statement = Statement(name, "tree", f"for all p at every prefix; q of {model.name}, {sizes}")
    began = time.monotonic()
    for head in heads:
        parameters = named.fix(replace(base, head=head))
        scheme = named.build(parameters)
        try:
            drafted = tree_statements.drafts(scheme, model, limits)
            for group in tree_statements.groups(scheme, drafted):
                unknowns = tree_statements.Unknowns(model.vocab, d, group)
                compute = partial(tree_statements.differences, scheme, drafted, unknowns, group, limits)
                concrete = partial(unknowns.numbers, drafts=model)
                guide = unknowns.point(model) if guided else None
                check = None if guided else partial(tree_statements.checked, scheme, concrete)
                exact = (concrete, scheme)
                found = decide([unknowns.whole()], compute, exact, limits, None, guide, check, TREE_POINTS)
                statement.add(found, parameters)
                if statement.refutation:
                    break
        except LimitReached as limit:
            statement.stopped = str(limit)
        if statement.refutation or statement.stopped:
            break
    if guided and not (statement.refutation or statement.stopped):
        raise SoundnessError(f"{name}: the exact prover finds a bias on {model.name}, the symbolic run does not")
    statement.seconds = time.monotonic() - began
    return statement


def biased_at(named: Named, model: ToyModel, base: Parameters, heads: Sequence[int], limits: Limits) -> int | None:
    """The first m for which the exact prover refutes a scheme on the model as it is: there is something to find."""
    for head in heads:
        scheme = named.build(named.fix(replace(base, head=head)))
        if law_by_classes(scheme, model, limits).first_wrong(model) is not None:
            return head
    return None
