"""The same in torch, for a batch: [B, K] draft tokens in, [B, K + 1] tokens out, filled up with -1."""

import torch


def verify(tokens, p, q):
    batch, drafted = tokens.shape
    taken = tokens.unsqueeze(-1)
    ratio = p[:, :drafted].gather(-1, taken) / q.gather(-1, taken)
    accepted = torch.rand(batch, drafted) < ratio.squeeze(-1)
    count = accepted.int().cumprod(-1).sum(-1)
    rows = torch.cat([(p[:, :drafted] - q).clamp(min=0), p[:, drafted:]], dim=1)
    last = torch.multinomial(rows[torch.arange(batch), count], 1)
    out = torch.cat([tokens, last], dim=1)
    place = torch.arange(drafted + 1)
    out = torch.where(place < count.unsqueeze(-1), out, -1)
    return out.scatter(1, count.unsqueeze(-1), last)
