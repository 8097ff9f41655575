"""One step of decoding with draft trees, in its parts: begin, draft, read, keep. Verification is `rheo_gpu.verify`."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from rheo_gpu import Config, Processing, Tape, Trees, Verified, draft_trees
from rheo_gpu.tree import Draft

from .drafter import Drafter
from .target import Seen, State, Target


def begun(target: Target, drafter: Drafter | None, prompts: Sequence[Sequence[int]]) -> State:
    """Both models read the prompts; the target leaves out the last tokens, the roots of the first trees."""
    state, seen = target.begin(prompts)
    if drafter is not None:
        rows = [torch.tensor(prompt, dtype=torch.int64) for prompt in prompts]
        width = max(map(len, rows))
        table = torch.stack([pad(row, (0, width - len(row)), value=-1) for row in rows]).to(target.device)
        drafter.begin(table[:, 0])
        drafter.follow(table[:, 1:], (table[:, 1:] >= 0).sum(1), seen.features)
    return state


def drafted(
    drafter: Drafter, vocab: int, config: Config, tape: Tape, how: Processing, answer: Draft | None = None
) -> Trees:
    """Draft trees with ids of the target, which has `vocab` tokens. `answer` is asked in the place of the drafter."""
    trees = draft_trees(answer or drafter, config, tape, how)
    return trees if drafter.tokens is None else trees.mapped(drafter.tokens, vocab)


def read_trees(target: Target, state: State, trees: Trees, last: Tensor) -> Seen:
    """What the target sees at all nodes. The roots are the last tokens [R] of the texts."""
    tokens = torch.where(trees.tokens >= 0, trees.tokens, last[:, None])
    return target.forward(state, tokens, trees.position_ids(state.lengths + 1), trees.ancestor_mask())


def kept(target: Target, state: State, out: Verified, here: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The root and the accepted nodes become part of the texts that are `here` [R], of all where it is None.

    These nodes [R, n], -1 for none, and how many tokens each text has grown by [R].
    """
    keep, counts = out.keep, out.lengths
    if here is not None:
        keep, counts = torch.where(here[:, None], keep, -1), counts * here
    target.keep(state, keep)
    return keep, counts


def followed(drafter: Drafter, seen: Seen, out: Verified, keep: Tensor, counts: Tensor) -> None:
    """The drafter reads what the texts have grown by."""
    index = keep.clamp(min=0)[..., None, None].expand(-1, -1, *seen.features.shape[2:])
    drafter.follow(out.tokens, counts, seen.features.gather(1, index))
