"""The rejection sampler of dflash."""

from __future__ import annotations

import torch
from dflash.model import _rejection_sample

from tests.audit.peers.models import joined


def dflash(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """dflash.model._rejection_sample: accepted drafts, then the residual or the bonus token."""
    accepted, following = _rejection_sample(
        draft_tokens.unsqueeze(0), target_probs.unsqueeze(0), draft_probs.unsqueeze(0)
    )
    return joined(draft_tokens, accepted, following)
