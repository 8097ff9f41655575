"""Laws: from the logits of a model to the processed laws that "lossless" refers to, and the order of a draft law.

Logits in half precision are read in float32, the others in their own precision. A row that is no law (NaN, +inf, all
logits -inf) becomes a row of zeros: nothing is drafted below it and nothing emitted at it, see `Verified.broken`.
"""

from __future__ import annotations

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
        return law, law[..., :1] >= 0
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
    row, tokens = best(logits, sparse)
    if _plain(how):
        q = row.softmax(-1).nan_to_num(0.0)  # a row that is no law is NaN everywhere
    else:
        top = row[..., :1]
        sound = top.isfinite()
        q = _softmax(torch.where(sound, row - top, 0.0), how.temperature)
        if how.min_p is not None:
            q = _only(q, q >= _column(how.min_p, q) * q[..., :1])
        q = torch.where(sound, q, 0.0)
    # Now, since two logits may have become one probability: then the lower token id comes first.
    place = _leading(q, tokens, sparse)
    return tokens.gather(-1, place), q.gather(-1, place)


def best(row: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest entries of rows [.., V] in the order (-entry, token id): entries and tokens, both [.., k].

    By blocks of tokens, so that a long row is read once. Let the k best blocks be those with the largest entries, ties
    to the lower block. They hold the k best tokens: each of them has a token that comes before all of any other block.
    """
    vocab = row.shape[-1]
    if k >= vocab:
        return wide(row).sort(dim=-1, descending=True, stable=True)
    blocks = [size for size in BLOCKS if vocab >= 4 * size * k]
    entries, begins = row.reshape(-1, vocab), torch.arange(0, vocab, [*blocks, 1][0], device=row.device)
    for block, finer in zip(blocks, [*blocks[1:], 1], strict=False):
        entries, begins = _in_best_blocks(entries, begins, block, finer, k)
    entries = wide(entries)
    place, shape = _leading(entries, begins, k), (*row.shape[:-1], k)
    return entries.gather(1, place).view(shape), begins.expand(entries.shape).gather(1, place).view(shape)


def _in_best_blocks(entries: Tensor, begins: Tensor, block: int, finer: int, k: int) -> tuple[Tensor, Tensor]:
    """The entries [rows, k block] of the k best blocks, of which `begins` holds the first tokens.

    Also the tokens with which finer blocks of them begin. Those of a block follow one another.
    """
    rows, size = entries.shape
    if size % block:
        entries = torch.nn.functional.pad(entries, (0, -size % block), value=float("-inf"))
    parts = entries.reshape(-1, block)
    each = len(parts) // rows
    chosen = _leading(wide(parts.amax(-1)).view(rows, each), begins, k)
    above = torch.arange(0, rows * each, each, device=entries.device)
    entries = parts.index_select(0, (chosen + above[:, None]).flatten()).view(rows, k * block)
    begins = begins.expand(rows, each).gather(1, chosen)[..., None] + torch.arange(
        0, block, finer, device=entries.device
    )
    return entries, begins.flatten(1)


def _leading(entries: Tensor, tokens: Tensor, k: int) -> Tensor:
    """Where the first k in the order (-entry, token id) are, [.., k]; NaN comes before all other entries.

    `topk` alone would leave open which of several equal entries it takes. An entry of 32 bits and its token id make one
    integer of 64, with no two alike: the bits of a positive float, read as an integer, are in the order of the floats.
    """
    if entries.dtype == torch.float64:
        by_token = tokens.expand(entries.shape).argsort(-1)
        by_entry = entries.gather(-1, by_token).sort(dim=-1, descending=True, stable=True)[1]
        return by_token.gather(-1, by_entry[..., :k])
    size = entries.abs().view(torch.int32)
    size = torch.where(entries < 0, -size, size)
    return torch.sub(tokens, size, alpha=1 << 32).topk(k, -1, largest=False)[1]


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
