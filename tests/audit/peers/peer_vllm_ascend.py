"""The samplers of vllm-ascend that need no Triton."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from tests.audit.peers.hollow import load

# Without vLLM and without the accelerator; these names are asked for while the module is imported.
WITHOUT: dict[str, dict[str, Any]] = {
    "vllm.distributed.parallel_state": {},
    "vllm.logger": {},
    "vllm.triton_utils": {"HAS_TRITON": False},
    "vllm.v1.outputs": {},
    "vllm.v1.sample.logits_processor.builtin": {},
    "vllm.v1.sample.metadata": {},
    "vllm.v1.sample.ops.bad_words": {},
    "vllm.v1.sample.rejection_sampler": {
        "GREEDY_TEMPERATURE": 0,
        "MAX_SPEC_LEN": 128,
        "PLACEHOLDER_TOKEN_ID": -1,
        "RejectionSampler": object,
    },
    "vllm.v1.sample.sampler": {},
    "vllm.v1.spec_decode.metadata": {},
    "vllm_ascend.ascend_config": {},
    "vllm_ascend.ops.triton.reject_sample": {},
    "vllm_ascend.sample.penalties": {},
    "vllm_ascend.sample.sampler": {},
    "vllm_ascend.utils": {},
}
SAMPLER = load("vllm_ascend.sample.rejection_sampler", WITHOUT)


class _OnACpu:
    """torch, but for pinned memory, which only machines with an accelerator have."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(torch, name)
        if name not in ("arange", "full", "ones", "tensor"):
            return found
        return lambda *data, pin_memory=False, **options: found(*data, **options)


SAMPLER.torch = _OnACpu()


def vllm_ascend(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor, bonus_token: torch.Tensor
) -> torch.Tensor:
    """vllm_ascend.sample.rejection_sampler: the two PyTorch functions that `rejection_sample` calls without Triton."""
    return _sampled(draft_tokens, draft_probs, target_probs, bonus_token)


def vllm_ascend_ngram(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor, bonus_token: torch.Tensor
) -> torch.Tensor:
    """The same for drafts that come without rows, as from n-grams."""
    return _sampled(draft_tokens, None, target_probs, bonus_token)


def _sampled(tokens: torch.Tensor, q: torch.Tensor | None, p: torch.Tensor, bonus: torch.Tensor) -> torch.Tensor:
    """One request; the acceptance coins are drawn here, in double precision, as vLLM draws them."""
    length, vocab = len(tokens), p.shape[-1]
    ends = torch.tensor([length])
    recovered = SAMPLER.sample_recovered_tokens(
        length, [length], ends, tokens, q, p[:-1], SimpleNamespace(generators={}), torch.device("cpu")
    )
    emitted = torch.full((1, length + 1), -1, dtype=torch.int32)
    uniforms = torch.rand(length, dtype=torch.float64)
    drawn = bonus.reshape(1), recovered, uniforms
    greedy = torch.tensor([False])
    SAMPLER.rejection_random_sample_pytorch(
        emitted, ends, tokens, q, p[:-1], *drawn, greedy, length, vocab, IS_NGRAM=q is None
    )
    return emitted[0]
