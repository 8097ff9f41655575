"""Correct verifiers of chains, in the idioms of many authors. None of them may ever be called biased."""

import bisect
import itertools
import random

import numpy as np
import torch
import torch.nn.functional as fn


# 1. torch, vectorised, padded with -1
def vectorised(ids, q, p):
    k = ids.shape[-1]
    at = ids.unsqueeze(-1)
    accept = torch.rand(k, dtype=p.dtype) < p[:k].gather(-1, at).squeeze(-1) / q.gather(-1, at).squeeze(-1)
    n = torch.where(accept.all(), k, (~accept).int().argmax())
    rows = torch.cat([torch.relu(p[:k] - q), p[k:]])
    last = torch.multinomial(rows[n], 1)
    positions = torch.arange(k + 1)
    padded = torch.where(positions < n, fn.pad(ids, (0, 1), value=-1), -1)
    return torch.where(positions == n, last, padded)


# 2. torch, loops and .item(), the uniforms drawn in advance
class LoopVerifier:
    def __init__(self, most=64):
        self.r = torch.rand(most, 1)
        self.pos = 0

    def coin(self):
        self.pos += 1
        return self.r[self.pos - 1].item()

    def __call__(self, ids, q, p):
        accepted = 0
        for i, token in enumerate(ids.tolist()):
            if self.coin() < p[i, token].item() / q[i, token].item():
                accepted += 1
                continue
            break
        if accepted == len(ids):
            return accepted, torch.multinomial(p[-1], 1).item()
        residual = p[accepted] - q[accepted]
        residual[residual < 0] = 0
        residual /= residual.sum()
        return accepted, torch.multinomial(residual, 1).item()


def loops(ids, q, p):
    return LoopVerifier()(ids, q, p)


# 3. NumPy, one generator from outside
def numpy_chain(ids, q, p, rng=None):
    rng = rng or np.random.default_rng()
    u = rng.random(len(ids))
    index = np.arange(len(ids))
    rejected = np.flatnonzero(~(u < p[index, ids] / q[index, ids]))
    n = rejected[0] if rejected.size else len(ids)
    law = p[n] if n == len(ids) else np.clip(p[n] - q[n], 0, None)
    if not law.sum() > 0:
        raise FloatingPointError("not a law")
    cdf = np.cumsum(law / law.sum())
    token = min(int(np.searchsorted(cdf, rng.uniform(), side="right")), int(np.flatnonzero(law)[-1]))
    return [*ids[:n].tolist(), token]


# 4. Python alone
def pure_python(draft, q, p):
    out = []
    for x, draft_row, target_row in zip(draft, q, p[:-1], strict=True):
        if random.uniform(0, draft_row[x]) < target_row[x]:
            out.append(x)
            continue
        law = [max(0.0, b - a) for a, b in zip(draft_row, target_row, strict=True)]
        break
    else:
        law = p[-1]
    cdf = list(itertools.accumulate(law))
    if not cdf[-1] > 0:
        raise ValueError("nothing to draw from")
    return [*out, bisect.bisect(cdf, random.random() * cdf[-1])]


# 5. an exponential race for the recovered tokens, drawn for all positions, accepted by uniforms in float64
def exponential_race(ids, q, p):
    assert torch.isfinite(q).all()
    assert torch.isfinite(p).all()
    k, V = q.shape
    noise = torch.empty((k, V), dtype=p.dtype)
    noise.exponential_()
    rest = (p[:k] - q).clamp_min_(0)
    rest = torch.where(rest.sum(-1, keepdim=True) > 0, rest, p[:k])
    recovered = torch.argmax(rest.div_(noise), dim=-1)
    uniform = torch.rand((k,), dtype=torch.float64)
    bonus = torch.argmax(p[k] / torch.empty_like(p[k]).exponential_())
    out = torch.full((k + 1,), -1)
    for pos in range(k):
        x = ids[pos]
        if q[pos, x] > 0 and p[pos, x] / q[pos, x] > uniform[pos]:
            out[pos] = x
            continue
        out[pos] = recovered[pos]
        return out
    out[k] = bonus
    return out


# 6. Gumbel noise on log weights
def gumbel(row):
    if not row.sum() > 0:
        raise ValueError("nothing to draw from")
    noise = -torch.log(-torch.log(torch.rand_like(row).clamp_(min=1e-20)))
    return (row.log() + noise).argmax(-1)


def gumbel_argmax(ids, q, p):
    for i in range(ids.shape[0]):
        if torch.rand(()).log() < p[i, ids[i]].log() - q[i, ids[i]].log():
            continue
        return torch.cat([ids[:i], gumbel(fn.relu(p[i] - q[i]))[None]])
    return torch.cat([ids, gumbel(p[-1])[None]])


# 7. inverse CDF by counting
def inverse_cdf(ids, q, p):
    u = torch.rand(2, len(ids) + 1, dtype=torch.double)
    alive, n = True, 0
    while alive and n < len(ids):
        alive = bool(u[0, n] * q[n, ids[n]] < p[n, ids[n]])
        n += alive
    row = p[n] if n == len(ids) else (p[n] - q[n]).relu()
    if row.isnan().any():
        raise ValueError("nan")
    token = (row.cumsum(0) <= u[1, n] * row.sum()).sum().clamp(max=row.nonzero().max())
    return [*ids[:n].tolist(), int(token)]


# 8. block verification
def block_verification(ids, q, p):
    k = len(ids)
    weight, n, row = 1.0, 0, torch.relu(p[0] - q[0])
    eta = torch.rand(k, dtype=torch.float64)
    for i in range(k):
        weight = min(weight * (p[i, ids[i]] / q[i, ids[i]]).item(), 1.0)
        if i + 1 == k:
            rest, h = p[k], weight
        else:
            rest = torch.relu(weight * p[i + 1] - q[i + 1])
            mass = rest.sum().item()
            h = 1.0 if weight == 1.0 else mass / (mass + 1 - weight)
        if eta[i] < h:
            n, row = i + 1, rest
    return torch.cat((ids[:n], torch.multinomial(row, 1)))


# 9. length and a law that the caller draws from
def length_and_law(ids, q, p):
    for i in range(len(ids)):
        x = int(ids[i])
        if not np.random.uniform() < p[i][x] / q[i][x]:
            law = np.maximum(p[i] - q[i], 0.0)
            if not law.sum() > 0:
                raise ValueError("nothing to draw from")
            return i, law / law.sum()
    return len(ids), p[-1]


# 10. one multinomial over V + 1 outcomes for each position: a token of the residual, or "accepted"
def reject_folded_in(ids, q, p):
    for i, x in enumerate(ids):
        accept = torch.clamp(p[i, x] / q[i, x], max=1)
        rest = fn.relu(p[i] - q[i])
        mass = rest.sum()
        fold = rest * torch.where(mass > 0, (1 - accept) / mass, mass)
        outcome = torch.multinomial(torch.cat([fold, accept[None]]), 1).item()
        if outcome < len(p[i]):
            return [*ids[:i].tolist(), outcome]
    return [*ids.tolist(), torch.multinomial(p[-1], 1).item()]


# 11. scanned backwards with flip and max: the first rejection is the largest flipped index
def flipped(ids, q, p):
    k = ids.size(0)
    i = torch.arange(k)
    rejected = torch.zeros(k + 1, dtype=torch.bool)
    rejected[:k] = ~(torch.zeros(k).uniform_(0, 1) < p[i, ids] / q[i, ids])
    rejected[k] = True
    values, n = rejected.flip(0).flip(0).max(dim=0)
    assert values
    row = p[n] if int(n) == k else torch.nn.functional.threshold(p[n] - q[n], 0.0, 0.0)
    return torch.cat([torch.narrow(ids, 0, 0, int(n)), torch.multinomial(row, 1)])


# 12. a mask on a slice of one long tensor of uniforms, drawn with a generator
def uniforms_in_slices(ids, q, p, generator=None):
    generator = generator or torch.Generator().manual_seed(0)
    k = len(ids)
    pool = torch.zeros(3 * k + 2, dtype=p.dtype)
    pool[k : 2 * k].uniform_(generator=generator)
    pool[-1:].uniform_(generator=generator)
    mask = pool[k:][:k].view(k, 1) < p[:k].gather(1, ids[:, None]) / q.gather(1, ids[:, None])
    n = mask.flatten().to(torch.uint8).cumprod(0).sum()
    row = p[n] - fn.pad(q, (0, 0, 0, 1))[n]
    row = row.masked_fill(row < 0, 0)
    if not row.sum() > 0:
        raise ValueError("nothing is left")
    cdf = row.cumsum(-1)
    token = torch.searchsorted(cdf, (pool[-1] * cdf[-1])[None], right=True)
    return torch.hstack([ids[:n], token.clamp(max=int(row.nonzero()[-1]))])
