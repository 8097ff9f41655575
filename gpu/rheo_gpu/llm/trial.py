"""What a model must be to answer for the nodes of trees: its configuration is read, and it is tried on a small tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .attention import NAME
from .errors import Unusable, line

if TYPE_CHECKING:
    from .target import Target

CHANGING = ("dynamic", "longrope")
"""Types of rotary positions whose angles are chosen by the largest position of a call."""

WINDOWS = re.compile(r"window|chunk|local|block_size|sparse_attention|num_global")
HARMLESS = ("chunk_size_feed_forward", "num_local_experts")
"""Names of sizes that say how much of a text a layer sees, and two that do not."""

SWITCH = "use_sliding_window"

TEXT = 7
"""Tokens of the text below which a tree is tried."""

TOLERANCE = {8: 1e-9, 4: 2e-4}
"""By the bytes of a number: how far logits in a tree may be from those in a text, beside the largest. Others: 0.1."""


def refuse_partial_sight(name: str, config: Any) -> None:
    """Refuse what the trial is too short to see, by the configuration of the model of that name. Raises `Unusable`."""
    if window := _window(config):
        raise Unusable(f"{name}: attention over a window ({window}), expected all layers to see the whole text")
    if (rope := _rope(config)) in CHANGING:
        raise Unusable(
            f"{name}: rotary positions of type {rope} depend on the longest text of a call, draft nodes included; "
            "expected angles that do not change"
        )


def try_on_a_tree(target: Target) -> None:
    """Read a small tree, and compare. Raises `Unusable`."""
    try:
        _agrees(target)
    except Unusable:
        raise
    except Exception as error:
        name = type(target.model).__name__
        raise Unusable(f"{name}: it does not read trees ({line(error)}); it cannot be a target") from error


@torch.inference_mode()
def _agrees(target: Target) -> None:
    """Compare a small tree with the texts that it stands for, read by the model's own forward pass."""
    text = [(7 * i + 3) % target.vocab for i in range(TEXT)]
    tree = [text[-1], *((11 * i + 5) % target.vocab for i in range(4))]
    parents = [-1, 0, 0, 1, 3]
    paths: list[list[int]] = [[0]]
    for node in range(1, 5):
        paths.append([*paths[parents[node]], node])
    state, _ = target.begin([text])
    mask = torch.zeros(1, 5, 5, dtype=torch.bool, device=target.device)
    for node, path in enumerate(paths):
        mask[0, node, path] = True
    depths = torch.tensor([[len(path) - 1 for path in paths]], device=target.device)
    seen = target.forward(state, torch.tensor([tree], device=target.device), depths + len(text) - 1, mask)
    found = target.logits(seen.hidden)[0]
    plain = torch.tensor([text], device=target.device)
    logits = target.model(input_ids=plain).logits
    _has_plain_logits(target, plain, logits)
    _has_its_own_attention(target, plain, logits)
    for node, path in enumerate(paths):
        whole = torch.tensor([text[:-1] + [tree[step] for step in path]], device=target.device)
        expected = target.model(input_ids=whole).logits[0, -1]
        tolerance = TOLERANCE.get(target.dtype.itemsize, 0.1)
        _same(target, found[node], expected, tolerance, "those in a text; it cannot be a target here", "in a tree ")


def _has_plain_logits(target: Target, text: Tensor, logits: Tensor) -> None:
    """Compare logits on the very same pass: what scales or bounds them is small beside the rounding of a tree."""
    found = target.logits(target.decoder(input_ids=text).last_hidden_state)
    tolerance = 1e-5 if target.dtype.itemsize >= 4 else 2e-3
    whose = "its output layer alone, expected a model that does not scale or bound them"
    _same(target, found, logits, tolerance, whose)


def _has_its_own_attention(target: Target, text: Tensor, logits: Tensor) -> None:
    """Compare logits with those by the attention of the model's own code, which is in 32 bits at best."""
    if target.model.config._attn_implementation != NAME:
        return
    target.model.set_attn_implementation("eager")
    try:
        expected = target.model(input_ids=text).logits
    finally:
        target.model.set_attn_implementation(NAME)
    tolerance = TOLERANCE.get(min(target.dtype.itemsize, 4), 0.1)
    _same(target, logits, expected, tolerance, "those by its own attention, expected a softmax over scores and a mask")


def _same(target: Target, found: Tensor, expected: Tensor, tolerance: float, whose: str, where: str = "") -> None:
    """Refuse logits that are farther from the expected ones, beside the largest of these. Raises `Unusable`."""
    gap = float((found.double() - expected.double()).abs().max())
    if not gap <= tolerance * (1 + float(expected.abs().max())):
        name = type(target.model).__name__
        raise Unusable(f"{name}: {where}its logits differ by {gap:.2g} from {whose}")


def _window(config: Any) -> str | None:
    """What in a configuration says that a layer sees a part of the text: a text of a test is shorter than a window.

    Anything that is named after windows, chunks, blocks or local attention, and is not switched off, is taken for that.
    A switch that the model's own configuration does not have switches nothing off: it is not read.
    """
    sizes = config.to_dict()
    off = hasattr(type(config), SWITCH) and not sizes[SWITCH]
    for name, value in sizes.items():
        if name in ("layer_types", "attention_types", "attention_layers"):
            kinds = set(re.findall(r"[a-z_]+", str(value))) - {"full_attention", "global"}
            if value and kinds:
                return f"{name}: {', '.join(sorted(kinds))}"
        limited = type(value) in (int, list) and bool(value)
        if limited and WINDOWS.search(name) and name not in HARMLESS and not off:
            return f"{name} = {value}"
    return None


def _rope(config: Any) -> str | None:
    sizes = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    kind: str | None = sizes.get("rope_type", sizes.get("type"))
    return kind
