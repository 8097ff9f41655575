"""Rejection samplers of SGLang that are written in PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from tests.audit.peers.hollow import load
from tests.audit.peers.models import joined

# Without the engine and its kernels.
UNO = load(
    "sglang.srt.speculative.uno_utils",
    {
        "flashinfer": {},
        "sglang.kernels.ops.speculative.reject_sampling": {},
        "sglang.srt.speculative.dflash_utils": {},
        "sglang.srt.speculative.spec_utils": {},
    },
)
# Without Triton: the kernels of this module are defined and never launched.
TRITON: dict[str, dict[str, Any]] = {
    "triton": {"jit": lambda kernel: kernel},
    "triton.language": {"constexpr": lambda value: value},
    "triton.language.extra": {},
    "sglang.kernels.ops.speculative.dspark.dispatch": {},
}
DSPARK = load("sglang.kernels.ops.speculative.dspark.blockwise_rejection", TRITON)


def sglang(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """sglang.srt.speculative.uno_utils._sparse_rejection_from_support, with the two draws of its caller."""
    length, vocab = draft_probs.shape
    ids = torch.arange(vocab)
    accepted, following = UNO._sparse_rejection_from_support(
        torch.cat([torch.zeros(1, dtype=torch.long), draft_tokens]).unsqueeze(0),
        ids.expand(1, length + 1, vocab),
        target_probs.unsqueeze(0),
        ids.expand(1, length, vocab),
        draft_probs.unsqueeze(0),
        torch.rand((1, length + 1)),
        torch.rand((1,)),
    )
    return joined(draft_tokens, accepted[0], following[0])


def sglang_dspark(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """sglang.kernels.ops.speculative.dspark.blockwise_rejection.blockwise_rejection_torch, its path off the GPU."""
    one = torch.ones(1)
    accepted, following, _ = DSPARK.blockwise_rejection_torch(
        candidates=torch.cat([torch.zeros(1, dtype=torch.long), draft_tokens]).unsqueeze(0),
        target_logits=target_probs.log(),
        draft_logits=draft_probs.log().unsqueeze(0),
        target_temperatures=one,
        draft_temperatures=one,
        noise=DSPARK.make_rejection_noise(0, "cpu"),
    )
    return joined(draft_tokens, accepted[0], following[0])
