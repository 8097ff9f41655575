"""Several requests in one call: rows exchanged, placeholders read as tokens.

ids [R, K], q [R, K, V], p [R, K + 1, V].
"""

import warnings

import torch

PLACEHOLDER = -1


def _coins_like(x: torch.Tensor) -> torch.Tensor:
    return torch.rand_like(x)


with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    coins_like = torch.jit.script(_coins_like)


def padded_rejection(ids, q, p):
    """[R, K + 1], the unused end filled with the placeholder."""
    R, K = ids.shape
    pos = torch.arange(K).expand(R, K)
    req = torch.arange(R).unsqueeze(1).expand(R, K)
    ratio = p[req, pos, ids] / q[req, pos, ids]
    ok = coins_like(ratio) < ratio
    n = ok.to(torch.int64).cumprod(dim=1).sum(dim=1)
    q_pad = torch.cat((q, torch.zeros_like(q[:, :1])), dim=1)
    rows = torch.arange(R)
    weights = torch.relu(p[rows, n] - q_pad[rows, n])
    last = torch.multinomial(weights, num_samples=1)
    columns = torch.arange(K + 1).expand(R, K + 1)
    out = torch.cat((ids, last), dim=1).masked_fill(columns > n.unsqueeze(1), PLACEHOLDER)
    return out.scatter_(1, n.unsqueeze(1), last)


def order_of_requests(p):
    """The target's rows come back sorted."""
    return p[:, 0, 0].argsort(stable=True)


def drafts_in_another_order(ids, q, p):
    order = order_of_requests(p)
    return padded_rejection(ids, q, p[order])


def drafts_in_the_same_order(ids, q, p):
    order = order_of_requests(p)
    out = torch.empty_like(padded_rejection(ids, q, p))
    out[order] = padded_rejection(ids[order], q[order], p[order])
    return out


def draft_rows_of_exchanged_depths(ids, q, p):
    return padded_rejection(ids, q.flip(1), p)


def draft_rows_of_their_depths(ids, q, p):
    return padded_rejection(ids, q.flip(1).flip(1), p)


# n-gram drafts, padded with the placeholder where there are fewer; ids [K], p [K + 1, V]


def placeholder_read_as_a_token(ids, p):
    out = []
    for i in range(len(ids)):
        x = ids[i]
        if torch.rand(1, dtype=p.dtype) < p[i][x]:
            out.append(x.item())
        else:
            row = p[i].clone()
            row[x] = 0
            return [*out, torch.multinomial(row, 1).item()]
    return [*out, torch.multinomial(p[len(ids)], 1).item()]


def placeholder_ends_the_draft(ids, p):
    ids = ids[: int((ids != PLACEHOLDER).long().cumprod(0).sum())]
    return placeholder_read_as_a_token(ids, p)


def padded(ids, p):
    """Drafts padded to one more than there are; the row behind the last one is a repetition."""
    return torch.cat([ids, ids.new_full((1,), PLACEHOLDER)]), torch.cat([p, p[-1:]])


def padded_drafts_read(ids, p):
    return placeholder_read_as_a_token(*padded(ids, p))


def padded_drafts_cut(ids, p):
    return placeholder_ends_the_draft(*padded(ids, p))
