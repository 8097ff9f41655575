"""A draft model from what a user names: `ngram`, a head's file, a published head's folder, a small model's folder."""

from __future__ import annotations

from pathlib import Path

from .drafter import Drafter
from .eagle import EagleDraft
from .errors import Unusable
from .files import load_head
from .ngram import NgramDraft
from .published import is_published, load_published
from .small import SmallDraft
from .target import Target

HEAD = "head.safetensors"


def load_drafter(name: str | Path, target: Target) -> Drafter:
    """The draft model that `name` means, for this target. Raises `Unusable`.

    A file is a head in our own format. A folder with a config.json is a published EAGLE-3 head if that says so, else a
    causal model with the target's vocabulary; one without is looked through for `head.safetensors`.
    """
    if str(name) == "ngram":
        return NgramDraft(target.vocab, device=target.device)
    path = Path(name)
    if path.is_file():
        return EagleDraft(load_head(path, target.embeddings.detach()))
    if not path.is_dir():
        raise Unusable(f"{path} does not exist, expected a draft head, a folder with a causal model, or ngram")
    if (path / HEAD).is_file():
        return EagleDraft(load_head(path / HEAD, target.embeddings.detach()))
    if not (path / "config.json").is_file():
        raise Unusable(f"{path}: neither config.json nor {HEAD}, expected a draft head or a causal model")
    if is_published(path):
        return EagleDraft(load_published(path, target))
    drafter = SmallDraft.load(path, target.dtype)
    if drafter.vocab != target.vocab:
        raise Unusable(
            f"{path}: a draft model with {drafter.vocab} tokens for a target with {target.vocab}, expected the same "
            "vocabulary"
        )
    return drafter
