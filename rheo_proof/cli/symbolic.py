"""`rheo-prove symbolic`: prove a rule for all targets, region by region, or show the region where a fault is wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from rheo_proof.cli.compare import watched
from rheo_proof.cli.options import check_targets, refuse_empty
from rheo_proof.exact.errors import InputError, LimitReached
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.files import load_json, read_model
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import ToyModel
from rheo_proof.report.console import plain_console
from rheo_proof.report.json_file import write_json
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.scheme import SCHEMES, Named, Parameters
from rheo_proof.theorems.zoo import look_up

if TYPE_CHECKING:
    from rheo_proof.theorems.statements import Statement

RULES = ("rheo", "rrsw", "match", "flow")
VOCAB, DEPTH, SLOTS, NODES = 4, 2, 2, 4
LARGEST = 6
TREE_VOCAB, FLOW_VOCAB = 3, 2
"""Trees of the default run have so few tokens; the regions of FlowVerification are many more."""
FLOW_NODES = 3
"""With `TREE_VOCAB` tokens FlowVerification gets trees of so many nodes at most, and at least one head at each node."""
STATUS = {"proved": 0, "refuted": 1, "undecided": 3}
MODELS = 4
"""How many models of each family a fault of the tree is looked for on."""


@click.command("symbolic")
@click.option("--vocab", type=click.IntRange(1, LARGEST), help=f"Vocabulary V of the node.  [default: {VOCAB}]")
@click.option("--depth", type=click.IntRange(1), help=f"Layers D of the trees.  [default: {DEPTH}, or the model's]")
@click.option("--slots", type=click.IntRange(1), default=SLOTS, show_default=True, help="Slots K in the trees.")
@click.option("--nodes", type=click.IntRange(1), default=NODES, show_default=True, help="Nodes N kept in the trees.")
@click.option(
    "--head", type=click.IntRange(0), multiple=True, help="Deterministic slots m; repeatable.  [default: all]"
)
@click.option("--verify", type=click.Choice(RULES), multiple=True, help="Rule; repeatable.  [default: all four]")
@click.option("--fault", metavar="NAME", help="A deliberate fault; see `rheo-prove faults`.")
@click.option("--model", metavar="FILE", help="A toy model (JSON) whose draft laws the trees use.")
@click.option("--family", type=click.Choice(list(FAMILIES)), help="Family of that model.  [default: random]")
@click.option("--seed", type=int, help="Its seed.  [default: 0]")
@click.option("--json", "json_path", metavar="FILE", help="Write everything as JSON, too.")
@click.option("--timeout", type=click.IntRange(1), metavar="SECONDS", help="Give up after so many seconds.")
@click.pass_context
def symbolic(context: click.Context, /, **options: Any) -> None:
    """Prove for ALL targets: one node with p and t unknown, and whole trees with q fixed and p unknown.

    Exact polynomial identities, sign region by sign region. A fault is refuted with its region and a rational point.
    """
    try:
        import sympy  # noqa: F401
    except ImportError:
        raise InputError("rheo-prove symbolic needs sympy; pip install 'rheo-proof[symbolic]'") from None
    refuse_empty(options, "fault", "model", "json_path")
    check_targets(options, "json_path")
    context.exit(run(options))


def run(options: dict[str, Any]) -> int:
    """Decide, show, write; the exit status."""
    from rheo_proof.report.symbolic import closing, show_refutation, show_statements, symbolic_as_json

    named = look_up(options["fault"], FAULTS, "fault") if options["fault"] else None
    file = model_of(options)
    heads = heads_of(options, named)
    deadline = time.monotonic() + options["timeout"] if options["timeout"] else None
    limits = Limits(deadline=deadline)
    steps = faulty(options, named, file, heads, limits) if named else proving(options, file, heads, limits)
    total = 2 if named else 2 * len(options["verify"] or RULES)
    found = list(watched(steps, total, "deciding"))
    verdicts = [statement.verdict for statement in found]
    verdict = next((v for v in ("refuted", "undecided") if v in verdicts), "proved")
    if verdict == "proved" and (named or not found):
        verdict = "undecided"
    out = plain_console()
    show_statements(out, found)
    for statement in found:
        if statement.refutation:
            show_refutation(out, statement)
    missing = [] if named else left_out(options, heads)
    for line in closing(found, verdict, named is not None, missing):
        out.print(line, soft_wrap=True)
    if options["json_path"]:
        write_json(options["json_path"], symbolic_as_json(found, verdict, missing))
    return STATUS[verdict]


def model_of(options: dict[str, Any]) -> ToyModel | None:
    """The model of the user's file. Raises `InputError` for options that contradict it."""
    if not options["model"]:
        return None
    for name in ("family", "seed"):
        if options[name] is not None:
            raise InputError(f"--{name} and --model: choose one of them")
    model = read_model(load_json(options["model"]), os.path.basename(options["model"]))
    if options["depth"] is not None and options["depth"] > model.depth:
        raise InputError(f"depth is {options['depth']}, but the model has laws for depth {model.depth} only")
    return model


def heads_of(options: dict[str, Any], named: Named | None) -> tuple[int, ...]:
    """The m asked for. Raises `InputError` where no statement has such an m."""
    heads = tuple(dict.fromkeys(options["head"]))
    largest = max(options["slots"], (options["vocab"] or VOCAB) - 1)
    for m in heads:
        if m > largest:
            raise InputError(f"head is {m}, expected at most {largest}, the larger of slots and V - 1")
    if named and len(options["verify"]) > 1:
        raise InputError("--fault takes one --verify")
    return heads


def left_out(options: dict[str, Any], heads: tuple[int, ...]) -> list[str]:
    """The m asked for of which there is no statement of one kind."""
    vocab, slots = options["vocab"] or VOCAB, options["slots"]
    nodes = [f"No statement about one node: m = {m} needs V of at least {m + 1}." for m in heads if m >= vocab]
    return [*nodes, *(f"No tree: m = {m} needs slots of at least {m}." for m in heads if m > slots)]


def tree_base(options: dict[str, Any], rule: str, file: ToyModel | None) -> Parameters:
    """The parameters of the trees."""
    depth = options["depth"] or (file.depth if file else DEPTH)
    return Parameters(slots=options["slots"], head=0, depth=depth, nodes=options["nodes"], verify=rule)


def tree_model(options: dict[str, Any], base: Parameters, file: ToyModel | None) -> ToyModel:
    """The model whose draft laws the trees use."""
    if file:
        return file
    vocab = min(options["vocab"] or VOCAB, FLOW_VOCAB if base.verify == "flow" else TREE_VOCAB)
    return default_model(options, vocab, base)


def default_model(options: dict[str, Any], vocab: int, base: Parameters) -> ToyModel:
    """The model of the family and seed."""
    return family_model(options["family"] or "random", options["seed"] or 0, vocab, base.depth)


def proving(
    options: dict[str, Any], file: ToyModel | None, heads: tuple[int, ...], limits: Limits
) -> Iterator[Statement]:
    """Both statements for each rule; of trees two for FlowVerification, with few tokens and with few nodes."""
    from rheo_proof.theorems.statements import node_statement, tree_statement

    rules = tuple(dict.fromkeys(options["verify"])) or RULES
    vocab = options["vocab"] or VOCAB
    node_heads = tuple(m for m in heads if m < vocab)
    tree_heads = tuple(m for m in heads or range(options["slots"] + 1) if m <= options["slots"])
    for rule in rules:
        if not heads or node_heads:
            yield node_statement(rule, SCHEMES[rule], vocab, node_heads, Parameters(verify=rule), limits)
    for rule in rules:
        base = tree_base(options, rule, file)
        if tree_heads:
            yield tree_statement(rule, SCHEMES[rule], tree_model(options, base, file), tree_heads, base, limits)
        wide = tuple(m for m in tree_heads if m)
        if rule == "flow" and file is None and wide and vocab >= TREE_VOCAB:
            small = replace(base, nodes=min(base.nodes, FLOW_NODES))
            yield tree_statement(rule, SCHEMES[rule], default_model(options, TREE_VOCAB, base), wide, small, limits)


def faulty(
    options: dict[str, Any], named: Named, file: ToyModel | None, heads: tuple[int, ...], limits: Limits
) -> Iterator[Statement]:
    """The node statement, and if that is right, a tree that the exact prover finds biased."""
    from rheo_proof.theorems.statements import Statement, biased_at, node_statement, tree_statement

    rule = (options["verify"] or ("rheo",))[0]
    fixed = named.fix(Parameters(verify=rule)).verify
    if options["verify"] and fixed != rule:
        raise InputError(f"{named.name} fixes verify to {fixed}; leave out --verify")
    vocab = options["vocab"] or VOCAB
    if fixed != "flow":
        node_heads = tuple(m for m in heads if m < vocab)
        base = Parameters(verify=fixed)
        statement = node_statement(named.name, named, vocab, node_heads, base, limits, fault=True)
        yield statement
        if statement.refutation or statement.stopped:
            return
    tree_heads = tuple(m for m in heads or range(options["slots"] + 1) if m <= options["slots"])
    try:
        for model, base in tree_instances(options, fixed, file):
            m = biased_at(named, model, base, tree_heads, limits)
            if m is not None:
                yield tree_statement(named.name, named, model, (m,), base, limits, guided=True)
                return
    except LimitReached as limit:
        yield Statement(named.name, "tree", "search for a draft model that shows it", stopped=str(limit))


def tree_instances(options: dict[str, Any], rule: str, file: ToyModel | None) -> Iterator[tuple[ToyModel, Parameters]]:
    """Where a fault of the tree is looked for: on the model that was named, else on several small ones."""
    base = tree_base(options, rule, file)
    budgets = dict.fromkeys((options["nodes"], *(n for n in (1, 2, 3) if n < options["nodes"]), options["nodes"] + 1))
    if file or options["family"] or options["seed"] is not None:
        model = tree_model(options, base, file)
        yield from ((model, replace(base, nodes=nodes)) for nodes in budgets)
        return
    vocab = min(options["vocab"] or VOCAB, TREE_VOCAB)
    for v, d in ((vocab, base.depth), (min(2, vocab), base.depth + 1)):
        for seed, family, nodes in product(range(MODELS), FAMILIES, budgets):
            yield family_model(family, seed, v, d), replace(base, depth=d, nodes=nodes)
