"""The steps of sequential-speculative-decoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from seqspecdecod.capped_hsd import capped_hsd_step
from seqspecdecod.naive_hsd import naive_hsd_step
from seqspecdecod.standard_sd import standard_speculative_step

from tests.audit.peers.models import DRAFTED, HuggingFaceModel, Rows, prompt


def seqspecdecod_standard(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """seqspecdecod.standard_sd.standard_speculative_step at temperature 1."""
    return _seqspecdecod(standard_speculative_step, draft_model, target_model)


def seqspecdecod_naive(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """seqspecdecod.naive_hsd.naive_hsd_step at temperature 1."""
    return _seqspecdecod(naive_hsd_step, draft_model, target_model)


def seqspecdecod_capped(draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """seqspecdecod.capped_hsd.capped_hsd_step at temperature 1."""
    return _seqspecdecod(capped_hsd_step, draft_model, target_model)


def _seqspecdecod(step: Callable[..., Any], draft_model: Rows, target_model: Rows) -> torch.Tensor:
    """What a step of the package adds to the prompt."""
    models = HuggingFaceModel(draft_model), HuggingFaceModel(target_model)
    tokens, _, _ = step(*models, prompt(), gamma=DRAFTED, draft_temperature=1.0, target_temperature=1.0)
    return tokens[0, 1:]
