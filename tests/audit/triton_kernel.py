"""The ratio rule as a Triton kernel that loads its uniforms, interpreted on the CPU; prints the laws that are found.

Run with TRITON_INTERPRET=1, which has to be set before triton is loaded.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from rheo_proof.audit.breakpoints import Floats
from rheo_proof.audit.carving import Search, settle
from rheo_proof.exact.number import ZERO, Q

P = (0.5, 0.3125, 0.125, 0.0625)
DRAFT = (0.125, 0.3125, 0.5, 0.0625)


@triton.jit
def ratio_rule(uniforms, target, draft, tokens, emitted, V: tl.constexpr, WRONG: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    x = tl.load(tokens + row)
    coin = tl.load(uniforms + 2 * row)
    last = tl.load(uniforms + 2 * row + 1)
    every = tl.arange(0, V)
    p = tl.load(target + every)
    left = p if WRONG else tl.maximum(p - tl.load(draft + every), 0.0)
    token = tl.sum((tl.cumsum(left, 0) <= last * tl.sum(left, 0)).to(tl.int32), 0)
    if coin * tl.load(draft + x) < tl.load(target + x):
        token = x
    tl.store(emitted + row, token)


def emitted(points: Sequence[tuple[float, ...]], x: int, wrong: bool) -> list[int]:
    """What one launch emits for a drafted token, a program for each point."""
    out = torch.zeros(len(points), dtype=torch.int32)
    drafted = torch.full((len(points),), x, dtype=torch.int32)
    uniforms = torch.tensor(points, dtype=torch.float32).reshape(-1)
    ratio_rule[(len(points),)](uniforms, torch.tensor(P), torch.tensor(DRAFT), drafted, out, len(P), wrong)
    return list(out.tolist())


def law(wrong: bool) -> dict[str, str]:
    """The law of the emitted token."""
    found = dict.fromkeys(range(len(P)), ZERO)
    searches = []
    for x, mass in enumerate(DRAFT):
        asked = lambda points, x=x: emitted(points, x, wrong)  # noqa: E731
        searches.append((Search(asked, 2, Floats("float32"), random.Random(x)), Q(*mass.as_integer_ratio())))
    settle(searches, 64)
    for search, share in searches:
        for token, volume in search.pieces().law.items():
            found[token] += share * volume
    return {str(token): str(mass) for token, mass in found.items()}


if __name__ == "__main__":
    print(json.dumps({"right": law(False), "wrong": law(True)}))
