"""What a draft model says may depend on the text and the path alone: one that reads its siblings biases the output.

The condition is stated in rheo_gpu/llm/drafter.py and cannot be checked there; here is what happens without it.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from rheo_gpu import Config, Layer, Tape, draft_trees, verify
from torch import Tensor

from rheo_proof.stats.asserts import assert_law_equal
from rheo_proof.stats.verdict import LawMismatch

P = {0: "1/20", 1: "1/10", 2: "7/10", 3: "3/20"}
ROOT, PEAKED, FLAT = [0.7, 0.2, 0.1, 0.0], [0.97, 0.01, 0.01, 0.01], [0.26, 0.25, 0.25, 0.24]
CONFIG = Config(slots=2, head=1, depth=2, nodes=2, sparse=None, verify="rheo")


def first_tokens(siblings: bool, generator: np.random.Generator, n: int) -> list[int]:
    """First tokens of n steps. With `siblings` a law is peaked if any node of its layer holds token 1."""

    def draft(layer: Layer) -> Tensor:
        law = torch.tensor(ROOT if not layer.layer else FLAT, dtype=torch.float64).expand(*layer.tokens.shape, 4)
        if not layer.layer:
            return law
        own = layer.tokens == 1
        peaked = own.any(1, keepdim=True).expand_as(own) if siblings else own
        return torch.where(peaked[..., None], torch.tensor(PEAKED, dtype=torch.float64), law)

    random = torch.Generator().manual_seed(int(generator.integers(2**62)))
    tape = Tape.fill(CONFIG, n, random)
    trees = draft_trees(draft, CONFIG, tape, None)
    target = torch.tensor([0.05, 0.1, 0.7, 0.15], dtype=torch.float64).expand(*trees.tokens.shape, 4)
    tokens: list[int] = verify(trees, target, CONFIG, tape, None).tokens[:, 0].tolist()
    return tokens


def test_a_draft_law_of_the_path_alone_leaves_the_law_of_the_target() -> None:
    assert_law_equal(lambda g, n: first_tokens(False, g, n), P, eps=0.04, name="drafts from the path")


def test_a_draft_law_that_reads_siblings_does_not() -> None:
    with pytest.raises(LawMismatch):
        assert_law_equal(lambda g, n: first_tokens(True, g, n), P, eps=0.04, name="drafts from siblings")
