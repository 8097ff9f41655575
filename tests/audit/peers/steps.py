"""Packages that draft and verify in one function: called with toy models, one step each.

Every function here takes the two models as functions of a prefix and returns the tokens that the step emits; drafting,
acceptance and replacement are the package's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from tests.audit.peers.models import PROMPT, HuggingFaceModel, Rows, logits_after, prompt

DRAFTED = 2


def litgpt(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """litgpt.generate.speculative_decoding.speculative_decoding at its defaults: temperature 1, no filter."""
    from litgpt.generate.speculative_decoding import speculative_decoding

    return speculative_decoding(
        draft_model=_Positions(draft_model),
        target_model=_Positions(target_model),
        token=torch.tensor([PROMPT]),
        input_pos=torch.tensor([0]),
        input_pos_maxp1=1,
        speculative_k=DRAFTED,
    )


class _Positions:
    """A model with a cache of its own: tokens are written at their positions."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.cache: dict[int, int] = {}

    def __call__(self, idx: torch.Tensor, input_pos: torch.Tensor, input_pos_maxp1: int) -> torch.Tensor:
        positions = input_pos.tolist()
        self.cache.update(zip(positions, idx[0].tolist(), strict=True))
        tokens = [self.cache[position] for position in range(positions[-1] + 1)]
        return logits_after(self.rows, tokens)[positions[0] :].unsqueeze(0)


def seqspecdecod_standard(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """seqspecdecod.standard_sd.standard_speculative_step at temperature 1."""
    from seqspecdecod.standard_sd import standard_speculative_step

    return _seqspecdecod(standard_speculative_step, draft_model, target_model)


def seqspecdecod_naive(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """seqspecdecod.naive_hsd.naive_hsd_step at temperature 1."""
    from seqspecdecod.naive_hsd import naive_hsd_step

    return _seqspecdecod(naive_hsd_step, draft_model, target_model)


def seqspecdecod_capped(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """seqspecdecod.capped_hsd.capped_hsd_step at temperature 1."""
    from seqspecdecod.capped_hsd import capped_hsd_step

    return _seqspecdecod(capped_hsd_step, draft_model, target_model)


def _seqspecdecod(step: Callable[..., Any], draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """What a step of the package adds to the prompt."""
    models = HuggingFaceModel(draft_model), HuggingFaceModel(target_model)
    tokens, _, _ = step(*models, prompt(), gamma=DRAFTED, draft_temperature=1.0, target_temperature=1.0)
    return tokens[0, 1:]


def specdec(draft_model: Rows, target_model: Rows) -> list[int]:
    """specdec.decoder.SpecDecoder: `generate_small`, then `verify`, without loading models."""
    from specdec.decoder import SpecDecoder

    decoder = SpecDecoder.__new__(SpecDecoder)
    decoder.small_model, decoder.big_model = HuggingFaceModel(draft_model), HuggingFaceModel(target_model)
    decoder.device = "cpu"
    tokens, laws = decoder.generate_small(prompt(), DRAFTED)
    return list(decoder.verify(prompt(), tokens, laws))


def speculative_decoding(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """speculative_decoding.speculative_decoding until three tokens are there, unfiltered; its caches are empty."""
    from speculative_decoding import speculative_decoding as decode

    tokens, _ = decode(
        _Cached(target_model), _Cached(draft_model), prompt(), seq_len=4, gamma=DRAFTED, filter_thres=0.0
    )
    return tokens[0]


class _Cached:
    """A model that is given the whole sequence and returns a cache of the shape that the package slices."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def __call__(self, tokens: torch.Tensor, **_: Any) -> tuple[torch.Tensor, tuple[torch.Tensor, None]]:
        logits = torch.stack([logits_after(self.rows, row) for row in tokens.tolist()])
        return logits, (torch.zeros(1, 1, tokens.shape[-1], 1), None)


def mini_infer(draft_model: Rows, target_model: Rows) -> list[int]:
    """mini_infer.speculative.verifier.speculative_step at temperature 1."""
    from mini_infer.speculative.verifier import speculative_step

    tokens, _ = speculative_step(_Pair(target_model), _Pair(draft_model), prompt(), DRAFTED, 1.0)
    return list(tokens)


class _Pair(HuggingFaceModel):
    """Logits and a cache that nobody reads."""

    def __call__(self, input_ids: torch.Tensor, **_: Any) -> Any:
        return super().__call__(input_ids).logits, None


def rotalabs_chain(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """rotalabs_accel.speculative.core.verify_tokens on a chain drawn by the package's `sample_from_logits`."""
    from rotalabs_accel.speculative.core import verify_tokens

    tokens, probs = _rotalabs_draft(draft_model)
    emitted, _, _ = verify_tokens(_NoCache(target_model), prompt(), tokens, probs, None, 1.0, None)
    return emitted


def rotalabs_eagle(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """rotalabs_accel.speculative.eagle.eagle_verify on the same chain."""
    from rotalabs_accel.speculative.eagle import eagle_verify

    tokens, probs = _rotalabs_draft(draft_model)
    emitted, _, _ = eagle_verify(
        _NoCache(target_model), prompt(), tokens.unsqueeze(0), probs.unsqueeze(0), None, 1.0, use_sampling=True
    )
    return emitted


def _rotalabs_draft(draft: Rows) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens [K] and the probability of each; `draft_tokens` of the package cannot run (see the page)."""
    from rotalabs_accel.speculative.sampling import sample_from_logits

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


def transformers_single_position(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """transformers: drafts of SinglePositionMultiTokenCandidateGenerator, verified by _speculative_sampling."""
    from transformers.generation.candidate_generator import SinglePositionMultiTokenCandidateGenerator
    from transformers.generation.utils import _speculative_sampling

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


def csaq(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """csaq.inference.CSAQInferenceEngine, its speculative loop for one drafted token, at temperature 1."""
    from csaq.inference import CSAQInferenceEngine

    model = _TwoModes(draft_model, target_model)
    with warnings.catch_warnings():
        # It misses the quantised layers, which the loop does not need.
        warnings.simplefilter("ignore")
        engine = CSAQInferenceEngine(model, {}, verbose=False)
    model.verifying = lambda: engine._in_verify
    tokens, report = engine._generate_speculative(prompt(), 1, 1, 1.0, 1.0)
    if report.error_log:
        raise RuntimeError(report.error_log)
    return tokens[0, 1:]


class _TwoModes(torch.nn.Module):
    """One model, the draft until the engine switches to verification; its cache holds the tokens as keys and values."""

    def __init__(self, draft_model: Rows, target_model: Rows) -> None:
        super().__init__()
        self.place = torch.nn.Parameter(torch.zeros(1))
        self.draft, self.target = draft_model, target_model
        self.verifying = lambda: False

    def forward(self, input_ids: torch.Tensor, past_key_values: Any = None, **_: Any) -> SimpleNamespace:
        past = [] if past_key_values is None else past_key_values[0][0].flatten().tolist()
        tokens = [*past, *input_ids[0].tolist()]
        rows = self.target if self.verifying() else self.draft
        keys = torch.tensor(tokens).reshape(1, 1, -1, 1)
        return SimpleNamespace(
            logits=logits_after(rows, tokens)[len(past) :].unsqueeze(0), past_key_values=((keys, keys),)
        )
