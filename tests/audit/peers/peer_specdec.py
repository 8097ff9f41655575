"""The decoder of specdec."""

from __future__ import annotations

from specdec.decoder import SpecDecoder

from tests.audit.peers.models import DRAFTED, HuggingFaceModel, Rows, prompt


def specdec(draft_model: Rows, target_model: Rows) -> list[int]:
    """specdec.decoder.SpecDecoder: `generate_small`, then `verify`, without loading models."""
    decoder = SpecDecoder.__new__(SpecDecoder)
    decoder.small_model, decoder.big_model = HuggingFaceModel(draft_model), HuggingFaceModel(target_model)
    decoder.device = "cpu"
    tokens, laws = decoder.generate_small(prompt(), DRAFTED)
    return list(decoder.verify(prompt(), tokens, laws))
