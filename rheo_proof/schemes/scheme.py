"""A scheme: a drafting method and a verification rule; its parameters as users write them, and the named ones."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, Q
from rheo_proof.schemes.drafting.rheo import Rheo as RheoDrafting
from rheo_proof.schemes.verifying.bottom_up import BottomUp
from rheo_proof.schemes.verifying.flow import Flow
from rheo_proof.schemes.verifying.match import Match
from rheo_proof.schemes.verifying.rheo import Rheo
from rheo_proof.schemes.verifying.rrsw import Rrsw
from rheo_proof.schemes.verifying.walk import Verifying

RULES: dict[str, Callable[[], Verifying]] = {
    "rheo": Rheo,
    "rrsw": Rrsw,
    "match": Match,
    "flow": Flow,
    "bottom-up": BottomUp,
}
"""Verification rules by the name that `--verify` takes."""


class Drafting(Protocol):
    """A drafting method: a program that ends in a tree of at most `depth` layers."""

    @property
    def depth(self) -> int:
        """The number of layers; a model needs draft laws for all shorter prefixes."""

    def start(self) -> Any:
        """The state before the first draw."""

    def step(self, model: ToyModel, state: Any, chance: Chance) -> Any:
        """The next state, or the tree."""


@dataclass(frozen=True)
class Scheme:
    """How one decoding step works: `drafting` makes the tree, `verifying` makes a string of it."""

    drafting: Drafting
    verifying: Verifying


@dataclass(frozen=True)
class Parameters:
    """The parameters shared by all commands; `head` m, `beam` and `nodes` as in docs/notation.md.

    `variant` names a harmless variation or a deliberate fault of the scheme. `beam` None stands for B = K.
    """

    slots: int = 3
    head: int = 1
    depth: int = 3
    beam: int | None = None
    nodes: int = 8
    sparse: int | None = None
    proxy: str = "paper"
    proxy_scale: Q = ONE
    fill_scale: Q = ONE
    verify: str = "rheo"
    variant: str | None = None

    def drafting(self, method: Callable[..., RheoDrafting] = RheoDrafting) -> RheoDrafting:
        """The drafting method. Raises `InputError` for parameters out of range."""
        return method(
            slots=self.slots,
            head=self.head,
            depth=self.depth,
            beam=self.slots if self.beam is None else self.beam,
            nodes=self.nodes,
            sparse=self.sparse,
            proxy=self.proxy,
            proxy_scale=self.proxy_scale,
            fill_scale=self.fill_scale,
        )

    def verifying(self) -> Verifying:
        """The verification rule. Raises `InputError` for an unknown name."""
        if self.verify not in RULES:
            raise InputError(f"unknown verification rule {self.verify!r}; known are {', '.join(RULES)}")
        return RULES[self.verify]()

    def as_json(self, reads: Collection[str] | None = None) -> dict[str, Any]:
        """The parameters as a JSON object, rationals as strings; null for those not in `reads`, where it is given.

        >>> Parameters(nodes=5).as_json({"depth"})["nodes"] is None
        True
        """
        written = self._as_json()
        if reads is None:
            return written
        kept = {*reads, "verify", "fault"}
        return {name: value if name in kept else None for name, value in written.items()}

    def _as_json(self) -> dict[str, Any]:
        return {
            "slots": self.slots,
            "head": self.head,
            "depth": self.depth,
            "beam": self.slots if self.beam is None else self.beam,
            "nodes": self.nodes,
            "sparse": self.sparse,
            "proxy": self.proxy,
            "proxy_scale": str(self.proxy_scale),
            "fill_scale": str(self.fill_scale),
            "verify": self.verify,
            "fault": self.variant,
        }


READABLE = frozenset(field.name for field in fields(Parameters)) - {"variant"}
"""The parameters that a scheme may read."""


@dataclass(frozen=True)
class Named:
    """A scheme that has a name: what it is in one line, and how it changes the parameters a user gives.

    `lossy`: it gives up the target's law on purpose, which is no fault. `zoo`: it stands beside RheoSampling and does
    not read all parameters. `reads`: those that it has, some of which it may fix; nothing is said of the others.
    """

    name: str
    line: str
    fix: Callable[[Parameters], Parameters]
    build: Callable[[Parameters], Scheme]
    lossless: bool
    lossy: bool = False
    zoo: bool = False
    reads: frozenset[str] = READABLE

    @property
    def expected(self) -> str:
        """What it ought to be: `lossless`, `biased` or `lossy by design`."""
        return "lossless" if self.lossless else "lossy by design" if self.lossy else "biased"

    def ought_to_be_lossless(self, parameters: Parameters) -> bool:
        """Whether nothing known is wrong with it: RRSw, too, is biased with the tail proxy (docs/theorem.md)."""
        return self.lossless and (parameters.verify, parameters.proxy) != ("rrsw", "tail")


def plain(parameters: Parameters) -> Scheme:
    """The scheme that the parameters say, nothing else."""
    return Scheme(parameters.drafting(), parameters.verifying())


def _named(name: str, line: str, lossless: bool = True, **fixed: Any) -> Named:
    return Named(name, line, lambda p: replace(p, **fixed), plain, lossless)


def _top_k(parameters: Parameters) -> Parameters:
    return replace(parameters, head=parameters.slots, verify="match")


SCHEMES: dict[str, Named] = {
    named.name: named
    for named in (
        _named("rheo", "RheoSampling with RheoVerification (arXiv 2609.21827)", verify="rheo"),
        _named(
            "rrsw", "RheoSampling's tree, recursive rejection without replacement (arXiv 2402.12374)", verify="rrsw"
        ),
        _named("match", "RheoSampling's tree, one-hot verification", verify="match"),
        _named("flow", "RheoSampling's tree, FlowVerification (this project)", verify="flow"),
        Named("top-k", "EAGLE-2/3: top-K tree, one-hot verification (arXiv 2406.16858)", _top_k, plain, True),
        _named("chain", "a sampled chain, token by token (arXiv 2211.17192)", slots=1, head=0, beam=1, verify="rheo"),
        _named(
            "block", "a sampled chain, block verification (arXiv 2403.10444)", slots=1, head=0, beam=1, verify="flow"
        ),
        _named("bottom-up", "RheoSampling's tree, leaf-first rule: not lossless", False, verify="bottom-up"),
    )
}
"""Schemes by the name that `--scheme` takes; `variations.py` and `faults.py` hold the others."""
