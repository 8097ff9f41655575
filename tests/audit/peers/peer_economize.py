"""The verifiers of economize."""

from __future__ import annotations

from typing import Any

import torch
from economize.decoding import DecodeConfig, TopPSampler, verifiers
from economize.decoding.protocols import Draft

from tests.audit.peers.models import joined


def economize(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """economize.decoding.verifiers.RejectionVerifier.verify, one row at a time."""
    verifier, selector = _economize("rejection")
    history = torch.zeros(len(draft_tokens) + 1, dtype=torch.long)
    accepted, following = verifier.verify(target_probs.log(), draft_tokens.tolist(), draft_probs, selector, history, 1)
    return joined(draft_tokens, accepted, following)


def economize_batch(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """economize.decoding.verifiers.RejectionVerifier.verify_batch, all rows at once."""
    verifier, selector = _economize("rejection")
    drafted = Draft(draft_tokens.unsqueeze(0), [len(draft_tokens)], probs=draft_probs.unsqueeze(0))
    accepted, following = verifier.verify_batch(
        target_probs.log().unsqueeze(0), drafted, selector, torch.zeros(1, 1, dtype=torch.long), [1]
    )
    return joined(draft_tokens, accepted[0], following[0])


def economize_tree(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """economize.decoding.verifiers.RejectionVerifier.verify_tree on a chain."""
    verifier, selector = _economize("rejection")
    parents = torch.arange(-1, len(draft_tokens) - 1).unsqueeze(0)
    drafted = Draft(draft_tokens.unsqueeze(0), [len(draft_tokens)], parents, draft_probs.unsqueeze(0))
    paths, following = verifier.verify_tree(target_probs.log().unsqueeze(0), drafted, selector)
    return joined(draft_tokens, len(paths[0]), following[0])


def economize_typical(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """economize.decoding.verifiers.TypicalVerifier.verify, documented as lossy."""
    verifier, selector = _economize("typical")
    history = torch.zeros(len(draft_tokens) + 1, dtype=torch.long)
    accepted, following = verifier.verify(target_probs.log(), draft_tokens.tolist(), None, selector, history, 1)
    return joined(draft_tokens, accepted, following)


def _economize(name: str) -> tuple[Any, Any]:
    """A verifier of economize and its sampler at temperature 1, whole vocabulary."""
    verifier = {"rejection": verifiers.RejectionVerifier, "typical": verifiers.TypicalVerifier}[name]
    return verifier(DecodeConfig(verifier=name)), TopPSampler()
