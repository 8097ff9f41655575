"""EAGLE's first release as a package: a tree of candidates."""

from __future__ import annotations

from collections.abc import Callable

import torch
from eagle.model import utils
from eagle.model.cnets import Model

from tests.audit.peers.models import PROMPT, Rows, row_after

# Two children of the root, one child of the first of them.
CHOICES = [[0], [1], [0, 0]]
SIBLINGS = 2


def eagle(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """eagle.model of eagle-llm at temperature 1: siblings without replacement, `evaluate_posterior`, its last draw."""
    return _eagle(draft_model, target_model, 1.0)


def eagle_half(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """The same at temperature 1/2, with logits that temperature 1/2 turns into the rows."""
    return _eagle(draft_model, target_model, 0.5)


def _eagle(draft_model: Rows, target_model: Rows, temperature: float) -> torch.Tensor:
    """A step of EAGLE on a tree of three nodes."""

    def processor(_: object, logits: torch.Tensor) -> torch.Tensor:
        return logits / temperature

    # The package holds ten siblings in its buffers, more than toy vocabularies have tokens.
    utils.TOPK = SIBLINGS
    buffers = utils.generate_tree_buffers(CHOICES, device="cpu")
    drawn = _eagle_draft(draft_model, processor, temperature)
    candidates, probs, tree = utils.generate_candidates(
        drawn, buffers["tree_indices"], buffers["retrieve_indices"], torch.tensor([[PROMPT]]), processor
    )
    logits = temperature * torch.stack([_path_logits(target_model, path) for path in candidates.tolist()])
    best, accepted, last = utils.evaluate_posterior(
        logits, candidates, processor, probs, drawn[2], buffers["p_indices"], tree, buffers["b_indices"]
    )
    return torch.cat([candidates[int(best), 1 : int(accepted) + 1], torch.multinomial(last, 1)])


def _eagle_draft(
    draft: Rows, processor: Callable[..., torch.Tensor], temperature: float
) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]:
    """What the package's drafting head returns: tokens and conditional probabilities [rows, siblings], and the rows."""
    tokens, probs, rows = [], [], []
    prefix: tuple[int, ...] = ()
    for _ in range(2):
        token, prob, row = Model.sample(None, temperature * row_after(draft, prefix).log()[None], processor, k=SIBLINGS)
        tokens.append(token)
        probs.append(prob)
        rows.append(row)
        # Only the first child of the root has a child.
        prefix = (int(token[0, 0]),)
    return torch.cat(tokens), torch.cat(probs), rows


def _path_logits(target: Rows, path: list[int]) -> torch.Tensor:
    """Logits [depth + 1, V] along one path from the prompt; after its end, padded with -1, whatever comes."""
    tokens = path[1:]
    return torch.stack(
        [
            row_after(target, tokens[:end]).log() if -1 not in tokens[:end] else torch.zeros_like(row_after(target, ()))
            for end in range(len(path))
        ]
    )
