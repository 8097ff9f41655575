"""The verifier of assisted generation in transformers, and a candidate generator with it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from transformers.generation.candidate_generator import SinglePositionMultiTokenCandidateGenerator
from transformers.generation.utils import _speculative_sampling

from tests.audit.peers.models import DRAFTED, Rows, logits_after, prompt


def transformers(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> torch.Tensor:
    """transformers.generation.utils._speculative_sampling, which `generate` calls for assisted decoding."""
    tokens, _ = _speculative_sampling(
        draft_tokens.unsqueeze(0),
        draft_probs.log().unsqueeze(0),
        len(draft_tokens),
        target_probs.log().unsqueeze(0),
    )
    return tokens[0]


def transformers_ensemble(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor
) -> torch.Tensor:
    """The same with `assistant_ensemble_weight` 1/2, documented to verify against a mixture of draft and target."""
    tokens, _ = _speculative_sampling(
        draft_tokens.unsqueeze(0),
        draft_probs.log().unsqueeze(0),
        len(draft_tokens),
        target_probs.log().unsqueeze(0),
        assistant_ensemble_weight=0.5,
    )
    return tokens[0]


def transformers_single_position(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """transformers: drafts of SinglePositionMultiTokenCandidateGenerator, verified by _speculative_sampling."""
    start = prompt()
    generator = SinglePositionMultiTokenCandidateGenerator(
        Gemma4AssistantForCausalLM(draft_model), lambda ids: ids.unsqueeze(-1).float(), SimpleNamespace(max_length=100)
    )
    outputs = SimpleNamespace(hidden_states=[torch.zeros(1, 1, 1)], shared_kv_states={})
    ids, logits = generator.get_candidates(start, {}, outputs, is_first_iteration=False, n_last_matches=0)
    new_logits = logits_after(target_model, ids[0].tolist()).unsqueeze(0)
    tokens, _ = _speculative_sampling(ids, logits, DRAFTED, new_logits)
    return tokens[0]


class Gemma4AssistantForCausalLM:
    """An assistant model by the name that the generator insists on; it is given embedded tokens one by one."""

    device = torch.device("cpu")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.generation_config = SimpleNamespace(num_assistant_tokens=DRAFTED)
        self.tokens: list[int] = []

    def __call__(self, inputs_embeds: torch.Tensor, **_: Any) -> SimpleNamespace:
        self.tokens.append(int(inputs_embeds[0, 0, 0]))
        logits = logits_after(self.rows, self.tokens)[-1].reshape(1, 1, -1)
        return SimpleNamespace(logits=logits, last_hidden_state=torch.zeros(1, 1, 1))
