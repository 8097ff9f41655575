"""Lossy on purpose: thresholds that raise acceptance, a mix as the reference, guesses checked greedily."""

import random

import torch


class TargetOnlySampling:
    """Fixed candidates, coins against p; thresholds below 1 accept more often. Target rows [K + 1, V]."""

    def __init__(self, threshold_single=1.0, threshold_acc=1.0):
        self.single, self.acc = threshold_single, threshold_acc

    def __call__(self, candidates, target_probs):
        assert not target_probs.isnan().any()
        coins = torch.rand(candidates.shape[0] + 1, dtype=target_probs.dtype)
        n = 0
        while n < len(candidates):
            prob = target_probs[n, candidates[n]]
            if not (coins[n] < prob / self.acc or prob >= self.single):
                break
            n += 1
        row = target_probs[n].clone()
        if n < len(candidates):
            row.index_fill_(0, candidates[n : n + 1], 0.0)
        above = row.cumsum(0) > coins[-1] * row.sum()
        return torch.cat([candidates[:n], above.int().argmax().unsqueeze(0)])


def relaxed(candidates, target_probs):
    return TargetOnlySampling(threshold_acc=0.5)(candidates, target_probs)


def single_threshold(candidates, target_probs):
    return TargetOnlySampling(threshold_single=0.25)(candidates, target_probs)


def strict(candidates, target_probs):
    return TargetOnlySampling(threshold_single=1.1)(candidates, target_probs)


def blended(ids, q, p, weight=0.5):
    """The ratio rule for a mix of draft and target; the bonus follows the target's row."""
    mixed = p.clone()
    mixed[:-1] = torch.lerp(p[:-1], q, weight)
    return ratio_rule(ids, q, mixed)


def ratio_rule(ids, q, p):
    index = torch.arange(len(ids), device=p.device)
    alpha = (p[index, ids] / q[index, ids]).clamp(max=1)
    rejected = torch.bernoulli(1 - alpha)
    rejected = torch.cat([rejected, rejected.new_ones(1)])
    n = rejected.argmax().item()
    row = p[n] if n == len(ids) else torch.nn.functional.relu(p[n] - q[n], inplace=False)
    return torch.hstack([ids[:n], row.multinomial(1)])


def guesses_checked_greedily(guesses, p):
    """n-gram guesses must equal the argmax; then one token is sampled, where the guesses end."""
    hits = (guesses == p[:-1].argmax(-1)).cumprod(0).sum()
    return torch.cat([guesses[:hits], torch.multinomial(p[hits], 1)])


def guesses_checked_by_sampling(guesses, p):
    own = torch.multinomial(p, 1).squeeze(-1)
    hits = (guesses == own[:-1]).cumprod(0).sum()
    return own[: hits + 1]


# The same without torch: lists of floats


def without(row, x):
    return [0.0 if y == x else w for y, w in enumerate(row)]


def draw(row):
    return random.choices(range(len(row)), row)[0]


def plausible_is_enough(candidates, rows, enough=0.25):
    for i, x in enumerate(candidates):
        if rows[i][x] < enough and not random.random() < rows[i][x]:
            return [*candidates[:i], draw(without(rows[i], x))]
    return [*candidates, draw(rows[-1])]


def nothing_is_enough(candidates, rows):
    return plausible_is_enough(candidates, rows, enough=float("inf"))
