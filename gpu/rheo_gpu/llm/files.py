"""Draft heads as files: one safetensors file with the weights in 16 bits, and the sizes in its header."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from .errors import Unusable, line
from .head import EagleHead, HeadConfig

FORMAT = "rheo-head-1"


def save_head(head: EagleHead, path: str | Path, note: str = "") -> None:
    """Write a head; embeddings, and a tied lm_head, are left out. The file appears when all of it is there."""
    path = Path(path)
    tensors = {name: weight.detach().half().contiguous() for name, weight in head.state_dict().items()}
    if head.tied:
        del tensors["lm_head.weight"]
    tensors["d2t"] = head.d2t.to(torch.int32)
    partial = path.with_name(path.name + ".partial")
    save_file(tensors, partial, {"format": FORMAT, "config": json.dumps(asdict(head.config)), "note": note})
    os.replace(partial, path)


def read_tensors(path: Path, form: str, expected: str) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Header and tensors of a safetensors file that says it is of this format. Raises `Unusable`."""
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise Unusable(f"{path}: {line(error)}; expected {expected}") from error
    if header.get("format") != form:
        raise Unusable(f"{path}: format {header.get('format')!r}, expected {form!r}")
    return header, tensors


def load_head(path: str | Path, embeddings: Tensor) -> EagleHead:
    """A head for a target with these embeddings [V, H], in their precision. Raises `Unusable`."""
    path = Path(path)
    if not path.is_file():
        raise Unusable(f"{path}: no such file, expected a draft head (.safetensors)")
    header, tensors = read_tensors(path, FORMAT, "a whole safetensors file")
    try:
        config = _config(json.loads(header["config"]))
    except (KeyError, TypeError, ValueError) as error:
        raise Unusable(f"{path}: its header has no sizes of a draft head ({error})") from error
    if config.target_hidden != embeddings.shape[1]:
        raise Unusable(
            f"{path}: made for a target with hidden states of size {config.target_hidden}, but this one has "
            f"{embeddings.shape[1]}"
        )
    if tuple(embeddings.shape) != (config.target_vocab, config.hidden):
        raise Unusable(
            f"{path}: made for a target with {config.target_vocab} tokens and embeddings of size {config.hidden}, but "
            f"this one has {embeddings.shape[0]} and {embeddings.shape[1]}"
        )
    if "d2t" not in tensors or tensors["d2t"].is_floating_point():
        raise Unusable(f"{path}: no tensor d2t of integers, expected the ids of the draft vocabulary")
    lm_head = tensors.get("lm_head.weight")
    # Without its own lm_head a head reads the rows of the embeddings.
    return filled(config, tensors.pop("d2t").long(), embeddings, lm_head, tensors, str(path))


def filled(
    config: HeadConfig, d2t: Tensor, embeddings: Tensor, lm_head: Tensor | None, tensors: dict[str, Tensor], where: str
) -> EagleHead:
    """A head of these tensors, all of them and each of its shape, in the precision of the embeddings.

    Nothing is made before the sizes are known to be those of the tensors. Raises `Unusable`.
    """
    with torch.device("meta"):
        shapes = EagleHead(config, d2t, embeddings, lm_head).state_dict()
    wanted = {name: tuple(weight.shape) for name, weight in shapes.items()}
    if lm_head is None:
        del wanted["lm_head.weight"]
    for name in sorted(wanted.keys() | tensors.keys()):
        if name not in tensors:
            raise Unusable(f"{where}: no tensor {name}, expected one of shape {wanted[name]}")
        if name not in wanted:
            raise Unusable(f"{where}: a tensor {name} that a draft head does not have")
        if tensors[name].shape != wanted[name]:
            raise Unusable(f"{where}: {name} has shape {tuple(tensors[name].shape)}, expected {wanted[name]}")
        if not bool(tensors[name].isfinite().all()):
            raise Unusable(f"{where}: {name} holds what is no finite number: is the file damaged?")
    head = EagleHead(config, d2t, embeddings, lm_head)
    head.load_state_dict({name: weight.float() for name, weight in tensors.items()}, strict=False)
    return head.to(embeddings.device, embeddings.dtype).requires_grad_(False)


def _config(sizes: dict[str, object]) -> HeadConfig:
    known = {field.name for field in fields(HeadConfig)}
    if unknown := sizes.keys() - known:
        raise ValueError(f"unknown size {sorted(unknown)[0]}")
    layers = sizes.get("layers")
    if not isinstance(layers, list):
        raise ValueError("layers is no list")
    return HeadConfig(**{**sizes, "layers": tuple(layers)})  # type: ignore[arg-type]
