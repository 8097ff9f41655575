"""Verifiers of a chain in plain Python, as somebody may have written them: some right, some wrong in one known way.

Nothing here knows of the auditor. A mark after a line names the line for the tests.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

Row = Sequence[float]
Rows = Sequence[Row]


def line(mark: str) -> int:
    """The number of the line that is marked."""
    [number] = [
        n for n, text in enumerate(Path(__file__).read_text("utf-8").splitlines(), 1) if text.endswith(f"# {mark}")
    ]
    return number


def draw(weights: Row) -> int:
    """A token, drawn in proportion to weights."""
    return random.choices(range(len(weights)), weights)[0]


def residual(p: Row, q: Row) -> list[float]:
    """(p - q)+, not normalised."""
    return [max(0.0, a - b) for a, b in zip(p, q, strict=True)]


def right(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """The ratio rule."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * q[x] < p[x]:
            return [*draft_tokens[:i], draw(residual(p, q))]
    return [*draft_tokens, draw(target_probs[-1])]


def inverse(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """The ratio rule; the residual by one uniform against a cumulative sum: it is looked at many times, rightly."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * q[x] < p[x]:
            return [*draft_tokens[:i], inverse_cdf(residual(p, q), random.random())]
    return [*draft_tokens, draw(target_probs[-1])]


def inverse_cdf(weights: Row, u: float) -> int:
    """A token with a given uniform; the last one of positive weight if rounding leaves none."""
    total = 0.0
    threshold = u * sum(weights)
    for y, weight in enumerate(weights):
        total += weight
        if threshold < total:
            return y
    return max(y for y, weight in enumerate(weights) if weight > 0)


def match(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """Sample the target and compare: lossless, and slower."""
    for i, x in enumerate(draft_tokens):
        y = draw(target_probs[i])
        if y != x:
            return [*draft_tokens[:i], y]
    return [*draft_tokens, draw(target_probs[-1])]


def guarded(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """The ratio rule with the usual guard against a division by 0."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() < p[x] / (q[x] + 1e-9):
            return [*draft_tokens[:i], draw([a + 1e-9 * b for a, b in zip(residual(p, q), p, strict=True)])]
    return [*draft_tokens, draw(target_probs[-1])]


def strong_guard(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """The same with a guard that is no longer small."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() < p[x] / (q[x] + 1e-4):
            return [*draft_tokens[:i], draw(residual(p, q))]
    return [*draft_tokens, draw(target_probs[-1])]


def everything(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """Accepts all drafts (R17 a, R19)."""
    return [*draft_tokens, draw(target_probs[-1])]


def inverted(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """Accepts with q / p (R18)."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * p[x] < q[x]:  # accepts by the wrong ratio
            weights = residual(p, q)
            return [*draft_tokens[:i], draw(weights if any(weights) else p)]
    return [*draft_tokens, draw(target_probs[-1])]


def from_target(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """Draws from the whole target after a rejection (R23)."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * q[x] < p[x]:
            return [*draft_tokens[:i], random.choices(range(len(p)), p)[0]]  # draws from the target
    return [*draft_tokens, draw(target_probs[-1])]


def wrong_bonus(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """The bonus token from the row before."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * q[x] < p[x]:
            return [*draft_tokens[:i], draw(residual(p, q))]
    before = target_probs[-2]
    return [*draft_tokens, random.choices(range(len(before)), before)[0]]  # bonus from the row before


def biased_inverse(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """`inverse`, with a residual that is not cut at 0 but squared: no reuse is to blame."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * q[x] < p[x]:
            return [*draft_tokens[:i], inverse_cdf([w * w for w in residual(p, q)], random.random())]
    return [*draft_tokens, draw(target_probs[-1])]


def coin_again(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """The coin of the rejection draws the residual, too (R26)."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        u = random.random()
        if not u * q[x] < p[x]:
            return [*draft_tokens[:i], inverse_cdf(residual(p, q), u)]
    return [*draft_tokens, draw(target_probs[-1])]


def one_coin(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """One coin for all positions (R30)."""
    u = random.random()
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not u * q[x] < p[x]:  # the one coin
            return [*draft_tokens[:i], draw(residual(p, q))]
    return [*draft_tokens, draw(target_probs[-1])]


def endpoint(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """`<=` where `<` would be right: a coin of exactly 0 accepts what the target does not have."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * q[x] <= p[x]:
            return [*draft_tokens[:i], draw(residual(p, q))]
    return [*draft_tokens, draw(target_probs[-1])]


def overwriting(draft_tokens: list[int], draft_probs: list[list[float]], target_probs: Rows) -> list[int]:
    """The ratio rule; the draft rows are overwritten."""
    answer = right(draft_tokens, draft_probs, target_probs)
    draft_probs[0][0] = 0.0
    return answer


def through_nan(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """An empty or broken residual falls to token 0 (R25)."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * q[x] < p[x]:
            weights = residual(p, q)
            return [*draft_tokens[:i], draw(weights) if sum(weights) > 0 else weights.index(max(weights))]
    return [*draft_tokens, draw(target_probs[-1])]


def minus_one(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """Marks a rejection with -1 and nothing else (R34)."""
    for i, x in enumerate(draft_tokens):
        if not random.random() * draft_probs[i][x] < target_probs[i][x]:
            return [*draft_tokens[:i], -1]
    return [*draft_tokens, draw(target_probs[-1])]


def raising(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """Right, as long as nothing is rejected."""
    for i, x in enumerate(draft_tokens):
        if not random.random() * draft_probs[i][x] < target_probs[i][x]:
            raise IndexError("row out of range")
    return [*draft_tokens, draw(target_probs[-1])]


def nonsense(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> object:
    """Returns no tokens at all."""
    return {"accepted": len(draft_tokens)}


def product(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """A product of two uniforms, which is no matter of intervals."""
    return [0] if random.random() * random.random() < target_probs[0][0] else [1]  # a product


def typical(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """Typical acceptance with a threshold (R21)."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        entropy = -sum(a * math.log(a) for a in p if a > 0)
        if not p[x] > min(0.09, 0.3 * math.exp(-entropy)):
            weights = residual(p, q)
            return [*draft_tokens[:i], draw(weights if any(weights) else p)]
    return [*draft_tokens, draw(target_probs[-1])]


def mixture(draft_tokens: list[int], draft_probs: Rows, target_probs: Rows) -> list[int]:
    """Exact for (p + q) / 2 at the draft positions (R40)."""
    mixed = [[(a + b) / 2 for a, b in zip(p, q, strict=True)] for p, q in zip(target_probs, draft_probs, strict=False)]
    return right(draft_tokens, draft_probs, [*mixed, target_probs[-1]])


def honest(draft_model: Callable[..., Row], K: int) -> tuple[list[int], list[Row]]:
    """A drafter that draws from the rows it reports."""
    return drafting(draft_model, K, lambda q: q)


def sharpened(draft_model: Callable[..., Row], K: int) -> tuple[list[int], list[Row]]:
    """A drafter that draws from a sharper law than it reports (R02, R03)."""
    return drafting(draft_model, K, lambda q: [w * w for w in q])


def drafting(
    draft_model: Callable[..., Row], K: int, seen_as: Callable[[Row], Row], drawn: Callable[[Row], int] = draw
) -> tuple[list[int], list[Row]]:
    """K tokens, each drawn from what is made of the model's row, and the rows."""
    tokens: list[int] = []
    rows: list[Row] = []
    for _ in range(K):
        rows.append(draft_model(tokens))
        tokens.append(drawn(seen_as(rows[-1])))
    return tokens, rows
