"""What a draft model has to answer, whatever it is made of."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from rheo_gpu import Layer


class Drafter(Protocol):
    """A draft model for the texts of R requests, which grow by what each step emits.

    vocab: Vd, how many tokens it answers about. tokens [Vd]: their ids in the vocabulary of the target, increasing;
    None if they are the same. layers: which hidden states of the target it wants, indices into `hidden_states` of a
    Hugging Face model; () for none. positions: how long a text can be for it, draft nodes included; None if it has no
    limit.

    What it says about a node may depend on the text and on the path to the node, and on nothing else in the tree. If a
    sibling's token had a say, whether a sampled token is kept could depend on that token, and the text would no longer
    have the law of the target. Nothing here can find that out.

    A tree is drafted by calls for its layers, in order, between two calls of `follow`. What was drafted is forgotten
    with the next `follow`: only the text stays.
    """

    @property
    def vocab(self) -> int: ...

    @property
    def tokens(self) -> Tensor | None: ...

    @property
    def layers(self) -> tuple[int, ...]: ...

    @property
    def positions(self) -> int | None: ...

    def begin(self, first: Tensor) -> None:
        """Forget everything. New texts begin with these tokens [R]."""

    def follow(self, tokens: Tensor, counts: Tensor, features: Tensor) -> None:
        """The texts have grown by tokens[r, :counts[r]], ids of the target, padded with -1: tokens [R, n], counts [R].

        features [R, n, F, H] are the target's F hidden states at the tokens before: features[r, i] belongs to the token
        that tokens[r, i] follows. Their padding may be anything.
        """

    def __call__(self, layer: Layer) -> Tensor:
        """Logits [R, W, Vd] after the nodes of a layer, which holds draft ids; layer 0 is the end of the text."""
