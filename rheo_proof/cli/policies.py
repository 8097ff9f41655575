"""`rheo-prove policies`: the tree shape as an adversary; every predictable policy at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click
from rich.progress import Progress

from rheo_proof.cli.certify import certify, check_certifiable
from rheo_proof.cli.options import COUNT, check_targets, refuse_empty
from rheo_proof.cli.request import models
from rheo_proof.exact.errors import InputError, LimitReached
from rheo_proof.exact.limits import Limits
from rheo_proof.report.console import plain_console
from rheo_proof.report.json_file import write_json
from rheo_proof.report.policies import policies_as_json, show_covered, show_decided, show_exposed, verdict_of
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems.adversary import Adversary, Decided, decide
from rheo_proof.theorems.exposing import Exposed, exposed, smallest
from rheo_proof.theorems.instances import Source
from rheo_proof.theorems.policy_certificate import certificate

VOCAB, DEPTH, SLOTS, NODES = 3, 2, 3, 4
MODELS = 10
RULES = ("rheo", "flow", "match")
LESS = "fewer --instances, a smaller --vocab, --depth or --nodes, or a single --head or --verify"
STATUS = {"lossless": 0, "biased": 1, "undecided": 3}
CLOSING = {
    "lossless": "PROVED: lossless under all of these policies.",
    "biased": "REFUTED: biased under one of these policies.",
    "undecided": "NOT DECIDED.",
}


@click.command("policies")
@click.option("--vocab", type=int, help=f"Vocabulary V.  [default: {VOCAB}]")
@click.option("--depth", type=int, help=f"Layers D of draft nodes.  [default: {DEPTH}]")
@click.option("--slots", type=int, help=f"Slots K of a node.  [default: {SLOTS}]")
@click.option(
    "--head",
    multiple=True,
    metavar="M",
    help="Deterministic slots m, the same at every node; repeatable; or any: chosen at each.  [default: 0 to K]",
)
@click.option("--nodes", type=int, help=f"Nodes N of a tree, at most.  [default: {NODES}]")
@click.option("--sparse", type=int, help="Draft laws cut to their S best tokens.")
@click.option(
    "--verify", multiple=True, metavar="NAME", help=f"Rule or fault; repeatable.  [default: {', '.join(RULES)}]"
)
@click.option("--heads-first", is_flag=True, help="Policies insert no head of a node after its sampled slot.")
@click.option("--peek", is_flag=True, help="Control: policies may look at X before they decide to insert its slot.")
@click.option("--whole-order", is_flag=True, help="Merge nothing: a state has the whole order of insertions.")
@click.option("--model", metavar="FILE", help="A toy model of your own (JSON) in place of the battery.")
@click.option("--instances", type=int, help=f"Models of the battery.  [default: {MODELS}]")
@click.option("--seed", type=int, help="First seed of the battery.  [default: 0]")
@click.option(
    "--family", "families", multiple=True, metavar="NAME", help="Family of models; repeatable. [default: all]"
)
@click.option("--json", "json_path", metavar="FILE", help="Write everything as JSON, too.")
@click.option("--certificate", "certificate_path", metavar="FILE", help="Write what `check` needs to check it again.")
@click.option("--max-states", type=COUNT, help="Give up on a rule, m and model after so many states.")
@click.option("--timeout", type=COUNT, metavar="SECONDS", help="Give up after so many seconds.")
@click.option("--shrink/--no-shrink", default=True, show_default=True, help="Search the smallest sizes that refute.")
@click.pass_context
def policies_command(context: click.Context, /, **options: Any) -> None:
    """Decide rules for every way to build the tree without looking at tokens that are not revealed yet.

    For every string the smallest and the largest probability over all predictable policies; lossless iff both are the
    target's. Otherwise the policy that exposes the rule is shown.
    """
    refuse_empty(options, "model", "json_path", "certificate_path")
    notes: list[str] = []
    adversaries, sources = asked(options, notes)
    check_targets(options, "json_path", "certificate_path")
    check_certifiable(options["certificate_path"], adversaries)
    deadline = time.monotonic() + options["timeout"] if options["timeout"] else None
    limits = Limits(deadline=deadline)
    results = decide_all(adversaries, sources, limits, options["max_states"])
    out = plain_console()
    show_decided(out, results)
    found = []
    for each, is_smallest in expose_all(results, options, limits, notes):
        show_exposed(out, each, is_smallest)
        found.append(each)
    show_covered(out, results, notes)
    verdict = verdict_of(results)
    out.print(closing(verdict, results))
    if options["json_path"]:
        write_json(options["json_path"], policies_as_json(verdict, results, found))
    path = options["certificate_path"]
    if path and not certify(out, path, lambda: certificate(results, deadline), LESS):
        context.exit(3)
    context.exit(STATUS[verdict])


def closing(verdict: str, results: Sequence[Decided]) -> str:
    """The last line."""
    if verdict == "undecided" and not any(result.why for result in results):
        return (
            "NOT REFUTED: no policy shows it here, although it is not lossless under every policy in general. These "
            "models are too few or too small to show it."
        )
    return CLOSING[verdict]


def asked(options: dict[str, Any], notes: list[str]) -> tuple[list[Adversary], list[Source]]:
    """The adversaries and the models. Raises `InputError` for what is unknown or out of range."""
    given = {name: options[name] for name in ("depth", "slots", "nodes", "sparse") if options[name] is not None}
    if not options["model"]:
        given.setdefault("depth", DEPTH)
    vocab = VOCAB if options["vocab"] is None and not options["model"] else options["vocab"]
    instances = options["instances"]
    if instances is None and not options["model"]:
        instances = MODELS
    sources, _, depth = models(given, options["model"], vocab, instances, options["seed"], options["families"], notes)
    parameters = Parameters(**{"slots": SLOTS, "nodes": NODES, **given, "depth": depth, "head": 0})
    parameters.drafting()
    adversaries = [
        Adversary(rule, parameters, heads, options["heads_first"], options["peek"], options["whole_order"])
        for rule in dict.fromkeys(options["verify"] or RULES)
        for heads in wanted(options["head"], parameters.slots)
    ]
    return adversaries, sources


def wanted(heads: Sequence[str], slots: int) -> list[tuple[int, ...]]:
    """The values of m of each adversary: one, or all where the policy chooses."""
    every = tuple(range(slots + 1))
    found: list[tuple[int, ...]] = []
    for text in dict.fromkeys(heads):
        if text != "any" and not (text.isascii() and text.isdigit() and int(text) <= slots):
            raise InputError(f"--head is {text!r}, expected a whole number from 0 to slots = {slots}, or any")
        found.append(every if text == "any" else (int(text),))
    return list(dict.fromkeys(found)) or [(m,) for m in every]


def decide_all(
    adversaries: Sequence[Adversary], sources: Sequence[Source], limits: Limits, most: int | None
) -> list[Decided]:
    """All results by rule, then m, then model; with a progress bar on a terminal."""
    results = []
    err = plain_console(stderr=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        whole = progress.add_task("deciding", total=len(adversaries) * len(sources))
        part = progress.add_task("states", total=None)
        for adversary in adversaries:
            for source in sources:

                def told(done: int, total: int) -> None:
                    progress.update(part, completed=done, total=total)

                results.append(decide(adversary, source, limits, most, told))
                progress.advance(whole)
    return results


def expose_all(
    results: Sequence[Decided], options: dict[str, Any], limits: Limits, notes: list[str]
) -> list[tuple[Exposed, bool]]:
    """For each rule that is biased a policy that shows it, and whether it is at the smallest sizes found."""
    found = []
    biased: dict[str, list[Decided]] = {}
    for result in results:
        if result.verdict == "biased":
            biased.setdefault(result.adversary.name, []).append(result)
    for name, bad in biased.items():
        try:
            found.append(expose(name, bad, results, options, limits))
        except LimitReached as limit:
            notes.append(f"the search for a policy that exposes {name} ended: {limit}")
    return found


def expose(
    name: str, bad: Sequence[Decided], results: Sequence[Decided], options: dict[str, Any], limits: Limits
) -> tuple[Exposed, bool]:
    """The smallest policy found, or the one on the first model where the rule was refuted. Raises `LimitReached`."""
    source = bad[0].source
    if options["shrink"]:
        adversaries = list(dict.fromkeys(result.adversary for result in results if result.adversary.name == name))
        err = plain_console(stderr=True)
        with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
            task = progress.add_task(f"smallest sizes for {name}", total=None)

            def told(size: tuple[int, int, int, int]) -> None:
                progress.update(task, description=f"{name}: V, D, K, N = {', '.join(map(str, size))}")

            model = source.load() if options["model"] else None
            smaller = smallest(adversaries, source.vocab, model, limits, options["max_states"], told)
        if smaller is not None:
            return smaller, True
    whole = exposed(bad[0].adversary, source.load(), limits, options["max_states"])
    assert whole is not None
    return whole, False
