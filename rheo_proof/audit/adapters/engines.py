"""Ready-made adapters for signatures that are in wide use.

`hf`: assisted generation of Hugging Face transformers. `vllm`: the rejection sampler of vLLM's first engine, with the
whole [B,K+1,V] target. `eagle`: EAGLE's evaluation of the posterior over root-to-leaf paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheo_proof.audit.adapters.verify import Verify
from rheo_proof.audit.drafts import Drafting

HF_NAMES = {
    "candidate_input_ids": "input_ids",
    "candidate_logits": "draft_logits",
    "new_logits": "target_logits",
    "is_done_candidate": "done",
    "last_assistant_token_is_eos": "done",
    "max_matches": "K",
}
"""Parameters of assisted generation, the earlier ones too."""


def hf(**options: Any) -> Verify:
    """(candidate ids [1,S], candidate logits [1,K,V], length K, new logits [1,K+1,V], whether the candidate is done)
    -> (valid tokens [1,n+1], n matches). The ids start with a prompt; a candidate is done after an end of sequence."""
    usual = {
        "name": "hf",
        "order": ("input_ids", "draft_logits", "K", "target_logits", "done"),
        "axes": {"input_ids": ("1", "S"), "draft_logits": ("1", "K", "V"), "target_logits": ("1", "K+1", "V")},
        "names": HF_NAMES,
        "returns": "tokens,length",
    }
    return Verify(**{**usual, **options})


def vllm(**options: Any) -> Verify:
    """(target probs [B,K+1,V], bonus tokens [B,1], draft probs [B,K,V], draft tokens [B,K]) -> [B,K+1], padded with -1.

    The bonus token is drawn before the call, from the last target row. Earlier versions of the sampler take only the
    first K target rows: `roles={"target_probs": "target_probs[B,K,V]"}`.
    """
    usual = {
        "name": "vllm",
        "batched": True,
        "order": ("target_probs", "bonus_token", "draft_probs", "draft_tokens"),
        "axes": {"bonus_token": ("1",)},
        "names": {"target_with_bonus_probs": "target_probs", "seeded_seqs": "none"},
        "returns": "padded",
    }
    return Verify(**{**usual, **options})


PATHS = (-1, -1, 0, 0, 1)
"""Two candidates; two below the first, one below the second."""


def eagle(parents: Sequence[int] = PATHS, method: str = "fixed", **options: Any) -> Verify:
    """(logits [P,D+1,V], candidates [P,D+1], logits processor) -> (best path, accepted length, weights to draw from).

    Each path starts with the last token of the prompt and is padded with -1; the processor divides by the temperature.
    """
    usual = {
        "name": "eagle",
        "drafting": Drafting(tuple(parents), method),
        "order": ("path_logits", "candidates", "processor"),
        "names": {"logits": "path_logits", "logits_processor": "processor"},
        "returns": "best,length,vector",
    }
    return Verify(**{**usual, **options})
