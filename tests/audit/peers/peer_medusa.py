"""Medusa's first release as a package: typical acceptance on a tree."""

from __future__ import annotations

import torch
from medusa.model.utils import evaluate_posterior, generate_candidates

from tests.audit.peers.models import Rows, row_after


def medusa(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """medusa.model.utils at temperature 1, thresholds 0.09, 0.3: candidates, evaluation, greedy last token."""

    def rows(path: list[int]) -> torch.Tensor:
        return torch.stack([row_after(target_model, path[: end + 1]).log() for end in range(len(path))])

    # The root is the target's most likely token; each of two heads proposes its two most likely ones.
    head = row_after(draft_model, ()).log()[None, None]
    root = row_after(target_model, ()).log()[None, None]
    candidates, _ = generate_candidates(torch.stack([head, head]), root, [2, 2], torch.arange(5), 1.0)
    logits = torch.stack([rows(path) for path in candidates.tolist()])
    best, accepted = evaluate_posterior(logits, candidates, 1.0, 0.09, 0.3)
    following = logits[int(best), int(accepted)].argmax().reshape(1)
    return torch.cat([candidates[int(best), : int(accepted) + 1], following])
