"""Deliberate faults, each with the condition it breaks. Every one of them must be refuted.

Most were found in published code; `docs/faults.md` shows the smallest counterexample to each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rheo_proof.schemes import faulty_rules, faulty_trees
from rheo_proof.schemes.drafting.rheo import Rheo as RheoDrafting
from rheo_proof.schemes.scheme import Named, Parameters, Scheme
from rheo_proof.schemes.verifying.walk import Verifying


def _tree(name: str, breaks: str, method: Callable[..., RheoDrafting], **fixed: Any) -> Named:
    """A fault of the tree; the verification rule is the user's."""
    return Named(
        name,
        breaks,
        lambda p: replace(p, variant=name, **fixed),
        lambda p: Scheme(p.drafting(method), p.verifying()),
        False,
    )


def _rule(name: str, breaks: str, rule: Callable[[], Verifying], verify: str = "rheo") -> Named:
    """A fault of a verification rule."""
    return Named(
        name,
        breaks,
        lambda p: replace(p, variant=name, verify=verify),
        lambda p: Scheme(p.drafting(), rule()),
        False,
    )


def _residual_of_q(parameters: Parameters) -> Scheme:
    drafting = parameters.drafting()
    return Scheme(drafting, faulty_rules.ResidualOfQ(drafting))


def _ratio(parameters: Parameters) -> Scheme:
    return Scheme(parameters.drafting(faulty_trees.HeadsWithQ), faulty_rules.RatioOnTopK())


FAULTS: dict[str, Named] = {
    named.name: named
    for named in (
        _tree(
            "own-probability",
            "the value of the sampled slot looks at X: q(X) in place of the proxy",
            faulty_trees.OwnProbability,
        ),
        _tree(
            "tail-probability",
            "the value of the sampled slot looks at X: t(X) in place of the proxy",
            faulty_trees.TailProbability,
        ),
        _tree(
            "low-proxy",
            "a fill may outrank the sampled slot: a third of the proxy",
            faulty_trees.LowProxy,
        ),
        _tree(
            "tie-by-token",
            "the rank of the sampled slot looks at X: ties are broken by token id",
            faulty_trees.TieByToken,
        ),
        _tree(
            "verify-full-q",
            "X is tested against a law it was not drawn from: q in place of t",
            faulty_trees.ReportFullQ,
        ),
        _tree(
            "draw-full-q",
            "X is not drawn from the law it is tested against: drawn from q, tested against t",
            faulty_trees.DrawFullQ,
        ),
        _tree(
            "drop-unlikely",
            "whether the sampled slot is inserted looks at X: left out where q(X) is small",
            faulty_trees.DropUnlikely,
        ),
        _rule(
            "skip-residual",
            "y after a rejection is not what is left of p: drawn from p itself",
            faulty_rules.SkipResidual,
        ),
        Named(
            "residual-of-q",
            "the residual subtracts a law that X was not drawn from: (p - q)+ where X ~ t",
            lambda p: replace(p, variant="residual-of-q", verify="rheo"),
            _residual_of_q,
            False,
        ),
        _rule(
            "shared-coin",
            "y after a rejection is not fresh: its draw reuses the uniform of the coin",
            faulty_rules.SharedCoin,
        ),
        _rule(
            "stale-bonus",
            "the bonus token has another law than p: the parent's row",
            lambda: faulty_rules.Bonus(faulty_rules.parent_row),
        ),
        _rule(
            "bonus-from-draft",
            "the bonus token has another law than p: the draft's row",
            lambda: faulty_rules.Bonus(faulty_rules.draft_row),
        ),
        _rule(
            "second-token",
            "the coins of different levels are not independent: one uniform for all (first token exact)",
            faulty_rules.SecondToken,
        ),
        _rule(
            "resort-siblings",
            "siblings are not tested in the order in which they were inserted: by token id",
            faulty_rules.ResortSiblings,
            "rrsw",
        ),
        Named(
            "ratio-on-top-k",
            "a deterministic child is tested as if it had been drawn: min(1, p/q)",
            lambda p: replace(p, variant="ratio-on-top-k", verify="rrsw"),
            _ratio,
            False,
        ),
        _rule(
            "flow-depth-first",
            "reveals are not processed in the order of insertion: depth first",
            faulty_rules.DepthFirstFlow,
            "flow",
        ),
        _rule(
            "flow-layers",
            "reveals are not processed in the order of insertion: layer by layer",
            faulty_rules.LayeredFlow,
            "flow",
        ),
        Named(
            "rrsw-tail-proxy",
            "a head inserted after X was seen is tested before it: RRSw on a tree with the tail proxy",
            lambda p: replace(p, variant="rrsw-tail-proxy", verify="rrsw", proxy="tail"),
            lambda p: Scheme(p.drafting(), p.verifying()),
            False,
        ),
    )
}
"""Faults by the name that `--fault` takes."""
