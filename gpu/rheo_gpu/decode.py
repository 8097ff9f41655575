"""One step of speculative decoding for a batch, from top to bottom. Nothing in it waits for the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor

from .config import Config, Processing
from .tape import Tape
from .tree import Draft, Trees, draft_trees
from .verify import Verified, verify

Target: TypeAlias = Callable[[Trees], Tensor]
"""Trees -> logits [R, 1 + N, V] at all their nodes, or laws where the processing is None."""


@dataclass(frozen=True)
class Step:
    """The trees of a batch, and what came out of them."""

    trees: Trees
    verified: Verified


def decode_step(
    target: Target,
    draft: Draft,
    config: Config,
    tape: Tape,
    how_target: Processing | None,
    how_draft: Processing | None,
    budgets: Tensor | None = None,
) -> Step:
    """Draft a tree for each request, verify it, and return the emitted strings: accepted tokens and one more.

    The draft model is called once for each layer, the target model once. An engine that has its own loop calls
    `draft_trees` and `verify` itself, with the forward pass of the target in between.
    """
    trees = draft_trees(draft, config, tape, how_draft, budgets)
    return Step(trees, verify(trees, target(trees), config, tape, how_target))
