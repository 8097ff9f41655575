"""The verifiers of rotalabs-accel."""

from __future__ import annotations

import torch
from rotalabs_accel.speculative.core import verify_tokens
from rotalabs_accel.speculative.eagle import eagle_verify
from rotalabs_accel.speculative.sampling import rejection_sample, sample_from_logits

from tests.audit.peers.models import DRAFTED, PROMPT, HuggingFaceModel, Rows, logits_after, prompt


def rotalabs(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """rotalabs_accel.speculative.sampling.rejection_sample, called in a loop that stops at the first rejection."""
    emitted: list[int] = []
    for token, q, p in zip(draft_tokens, draft_probs, target_probs[:-1], strict=True):
        accepted, following = rejection_sample(p[token], q[token], token, p.log())
        emitted.append(int(following))
        if not accepted:
            return emitted
    return [*emitted, int(torch.multinomial(target_probs[-1], 1))]


def rotalabs_chain(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """rotalabs_accel.speculative.core.verify_tokens on a chain drawn by the package's `sample_from_logits`."""
    tokens, probs = _rotalabs_draft(draft_model)
    emitted, _, _ = verify_tokens(_NoCache(target_model), prompt(), tokens, probs, None, 1.0, None)
    return emitted


def rotalabs_eagle(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """rotalabs_accel.speculative.eagle.eagle_verify on the same chain."""
    tokens, probs = _rotalabs_draft(draft_model)
    emitted, _, _ = eagle_verify(
        _NoCache(target_model), prompt(), tokens.unsqueeze(0), probs.unsqueeze(0), None, 1.0, use_sampling=True
    )
    return emitted


def _rotalabs_draft(draft: Rows) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens [K] and the probability of each; `draft_tokens` of the package cannot run (see the page)."""
    tokens: list[torch.Tensor] = []
    probs: list[torch.Tensor] = []
    for _ in range(DRAFTED):
        prefix = [int(token) for token in tokens]
        token, prob = sample_from_logits(logits_after(draft, [PROMPT, *prefix])[-1:])
        tokens.append(token)
        probs.append(prob)
    return torch.cat(tokens), torch.cat(probs)


class _NoCache(HuggingFaceModel):
    """The same, with no cache to trim afterwards."""
