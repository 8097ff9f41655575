"""`rheo-prove compare`: schemes side by side on one model, or curves over a family of models."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, TypeVar

import click
from rich.progress import Progress

from rheo_proof.cli.options import COUNT, check_targets, names_of, refuse_empty
from rheo_proof.cli.request import agreed, models
from rheo_proof.exact.errors import InputError, LimitReached
from rheo_proof.report.comparison import (
    Curves,
    comparison_as_json,
    show_comparison,
    show_covered,
    show_sweep,
    sweep_as_json,
    verdict,
)
from rheo_proof.report.console import plain_console, show_remedy
from rheo_proof.report.json_file import write_json
from rheo_proof.report.plots import Bar, check_plot, draw_bars, draw_curves
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems.comparison import chosen, compare, ranked, status
from rheo_proof.theorems.instances import Effort, Source
from rheo_proof.theorems.sweep import BASE, SWEEPS, draw, sweep_of
from rheo_proof.theorems.zoo import EVERY

T = TypeVar("T")
VOCAB, DEPTH, SLOTS = 4, 2, 2
MODELS = 20
CLASSES = 20_000
"""Some drafting methods of the zoo have millions of classes from three layers on; the others are shown without them."""
ONLY = {"sweep": ("models",), "table": ("model", "schemes", "head")}
"""Options that only one of the two kinds of run reads."""


@click.command("compare")
@click.option("--vocab", type=int, help=f"Vocabulary V.  [default: {VOCAB}]")
@click.option("--depth", type=int, help=f"Layers D of draft nodes.  [default: {DEPTH}]")
@click.option("--slots", type=int, help=f"Drafts K of a node, or paths.  [default: {SLOTS}; with --sweep {BASE.slots}]")
@click.option("--head", type=int, help="Deterministic slots m of RheoSampling's tree.  [default: 1]")
@click.option("--nodes", type=int, help=f"Nodes N kept.  [default: 8; with --sweep {BASE.nodes}]")
@click.option("--model", metavar="FILE", help="A toy model of your own (JSON).")
@click.option("--family", metavar="NAME", help="Family of the model.  [default: random]")
@click.option("--seed", type=int, help="Seed of the model, or of the first one.  [default: 0]")
@click.option("--schemes", multiple=True, metavar="NAMES", help="Schemes, joined by commas.  [default: all]")
@click.option("--sweep", type=click.Choice(SWEEPS), help="Curves: what is turned.")
@click.option("--models", type=COUNT, help=f"Models that a sweep averages over.  [default: {MODELS}]")
@click.option("--json", "json_path", metavar="FILE", help="Write everything as JSON, too.")
@click.option("--plot", metavar="FILE", help="Draw a picture, .svg or .png.")
@click.option(
    "--max-classes",
    type=COUNT,
    help=f"Give up on a scheme and model after so many classes.  [default: {CLASSES}; with --sweep none]",
)
@click.option("--timeout", type=COUNT, metavar="SECONDS", help="Give up after so many seconds.")
@click.pass_context
def compare_command(context: click.Context, /, **options: Any) -> None:
    """Compare schemes exactly: verdict, expected tokens, acceptance, distance to the optimum.

    Without --sweep all of them on one model; exit status 1 if one that ought to be lossless is not.
    """
    refuse_empty(options, "model", "json_path", "plot", "family")
    for name in ONLY["table" if options["sweep"] else "sweep"]:
        if options[name] not in (None, ()):
            does = "does not go with" if options["sweep"] else "goes with"
            raise InputError(f"--{name}: {does} --sweep")
    check_targets(options, "json_path", "plot")
    if options["plot"]:
        check_plot(options["plot"])
    context.exit(curves(options) if options["sweep"] else side_by_side(options))


def side_by_side(options: dict[str, Any]) -> int:
    """One row for each scheme; the exit status."""
    names = chosen(names_of(options["schemes"], "--schemes"))
    source, parameters = one_model(options)
    wrote = {name: (options[name],) for name in ("slots", "head", "nodes") if options[name] is not None}
    agreed([EVERY[name] for name in names], parameters, wrote)
    effort = effort_of(options, CLASSES)
    rows = list(watched(compare(source, names, parameters, effort), len(names), "comparing"))
    out = plain_console()
    show_comparison(out, rows)
    show_covered(out, rows, source, parameters)
    show_remedy(out, [row.why for row in rows if row.verdict == "undecided"])
    if options["json_path"]:
        model = next((row.found.model for row in rows if row.found), None)
        write_json(options["json_path"], comparison_as_json(rows, source, parameters, model))
    if options["plot"]:
        bars = [Bar(row.name, verdict(row), row.tokens, row.bound.value) for row in ranked(rows) if row.tokens]
        draw_bars(options["plot"], bars, title(source, parameters))
    return status(rows)


def one_model(options: dict[str, Any]) -> tuple[Source, Parameters]:
    """The model and the parameters. Raises `InputError`."""
    given = {name: options[name] for name in ("depth", "slots", "head", "nodes") if options[name] is not None}
    if not options["model"]:
        given.setdefault("depth", DEPTH)
    given.setdefault("slots", SLOTS)
    vocab = VOCAB if options["vocab"] is None and not options["model"] else options["vocab"]
    families = [options["family"]] if options["family"] else [] if options["model"] else ["random"]
    instances = None if options["model"] else 1
    [source], _, depth = models(given, options["model"], vocab, instances, options["seed"], families, [])
    parameters = Parameters(**{"head": min(1, given["slots"]), **given, "depth": depth})
    parameters.drafting()
    return source, parameters


def curves(options: dict[str, Any]) -> int:
    """The curves of a sweep; the exit status."""
    kind, count = options["sweep"], options["models"] or MODELS
    vocab = VOCAB if options["vocab"] is None else options["vocab"]
    if options["family"] and kind in ("temperature", "noise"):
        raise InputError(f"--family: --sweep {kind} has models of its own")
    if kind == "nodes" and options["nodes"] is not None:
        raise InputError("--nodes: --sweep nodes draws a point for each N")
    given = {name: options[name] for name in ("depth", "slots", "nodes") if options[name] is not None}
    base = Parameters(**{"slots": BASE.slots, "depth": BASE.depth, "nodes": BASE.nodes, **given})
    base = Parameters(slots=base.slots, depth=base.depth, nodes=base.nodes, head=min(1, base.slots))
    base.drafting()
    family, first = options["family"] or "random", options["seed"] or 0
    if vocab < 1:
        raise InputError(f"vocab is {vocab}, expected at least 1")
    sweep = sweep_of(kind, vocab, base, family)
    sweep.points[0].model(first)
    out = plain_console()
    try:
        seeds = range(first, first + count)
        steps = draw(kind, vocab, base, family, seeds, effort_of(options, None))
        *_, drawn = watched(steps, len(sweep.points), "sweeping")
    except LimitReached as limit:
        out.print(f"NOT DECIDED: {limit}.")
        show_remedy(out, [str(limit)])
        return 3
    found = Curves(kind, sweep, drawn, vocab, base, count, first)
    show_sweep(out, found)
    if options["json_path"]:
        write_json(options["json_path"], sweep_as_json(found))
    if options["plot"]:
        heading = f"{sweep.models}; {count} models, V = {vocab}, D = {base.depth}, K = {base.slots}"
        draw_curves(
            options["plot"],
            [point.label for point in sweep.points],
            drawn,
            (heading, sweep.axis, "mean E[tau] + 1"),
        )
    return 0


def effort_of(options: dict[str, Any], classes: int | None) -> Effort:
    """The limits that the user gave; without one on classes, this one."""
    deadline = time.monotonic() + options["timeout"] if options["timeout"] else None
    return Effort(options["max_classes"] or classes, deadline, keep_laws=bool(options["json_path"]))


def title(source: Source, parameters: Parameters) -> str:
    """What a picture shows."""
    name = source.name or f"{source.family} {source.seed}"
    return f"model {name}, V = {source.vocab}, D = {parameters.depth}, K = {parameters.slots}, N = {parameters.nodes}"


def watched(steps: Iterable[T], total: int, what: str) -> Iterable[T]:
    """The same steps, with a progress bar on a terminal."""
    err = plain_console(stderr=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        for step in steps:
            yield step
            progress.advance(task)
