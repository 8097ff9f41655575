"""Wrong acceptance rules. All take a drafted chain [K], the draft's rows [K, V] and the target's rows [K + 1, V]."""

import random

import torch

# Plain Python: rows are lists of floats


def choose(weights):
    return random.choices(range(len(weights)), weights)[0]


def minus(p, q):
    return [max(a - b, 0) for a, b in zip(p, q, strict=True)]


def python_chain(draft, q, p, threshold):
    for i, x in enumerate(draft):
        if random.random() < threshold(p[i], q[i], x):
            continue
        return [*draft[:i], choose(minus(p[i], q[i]))]
    return [*draft, choose(p[-1])]


def everything_accepted(draft, q, p):
    return python_chain(draft, q, p, lambda p, q, x: 1)


def score_over_best_score(draft, q, p):
    return python_chain(draft, q, p, lambda p, q, x: p[x] / max(p))


def inverted_ratio(draft, q, p):
    return python_chain(draft, q, p, lambda p, q, x: min(1, q[x] / p[x]) if p[x] else 1)


def ratio(draft, q, p):
    return python_chain(draft, q, p, lambda p, q, x: p[x] / q[x])


# torch: matches are counted, and the residual is made into a law


def count_and_draw(ids, q, p, coins, normalise):
    k = ids.shape[0]
    picked = ids.view(-1, 1)
    keep = coins < torch.exp(p[:k].gather(1, picked).log() - q.gather(1, picked).log()).view(-1)
    n = torch.cumprod(keep, dim=0).sum().item()
    row = normalise(torch.relu(p[n] - q[n])) if n < k else p[n]
    return [*ids[:n].tolist(), row.multinomial(1).item()]


def residual_by_softmax(ids, q, p):
    return count_and_draw(ids, q, p, torch.rand(len(ids), dtype=p.dtype), lambda rest: rest.softmax(-1))


def residual_by_division(ids, q, p):
    return count_and_draw(ids, q, p, torch.rand(len(ids), dtype=p.dtype), lambda rest: rest / rest.sum())


def coins_are_zero(ids, q, p):
    """A buffer that nobody fills."""
    return count_and_draw(ids, q, p, torch.zeros(len(ids), dtype=p.dtype), lambda rest: rest / rest.sum())


def coins_are_filled(ids, q, p):
    return count_and_draw(ids, q, p, torch.zeros(len(ids), dtype=p.dtype).uniform_(), lambda rest: rest / rest.sum())


def matches_never_stop(ids, q, p):
    """`~` on a count is -1 - count, always below 1: every draft counts as a match."""
    k = len(ids)
    rows = torch.arange(k)
    keep = torch.rand(k) < p[rows, ids] / q[rows, ids]
    n = int((~((~keep).cumsum(-1)) < 1).sum())
    return [*ids[:n].tolist(), int(torch.multinomial(p[n], 1))]


def matches_stop(ids, q, p):
    k = len(ids)
    rows = torch.arange(k)
    keep = torch.rand(k) < p[rows, ids] / q[rows, ids]
    n = int(((~keep).cumsum(-1) < 1).sum())
    return [*ids[:n].tolist(), int(torch.multinomial(p[n] if n == k else (p[n] - q[n]).clamp(min=0), 1))]


# Blocks: thresholds for whole prefixes, the last one that passes wins


def block_thresholds(ids, q, p):
    """(prefix weights w_0 .. w_K, thresholds h_1 .. h_K) of block verification."""
    w, h = [torch.ones((), dtype=p.dtype)], []
    for i, x in enumerate(ids):
        w.append(torch.clamp(w[-1] * p[i, x] / q[i, x], max=1.0))
        if i + 1 < len(ids):
            mass = (w[-1] * p[i + 1] - q[i + 1]).clamp(min=0).sum()
            h.append(torch.where(w[-1] == 1, 1.0, mass / (mass + 1 - w[-1])))
        else:
            h.append(w[-1])
    return w, h


def last_that_passes(ids, thresholds):
    uniforms = torch.rand(len(ids), dtype=torch.float64)
    for i in reversed(range(len(ids))):
        if uniforms[i] < thresholds[i]:
            return i + 1
    return 0


def block_rule(ids, q, p):
    w, h = block_thresholds(ids, q, p)
    n = last_that_passes(ids, h)
    row = (w[n] * p[n] - q[n]).clamp(min=0) if n < len(ids) else p[n]
    return torch.cat((ids[:n], torch.multinomial(row, 1)))


def block_rule_with_token_residual(ids, q, p):
    _, h = block_thresholds(ids, q, p)
    n = last_that_passes(ids, h)
    row = (p[n] - q[n]).clamp(min=0) if n < len(ids) else p[n]
    return torch.cat((ids[:n], torch.multinomial(row, 1)))


def prefix_products_with_token_residual(ids, q, p):
    w, _ = block_thresholds(ids, q, p)
    n = last_that_passes(ids, w[1:])
    row = (p[n] - q[n]).clamp(min=0) if n < len(ids) else p[n]
    return torch.cat((ids[:n], torch.multinomial(row, 1)))


def one_hot(ids, like):
    return torch.nn.functional.one_hot(ids, like.shape[-1]).to(like.dtype)


def ngram_prefix_products(ids, p):
    """n-gram drafts: q is one-hot, products of p are the thresholds, the residual is a token's."""
    return prefix_products_with_token_residual(ids, one_hot(ids, p), p)


def ngram_block_rule(ids, p):
    return block_rule(ids, one_hot(ids, p), p)


# Typical acceptance


def typical_acceptance(ids, q, p, posterior_threshold=0.09, posterior_alpha=0.3):
    """Draft tokens above a threshold pass; the token after them is the best one."""
    k = len(ids)
    mass = p[:k].gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    entropy = -torch.sum(p[:k] * torch.log(p[:k] + 1e-5), dim=-1)
    limit = torch.minimum(torch.ones_like(entropy) * posterior_threshold, torch.exp(-entropy) * posterior_alpha)
    n = int((mass > limit).int().cumprod(dim=0).sum())
    return torch.cat((ids[:n], p[n].argmax().reshape(1)))
