"""Training text as `texts.py` writes it: dialogues of the target with its hidden states, read and checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rheo_gpu.llm.errors import Unusable
from rheo_gpu.llm.files import read_tensors
from torch import Tensor

FORMAT = "rheo-texts-1"
FEWEST, SHORTEST = 3, 4
"""Dialogues of a file: two are held back. Tokens of a dialogue: each step of the unrolling predicts one at least."""


@dataclass(frozen=True, eq=False)
class Text:
    """A dialogue: tokens [n], the target's states [n, F, H] at them, and where its answer begins."""

    tokens: Tensor
    features: Tensor
    answer: int


class Texts(NamedTuple):
    """Dialogues, and which of the target's layers their states are of."""

    dialogues: list[Text]
    layers: tuple[int, ...]


def read_texts(path: Path, vocab: int, hidden: int) -> Texts:
    """The dialogues of a file for a target with so many tokens and such hidden states. Raises `Unusable`."""
    about, tensors = read_tensors(path, FORMAT, "a whole file of texts.py")
    layers = _layers(path, about)
    for name in ("tokens", "lengths", "answers", "features"):
        if name not in tensors:
            raise Unusable(f"{path}: no tensor {name}, expected a whole file of texts.py")
    tokens, lengths, answers = (tensors[name] for name in ("tokens", "lengths", "answers"))
    shape = (len(layers), hidden)
    if tensors["features"].dim() != 3 or tensors["features"].shape[1:] != shape:
        raise Unusable(
            f"{path}: hidden states of shape {tuple(tensors['features'].shape[1:])}, expected {shape}: texts of this "
            "target"
        )
    if tokens.is_floating_point() or bool((tokens < 0).any()) or bool((tokens >= vocab).any()):
        raise Unusable(f"{path}: tokens that this target does not have, expected whole numbers from 0 to {vocab - 1}")
    if lengths.dim() != 1 or lengths.shape != answers.shape or len(lengths) < FEWEST:
        raise Unusable(f"{path}: {lengths.numel()} dialogues, expected {FEWEST} at least: write more --tokens")
    parts, begins = lengths.tolist(), answers.tolist()
    whole = tokens.shape == (sum(parts),) and len(tensors["features"]) == sum(parts)
    if not whole or not all(n >= SHORTEST and 1 <= begin <= n for n, begin in zip(parts, begins, strict=True)):
        raise Unusable(
            f"{path}: its dialogues are not those of its tokens, expected answers inside and {SHORTEST} tokens or more"
        )
    split = zip(tokens.long().split(parts), tensors["features"].split(parts), begins, strict=True)
    return Texts([Text(*text) for text in split], layers)


def _layers(path: Path, about: dict[str, Any]) -> tuple[int, ...]:
    try:
        layers = tuple(json.loads(about["made"])["layers"])
        if layers and all(type(layer) is int for layer in layers):
            return layers
    except (KeyError, TypeError, ValueError):
        pass
    raise Unusable(f"{path}: it does not say of which layers its hidden states are, expected a file of texts.py")
