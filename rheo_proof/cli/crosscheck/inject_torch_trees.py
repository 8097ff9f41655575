"""Faults of draft trees for `inject_torch.py`: functions from a part of the torch decoder to a faulty one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any


def valued(factor: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
    """`expand` with another factor for the sampled slot, given the tail, the whole draft law and the right factor."""

    def make(original: Any) -> Any:
        def expand(tokens: Any, q: Any, draft_u: Any, config: Any) -> Any:
            slots, tail = original(tokens, q, draft_u, config)
            if config.head == config.slots:
                return slots, tail
            factors, m = slots.factors.clone(), config.head
            factors[..., m] = factor(tail, _whole(tokens, q, tail, config), factors[..., m])
            return replace(slots, factors=factors), tail

        return expand

    return make


def _whole(tokens: Any, q: Any, tail: Any, config: Any) -> Any:
    """A tail that knows the whole draft law, heads included. Its z is that of the tail, not scaled."""
    import torch
    from rheo_gpu.slots import Tail
    from rheo_gpu.tape import added

    missing = max(config.slots + 1 - tokens.shape[-1], 0)
    tokens, q = (torch.nn.functional.pad(part, (0, missing)) for part in (tokens, q))
    z = added(q[..., config.head :]).clamp(max=1.0) if config.head else torch.ones_like(q[..., 0])
    return Tail(tokens, q, z, tail.x + config.head, tail.there)


def drop_unlikely(original: Any) -> Any:
    def expand(tokens: Any, q: Any, draft_u: Any, config: Any) -> Any:
        slots, tail = original(tokens, q, draft_u, config)
        if config.head == config.slots:
            return slots, tail
        there = slots.there.clone()
        there[..., config.head] &= 2 * tail.q_x >= tail.q[..., 0]
        return replace(slots, there=there), tail

    return expand


def report_full_q(original: Any) -> Any:
    def expand(tokens: Any, q: Any, draft_u: Any, config: Any) -> Any:
        slots, tail = original(tokens, q, draft_u, config)
        whole = _whole(tokens, q, tail, config)
        return slots, replace(whole, z=whole.z.new_ones(whole.z.shape))

    return expand


def draw_full_q(original: Any) -> Any:
    """A sampled token that is a head's has probability 0 in the tail that is reported."""

    def expand(tokens: Any, q: Any, draft_u: Any, config: Any) -> Any:
        import torch
        from rheo_gpu.tape import inverse_cdf

        slots, tail = original(tokens, q, draft_u, config)
        K, m = config.slots, config.head
        if m == K:
            return slots, tail
        whole = _whole(tokens, q, tail, config)
        x = inverse_cdf(whole.q, draft_u)
        place = torch.arange(m + 1, K, device=x.device).expand(*x.shape, -1) - 1
        skipped = (x >= m)[..., None] & (place >= x[..., None])
        fill = place + skipped.to(place.dtype)
        made = slots.tokens.clone()
        made[..., m] = whole.tokens.gather(-1, x[..., None])[..., 0]
        made[..., m + 1 :] = whole.tokens.gather(-1, fill)
        fill_q = whole.q.gather(-1, fill)
        factors, there = slots.factors.clone(), slots.there.clone()
        factors[..., m + 1 :], there[..., m + 1 :] = config.fill_scale * fill_q, fill_q > 0
        reported = torch.cat([torch.zeros_like(whole.q[..., :m]), tail.q], -1)
        return replace(slots, tokens=made, factors=factors, there=there), replace(whole, q=reported, z=tail.z, x=x)

    return expand


def know_full_q(*rules: str) -> Callable[[Any], Any]:
    """`expand` whose tails hold the whole draft law, for verification rules that are made to look at it."""

    def make(original: Any) -> Any:
        def expand(tokens: Any, q: Any, draft_u: Any, config: Any) -> Any:
            slots, tail = original(tokens, q, draft_u, config)
            return slots, _whole(tokens, q, tail, config) if config.verify in rules else tail

        return expand

    return make


def tied_by_token(original: Any) -> Any:
    """`_beam` by (-value, token, creation)."""

    def beam(above: Any, made: Any, width: int) -> Any:
        places = _places(made.values, made.slots.tokens.flatten(1))
        layer, _, best = original(above, replace(made, values=_descending(places, made.values >= 0)), width)
        return layer, made.values.gather(1, best), best

    return beam


def pruned_by_token(original: Any) -> Any:
    """`_pruned` in that order. A node without a kept parent is lost; so is one before its parent, to Flow."""

    def pruned(config: Any, made: Any, *others: Any) -> Any:
        import torch

        values, tokens, parents = (
            torch.cat(parts, 1)
            for parts in zip(*((d.values, d.slots.tokens.flatten(1), d.parents) for d in made), strict=True)
        )
        places = _places(values, tokens)
        kept = (places < config.kept) & (values >= 0)
        at_root, above = parents == 0, (parents - 1).clamp(min=0)
        if config.verify == "flow":
            kept = kept & (at_root | (places.gather(1, above) < places))
        for _ in range(config.depth):
            kept = kept & (at_root | kept.gather(1, above))
        ranks = _descending(places, kept).split([d.values.shape[1] for d in made], 1)
        again = [replace(d, values=values) for d, values in zip(made, ranks, strict=True)]
        return original(config, again, *others)

    return pruned


def _places(values: Any, tokens: Any) -> Any:
    """The places of candidates in the order (-value, token, creation)."""
    by_token = tokens.sort(dim=-1, stable=True).indices
    by_value = values.gather(1, by_token).sort(dim=-1, descending=True, stable=True).indices
    return by_token.gather(1, by_value).argsort(-1)


def _descending(places: Any, there: Any) -> Any:
    """Values that have this order, -1 where there is no candidate."""
    import torch

    return torch.where(there, 1.0 / (1 + places).double(), -1.0)


def reordered(key: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`draft_trees` with the kept nodes in another order, which has the root first and parents before children."""

    def make(original: Any) -> Any:
        def draft_trees(*arguments: Any) -> Any:
            import torch

            trees = original(*arguments)
            order = torch.where(trees.there, key(trees), torch.iinfo(torch.int64).max).sort(dim=-1, stable=True).indices
            place = order.argsort(-1)

            def moved(nodes: Any, none: int) -> Any:
                new = place.gather(1, nodes.clamp(min=0).flatten(1)).view_as(nodes)
                return torch.where(nodes > none, new, nodes)

            by_node = {
                name: getattr(trees, name).gather(1, order)
                for name in ("tokens", "depths", "kinds", "slots", "values", "expansion")
            }
            return replace(
                trees,
                **by_node,
                parents=moved(trees.parents, -1).gather(1, order),
                paths=trees.paths.gather(1, order[..., None].expand_as(trees.paths)),
                children=moved(trees.children, 0),
                owner=moved(trees.owner, -1),
            )

        return draft_trees

    return make


def by_path(trees: Any) -> Any:
    """Depth first, siblings in slot order: the slots on the way to a node, as the digits of a number."""
    depth, base = trees.paths.shape[-1], trees.children.shape[-1] + 1
    node, key = trees.parents, (trees.slots + 1) * base ** (depth - trees.depths)
    for _ in range(depth):
        at = node.clamp(min=0)
        key = key + (node > 0) * (trees.slots.gather(1, at) + 1) * base ** (depth - trees.depths.gather(1, at))
        node = trees.parents.gather(1, at)
    return key


def by_layer(trees: Any) -> Any:
    """By depth; the sort leaves the rank order within a layer."""
    return trees.depths
