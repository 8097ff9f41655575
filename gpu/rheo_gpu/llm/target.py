"""A Hugging Face causal language model as the target of a batch of trees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from .attention import NAME, added
from .cache import Block
from .errors import Unusable
from .narrow import narrow

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


class Seen(NamedTuple):
    """What a forward pass made of its tokens: hidden [R, T, H] after the last norm; features [R, T, F, H]."""

    hidden: Tensor
    features: Tensor


class State:
    """The texts of a batch as far as the target has read them."""

    def __init__(self, layers: int, batch: int, device: torch.device) -> None:
        self.block = Block(layers, batch, device)
        self.cache = Cache(layers=[_Layer(self.block, layer) for layer in range(layers)])

    @property
    def lengths(self) -> Tensor:
        """[R]: how many tokens of each text have been read."""
        return self.block.lengths


class Target:
    """A causal model that answers for the nodes of trees, in evaluation mode.

    `layers`: which hidden states a draft wants to see, numbered as the model does: 0 are the embeddings, i is what
    layer i puts out, and the last is taken after the final norm. Raises `Unusable` for a model whose answers in a tree
    are not those in a text: one that windows its attention, scales its logits, or does not take a mask.
    """

    def __init__(self, model: Any, layers: Sequence[int] = ()) -> None:
        self.model, self.layers = model.eval(), tuple(layers)
        self.decoder, self.head = model.base_model, model.get_output_embeddings()
        if not isinstance(getattr(self.head, "weight", None), Tensor):
            raise Unusable(
                f"{type(model).__name__}: its output layer has no matrix of weights, expected a linear layer"
            )
        config = model.config.get_text_config()
        self.depth: int = config.num_hidden_layers
        self.positions: int | None = getattr(config, "max_position_embeddings", None)
        self.vocab: int = self.head.weight.shape[0]
        self.device, self.dtype = self.head.weight.device, self.head.weight.dtype
        if window := _window(config):
            raise Unusable(
                f"{type(model).__name__}: attention over a window ({window}), expected all layers to see the whole text"
            )
        if (rope := _rope(config)) in CHANGING:
            raise Unusable(
                f"{type(model).__name__}: rotary positions of type {rope} depend on the longest text of a call, draft "
                "nodes included; expected angles that do not change"
            )
        self._has_layers()
        try:
            self._agrees()
        except Unusable:
            raise
        except Exception as error:
            said = str(error).strip().partition("\n")[0]
            raise Unusable(f"{type(model).__name__}: it does not read trees ({said}); it cannot be a target") from error

    @classmethod
    def load(cls, folder: str | Path, dtype: torch.dtype = torch.float32, layers: Sequence[int] = ()) -> Target:
        """The model of a local folder, in the format of Hugging Face; nothing is fetched. Raises `Unusable`."""
        return cls(load_causal_model(folder, dtype), layers)

    def seeing(self, layers: Sequence[int]) -> Target:
        """The same target, keeping other hidden states; it is not tried again. Raises `Unusable`."""
        other = copy(self)
        other.layers = tuple(layers)
        other._has_layers()
        return other

    @property
    def embeddings(self) -> Tensor:
        """[V, H]: the embeddings of tokens."""
        weight: Tensor = self.model.get_input_embeddings().weight
        return weight

    def begin(self, prompts: Sequence[Sequence[int]]) -> tuple[State, Seen]:
        """Read each prompt but for its last token, which is the root of the first tree.

        What is seen of a shorter prompt ends with padding. Raises `Unusable` for an empty prompt or a token that is not
        in the vocabulary.
        """
        for prompt in prompts:
            if not prompt or min(prompt) < 0 or max(prompt) >= self.vocab:
                raise Unusable(f"a prompt {list(prompt)[:8]}, expected tokens from 0 to {self.vocab - 1}, at least one")
        counts = torch.tensor([len(prompt) - 1 for prompt in prompts], device=self.device)
        width = int(counts.max())
        tokens = torch.zeros(len(prompts), width, dtype=torch.int64)
        for row, prompt in enumerate(prompts):
            tokens[row, : len(prompt) - 1] = torch.tensor(prompt[:-1], dtype=torch.int64)
        state = State(self.depth, len(prompts), self.device)
        place = torch.arange(width, device=self.device)
        mask = (place <= place[:, None]).expand(len(prompts), -1, -1)
        seen = self.forward(state, tokens.to(self.device), place.expand(len(prompts), -1), mask)
        self.keep(state, torch.where(place < counts[:, None], place, -1))
        return state, seen

    def forward(self, state: State, tokens: Tensor, positions: Tensor, mask: Tensor) -> Seen:
        """Read new tokens [R, T] at positions [R, T] that see the text and, by `mask` [R, T, T], one another.

        Tokens of padding may be -1; every token must see one at least.
        """
        batch, width = tokens.shape
        if not width:
            empty = self.head.weight.new_zeros(batch, 0, self.head.weight.shape[1])
            return Seen(empty, empty[:, :, None].expand(-1, -1, len(self.layers), -1))
        state.block.begin(width)
        return self.read(state, tokens, positions, mask)

    def read(self, state: State, tokens: Tensor, positions: Tensor, mask: Tensor) -> Seen:
        """Read tokens [R, T] into room that the block has made for them, behind n - T others that are no text yet.

        mask [R, T, n] says which of the n they see; they all see the text.
        """
        whole = torch.cat([state.block.prefix()[:, None].expand(-1, tokens.shape[1], -1), mask], -1)
        out = self.decoder(
            input_ids=tokens.clamp(min=0),
            attention_mask=added(whole, self.dtype),
            position_ids=positions,
            cache=state.cache,
            use_cache=True,
            output_hidden_states=bool(self.layers),
        )
        hidden = out.last_hidden_state
        features = [out.hidden_states[layer] for layer in self.layers]
        return Seen(hidden, torch.stack(features, 2) if features else hidden[:, :, None][:, :, :0])

    def keep(self, state: State, nodes: Tensor) -> None:
        """The tokens `nodes` [R, n] of the last forward pass become part of the text, in this order; -1 is none."""
        state.block.keep(nodes)

    def logits(self, hidden: Tensor) -> Tensor:
        """[.., H] -> [.., V]."""
        logits: Tensor = self.head(hidden)
        return logits

    def _has_layers(self) -> None:
        for layer in self.layers:
            if not 0 <= layer <= self.depth:
                raise Unusable(f"layer {layer} of a model with {self.depth} layers, expected 0 to {self.depth}")

    @torch.inference_mode()
    def _agrees(self) -> None:
        """Compare a small tree with the texts that it stands for, read by the model's own forward pass."""
        text = [(7 * i + 3) % self.vocab for i in range(TEXT)]
        tree = [text[-1], *((11 * i + 5) % self.vocab for i in range(4))]
        parents = [-1, 0, 0, 1, 3]
        paths: list[list[int]] = [[0]]
        for node in range(1, 5):
            paths.append([*paths[parents[node]], node])
        state, _ = self.begin([text])
        mask = torch.zeros(1, 5, 5, dtype=torch.bool, device=self.device)
        for node, path in enumerate(paths):
            mask[0, node, path] = True
        depths = torch.tensor([[len(path) - 1 for path in paths]], device=self.device)
        seen = self.forward(state, torch.tensor([tree], device=self.device), depths + len(text) - 1, mask)
        found = self.logits(seen.hidden)[0]
        self._has_plain_logits(torch.tensor([text], device=self.device))
        self._has_its_own_attention(torch.tensor([text], device=self.device))
        for node, path in enumerate(paths):
            whole = torch.tensor([text[:-1] + [tree[step] for step in path]], device=self.device)
            expected = self.model(input_ids=whole).logits[0, -1]
            gap = float((found[node] - expected).abs().max())
            if not gap <= TOLERANCE.get(self.dtype.itemsize, 0.1) * (1 + float(expected.abs().max())):
                raise Unusable(
                    f"{type(self.model).__name__}: in a tree its logits differ by {gap:.2g} from those in a text; it "
                    "cannot be a target here"
                )

    def _has_plain_logits(self, text: Tensor) -> None:
        """Compare logits on the very same pass: what scales or bounds them is small beside the rounding of a tree."""
        expected = self.model(input_ids=text).logits.double()
        gap = float((self.logits(self.decoder(input_ids=text).last_hidden_state).double() - expected).abs().max())
        if not gap <= (1e-5 if self.dtype.itemsize >= 4 else 2e-3) * (1 + float(expected.abs().max())):
            raise Unusable(
                f"{type(self.model).__name__}: its logits differ by {gap:.2g} from its output layer alone, expected a "
                "model that does not scale or bound them"
            )

    def _has_its_own_attention(self, text: Tensor) -> None:
        """Compare logits with those by the attention of the model's own code, which is in 32 bits at best."""
        if self.model.config._attn_implementation != NAME:
            return
        found = self.model(input_ids=text).logits.double()
        self.model.set_attn_implementation("eager")
        try:
            expected = self.model(input_ids=text).logits.double()
        finally:
            self.model.set_attn_implementation(NAME)
        gap = float((found - expected).abs().max())
        if not gap <= TOLERANCE.get(min(self.dtype.itemsize, 4), 0.1) * (1 + float(expected.abs().max())):
            raise Unusable(
                f"{type(self.model).__name__}: its logits differ by {gap:.2g} from those by its own attention, "
                "expected a softmax over scores and a mask"
            )


def load_causal_model(folder: str | Path, dtype: torch.dtype) -> Any:
    """A causal model from a local folder, with linear layers that are fast for few rows. Raises `Unusable`."""
    from transformers import AutoModelForCausalLM

    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise Unusable(f"{folder}: no config.json, expected the folder of a causal language model")
    where = {"dtype": dtype, "local_files_only": True, "output_loading_info": True}
    try:
        try:
            loaded: Any = AutoModelForCausalLM.from_pretrained(folder, attn_implementation=NAME, **where)
        except (KeyError, ValueError) as error:
            if NAME not in str(error):
                raise
            loaded = AutoModelForCausalLM.from_pretrained(folder, **where)  # it has attention of its own alone
    except Exception as error:
        raise Unusable(f"{folder}: {str(error).strip().splitlines()[0]}") from error
    model, found = loaded
    if missing := sorted(found["missing_keys"]):
        # The library would make them up, anew at each start.
        raise Unusable(f"{folder}: its files lack {len(missing)} weights, {missing[0]} the first, expected all of them")
    narrow(model)
    return model


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


class _Layer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """One layer of a block, as transformers asks for it."""

    def __init__(self, block: Block, layer: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.block, self.layer = block, layer

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        pass

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return self.block.write(self.layer, key_states, value_states)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.block.end + query_length, 0

    def get_seq_length(self) -> int:
        return self.block.end

    def get_max_length(self) -> int:
        return -1
