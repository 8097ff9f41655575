"""Samplers of the first engine of vLLM, as it was in releases before 0.9.2."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from tests.audit.peers.hollow import load

# The engine is left out; its platform is asked for a compiler backend only, and nothing is compiled in an audit.
WITHOUT: dict[str, dict[str, Any]] = {
    "vllm.platforms": {"current_platform": SimpleNamespace(simple_compile_backend="eager", device_type="cpu")},
    "vllm.logger": {"init_logger": lambda _: SimpleNamespace(info=lambda *_: None)},
}
REJECTION = load("vllm.model_executor.layers.rejection_sampler", WITHOUT)
TYPICAL = load("vllm.model_executor.layers.typical_acceptance_sampler", WITHOUT)


def vllm(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor, bonus_token: torch.Tensor
) -> torch.Tensor:
    """vllm.model_executor.layers.rejection_sampler.RejectionSampler: padded with -1."""
    sampler = REJECTION.RejectionSampler(use_flashinfer=False)
    return _forward(sampler, draft_tokens, draft_probs, target_probs, bonus_token)


def vllm_typical(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor, bonus_token: torch.Tensor
) -> torch.Tensor:
    """vllm.model_executor.layers.typical_acceptance_sampler.TypicalAcceptanceSampler, thresholds 0.09 and 0.3."""
    sampler = TYPICAL.TypicalAcceptanceSampler(posterior_threshold=0.09, posterior_alpha=0.3)
    return _forward(sampler, draft_tokens, draft_probs, target_probs, bonus_token)


def _forward(sampler: Any, tokens: torch.Tensor, q: torch.Tensor, p: torch.Tensor, bonus: torch.Tensor) -> torch.Tensor:
    """One request."""
    sampler.init_gpu_tensors("cpu")
    return sampler.forward(p.unsqueeze(0), bonus.reshape(1, 1), q.unsqueeze(0), tokens.unsqueeze(0))[0]
