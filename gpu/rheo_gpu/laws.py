"""Laws: from the logits of a model to the processed laws that "lossless" refers to, and the order of a draft law.

Logits in half precision are read in float32, the others in their own precision. A row that is no law (NaN, +inf, all
logits -inf) becomes a row of zeros: nothing is drafted below it and nothing emitted at it, see `Verified.broken`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .config import PerRequest, Processing


def process(logits: Tensor, how: Processing | None) -> Tensor:
    """The laws of rows of logits [R, .., V]; `how` is None where the rows are laws already, which are then checked."""
    row = wide(logits)
    if how is None:
        return _checked(row)
    top = row.amax(-1, keepdim=True)
    sound = top.isfinite()
    law = _softmax(torch.where(sound, row - top, 0.0), how.temperature)
    if how.sorts:
        law = _sorted_filters(law, how)
    if how.min_p is not None:
        law = _only(law, law >= _column(how.min_p, law) * law.amax(-1, keepdim=True))
    return torch.where(sound, law, 0.0)


def ordered(logits: Tensor, how: Processing | None, sparse: int | None) -> tuple[Tensor, Tensor]:
    """The tokens of draft laws by (-q, token id) and their probabilities, cut to the best S: two tensors [R, .., S].

    Where no filter needs the whole row, the cut comes first: softmax of the S best logits is the renormalised law.
    Tokens of probability 0 stay in place at the end.
    """
    vocab = logits.shape[-1]
    if sparse is None or sparse >= vocab:
        q, tokens = best(process(logits, how), vocab)
        return tokens, q
    if how is None or how.sorts:
        q, tokens = best(process(logits, how), sparse + 1)
        more, q = q[..., sparse:] > 0, q[..., :sparse]
        return tokens[..., :sparse], torch.where(more, q / q.sum(-1, keepdim=True), q)
    row, tokens = best(wide(logits), sparse)
    top = row[..., :1]
    sound = top.isfinite()
    q = _softmax(torch.where(sound, row - top, 0.0), how.temperature)
    if how.min_p is not None:
        q = _only(q, q >= _column(how.min_p, q) * q[..., :1])
    # Two logits may have become one probability: then the lower token id comes first.
    tokens, order = tokens.sort(-1)
    q, again = torch.where(sound, q, 0.0).gather(-1, order).sort(dim=-1, descending=True, stable=True)
    return tokens.gather(-1, again), q


def best(row: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest entries of rows [.., V] in the order (-entry, token id): entries and tokens, both [.., k].

    `topk` leaves open which of several equal entries it takes. All entries above the k-th are in; those that equal it
    fill up in the order of their ids, which counting finds without a sort of the row.
    """
    if k >= row.shape[-1]:
        return row.sort(dim=-1, descending=True, stable=True)
    entries, tokens = row.topk(k, -1)
    tokens, order = tokens.sort(-1)
    entries, again = entries.gather(-1, order).sort(dim=-1, descending=True, stable=True)
    tokens = tokens.gather(-1, again)
    least = entries[..., -1:]
    above = (entries > least).sum(-1, keepdim=True)
    seen = (row == least).cumsum(-1, dtype=torch.int32)
    place = torch.arange(k, device=row.device)
    wanted = (place + 1 - above).clamp(min=1).to(torch.int32)
    tied = torch.searchsorted(seen, wanted).clamp(max=row.shape[-1] - 1)
    return entries, torch.where(place < above, tokens, tied)


def wide(logits: Tensor) -> Tensor:
    """The same numbers in float32 at least."""
    return logits.float() if logits.dtype.itemsize < 4 else logits


def _softmax(shifted: Tensor, temperature: PerRequest) -> Tensor:
    """Softmax of logits whose maximum is 0. The shift comes first: a tiny temperature then underflows to 0."""
    if not isinstance(temperature, Tensor):
        return _greedy(shifted) if temperature == 0 else (shifted / temperature).softmax(-1)
    heat = _column(temperature, shifted)
    cold = heat == 0
    return torch.where(cold, _greedy(shifted), (shifted / torch.where(cold, 1.0, heat)).softmax(-1))


def _greedy(shifted: Tensor) -> Tensor:
    """All mass on the first of the largest logits."""
    tokens = torch.arange(shifted.shape[-1], device=shifted.device)
    return (tokens == shifted.argmax(-1, keepdim=True)).to(shifted.dtype)


def _sorted_filters(law: Tensor, how: Processing) -> Tensor:
    """Top-k, then top-p, on the rows in order."""
    entries, tokens = law.sort(dim=-1, descending=True, stable=True)
    if how.top_k is not None:
        place = torch.arange(law.shape[-1], device=law.device)
        entries = _only(entries, place < _column(how.top_k, entries))
    if how.top_p is not None:
        better = entries.cumsum(-1).roll(1, -1)
        better[..., 0] = 0.0
        entries = torch.where(
            _column(how.top_p, entries) < 1, _only(entries, better < _column(how.top_p, entries)), entries
        )
    return torch.zeros_like(law).scatter(-1, tokens, entries)


def _only(law: Tensor, kept: Tensor) -> Tensor:
    part = torch.where(kept, law, 0.0)
    return torch.where(kept.all(-1, keepdim=True), law, part / part.sum(-1, keepdim=True))


def _column(value: PerRequest, rows: Tensor) -> Tensor:
    """A number for each request, shaped to meet rows [R, .., V]."""
    if not isinstance(value, Tensor):
        return torch.full((1,) * rows.dim(), value, device=rows.device, dtype=rows.dtype)
    return value.reshape(-1, *(1,) * (rows.dim() - 1))


def _checked(row: Tensor) -> Tensor:
    slack = torch.finfo(row.dtype).eps ** 0.5
    sound = (row >= 0).all(-1, keepdim=True) & ((row.sum(-1, keepdim=True) - 1).abs() <= slack)
    return torch.where(sound, row, 0.0)
