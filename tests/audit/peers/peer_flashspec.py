"""The samplers of flashspec."""

from __future__ import annotations

import torch
from flashspec.sampling.rejection import rejection_sample, rejection_step, rejection_step_onehot
from flashspec.sampling.typical import typical_sample

from tests.audit.peers.models import joined


def flashspec(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """flashspec.sampling.rejection.rejection_step: accepted drafts, then the residual or the bonus token."""
    (accepted, following) = rejection_step(
        draft_tokens.unsqueeze(0), draft_probs.log().unsqueeze(0), target_probs.log().unsqueeze(0)
    )[0].tolist()
    return joined(draft_tokens, accepted, following)


def flashspec_without_bonus(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor
) -> torch.Tensor:
    """flashspec.sampling.rejection.rejection_sample: padded with -1, no bonus token."""
    tokens, _, _ = rejection_sample(
        torch.zeros(1, 1, dtype=torch.long),
        draft_probs.log().unsqueeze(0),
        target_probs[:-1].log().unsqueeze(0),
        draft_tokens.unsqueeze(0),
        len(draft_tokens),
    )
    return tokens[0]


def flashspec_one_hot(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """flashspec.sampling.rejection.rejection_step_onehot, here on sampled drafts: it never reads their rows."""
    (accepted, following) = rejection_step_onehot(draft_tokens.unsqueeze(0), target_probs.log().unsqueeze(0))[
        0
    ].tolist()
    return joined(draft_tokens, accepted, following)


def flashspec_typical(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor
) -> torch.Tensor:
    """flashspec.sampling.typical.typical_sample at its default mass 0.9: padded with -1, no bonus token."""
    tokens, _, _ = typical_sample(
        draft_probs.log().unsqueeze(0),
        target_probs[:-1].log().unsqueeze(0),
        draft_tokens.unsqueeze(0),
        len(draft_tokens),
    )
    return tokens[0]
