"""`rheo-prove export`: a decoding step, or all policies, in the PRISM language or as DRN, for other tools."""

from __future__ import annotations

from typing import Any

import click

from rheo_proof.cli.options import check_targets, refuse_empty
from rheo_proof.cli.single import Single, single, single_options
from rheo_proof.exact.errors import LimitReached
from rheo_proof.report.json_file import write_text
from rheo_proof.theorems.chain import markov_chain
from rheo_proof.theorems.export import FORMATS
from rheo_proof.theorems.policy_process import policy_process
from rheo_proof.theorems.process import Process


@click.command()
@single_options
@click.option("--complete", is_flag=True, help="Go on with target samples, to D + 1 tokens; with --policies always.")
@click.option(
    "--format", "language", type=click.Choice(list(FORMATS)), default="prism", show_default=True, help="Language."
)
@click.option("--output", metavar="FILE", help="Write a file.  [default: standard output]")
@click.pass_context
def export(context: click.Context, /, **options: Any) -> None:
    """Write a decoding step as a Markov chain for Storm, PRISM and others.

    Every random request is a transition with its exact probability; the label out_0_1 is held where 0,1 is the output.
    """
    path = options["output"]
    refuse_empty(options, "output")
    check_targets(options, "output")
    asked = single(options)
    try:
        process = made(asked, options["complete"])
    except LimitReached as limit:
        click.echo(f"rheo-prove: not exported: {limit}", err=True)
        context.exit(3)
    text = FORMATS[options["language"]](process, title(asked, options["complete"]))
    if path:
        write_text(path, text)
    else:
        click.echo(text, nl=False)


def made(asked: Single, complete: bool) -> Process:
    """The process that is asked for. Raises `LimitReached`."""
    if asked.policies is not None:
        return policy_process(asked.policies, asked.states, asked.limits.watch)
    return markov_chain(asked.scheme, asked.model, complete, asked.states, asked.limits.watch)


def title(asked: Single, complete: bool) -> list[str]:
    """The comment at the top."""
    what = "completed output" if complete or asked.policies is not None else "emitted string"
    return [*asked.title, f"the labels out_... hold at the end states, by {what}; tree: a tree is kept"]
