"""Draft heads as the authors of EAGLE-3 (arXiv 2503.01840) and their followers publish them: a folder.

config.json has the sizes; model.safetensors or pytorch_model.bin the weights `fc`, `midlayer.*`, `norm` and `lm_head`,
perhaps `embed_tokens`, and two tables for the smaller draft vocabulary: i + d2t[i] is the target's id of draft token i,
and t2d says of each token of the target whether the draft has it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .errors import Unusable, line
from .files import filled
from .head import EagleHead, HeadConfig
from .target import Target

WEIGHTS = ("model.safetensors", "pytorch_model.bin")
OTHERWISE = {"norm_before_residual": False, "norm_before_fc": False, "fc_norm": False, "attention_bias": False}
"""Variants of the layer that some heads have and this one has not, off unless the configuration says otherwise."""


def is_published(folder: str | Path) -> bool:
    """Whether the config.json of a folder says that it is an EAGLE-3 head. Raises `Unusable`."""
    sizes = _sizes(Path(folder))
    named = sizes.get("architectures") or []
    if not isinstance(named, list):
        raise Unusable(f"{folder}: architectures is {named!r} in config.json, expected a list of names")
    return "eagle3" in " ".join(map(str, named)).lower() or "draft_vocab_size" in sizes


def load_published(folder: str | Path, target: Target) -> EagleHead:
    """The head of a folder, in the precision of the target that it is for. Raises `Unusable`.

    Without embeddings of its own it reads the target's. It reads the hidden states before the target's layers 2, L / 2
    and L - 3, as published heads do, unless its configuration names others.
    """
    folder = Path(folder)
    sizes, tensors = _sizes(folder), _weights(folder)
    config = _config(folder, sizes, target)
    d2t = _ids(folder, config, tensors)
    embeddings = tensors.pop("embed_tokens.weight", target.embeddings.detach()).to(target.device, target.dtype)
    lm_head = tensors.get("lm_head.weight")
    if lm_head is None and not sizes.get("tie_word_embeddings"):
        raise Unusable(f"{folder}: no tensor lm_head.weight, expected one of shape {(config.vocab, config.hidden)}")
    if lm_head is not None and lm_head.shape != (config.vocab, config.hidden):
        raise Unusable(
            f"{folder}: lm_head.weight has shape {tuple(lm_head.shape)}, expected {(config.vocab, config.hidden)}"
        )
    if embeddings.shape != (config.target_vocab, config.hidden):
        raise Unusable(
            f"{folder}: embeddings of shape {tuple(embeddings.shape)} for a head of size {config.hidden} and a target "
            f"of {config.target_vocab} tokens; expected a head for this target"
        )
    return filled(config, d2t.to(target.device), embeddings, lm_head, tensors, str(folder))


def _sizes(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise Unusable(f"{path}: {error}; expected the configuration in JSON") from None
    if not isinstance(found, dict):
        raise Unusable(f"{path}: no JSON object, expected the configuration of a model")
    return found


def _weights(folder: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if path is None:
        raise Unusable(f"{folder}: neither {WEIGHTS[0]} nor {WEIGHTS[1]}, expected the weights of a draft head")
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (SafetensorError, OSError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise Unusable(f"{path}: {line(error)}; expected a whole file of weights") from None
    except Exception as error:
        # What pickle raises has no class of its own to name here.
        raise Unusable(f"{path}: {line(error)}; expected a file of tensors alone") from None
    if not isinstance(found, dict) or not all(isinstance(weight, Tensor) for weight in found.values()):
        raise Unusable(f"{path}: no table of tensors, expected the weights of a draft head")
    return found


def _config(folder: Path, sizes: dict[str, Any], target: Target) -> HeadConfig:
    """The sizes of the head, checked against what it can compute and against the target."""
    for name, plain in OTHERWISE.items():
        if bool(sizes.get(name, plain)) != plain:
            raise Unusable(f"{folder}: {name} is {sizes[name]}, which this reader does not know; expected {plain}")
    rope = {**_table(folder, sizes, "rope_scaling"), **_table(folder, sizes, "rope_parameters")}
    others = _table(folder, sizes, "eagle_config")
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != "default" or sizes.get("hidden_act", "silu") != "silu":
        raise Unusable(
            f"{folder}: rope of type {kind} and activation {sizes.get('hidden_act', 'silu')}, expected default and silu"
        )
    try:
        hidden, heads = sizes["hidden_size"], sizes["num_attention_heads"]
        config = HeadConfig(
            hidden=hidden,
            target_hidden=sizes.get("target_hidden_size", hidden),
            heads=heads,
            kv_heads=sizes.get("num_key_value_heads", heads),
            head_size=sizes.get("head_dim") or hidden // heads,
            intermediate=sizes["intermediate_size"],
            vocab=sizes.get("draft_vocab_size", sizes["vocab_size"]),
            target_vocab=sizes["vocab_size"],
            layers=_layers(sizes, others, target),
            eps=float(sizes.get("rms_norm_eps", 1e-6)),
            rope_theta=float(rope.get("rope_theta", sizes.get("rope_theta", 1e4))),
        )
    except Unusable as error:
        raise Unusable(f"{folder}: {error}") from None
    except KeyError as error:
        raise Unusable(f"{folder}: no {error.args[0]} in config.json, expected the sizes of a draft head") from None
    except (TypeError, ValueError, ArithmeticError) as error:
        raise Unusable(f"{folder}: {line(error)}; expected numbers as the sizes of a draft head") from None
    if config.target_vocab != target.vocab or config.target_hidden != target.embeddings.shape[1]:
        raise Unusable(
            f"{folder}: a head for a target with {config.target_vocab} tokens and hidden states of size "
            f"{config.target_hidden}, but this one has {target.vocab} and {target.embeddings.shape[1]}"
        )
    return config


def _table(folder: Path, sizes: dict[str, Any], name: str) -> dict[str, Any]:
    """An object inside the configuration, empty if there is none."""
    found = sizes.get(name) or {}
    if not isinstance(found, dict):
        raise Unusable(f"{folder}: {name} is {found!r} in config.json, expected an object")
    return found


def _layers(sizes: dict[str, Any], others: dict[str, Any], target: Target) -> tuple[int, ...]:
    named = sizes.get("eagle_aux_hidden_state_layer_ids") or others.get("eagle_aux_hidden_state_layer_ids")
    layers = tuple(named) if named else (2, target.depth // 2, target.depth - 3)
    if not all(isinstance(layer, int) and 0 <= layer <= target.depth for layer in layers):
        raise Unusable(f"it reads the hidden states {layers} of a target with {target.depth} layers")
    return layers


def _ids(folder: Path, config: HeadConfig, tensors: dict[str, Tensor]) -> Tensor:
    """The target's ids [Vd] of the draft vocabulary, from the two tables, which must agree."""
    d2t, t2d = tensors.pop("d2t", None), tensors.pop("t2d", None)
    own = torch.arange(config.vocab)
    if d2t is None and config.vocab != config.target_vocab:
        raise Unusable(f"{folder}: no tensor d2t, expected the {config.vocab} ids of the draft vocabulary")
    if d2t is not None and (d2t.shape != own.shape or d2t.is_floating_point()):
        raise Unusable(f"{folder}: d2t of shape {tuple(d2t.shape)} and {d2t.dtype}, expected {config.vocab} integers")
    ids = own if d2t is None else own + d2t.long()
    if bool((ids < 0).any()) or bool((ids >= config.target_vocab).any()) or bool((ids.diff() <= 0).any()):
        raise Unusable(
            f"{folder}: d2t leads to ids that do not increase from 0 to at most {config.target_vocab - 1}, expected "
            "the differences of target and draft ids"
        )
    if t2d is not None:
        said = t2d.nonzero().flatten()
        if t2d.shape != (config.target_vocab,) or not torch.equal(said, ids):
            raise Unusable(
                f"{folder}: t2d of shape {tuple(t2d.shape)} names {len(said)} tokens, which are not the {len(ids)} of "
                "d2t; expected the same tokens in both"
            )
    return ids
