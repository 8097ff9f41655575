"""A Hugging Face causal language model as the target of a batch of trees."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from .attention import NAME, added
from .cache import Block
from .errors import Unusable, line
from .narrow import narrow
from .trial import refuse_partial_sight, try_on_a_tree


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
        refuse_partial_sight(type(model).__name__, config)
        self._has_layers()
        try_on_a_tree(self)

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
        raise Unusable(f"{folder}: {line(error)}") from error
    model, found = loaded
    if missing := sorted(found["missing_keys"]):
        # The library would make them up, anew at each start.
        raise Unusable(f"{folder}: its files lack {len(missing)} weights, {missing[0]} the first, expected all of them")
    narrow(model)
    return model


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
