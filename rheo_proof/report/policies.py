"""What the adversary found, on the console and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from rheo_proof.exact.files import write_model
from rheo_proof.exact.model import key
from rheo_proof.exact.number import NUMBER_TYPE
from rheo_proof.report.console import LONG, laws, number, table
from rheo_proof.theorems.adversary import AGAINST, Adversary, Decided
from rheo_proof.theorems.exposing import Exposed
from rheo_proof.theorems.strategy import Strategy

MERGED = {"tree": "no order", "reveals": "order of sampled slots", "order": "whole order"}
"""What of the order of insertions is part of a state."""


def verdict_of(results: Sequence[Decided]) -> str:
    """`biased` if one is; else `undecided` if one is, or if none shows a bias that is known; else `lossless`."""
    verdicts = {result.verdict for result in results}
    if "biased" in verdicts:
        return "biased"
    hidden = any(result.adversary.suspect and result.source.family != "file" for result in results)
    return "undecided" if hidden or "undecided" in verdicts else "lossless"


def heads_of(adversary: Adversary) -> str:
    """m, or that the policy chooses it."""
    return str(adversary.heads[0]) if len(adversary.heads) == 1 else "any"


def show_decided(console: Console, results: Sequence[Decided]) -> None:
    """One table for each rule, a row for each m."""
    groups: dict[str, dict[str, list[Decided]]] = {}
    for result in results:
        groups.setdefault(result.adversary.name, {}).setdefault(heads_of(result.adversary), []).append(result)
    for name, rows in groups.items():
        shown = table("m", "models", "lossless", "biased", "largest gap", "states", "a state has", "time")
        console.print(f"{name}: {AGAINST[name].line}", style="bold", soft_wrap=True)
        for m, row in rows.items():
            gaps = [result.bounds.gap for result in row if result.bounds is not None]
            verdicts = [result.verdict for result in row]
            shown.add_row(
                m,
                str(len(row)),
                str(verdicts.count("lossless")),
                str(verdicts.count("biased")),
                number(max(gaps), LONG) if gaps else "undecided",
                f"{sum(result.bounds.states for result in row if result.bounds is not None):,}",
                MERGED[row[0].adversary.sees],
                f"{sum(result.seconds for result in row):.2f} s",
            )
        console.print(shown)


def sizes(adversary: Adversary) -> str:
    """D, K, N, and S where it cuts."""
    p = adversary.parameters
    return f"D = {p.depth}, K = {p.slots}, N = {p.nodes}" + (f", S = {p.sparse}" if p.sparse is not None else "")


def show_exposed(console: Console, found: Exposed, smallest: bool) -> None:
    """The laws, the strategy, and what it does to the output."""
    adversary = found.adversary
    where = "at the smallest sizes found" if smallest else "on the model where it was refuted"
    console.print(f"A policy that exposes {adversary.name}, {where}", style="bold red")
    console.print(f"V = {found.model.vocab}, {sizes(adversary)}, m = {heads_of(adversary)}, model {found.model.name}")
    shown = table("prefix", "target p", "draft q")
    for row in laws(found.model, adversary.parameters.depth):
        shown.add_row(*row)
    console.print(shown)
    for line in found.text:
        console.print(f"  {line}", soft_wrap=True)
    console.print()
    console.print(
        f"Under it the output starts with {key(found.string)} with probability {number(found.actual)}; the target "
        f"gives {number(found.expected)}.",
        soft_wrap=True,
    )
    extreme = "largest" if found.upper else "smallest"
    console.print(f"That is the {extreme} of all policies; replay of this one finds the same.")
    console.print(f"Total variation distance of the completed output: {number(found.tv)}")


def show_covered(console: Console, results: Sequence[Decided], notes: Sequence[str]) -> None:
    """The closing lines: what has been decided, for what, and what not."""
    first = results[0]
    count = {v: sum(result.verdict == v for result in results) for v in ("lossless", "biased", "undecided")}
    console.print(
        f"Decided: {count['lossless']} lossless, {count['biased']} biased, {count['undecided']} undecided, of "
        f"{len(results)} (rule, m, model)."
    )
    for why in dict.fromkeys(result.why for result in results if result.why):
        console.print(f"Undecided because: {why}.")
    sources = dict.fromkeys(result.source for result in results)
    families = ", ".join(dict.fromkeys(source.name or source.family for source in sources))
    heads = ", ".join(dict.fromkeys(heads_of(result.adversary) for result in results))
    plural = "model" if len(sources) == 1 else "models"
    console.print(
        f"Covered: statement 'all predictable policies' for {len(sources)} {plural} ({families}), V = "
        f"{first.source.vocab}, {sizes(first.adversary)}, m = {heads}: {kind(first.adversary)} {choice(results)}, up "
        f"to N nodes, in every order, whatever it decides by; exact rationals ({NUMBER_TYPE})."
    )
    for note in notes:
        console.print(f"Note: {note}.")
    chosen = any(len(result.adversary.heads) > 1 for result in results)
    left = "" if chosen else "another m at another node (--head any); "
    console.print(
        f"Not covered: other models and sizes; {left}policies that let an unrevealed token decide; floating point, "
        "random generators and kernels of an implementation."
    )


def kind(adversary: Adversary) -> str:
    """The class of policies."""
    if adversary.peek:
        return "every policy, also if it looks at X before it decides on its slot (a control, not predictable),"
    if adversary.heads_first:
        return "every predictable policy that inserts no head of a node after its sampled slot,"
    return "every predictable policy"


def choice(results: Sequence[Decided]) -> str:
    """Who chooses m: fixed for the whole tree, or the policy at every node."""
    free = {len(result.adversary.heads) > 1 for result in results}
    words = {False: "with the same m at every node", True: "that chooses m at every node"}
    return ", or one ".join(words[each] for each in sorted(free))


def policies_as_json(verdict: str, results: Sequence[Decided], found: Sequence[Exposed]) -> dict[str, Any]:
    """A whole run: the verdict, the bounds of every string for every rule, m and model, the strategies."""
    return {
        "verdict": verdict,
        "statement": "all predictable policies",
        "results": [_decided(result) for result in results],
        "exposed": [_exposed(each) for each in found],
    }


def _decided(result: Decided) -> dict[str, Any]:
    bounds = result.bounds
    strings = None
    if bounds is not None:
        triples = zip(bounds.strings, bounds.target, bounds.low, bounds.high, strict=True)
        strings = {key(v): [str(target), str(low), str(high)] for v, target, low, high in triples}
    return {
        "adversary": result.adversary.as_json(),
        "family": result.source.family,
        "seed": result.source.seed,
        "model": result.source.name or None,
        "verdict": result.verdict,
        "why": result.why or None,
        "states": None if bounds is None else bounds.states,
        "gap": None if bounds is None else str(bounds.gap),
        "target_low_high": strings,
        "seconds": round(result.seconds, 6),
    }


def _exposed(found: Exposed) -> dict[str, Any]:
    return {
        "adversary": found.adversary.as_json(),
        "model": write_model(found.model),
        "string": key(found.string),
        "expected": str(found.expected),
        "actual": str(found.actual),
        "extreme": "largest" if found.upper else "smallest",
        "tv": str(found.tv),
        "words": list(found.text),
        "strategy": _strategy(found.strategy),
    }


def _strategy(strategy: Strategy) -> dict[str, Any]:
    """`stop`, or an insertion and what follows: by the revealed token, or `next` where nothing is revealed."""
    action = strategy.action
    if action is None:
        return {"do": "stop"}
    then = {"next" if x is None else str(x): _strategy(after) for x, after in strategy.then}
    return {"do": action.kind, "parent": list(action.parent), "slot": action.slot, "then": then}
