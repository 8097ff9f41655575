"""`rheo-prove storm`: a second opinion on one decoding step, or on all policies, from the model checker Storm."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from rheo_proof.cli.single import Single, single, single_options
from rheo_proof.exact.errors import LimitReached
from rheo_proof.exact.model import key
from rheo_proof.report.console import number, plain_console, table
from rheo_proof.theorems.second_opinion import (
    LANGUAGES,
    Counts,
    PolicyOpinion,
    StepOpinion,
    policy_opinion,
    step_opinion,
)
from rheo_proof.theorems.storm import need_storm

SLOW = 4_000
"""Storm tries every command of PRISM text in every state, so with more states than this it gets the DRN only."""


@click.command("storm")
@single_options
@click.pass_context
def storm_command(context: click.Context, /, **options: Any) -> None:
    """Have Storm compute the law from the exported text, and compare, as rationals.

    Exit status 0 if Storm agrees, 1 if not. Needs stormpy: pip install 'rheo-proof[storm]'.
    """
    need_storm()
    asked = single(options)
    out = plain_console()
    for line in asked.title:
        out.print(line, soft_wrap=True)
    try:
        found = opinion(asked)
    except LimitReached as limit:
        out.print(f"NOT DECIDED: {limit}.")
        context.exit(3)
    show(out, found)
    context.exit(0 if found.agrees else 1)


def opinion(asked: Single) -> StepOpinion | PolicyOpinion:
    """What Storm says. Raises `LimitReached`."""
    if asked.policies is not None:
        return policy_opinion(asked.policies, LANGUAGES, asked.states, asked.limits, SLOW)
    return step_opinion(asked.scheme, asked.model, LANGUAGES, asked.states, asked.limits, SLOW)


def show(out: Console, found: StepOpinion | PolicyOpinion) -> None:
    """The comparison, and the verdict on the comparison."""
    shown = table("read as", "states", "transitions", "outputs", "different")
    for language in found.languages:
        count = sum(each.language == language for each in found.differences)
        sizes = (len(found.process.choices), found.process.transitions, found.outputs, count)
        shown.add_row(language, *(f"{size:,}" for size in sizes))
    out.print(shown)
    if len(found.languages) < len(LANGUAGES):
        out.print(f"With more than {SLOW:,} states Storm was given the DRN only.")
    if isinstance(found, StepOpinion):
        show_counts(out, found.counts)
        out.print(
            f"Distance of the completed output from the target: {number(found.tv)}; Storm: {number(found.storm_tv)}."
        )
    else:
        out.print(f"Largest distance of an extreme from the target's probability: {number(found.gap)}.")
    for each in found.differences[:1]:
        out.print(f"First difference ({each.language}): {key(each.string)} has {each.ours}, Storm finds {each.storm}.")
    what = "the same law" if isinstance(found, StepOpinion) else "the same extremes"
    out.print(
        f"AGREED: Storm finds {what}, as rationals." if found.agrees else f"DIFFERENT: Storm does not find {what}."
    )


def show_counts(out: Console, found: Counts) -> None:
    """States and classes beside Storm's quotients."""
    shown = table("", "all", "kept trees")
    shown.add_row("states of the chain", f"{found.states:,}", f"{found.trees:,}")
    shown.add_row("Storm: strong bisimulation", f"{found.strong.states:,}", f"{found.strong.trees:,}")
    shown.add_row("Storm: weak bisimulation", f"{found.weak.states:,}", f"{found.weak.trees:,}")
    shown.add_row("equivalence classes", f"{found.walked:,}", f"{found.classes:,}")
    shown.add_row("trees that they stand for", "", f"{found.boxes:,}")
    out.print(shown)
