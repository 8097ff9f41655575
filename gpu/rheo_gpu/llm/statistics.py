"""What a step did and how long its parts took, and the sums over many steps."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

PARTS = ("prefill", "target layers", "lm_head", "draft", "selection", "verification", "cache")
"""Where time goes. draft: all calls of the draft model, those for what was emitted too. selection: slots, rank order
and pruning. cache: what stays of the target's entries, and what the request is told."""


class Clock:
    """Time by parts. `lap` books everything since the last lap; on a GPU it waits for the device first."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.seconds = device, dict.fromkeys(PARTS, 0.0)
        self.last = time.perf_counter()

    def lap(self, part: str) -> None:
        """Book the time since the last lap."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        now = time.perf_counter()
        self.seconds[part] += now - self.last
        self.last = now

    def taken(self) -> dict[str, float]:
        """The seconds by part since this was last asked."""
        seconds, self.seconds = self.seconds, dict.fromkeys(PARTS, 0.0)
        return seconds

    def resume(self) -> None:
        """Begin again now: what the caller did in between is not ours."""
        self.last = time.perf_counter()


@dataclass(frozen=True)
class Step:
    """What one step did for the R requests of a batch.

    tokens: the new tokens of each, up to a stop token or the limit; empty where the text had ended before. emitted:
    how many came out of the verification, before that cut. accepted: how many of those were drafted; None where the
    text had ended before. ended: "stop" or "limit" where the text has ended. seconds: by part.
    """

    tokens: list[list[int]]
    emitted: list[int]
    accepted: list[int | None]
    ended: list[str | None]
    seconds: dict[str, float]


@dataclass
class Totals:
    """Sums over steps. A request's step counts once for each request that took part in it.

    lengths[a]: in how many of them a draft tokens were accepted.
    """

    steps: int = 0
    tokens: int = 0
    emitted: int = 0
    lengths: dict[int, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))

    @classmethod
    def of(cls, steps: Iterable[Step]) -> Totals:
        """The sums over some steps."""
        totals = cls()
        for step in steps:
            totals.add(step)
        return totals

    def add(self, step: Step) -> None:
        """Count one more step."""
        self.tokens += sum(map(len, step.tokens))
        self.emitted += sum(step.emitted)
        for accepted in step.accepted:
            if accepted is not None:
                self.steps += 1
                self.lengths[accepted] = self.lengths.get(accepted, 0) + 1
        for part, seconds in step.seconds.items():
            self.seconds[part] += seconds

    @property
    def decoding(self) -> float:
        """Seconds without the prefill."""
        return sum(self.seconds.values()) - self.seconds["prefill"]

    @property
    def tokens_per_step(self) -> float:
        """Tokens that a verification emits on average, before a text is cut at its end."""
        return self.emitted / self.steps if self.steps else 0.0

    @property
    def speed(self) -> float:
        """Tokens of the texts a second, without the prefill."""
        return self.tokens / self.decoding if self.decoding else 0.0

    def acceptance(self, depth: int | None = None) -> list[tuple[int, int]]:
        """By level, from 1 on: how many walks came to it, and how many of these went on with a draft token.

        depth: of the trees; a walk that ends below their last layer is no refusal.
        """
        deepest = max(self.lengths, default=0)
        beyond = [sum(n for a, n in self.lengths.items() if a >= level) for level in range(deepest + 1)]
        return list(zip(beyond, [*beyond[1:], 0], strict=True))[:depth]

    def as_json(self, depth: int | None = None) -> dict[str, Any]:
        """For a file."""
        return {
            "steps": self.steps,
            "tokens": self.tokens,
            "emitted": self.emitted,
            "tokens_per_step": self.tokens_per_step,
            "tokens_per_second": self.speed,
            "acceptance": [{"walks": walks, "accepted": accepted} for walks, accepted in self.acceptance(depth)],
            "seconds": self.seconds,
        }
