"""The self-speculative engine of csaq-quant."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import torch
from csaq.inference import CSAQInferenceEngine

from tests.audit.peers.models import Rows, logits_after, prompt


def csaq(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """csaq.inference.CSAQInferenceEngine, its speculative loop for one drafted token, at temperature 1."""
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
