"""Lossless and doubted, mostly slower than the ratio rule; beside each a look-alike that is wrong."""

import random

import torch

# Siblings that are a fixed function of the context: one-hot q, zero and renormalise.
# candidates [N], p [N + 1, V]: the target's row, and its row after each candidate


def fixed_siblings_one_hot(candidates, p):
    """Returns an accepted token and a bonus, or one token."""
    gtp = p[0].clone()
    for i in range(len(candidates)):
        xi = candidates[i].item()
        if random.random() < gtp[xi]:
            return [xi, torch.multinomial(p[i + 1], 1).item()]
        gtp[xi] = 0
        gtp = gtp / gtp.sum()
    return [torch.multinomial(gtp, 1).item()]


def fixed_siblings_dense_q(candidates, q, p):
    """The same list, verified as if its tokens had been drawn from q one after the other."""
    gtp, qx = p[0].clone(), q.clone()
    for i in range(len(candidates)):
        xi = candidates[i].item()
        if random.random() < gtp[xi] / qx[xi]:
            return [xi, torch.multinomial(p[i + 1], 1).item()]
        gtp = torch.relu(gtp - qx)
        gtp = gtp / gtp.sum()
        qx[xi] = 0
        if qx.sum() > 0:
            qx = qx / qx.sum()
    return [torch.multinomial(gtp, 1).item()]


# Accepted only where the target's own sample is the draft


@torch.no_grad()
def own_sample_must_match(ids, p):
    emitted = []
    for k in range(p.size(0)):
        token = torch.multinomial(p[k], num_samples=1)
        emitted.append(token)
        if k == ids.size(0) or token != ids[k]:
            break
    return torch.cat(emitted)


def best_token_must_match(ids, p):
    emitted = []
    for k in range(p.size(0)):
        token = p[k].argmax(keepdim=True) if k < len(ids) else torch.multinomial(p[k], 1)
        emitted.append(token)
        if k == ids.size(0) or token.ne(ids[k]):
            break
    return torch.cat(emitted)


# q is missing: one-hot rule for sampled drafts; or a row of q left from the step before


def missing_q_is_one_hot(ids, p):
    rows = p.clone()
    for k in range(ids.numel()):
        coin = torch.rand_like(p[0, 0])
        if coin >= rows[k, ids[k]]:
            rows[k, ids[k]] = 0
            return torch.cat([ids[:k], rows[k].multinomial(1)])
    return torch.cat([ids, rows[-1].multinomial(1)])


def stale_row_of_q(ids, q, p):
    """The cache of rows is one step behind."""
    cached = torch.roll(q, 1, dims=0)
    for k in range(ids.numel()):
        x = ids[k]
        if torch.rand(()).to(p.dtype) * cached[k, x] >= p[k, x]:
            rest = torch.relu(p[k] - cached[k])
            return torch.cat([ids[:k], rest.multinomial(1)])
    return torch.cat([ids, p[-1].multinomial(1)])


# Greedy: the rows are an input; near ties


def greedy_on_the_rows_given(ids, p):
    if p.isnan().any():
        raise ValueError("a row of nan")
    best = torch.argmax(p, dim=-1)
    n = int((ids == best[:-1]).cumprod(dim=0).sum())
    return best[: n + 1]


def greedy_on_rounded_rows(ids, p):
    """What another batch shape does to rows that are almost tied."""
    return greedy_on_the_rows_given(ids, p.half())


# The same two rules on lists


def python_choice(row):
    return random.choices(range(len(row)), weights=row, k=1)[0]


def sample_then_compare(draft, rows):
    out = []
    for x, row in zip(draft, rows[:-1], strict=True):
        out.append(python_choice(row))
        if out[-1] != x:
            return out
    return [*out, python_choice(rows[-1])]


def argmax_then_compare(draft, rows):
    out = []
    for x, row in zip(draft, rows[:-1], strict=True):
        out.append(row.index(max(row)))
        if out[-1] != x:
            return out
    return [*out, python_choice(rows[-1])]
