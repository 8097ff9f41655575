"""The torch decoder as a function from uniforms to decisions, for many tapes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

from rheo_proof.cli.crosscheck.floats import options, row
from rheo_proof.cli.crosscheck.search import Answer, Decoder, Tape
from rheo_proof.exact.chance import Site
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.schemes.scheme import Parameters

BATCH = 8192
"""Tapes in one call of the decoder, which bounds the memory that it takes."""


def need_torch(device: str = "cpu") -> None:
    """Raise `InputError` where torch or the decoder is not installed, or the device cannot hold a double."""
    try:
        import rheo_gpu  # noqa: F401
        import torch
    except ImportError:
        raise InputError("the torch decoder needs torch; pip install 'rheo-proof[torch]'") from None
    try:
        torch.zeros(1, dtype=torch.float64, device=device).tolist()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"torch cannot use the device {device!r}: {reason}") from None


def torch_decoder(model: ToyModel, parameters: Parameters, device: str = "cpu") -> Decoder:
    """`decode_step` on a toy model. Raises `InputError` where torch is not installed or the device is not there."""
    need_torch(device)
    import rheo_gpu as rheo

    config = rheo.Config(**options(parameters))
    target = _rows(model.target, model.vocab, config.depth, device)
    draft = _rows(model.draft, model.vocab, config.depth - 1, device)
    places = {site: i for i, site in enumerate(_sites(config))}

    def answers(tapes: Sequence[Tape]) -> list[Answer]:
        step = rheo.decode_step(target, draft, config, _tape(tapes, places, config, device), None, None)
        tokens, lengths = step.verified.tokens.tolist(), step.verified.lengths.tolist()
        used, decided = (values.tolist() for values in decisions(step, config))
        return [
            (tuple(string[:length]), [(site, x) for site, read, x in zip(places, reads, made, strict=True) if read])
            for string, length, reads, made in zip(tokens, lengths, used, decided, strict=True)
        ]

    return lambda tapes: [a for i in range(0, len(tapes), BATCH) for a in answers(tapes[i : i + BATCH])]


def _rows(laws: Callable[[Prefix], Law], vocab: int, longest: int, device: str) -> Callable[[Any], Any]:
    """A model of the decoder: layers or trees -> the laws after their paths, out of a table.

    Row i of the table has the children i V + 1, ..., i V + V. A path ends where its first -1 stands.
    """
    import torch

    prefixes: Iterable[Prefix] = (u for length in range(longest + 1) for u in product(range(vocab), repeat=length))
    table = torch.tensor([row(laws(u)) for u in prefixes], dtype=torch.float64, device=device)

    def rows(asked: Any) -> Any:
        index = torch.zeros(asked.paths.shape[:-1], dtype=torch.int64, device=device)
        for tokens in asked.paths.unbind(-1):
            index = torch.where(tokens >= 0, index * vocab + 1 + tokens, index)
        return table[index]

    return rows


def _sites(config: Any) -> list[Site]:
    """All uniforms of a tape in the order in which a step reads them."""
    drafts: list[Site] = [("draft", layer, b) for layer in range(config.depth) for b in range(config.width)]
    levels = range(config.depth)
    walk: list[Site] = [site for n in levels for site in (("coin", n, 0), ("coin", n, 1), ("token", n, 0))]
    return [*drafts, *walk, ("token", config.depth, 0)]


def _tape(tapes: Sequence[Tape], places: dict[Site, int], config: Any, device: str) -> Any:
    """Tapes as one tape of the decoder."""
    import torch
    from rheo_gpu import Tape

    depth, drafts = config.depth, config.depth * config.width
    rows = []
    for tape in tapes:
        values = [0.0] * len(places)
        for site, value in tape.items():
            values[places[site]] = value
        rows.append(values)
    u = torch.tensor(rows, dtype=torch.float64, device=device)
    levels = u[:, drafts:-1].view(-1, depth, 3)
    tokens = torch.cat([levels[..., 2], u[:, -1:]], 1)
    return Tape(u[:, :drafts].view(-1, depth, config.width), levels[..., :2], tokens)


def decisions(step: Any, config: Any) -> tuple[Any, Any]:
    """Which uniforms were read and what was decided with each, both by tape and site.

    A sampled slot: its token. Heads: which of the kept ones, their number if none. A coin: 1 or 0. A token: itself.
    """
    import torch
    from rheo_gpu.slots import SAMPLED

    trees, verified, depth = step.trees, step.verified, config.depth
    x = trees.tail.tokens.gather(-1, trees.tail.x[..., None])[..., 0]
    drawn = torch.zeros_like(trees.draft_used, dtype=x.dtype)
    for layer, tokens in enumerate(x.split(list(trees.widths), 1)):
        drawn[:, layer, : tokens.shape[1]] = tokens

    nodes, child = verified.keep[:, :depth].clamp(min=0), verified.keep[:, 1:]
    number = trees.expansion.gather(1, nodes)
    index = number.clamp(min=0)[..., None].expand(-1, -1, config.slots)
    heads = torch.where(number[..., None] >= 0, trees.children.gather(1, index), 0)[..., : config.head]
    kept, at = heads > 0, (heads == child[..., None]) & (heads > 0)
    before = (kept.cumsum(-1) * at).sum(-1) - 1
    head = torch.where(at.any(-1), before, kept.sum(-1))
    sampled = (child > 0) & (trees.kinds.gather(1, child.clamp(min=0)) == SAMPLED)

    levels = torch.stack([head, sampled.to(head.dtype), verified.tokens[:, :depth]], -1)
    read = torch.cat([verified.coin_used, verified.token_used[:, :depth, None]], -1)
    return (
        torch.cat([trees.draft_used.flatten(1), read.flatten(1), verified.token_used[:, depth:]], 1),
        torch.cat([drawn.flatten(1), levels.flatten(1), verified.tokens[:, depth:]], 1),
    )
