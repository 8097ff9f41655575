"""Which rules can be put against the adversary, what each of them looks at, and the verdict on one model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rheo_proof.exact.errors import InputError, LimitReached
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import ToyModel
from rheo_proof.schemes import faulty_rules
from rheo_proof.schemes.drafting.rheo import Rheo as RheoDrafting
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.faulty_trees import DrawFullQ, HeadsWithQ, ReportFullQ
from rheo_proof.schemes.registry import ON_RHEO_TREES, ZOO
from rheo_proof.schemes.scheme import RULES, SCHEMES, Named, Parameters, Scheme
from rheo_proof.schemes.verifying.bottom_up import BottomUp
from rheo_proof.schemes.verifying.chain_verification import ChainVerification
from rheo_proof.schemes.verifying.dx import Dx
from rheo_proof.schemes.verifying.flow import Flow
from rheo_proof.schemes.verifying.match import Match
from rheo_proof.schemes.verifying.rheo import Rheo
from rheo_proof.schemes.verifying.rrsw import Rrsw
from rheo_proof.schemes.verifying.walk import Verifying
from rheo_proof.theorems.induction import Bounds, bounds
from rheo_proof.theorems.instances import Source
from rheo_proof.theorems.policies import Policies, Sees

LOOKS: Mapping[type[Verifying], Sees] = {
    Rheo: "tree",
    Rrsw: "tree",
    Match: "tree",
    BottomUp: "tree",
    ChainVerification: "tree",
    Flow: "reveals",
    Dx: "reveals",
    faulty_rules.DepthFirstFlow: "tree",
    faulty_rules.LayeredFlow: "reveals",
    faulty_rules.SkipResidual: "tree",
    faulty_rules.ResidualOfQ: "tree",
    faulty_rules.SharedCoin: "tree",
    faulty_rules.Bonus: "tree",
    faulty_rules.SecondToken: "tree",
    faulty_rules.ResortSiblings: "tree",
    faulty_rules.RatioOnTopK: "tree",
}
"""What a rule looks at besides the tree. By exact type: a rule that is not listed is taken to look at everything."""

READ_SLOTS = (Dx, faulty_rules.ResidualOfQ)
"""Rules that are told how a node's slots are drafted, hence m; they have none where the policy chooses m."""

SLOTS: tuple[type[RheoDrafting], ...] = (RheoDrafting, HeadsWithQ, ReportFullQ, DrawFullQ)
"""Ways to draft the slots of one node. Other faults of the tree change values or ranks, which a policy has none of."""


def _candidates() -> dict[str, Named]:
    rules = {name: SCHEMES[name] for name in RULES}
    return {**rules, **{name: ZOO[name] for name in ON_RHEO_TREES}, **FAULTS}


def _built(named: Named, parameters: Parameters) -> Scheme | None:
    """The scheme, if nothing of it but the rule and the slots of a node is its own."""
    fixed = named.fix(parameters)
    if replace(fixed, verify=parameters.verify, variant=None) != parameters:
        return None
    scheme = named.build(fixed)
    return scheme if type(scheme.drafting) in SLOTS else None


AGAINST: Mapping[str, Named] = {
    name: named for name, named in _candidates().items() if _built(named, Parameters()) is not None
}
"""What `--verify` of `rheo-prove policies` takes."""


@dataclass(frozen=True)
class Adversary:
    """A rule and the policies it is put against. `heads` are the values of m; with `any_head` each node has its own.

    Of the `parameters` K, D, N and S are read. `whole_order`: nothing is merged, whatever the rule is said to look at.
    Raises `InputError` for parameters out of range.
    """

    name: str
    parameters: Parameters
    heads: tuple[int, ...]
    heads_first: bool = False
    peek: bool = False
    whole_order: bool = False

    def __post_init__(self) -> None:
        if self.name not in AGAINST:
            raise InputError(f"unknown rule {self.name!r}; known are {', '.join(AGAINST)}")
        for m in self.heads:
            scheme = self._scheme(m)
            if len(self.heads) > 1 and isinstance(scheme.verifying, READ_SLOTS):
                raise InputError(f"{self.name} is told m, so no policy can choose it; give --head a number")

    def _scheme(self, m: int) -> Scheme:
        scheme = _built(AGAINST[self.name], replace(self.parameters, head=m))
        assert scheme is not None
        return scheme

    def policies(self, model: ToyModel) -> Policies:
        """The decision process on one model."""
        schemes = [self._scheme(m) for m in self.heads]
        rule: Verifying = schemes[0].verifying
        draftings = [scheme.drafting for scheme in schemes if isinstance(scheme.drafting, RheoDrafting)]
        return Policies(model, rule, draftings, self.sees, self.heads_first, self.peek)

    @property
    def sees(self) -> Sees:
        """What the rule looks at."""
        return "order" if self.whole_order else LOOKS.get(type(self._scheme(self.heads[0]).verifying), "order")

    @property
    def suspect(self) -> bool:
        """Whether it is known not to be lossless under all these policies. One-hot verification is, on any tree."""
        slots = self.parameters.slots
        if self.name == "match":
            return False
        unordered = self.name == "rrsw" and not self.heads_first and any(0 < m < slots for m in self.heads)
        return self.peek or unordered or not AGAINST[self.name].lossless

    def smaller(self, depth: int, slots: int, nodes: int) -> Adversary | None:
        """The same with other sizes; None where m does not fit."""
        heads = tuple(m for m in self.heads if m <= slots)
        if not heads:
            return None
        return replace(self, heads=heads, parameters=replace(self.parameters, depth=depth, slots=slots, nodes=nodes))

    def as_json(self) -> dict[str, Any]:
        """All of it as a JSON object."""
        p = self.parameters
        return {
            "verify": self.name,
            "depth": p.depth,
            "slots": p.slots,
            "nodes": p.nodes,
            "sparse": p.sparse,
            "head": list(self.heads) if len(self.heads) > 1 else self.heads[0],
            "heads_first": self.heads_first,
            "peek": self.peek,
            "merged": self.sees,
        }


@dataclass(frozen=True)
class Decided:
    """What was found for one adversary on one model; `why` says why it is undecided."""

    adversary: Adversary
    source: Source
    seconds: float
    bounds: Bounds | None = None
    why: str = ""

    @property
    def verdict(self) -> str:
        """`lossless`, `biased` or `undecided`."""
        if self.bounds is None:
            return "undecided"
        return "lossless" if self.bounds.lossless else "biased"


def decide(
    adversary: Adversary,
    source: Source,
    limits: Limits,
    most: int | None = None,
    told: Callable[[int, int], None] | None = None,
) -> Decided:
    """Decide one adversary on one model, giving up after `most` states.

    >>> parameters = Parameters(slots=2, depth=1, nodes=2)
    >>> decide(Adversary("rrsw", parameters, (1,)), Source("random", 0, 3, 1), Limits()).verdict
    'biased'
    >>> decide(Adversary("rrsw", parameters, (1,), heads_first=True), Source("random", 0, 3, 1), Limits()).verdict
    'lossless'
    """
    begin = time.perf_counter()
    try:
        limits.watch()
        found = bounds(adversary.policies(source.load()), limits, most, told=told)
    except LimitReached as limit:
        return Decided(adversary, source, time.perf_counter() - begin, why=str(limit))
    return Decided(adversary, source, time.perf_counter() - begin, found)
