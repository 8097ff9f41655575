"""Options of commands that look at one scheme on one model, or at all policies of one rule on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from rheo_proof.cli.options import COUNT, refuse_empty
from rheo_proof.cli.request import request
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import rational
from rheo_proof.report.console import describe
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.scheme import RULES, Parameters, Scheme
from rheo_proof.theorems.instances import Entry, Source
from rheo_proof.theorems.policies import Policies
from rheo_proof.theorems.zoo import EVERY, fault_named, scheme_named

F = TypeVar("F", bound=Callable[..., Any])

VOCAB, DEPTH, STATES = 3, 2, 20_000
OPENED: dict[str, Any] = {"slots": 2, "nodes": 4}
"""What K and N are if they are left open and the scheme does not fix them."""
UNREAD = ("beam", "proxy", "proxy_scale", "fill_scale")
"""Parameters that order or value slots; a policy orders them as it likes."""
ONLY_POLICIES = ("heads_first", "peek")

OPTIONS = (
    click.option("--vocab", type=int, help=f"Vocabulary V of the model.  [default: {VOCAB}]"),
    click.option("--depth", type=int, help=f"Layers D of draft nodes.  [default: {DEPTH}, or the model's]"),
    click.option("--slots", type=int, help=f"Slots K of an expanded node.  [default: {OPENED['slots']}]"),
    click.option("--head", type=int, help="Deterministic slots m.  [default: 1]"),
    click.option("--beam", type=int, help="Nodes B expanded in a layer.  [default: K]"),
    click.option("--nodes", type=int, help=f"Nodes N kept.  [default: {OPENED['nodes']}]"),
    click.option("--sparse", type=int, help="Draft laws cut to their S best tokens."),
    click.option("--proxy", type=click.Choice(["paper", "tail"]), help="Value of the sampled slot.  [default: paper]"),
    click.option("--proxy-scale", metavar="A/B", help="Scale of the tail proxy.  [default: 1]"),
    click.option("--fill-scale", metavar="A/B", help="Scale of the value of fills.  [default: 1]"),
    click.option("--verify", type=click.Choice(list(RULES)), help="Verification rule.  [default: rheo]"),
    click.option("--scheme", metavar="NAME", help="A named scheme; see `rheo-prove schemes`."),
    click.option("--fault", metavar="NAME", help="A deliberate fault; see `rheo-prove faults`."),
    click.option("--model", metavar="FILE", help="A toy model of your own (JSON)."),
    click.option("--family", metavar="NAME", help="Family of the model.  [default: random]"),
    click.option("--seed", type=int, help="Seed of the model.  [default: 0]"),
    click.option("--policies", is_flag=True, help="All predictable policies instead: a decision process."),
    click.option("--heads-first", is_flag=True, help="With --policies: no head after the sampled slot of its node."),
    click.option("--peek", is_flag=True, help="With --policies: look at X before inserting it (a control)."),
    click.option("--max-states", type=COUNT, default=STATES, show_default=True, help="Give up after so many states."),
    click.option("--timeout", type=COUNT, metavar="SECONDS", help="Give up after so many seconds."),
)


def single_options(command: F) -> F:
    """The options of one scheme on one model."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Single:
    """One scheme on one model; `policies` if all policies are asked for; `states` and `limits` end the work."""

    entry: Entry
    source: Source
    model: ToyModel
    policies: Policies | None
    states: int
    limits: Limits

    @property
    def scheme(self) -> Scheme:
        """The scheme itself."""
        return self.entry.scheme()

    @property
    def title(self) -> list[str]:
        """What it is, in two lines."""
        parameters, name = self.entry.parameters, self.source.name or f"{self.source.family} {self.source.seed}"
        sizes = f"V = {self.model.vocab}, {describe(parameters)}, m = {parameters.head}"
        what = f"{self.entry.name}: {self.entry.named.line}"
        if self.policies is not None:
            more = [", heads first" * self.policies.heads_first, ", peeking" * self.policies.peek]
            what = f"all policies{''.join(more)}; {what}"
        return [what, f"model {name}, {sizes}, verify {parameters.verify}"]


def single(options: dict[str, Any]) -> Single:
    """What the options say. Raises `InputError` for whatever is out of range, unknown, or contradicts something."""
    refuse_empty(options, "fault", "scheme", "model", "family")
    for name in ONLY_POLICIES:
        if options[name] and not options["policies"]:
            raise InputError(f"--{name.replace('_', '-')} goes with --policies only")
    names = ("depth", "slots", "beam", "nodes", "sparse", "proxy", "proxy_scale", "fill_scale")
    given = {name: options[name] for name in names if options[name] is not None}
    for name in UNREAD:
        if options["policies"] and name in given:
            raise InputError(f"--{name.replace('_', '-')}: a policy does not read it; leave it out")
        if name in given and name.endswith("_scale"):
            given[name] = rational(given[name], f"--{name.replace('_', '-')}")
    entry, source = _asked(options, given)
    model = source.load()
    deadline = time.monotonic() + options["timeout"] if options["timeout"] else None
    policies = _policies(options, entry, model) if options["policies"] else None
    return Single(entry, source, model, policies, options["max_states"], Limits(deadline=deadline))


def _asked(options: dict[str, Any], given: dict[str, Any]) -> tuple[Entry, Source]:
    """The one entry and the one source, sizes that were left open being small."""
    name = options["fault"] or options["scheme"]
    fix = (fault_named if options["fault"] else scheme_named)(name).fix if name else lambda p: p
    if not options["model"]:
        given.setdefault("depth", DEPTH)
    for field, value in OPENED.items():
        if field not in given and getattr(fix(Parameters(**{field: value})), field) == value:
            given[field] = value
    found = request(
        given,
        [] if options["head"] is None else [options["head"]],
        [options["verify"]] if options["verify"] else [] if name else ["rheo"],
        [options["scheme"]] if options["scheme"] else [],
        options["fault"],
        options["model"],
        VOCAB if options["vocab"] is None and not options["model"] else options["vocab"],
        None if options["model"] else 1,
        options["seed"],
        [options["family"]] if options["family"] else [] if options["model"] else ["random"],
    )
    [source] = found.sources
    entry = next((one for one in found.entries if one.parameters.head == 1), found.entries[0])
    return entry, source


def _policies(options: dict[str, Any], entry: Entry, model: ToyModel) -> Policies:
    """All policies with the slots of RheoSampling. Raises `InputError` for a scheme that drafts in another way."""
    scheme = entry.scheme()
    if type(scheme.drafting) is not Rheo or EVERY[entry.name].zoo:
        raise InputError(f"--policies are about RheoSampling's slots; {entry.name} drafts in another way")
    return Policies(
        model, scheme.verifying, [scheme.drafting], heads_first=options["heads_first"], peek=options["peek"]
    )
