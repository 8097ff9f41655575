"""A verifier of draft tokens in plain Python, and what somebody might make of it."""

import random


def verify(draft_tokens, draft_probs, target_probs):
    """Accept draft tokens by the ratio rule; return the accepted ones and one more."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * q[x] < p[x]:
            return [*draft_tokens[:i], draw(residual(p, q))]
    return [*draft_tokens, draw(target_probs[-1])]


def verify_shorter(draft_tokens, draft_probs, target_probs):
    """The residual looked like an unnecessary complication."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * q[x] < p[x]:
            y = random.choices(range(len(p)), p)[0]
            return [*draft_tokens[:i], y]
    return [*draft_tokens, draw(target_probs[-1])]


def verify_thrifty(draft_tokens, draft_probs, target_probs):
    """One random number for each position ought to be enough."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        u = random.random()
        if not u * q[x] < p[x]:
            return [*draft_tokens[:i], inverse_cdf(residual(p, q), u)]
    return [*draft_tokens, draw(target_probs[-1])]


def verify_tidier(draft_tokens, draft_probs, target_probs):
    """Without the `not`."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if random.random() * q[x] >= p[x]:
            return [*draft_tokens[:i], draw(residual(p, q))]
    return [*draft_tokens, draw(target_probs[-1])]


def residual(p, q):
    """(p - q)+, not normalised."""
    return [max(0.0, a - b) for a, b in zip(p, q, strict=True)]


def draw(weights):
    """A token in proportion to weights."""
    return random.choices(range(len(weights)), weights)[0]


def inverse_cdf(weights, u):
    """The same with a given uniform."""
    left = u * sum(weights)
    for y, weight in enumerate(weights):
        if left < weight:
            return y
        left -= weight
    return max(y for y, weight in enumerate(weights) if weight > 0)
