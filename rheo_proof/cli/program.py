"""`rheo-prove`: prove or refute schemes on toy models."""

from __future__ import annotations

import time
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from rheo_proof import __version__
from rheo_proof.cli.audit import audit_command
from rheo_proof.cli.certify import certify
from rheo_proof.cli.compare import compare_command
from rheo_proof.cli.crosscheck.command import crosscheck
from rheo_proof.cli.export import export
from rheo_proof.cli.options import COUNT, check_targets, refuse_empty
from rheo_proof.cli.plan import plan
from rheo_proof.cli.policies import policies_command
from rheo_proof.cli.request import CLASSES, Request, request
from rheo_proof.cli.storm import storm_command
from rheo_proof.cli.symbolic import symbolic
from rheo_proof.cli.work import decide
from rheo_proof.exact.errors import InputError, LimitReached
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.number import rational
from rheo_proof.report.console import plain_console, show_counterexample, show_coverage, show_law, show_results, table
from rheo_proof.report.json_file import run_as_json, verdict_of, write_json
from rheo_proof.schemes.scheme import RULES
from rheo_proof.theorems import checker, policy_checker
from rheo_proof.theorems.agreement import replay_agrees
from rheo_proof.theorems.certificate import certificate, of_results
from rheo_proof.theorems.counterexample import LARGEST, Counterexample, smallest
from rheo_proof.theorems.instances import Effort, Result
from rheo_proof.theorems.zoo import FAULTS_KNOWN, SCHEMES_KNOWN

OPTION = {
    "schemes": "scheme",
    "families": "family",
    "json_path": "json",
    "certificate_path": "certificate",
    "max_classes": "max-classes",
}
LESS = "fewer --instances, a smaller --vocab, --depth or --nodes, or a single --head or --verify"
STATUS = {"lossless": 0, "biased": 1, "lossy by design": 1, "undecided": 3}


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rheo-prove")
@click.option("--vocab", type=int, help="Vocabulary V of the models.  [default: 5]")
@click.option("--depth", type=int, help="Layers D of draft nodes.  [default: 3, or the model's]")
@click.option("--slots", type=int, help="Slots K of an expanded node.  [default: 3]")
@click.option("--head", type=int, multiple=True, help="Deterministic slots m; repeatable.  [default: 0 to K]")
@click.option("--beam", type=int, help="Nodes B expanded in a layer.  [default: K]")
@click.option("--nodes", type=int, help="Nodes N kept.  [default: 8]")
@click.option("--sparse", type=int, help="Draft laws cut to their S best tokens.")
@click.option("--proxy", type=click.Choice(["paper", "tail"]), help="Value of the sampled slot.  [default: paper]")
@click.option("--proxy-scale", metavar="A/B", help="Scale of the tail proxy.  [default: 1]")
@click.option("--fill-scale", metavar="A/B", help="Scale of the value of fills.  [default: 1]")
@click.option(
    "--verify", type=click.Choice(list(RULES)), multiple=True, help="Rule; repeatable.  [default: rheo, rrsw, flow]"
)
@click.option("--scheme", "schemes", multiple=True, metavar="NAME", help="A named scheme; see `rheo-prove schemes`.")
@click.option("--fault", metavar="NAME", help="A deliberate fault; see `rheo-prove faults`.")
@click.option("--model", metavar="FILE", help="A toy model of your own (JSON) in place of the battery.")
@click.option("--instances", type=int, help="Models of the battery.  [default: 20]")
@click.option("--seed", type=int, help="First seed of the battery.  [default: 0]")
@click.option(
    "--family", "families", multiple=True, metavar="NAME", help="Family of models; repeatable. [default: all]"
)
@click.option("--json", "json_path", metavar="FILE", help="Write everything as JSON, too.")
@click.option("--certificate", "certificate_path", metavar="FILE", help="Write what `check` needs to check it again.")
@click.option("--jobs", type=COUNT, default=1, show_default=True, help="Models decided at the same time.")
@click.option(
    "--max-classes",
    type=COUNT,
    help=f"Give up on a scheme and model after so many classes.  [default: none; {CLASSES} with a scheme of the zoo]",
)
@click.option("--timeout", type=COUNT, metavar="SECONDS", help="Give up after so many seconds.")
@click.option("--shrink/--no-shrink", default=True, show_default=True, help="Search the smallest counterexample.")
@click.pass_context
def cli(context: click.Context, /, **options: Any) -> None:
    """Prove that RheoSampling is lossless on a battery of toy models, or show the smallest model where it is not.

    Without a command: decide the schemes asked for, exactly.
    """
    if context.invoked_subcommand is None:
        context.exit(main_command(options))
    for name in options:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise InputError(f"--{OPTION.get(name, name)}: does not go with '{context.invoked_subcommand}'")


def main_command(options: dict[str, Any]) -> int:
    """Decide, show, write; the exit status."""
    names = ("depth", "slots", "beam", "nodes", "sparse", "proxy", "proxy_scale", "fill_scale")
    refuse_empty(options, "fault", "model", "json_path", "certificate_path")
    given = {name: options[name] for name in names if options[name] is not None}
    for name in ("proxy_scale", "fill_scale"):
        if name in given:
            given[name] = rational(given[name], f"--{name.replace('_', '-')}")
    asked = request(
        given,
        options["head"],
        options["verify"],
        options["schemes"],
        options["fault"],
        options["model"],
        options["vocab"],
        options["instances"],
        options["seed"],
        options["families"],
    )
    check_targets(options, "json_path", "certificate_path")
    deadline = time.monotonic() + options["timeout"] if options["timeout"] else None
    classes = options["max_classes"] or asked.classes
    keep_laws = bool(options["json_path"] or options["certificate_path"])
    results = decide_all(asked, Effort(classes, deadline, keep_laws), options["jobs"])
    out = plain_console()
    show_results(out, results)
    notes = list(asked.notes)
    whole = min(
        (r for r in results if r.likely), key=lambda r: (r.wrong is None, r.entry.parameters.head != 1), default=None
    )
    if whole is not None:
        show_law(out, whole, 40 if options["model"] else 5)
    if any(result.wrong for result in results):
        show_refuted(out, results)
    found = shrink(asked, results, deadline, notes) if options["shrink"] else []
    for each in found:
        show_counterexample(out, each)
    agreed = 0 if deadline and time.monotonic() > deadline else sum(map(replay_agrees, asked.entries))
    show_coverage(out, results, agreed, notes)
    verdict = verdict_of(results, found)
    if verdict == "lossless" and asked.suspects and not options["model"]:
        verdict = "undecided"
    out.print(closing(verdict, asked))
    if options["json_path"]:
        write_json(options["json_path"], run_as_json(verdict, results, found))
    path = options["certificate_path"]
    if path and not certify(out, path, lambda: certificate(of_results(results, found), deadline), LESS):
        return 3
    return STATUS[verdict]


def closing(verdict: str, asked: Request) -> str:
    """The last line."""
    if verdict == "undecided" and asked.suspects:
        return (
            "NOT REFUTED: lossless wherever it was decided here, although it is not lossless in general. Either these "
            "models are too few or too small to show it, or it makes no difference at these parameters."
        )
    return {
        "lossless": "PROVED: lossless.",
        "biased": "REFUTED: biased.",
        "lossy by design": "LOSSY BY DESIGN: not the target's law; the TV says how much is lost.",
        "undecided": "NOT DECIDED.",
    }[verdict]


def decide_all(asked: Request, effort: Effort, jobs: int) -> list[Result]:
    """All results by scheme, then m, then model; with a progress bar on a terminal."""
    results: list[Result] = []
    err = plain_console(stderr=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("deciding", total=len(asked.sources))
        for batch in decide(asked.sources, asked.entries, effort, jobs):
            results += batch
            progress.advance(task)
    order = {entry: position for position, entry in enumerate(asked.entries)}
    return sorted(results, key=lambda result: order[result.entry])


def show_refuted(out: Console, results: list[Result]) -> None:
    """The first model of those asked for on which a scheme is biased."""
    first = next(result for result in results if result.wrong)
    assert first.wrong is not None
    assert first.tv is not None
    name = first.source.name or f"{first.source.family} {first.source.seed}"
    head = f" at m = {first.entry.parameters.head}" if "head" in first.entry.named.reads else ""
    out.print(
        f"{first.entry.name} is {first.verdict}, first on {name}{head}: wrong at "
        f"{','.join(map(str, first.wrong.string))}, expected {first.wrong.expected}, actual {first.wrong.actual}, "
        f"TV {first.tv}",
        soft_wrap=True,
    )


def shrink(asked: Request, results: list[Result], deadline: float | None, notes: list[str]) -> list[Counterexample]:
    """The smallest counterexample to each scheme that was biased or ought to be, within the sizes asked for."""
    found: list[Counterexample] = []
    biased = asked.suspects
    biased |= {(r.entry.name, r.entry.parameters.verify): r.entry.parameters for r in results if r.wrong}
    err = plain_console(stderr=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        for (name, _), parameters in biased.items():
            task = progress.add_task(f"smallest counterexample to {name}", total=None)

            def told(size: tuple[int, int, int, int], task: Any = task, name: str = name) -> None:
                progress.update(task, description=f"{name}: V, D, K, N = {', '.join(map(str, size))}")

            try:
                limits = Limits(deadline=deadline)
                counterexample = smallest(name, parameters, asked.vocab, asked.heads, limits, told)
            except LimitReached as limit:
                notes.append(f"the search for the smallest counterexample to {name} ended: {limit}")
                continue
            if counterexample is None:
                most = f"V = {min(asked.vocab, LARGEST[0])}, D = {min(asked.depth, LARGEST[1])}"
                notes.append(f"no counterexample to {name} was found up to {most} and these K, N and m")
            else:
                found.append(counterexample)
    return found


cli.add_command(audit_command)
cli.add_command(compare_command)
cli.add_command(crosscheck)
cli.add_command(plan)
cli.add_command(policies_command)
cli.add_command(export)
cli.add_command(storm_command)
cli.add_command(symbolic)


@cli.command()
@click.argument("file")
@click.pass_context
def check(context: click.Context, /, file: str) -> None:
    """Check a certificate with a program that shares no code with this one: checker.py in rheo_proof/theorems.

    One about all policies is checked by policy_checker.py there, which uses that file and nothing else. Exit status 0:
    what it claims is proved, be it lossless or biased; 1: it is wrong; 2: it is no certificate; 3: it may be right, but
    rests on schemes that the checker does not know and takes as stated.
    """
    try:
        about = checker.load(file).get("statement")
    except (OSError, ValueError, RecursionError, AttributeError):
        about = None  # the checker says what is wrong with it
    context.exit(policy_checker.main(file) if about == "policies" else checker.main(file))


@cli.command()
def schemes() -> None:
    """List the schemes that --scheme takes."""
    shown = table("scheme", "what it is", "expected")
    for named in SCHEMES_KNOWN.values():
        shown.add_row(named.name, named.line, named.expected)
    shown.columns[1].justify = "left"
    plain_console().print(shown)


@cli.command()
@click.option("--gallery", is_flag=True, help="Print the gallery page: every fault with its smallest counterexample.")
def faults(gallery: bool) -> None:
    """List the deliberate faults that --fault takes."""
    if gallery:
        from rheo_proof.report.gallery import page

        click.echo(page(), nl=False)
        return
    shown = table("fault", "the condition it breaks")
    for named in FAULTS_KNOWN.values():
        shown.add_row(named.name, named.line)
    shown.columns[1].justify = "left"
    plain_console().print(shown)
