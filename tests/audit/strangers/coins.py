"""One random number used twice."""

import random

import torch

# Coins are arguments: candidates [K], target rows [K + 1, V], coins [K], one more for the last draw; one-hot drafts


def inverse_cdf(row, u):
    cdf = torch.cumsum(row, dim=-1)
    if torch.isnan(cdf[-1]):
        raise ValueError("a row of nan")
    return torch.searchsorted(cdf, u * cdf[-1], right=True).clamp(max=row.shape[-1] - 1)


def last_coin_reused(candidates, target_probs, coins, coin_for_final):
    for i in range(candidates.numel()):
        coin = coins[i]
        if coin < target_probs[i, candidates[i]]:
            continue
        row = target_probs[i].clone()
        row[candidates[i]] = 0.0
        return torch.cat([candidates[:i], inverse_cdf(row, coin).view(1)])
    return torch.cat([candidates, inverse_cdf(target_probs[-1], coin_for_final).view(1)])


def own_coin_for_the_last_draw(candidates, target_probs, coins, coin_for_final):
    for i in range(candidates.numel()):
        if coins[i] < target_probs[i, candidates[i]]:
            continue
        row = target_probs[i].clone()
        row[candidates[i]] = 0.0
        return torch.cat([candidates[:i], inverse_cdf(row, coin_for_final).view(1)])
    return torch.cat([candidates, inverse_cdf(target_probs[-1], coin_for_final).view(1)])


def one_coin_for_all_positions(candidates, target_probs):
    coin = torch.rand(1, dtype=target_probs.dtype)
    return own_coin_for_the_last_draw(
        candidates, target_probs, coin.expand(len(candidates)), torch.rand((), dtype=target_probs.dtype)
    )


def a_coin_for_each_position(candidates, target_probs):
    coins = torch.rand(len(candidates) + 1, dtype=target_probs.dtype)
    return own_coin_for_the_last_draw(candidates, target_probs, coins[:-1], coins[-1])


# Noise by seed: a step whose drafting and recovery draw Gumbel or exponential noise from generators


def race(weights, generator):
    """argmax w / E with E ~ Exp(1): one draw from the weights."""
    if not torch.isfinite(weights).all() or not weights.any():
        raise ValueError("nothing to draw from")
    noise = torch.empty_like(weights).exponential_(generator=generator)
    return int(torch.argmax(weights / noise))


def noisy_step(ids, draft_model, target_model, draft_noise, recovery_noise):
    q = draft_model(ids)
    x = race(q, draft_noise)
    p = target_model(ids)
    if torch.rand((), dtype=p.dtype) * q[x] < p[x]:
        return [x, race(target_model([*ids, x]), recovery_noise)]
    return [race(torch.clamp_min(p - q, 0), recovery_noise)]


def same_seed_for_draft_and_recovery(ids, draft_model, target_model, generator):
    twins = [torch.Generator().manual_seed(generator.initial_seed()) for _ in range(2)]
    return noisy_step(ids, draft_model, target_model, *twins)


def one_generator_for_draft_and_recovery(ids, draft_model, target_model, generator):
    return noisy_step(ids, draft_model, target_model, generator, generator)


# Python's own generator


def draw(weights, u):
    level = u * sum(weights)
    for x, w in enumerate(weights):
        if level < w:
            return x
        level = level - w
    return max(x for x, w in enumerate(weights) if w > 0)


def seeded_step(ids, draft_model, target_model, draft_rng, verify_rng):
    q = draft_model(ids)
    x = draw(q, draft_rng.random())
    p = target_model(ids)
    if verify_rng.random() < p[x] / q[x]:
        return [x]
    return [draw([max(a - b, 0) for a, b in zip(p, q, strict=True)], verify_rng.random())]


def same_seed_for_draft_and_coin(ids, draft_model, target_model, seed=42):
    return seeded_step(ids, draft_model, target_model, random.Random(seed), random.Random(seed))


def different_streams_for_draft_and_coin(ids, draft_model, target_model, seed=42):
    rng = random.Random(seed)
    return seeded_step(ids, draft_model, target_model, rng, rng)


# The coin 0 itself: torch.rand includes it, and `<=` then accepts a token of probability 0


def zero_coin_accepts(ids, q, p):
    k = len(ids)
    rows = torch.arange(k)
    ok = torch.rand(k, dtype=p.dtype) <= p[rows, ids] / q[rows, ids]
    n = int(ok.int().cumprod(0).sum())
    return torch.cat([ids[:n], torch.multinomial(p[n] if n == k else torch.relu(p[n] - q[n]), 1)])


def zero_coin_rejects(ids, q, p):
    k = len(ids)
    rows = torch.arange(k)
    ok = torch.rand(k, dtype=p.dtype) < p[rows, ids] / q[rows, ids]
    n = int(ok.int().cumprod(0).sum())
    return torch.cat([ids[:n], torch.multinomial(p[n] if n == k else torch.relu(p[n] - q[n]), 1)])


# Gumbel noise of a uniform that is 0 is -inf: if it stands where the only positive weight is, all entries tie


def gumbel_of_zero(ids, q, p):
    return gumbel_chain(ids, q, p, torch.rand_like)


def gumbel_of_no_zero(ids, q, p):
    return gumbel_chain(ids, q, p, lambda row: torch.rand_like(row).clamp(min=1e-20))


def gumbel_chain(ids, q, p, uniform):
    def draw(row):
        if not row.sum() > 0:
            raise ValueError("nothing to draw from")
        return (row.log() - torch.log(-torch.log(uniform(row)))).argmax().view(1)

    for i in range(len(ids)):
        if torch.rand((), dtype=p.dtype) * q[i, ids[i]] < p[i, ids[i]]:
            continue
        return torch.cat([ids[:i], draw((p[i] - q[i]).relu())])
    return torch.cat([ids, draw(p[-1])])
