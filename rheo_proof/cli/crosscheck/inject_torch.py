"""Faults of the prover's list, put into the torch decoder by replacing one of its parts for a while.

The faults are those of `inject.py`, under the same names, and each has the faulty law that the prover finds, with one
exception: `draw-full-q` under FlowVerification, where the prover leaves out nodes whose mass is lost and the decoder,
which multiplies by 0, does not. `flow-*` reorder the kept trees: of all rules only FlowVerification looks at the order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rheo_proof.cli.crosscheck.inject import Injections
from rheo_proof.cli.crosscheck.inject_torch_trees import (
    by_layer,
    by_path,
    draw_full_q,
    drop_unlikely,
    know_full_q,
    pruned_by_token,
    reordered,
    report_full_q,
    tied_by_token,
    valued,
)


def _skip_residual(original: Any) -> Any:
    return lambda at, r, mass: r


def _sampled_by_its_coin_alone(original: Any) -> Any:
    """A token drawn after a rejection is no sampled child, even if it is the same token."""

    def reached(at: Any, outcome: Any) -> Any:
        import torch

        child = original(at, outcome)
        rejected = at.sampled & outcome.coins[:, 1] & outcome.draws
        x = at.tail.tokens.gather(1, at.tail.x[:, None])[:, 0]
        return torch.where(rejected & (outcome.tokens == x), 0, child)

    return reached


def _first_of_equals(original: Any) -> Any:
    """Of two children with one token the first; the sampled one if its coin says so."""

    def reached(at: Any, outcome: Any) -> Any:
        import torch

        sampled = at.slot_tokens == at.tail.tokens.gather(1, at.tail.x[:, None])
        sampled = sampled & at.sampled[:, None] & (sampled.flip(1).cumsum(1).flip(1) == 1)
        hit = (at.children > 0) & (at.slot_tokens == outcome.tokens[:, None])
        by_coin = outcome.coins[:, 1] & ~outcome.draws
        first = hit & (hit.cumsum(1) == 1)
        return torch.where(torch.where(by_coin[:, None], hit & sampled, first), at.children, 0).amax(1)

    return reached


def _residual_of_q(original: Any) -> Any:
    def residual(at: Any, r: Any, mass: Any) -> Any:
        return original(at._replace(tail=replace(at.tail, z=at.tail.z.new_ones(at.tail.z.shape))), r, mass)

    return residual


def _inverse_ratio(original: Any) -> Any:
    def coin(at: Any, r: Any, mass: Any) -> Any:
        import torch

        _, x = original(at, r, mass)
        above, below = at.tail.z * r.gather(1, x[:, None])[:, 0], mass * at.tail.q_x
        return at.sampled & (at.coins[:, 1] < torch.where(above > 0, below / above, 0.0)), x

    return coin


def _reused(original: Any) -> Any:
    """The draw after a rejection takes the uniform of the coin."""

    def rule(name: str) -> Any:
        def sharing(config: Any) -> Any:
            import torch

            honest = original[name](config)
            return lambda at: honest(at._replace(u=torch.where(at.sampled, at.coins[:, 1], at.u)))

        return sharing

    return {**original, "rheo": rule("rheo"), "rrsw": rule("rrsw")}


def _one_uniform(original: Any) -> Any:
    """One uniform for the coins of all levels."""

    def verify(trees: Any, logits: Any, config: Any, tape: Any, how: Any) -> Any:
        return original(trees, logits, config, replace(tape, coin_u=tape.coin_u[:, :1].expand_as(tape.coin_u)), how)

    return verify


DRAFTS: list[Any] = []
"""The draft model that `_remembered` has seen."""


def _remembered(original: Any) -> Any:
    def draft_trees(draft: Any, *others: Any) -> Any:
        DRAFTS[:] = [draft]
        return original(draft, *others)

    return draft_trees


def _parent_row(trees: Any, logits: Any, config: Any) -> Any:
    return logits.gather(1, trees.parents.clamp(min=0)[..., None].expand_as(logits))


def _draft_row(trees: Any, logits: Any, config: Any) -> Any:
    """The draft's row; at the full depth, where it has none, the target's."""
    import torch
    from rheo_gpu import Layer

    paths = trees.paths[..., : config.depth - 1]
    rows = DRAFTS[0](Layer(config.depth - 1, trees.tokens, paths, trees.parents, trees.there))
    return torch.where((trees.depths < config.depth)[..., None], rows, logits)


def _bonus(row: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
    """`verify` with another row at nodes without kept children."""

    def make(original: Any) -> Any:
        def verify(trees: Any, logits: Any, config: Any, tape: Any, how: Any) -> Any:
            import torch

            nodes = torch.arange(logits.shape[1], device=logits.device)
            inner = (trees.parents[:, None, :] == nodes[:, None]).any(-1)
            rows = torch.where(inner[..., None], logits, row(trees, logits, config))
            return original(trees, rows, config, tape, how)

        return verify

    return make


def _in_token_order(original: Any) -> Any:
    """RRSw whose heads are all children, of whatever kind, with a smaller token than the sampled one."""

    def rrsw(config: Any) -> Any:
        import torch

        honest = original["rrsw"](replace(config, head=config.slots))

        def rule(at: Any) -> Any:
            x = at.tail.tokens.gather(1, at.tail.x[:, None])
            tokens, order = at.slot_tokens.sort(dim=-1)
            children = torch.where(tokens < x, at.children.gather(1, order), 0)
            return honest(at._replace(children=children, slot_tokens=tokens))

        return rule

    return {**original, "rrsw": rrsw}


def _each_by_its_ratio(original: Any) -> Any:
    """RRSw that tests one child after the other with min(1, r/q), the sampled one with min(1, r/t).

    A uniform that has failed a test against a is stretched to [0, 1) and serves the next one.
    """

    def rrsw(config: Any) -> Any:
        import torch
        from rheo_gpu.tape import inverse_cdf, put
        from rheo_gpu.verify import Outcome

        K, m = config.slots, config.head

        def rule(at: Any) -> Any:
            blank, tail, place = torch.zeros_like(at.p), at.tail, torch.arange(at.tail.q.shape[1], device=at.p.device)
            q = put(blank, tail.tokens, tail.q, tail.q > 0)
            t = put(blank, tail.tokens, tail.q / tail.z[:, None], (tail.q > 0) & (place >= m))
            r, live, tokens = at.p, torch.ones_like(at.sampled), torch.zeros_like(at.nodes)
            coins, read = list(at.coins.unbind(1)), [torch.zeros_like(at.sampled)] * 2
            for slot in range(K):
                which, law = int(slot >= m), t if slot == m else q
                x = at.slot_tokens[:, slot].clamp(min=0)
                above, below = r.gather(1, x[:, None])[:, 0], law.gather(1, x[:, None])[:, 0]
                a = torch.where(above < below, above / below, 1.0)
                tested = live & (at.children[:, slot] > 0)
                taken = tested & (coins[which] < a)
                tokens, live = torch.where(taken, x, tokens), live & ~taken
                read[which] = read[which] | tested
                left = (r - law).clamp(min=0.0)
                failed = tested & ~taken
                r = torch.where(failed[:, None], left / left.sum(1, keepdim=True), r)
                coins[which] = torch.where(failed, (coins[which] - a) / (1.0 - a), coins[which])
            return Outcome(torch.where(live, inverse_cdf(r, at.u), tokens), torch.stack(read, 1), live)

        return rule

    return {**original, "rrsw": rrsw}


TORCH_INJECTIONS: Injections = {
    "own-probability": {"rheo_gpu.tree.expand": valued(lambda tail, whole, proxy: whole.q_x)},
    "tail-probability": {"rheo_gpu.tree.expand": valued(lambda tail, whole, proxy: tail.q_x / tail.z)},
    "low-proxy": {"rheo_gpu.tree.expand": valued(lambda tail, whole, proxy: proxy / 3.0)},
    "tie-by-token": {"rheo_gpu.tree._beam": tied_by_token, "rheo_gpu.tree._pruned": pruned_by_token},
    "drop-unlikely": {"rheo_gpu.tree.expand": drop_unlikely},
    "verify-full-q": {"rheo_gpu.tree.expand": report_full_q},
    "draw-full-q": {"rheo_gpu.tree.expand": draw_full_q, "rheo_gpu.verify.reached": _first_of_equals},
    "skip-residual": {
        "rheo_gpu.verify.residual": _skip_residual,
        "rheo_gpu.verify.reached": _sampled_by_its_coin_alone,
    },
    "residual-of-q": {
        "rheo_gpu.tree.expand": know_full_q("rheo", "rrsw"),
        "rheo_gpu.verify.residual": _residual_of_q,
        "rheo_gpu.verify.reached": _sampled_by_its_coin_alone,
    },
    "shared-coin": {"rheo_gpu.verify.RULES": _reused},
    "stale-bonus": {"rheo_gpu.decode.verify": _bonus(_parent_row)},
    "bonus-from-draft": {
        "rheo_gpu.decode.draft_trees": _remembered,
        "rheo_gpu.decode.verify": _bonus(_draft_row),
    },
    "second-token": {"rheo_gpu.decode.verify": _one_uniform},
    "resort-siblings": {"rheo_gpu.verify.RULES": _in_token_order},
    "ratio-on-top-k": {
        "rheo_gpu.tree.expand": know_full_q("rrsw"),
        "rheo_gpu.verify.RULES": _each_by_its_ratio,
    },
    "flow-depth-first": {"rheo_gpu.decode.draft_trees": reordered(by_path)},
    "flow-layers": {"rheo_gpu.decode.draft_trees": reordered(by_layer)},
    "inverse-ratio": {"rheo_gpu.verify.coin": _inverse_ratio},
}
