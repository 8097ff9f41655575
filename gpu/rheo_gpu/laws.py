"""Laws: from the logits of a model to the processed laws that "lossless" refers to, and the order of a draft law.

Logits in half precision are read in float32, the others in their own precision. A row that is no law (NaN, +inf, all
logits -inf) becomes a row of zeros: nothing is drafted below it and nothing emitted at it, see `Verified.broken`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .config import PerRequest, Processing

BLOCKS = (32, 4)
"""Sizes of blocks of tokens that are looked at together when the best of a long row are wanted."""


def process(logits: Tensor, how: Processing | None) -> Tensor:
    """The laws of rows of logits [R, .., V]; `how` is None where the rows are laws already, which are then checked."""
    if how is None:
        return _checked(wide(logits))
    if _plain(how):
        law, sound = read(logits, how)
        return torch.where(sound, law, 0.0)
    row = wide(logits)
    top = row.amax(-1, keepdim=True)
    sound = top.isfinite()
    law = _softmax(torch.where(sound, row - top, 0.0), how.temperature)
    if how.sorts:
        law = _sorted_filters(law, how)
    if how.min_p is not None:
        law = _only(law, law >= _column(how.min_p, law) * law.amax(-1, keepdim=True))
    return torch.where(sound, law, 0.0)


def read(logits: Tensor, how: Processing | None) -> tuple[Tensor, Tensor]:
    """The laws of rows, and which of them are laws, [R, .., 1]. Others may be rows of NaN here instead of zeros.

    Writing the zeros is a pass over the vocabulary. In a plain softmax it is the only one that can be saved: one entry
    of the row that is NaN, or infinite, or all of them -inf, make every entry of the law NaN.
    """
    if how is not None and _plain(how):
        law = logits.softmax(-1, dtype=wide(logits[..., :0]).dtype)
        return law, law[..., :1].isfinite()
    law = process(logits, how)
    return law, law.amax(-1, keepdim=True) > 0


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
    greedy = isinstance(how.temperature, Tensor) or how.temperature == 0  # the first of the best is asked for
    row, tokens = best(logits, sparse) if greedy else _largest(logits, sparse)
    row = wide(row)
    top = row[..., :1]
    sound = top.isfinite()
    q = _softmax(torch.where(sound, row - top, 0.0), how.temperature)
    if how.min_p is not None:
        q = _only(q, q >= _column(how.min_p, q) * q[..., :1])
    # Now, since two logits may have become one probability: then the lower token id comes first.
    q, tokens = _in_order(torch.where(sound, q, 0.0), tokens)
    return tokens, q


def best(row: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest entries of rows [.., V] in the order (-entry, token id): entries and tokens, both [.., k]."""
    if k >= row.shape[-1]:
        return row.sort(dim=-1, descending=True, stable=True)
    return _in_order(*_largest(row, k))


def _largest(row: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`best`, but for the order of equal entries. k < V.

    By blocks of tokens, so that a long row is read once. Let the k best blocks be those with the largest entries, ties
    to the lower block. They hold the k best tokens: each of them has a token that comes before all of any other block.
    """
    vocab = row.shape[-1]
    block = next((size for size in BLOCKS if vocab >= 4 * size * k), 0)
    if not block:
        return _largest_of_few(row, k)
    if vocab % block:
        row = torch.nn.functional.pad(row, (0, -vocab % block), value=float("-inf"))
    rows, each = math.prod(row.shape[:-1]), row.shape[-1] // block
    parts = row.reshape(rows, each, block)
    blocks = _largest(parts.amax(-1), k)[1].sort(-1)[0]
    above = torch.arange(0, rows * each, each, device=row.device)
    chosen = parts.flatten(0, 1).index_select(0, (above[:, None] + blocks).flatten())
    entries, place = _largest(chosen.view(*row.shape[:-1], k * block), k)
    blocks = blocks.view(*row.shape[:-1], k)
    tokens = blocks.gather(-1, place // block) * block + place % block
    return entries, tokens.clamp(max=vocab - 1) if vocab % block else tokens


def _largest_of_few(row: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The same with one `topk`, which leaves open which of several equal entries it takes.

    All entries above the k-th are in; those that equal it fill up in the order of their ids, which counting finds
    without a sort of the row.
    """
    entries, tokens = row.topk(k, -1)
    least = entries[..., -1:]
    above = (entries != least).sum(-1, keepdim=True, dtype=torch.int32)  # so that NaN is above everything
    seen = (row == least).cumsum(-1, dtype=torch.int32)
    number = torch.arange(1, k + 1, device=row.device, dtype=torch.int32)
    tied = torch.searchsorted(seen, number - above)
    return entries, torch.where(number <= above, tokens, tied)


def _in_order(entries: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Sorted by (-entry, token id)."""
    tokens, order = tokens.sort(-1)
    entries, again = entries.gather(-1, order).sort(dim=-1, descending=True, stable=True)
    return entries, tokens.gather(-1, again)


def wide(logits: Tensor) -> Tensor:
    """The same numbers in float32 at least."""
    return logits if logits.dtype in (torch.float32, torch.float64) else logits.float()


def _plain(how: Processing) -> bool:
    """Whether a law is the softmax of the logits as they are."""
    unchanged = not isinstance(how.temperature, Tensor) and how.temperature == 1
    return unchanged and not how.sorts and how.min_p is None


def _softmax(shifted: Tensor, temperature: PerRequest) -> Tensor:
    """Softmax of logits whose maximum is 0. The shift comes first: a tiny temperature then underflows to 0.

    A plain temperature that the precision cannot hold is applied in float64. Division is by a tensor in either case: a
    device may multiply by the reciprocal of a plain number, which rounds otherwise.
    """
    if not isinstance(temperature, Tensor):
        if temperature == 0:
            return _greedy(shifted)
        limits = torch.finfo(shifted.dtype)
        if not limits.tiny <= temperature <= limits.max:
            shifted = shifted.double()
        return (shifted / _column(temperature, shifted)).softmax(-1)
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
        better = torch.nn.functional.pad(entries.cumsum(-1)[..., :-1], (1, 0))
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
