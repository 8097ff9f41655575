"""Draft models by themselves: an n-gram, and a small causal model with entries of its own."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch
from rheo_gpu import Layer
from rheo_gpu.llm.errors import Unusable
from rheo_gpu.llm.ngram import NgramDraft
from rheo_gpu.llm.small import SmallDraft
from torch import Tensor

from tests.llm import tiny
from tests.llm.drafting import begin, first_layers, layer_below, logits_after, plain_target
from tests.llm.tiny import V as VOCAB

TEXTS = [[3, 5, 3, 5, 9], [7], [11, 2, 40, 2, 40, 2, 40, 2]]
MORE = [[8, 3], [1, 2, 3, 4], []]
LAYERS = [
    ([[4, 6, 8], [1, 2, 3], [9, 9, -1]], [[0, 0, 0]] * 3),
    ([[5, 7, 5, 1], [2, 2, 2, 2], [3, 4, -1, -1]], [[0, 0, 2, 1], [1, 0, 1, 2], [0, 1, 0, 0]]),
    ([[9, 9], [8, 7], [6, -1]], [[2, 3], [1, 1], [1, 0]]),
]


def ngram(vocab: int = VOCAB) -> NgramDraft:
    return NgramDraft(vocab, order=3, strength=0.5, dtype=torch.float64)


def small() -> SmallDraft:
    return SmallDraft(plain_target(4))


def trees(rows: list[int] | None = None) -> list[Layer]:
    """The layers of `LAYERS` for some of the texts."""
    chosen = rows if rows is not None else list(range(len(TEXTS)))
    layers = [first_layers([TEXTS[r] for r in chosen])]
    for tokens, parents in LAYERS:
        layers.append(layer_below(layers[-1], [tokens[r] for r in chosen], [parents[r] for r in chosen]))
    return layers


def grow(drafter: Any, more: list[list[int]]) -> None:
    width = max(map(len, more))
    tokens = torch.tensor([row + [-1] * (width - len(row)) for row in more]).view(len(more), width)
    drafter.follow(tokens, torch.tensor([len(row) for row in more]), torch.zeros(*tokens.shape, 0, 1))


def test_an_ngram_is_the_law_that_counts_by_hand_give() -> None:
    # a b a b c: after b, "a" came once and "c" once; after (a, b), the same; "a" twice of five tokens.
    drafter, a = NgramDraft(4, order=3, strength=1.0, dtype=torch.float64), Fraction(1)
    begin(drafter, [[0, 1, 0, 1, 2]])
    layer = layer_below(layer_below(first_layers([[]]), [[0]], [[0]]), [[1]], [[0]])
    law = drafter(layer).exp()[0, 0]
    unigrams = [(Fraction(n) + a / 4) / (5 + a) for n in (2, 2, 1, 0)]
    after_b = [(n + a * p) / (2 + a) for n, p in zip((1, 0, 1, 0), unigrams, strict=True)]
    after_ab = [(n + a * p) / (2 + a) for n, p in zip((1, 0, 1, 0), after_b, strict=True)]
    assert sum(after_ab) == 1
    torch.testing.assert_close(law, torch.tensor([float(p) for p in after_ab], dtype=torch.float64))


def test_an_ngram_backs_off_where_a_context_was_never_followed() -> None:
    drafter = NgramDraft(4, order=3, strength=1.0, dtype=torch.float64)
    begin(drafter, [[0, 1, 0, 1, 2]])
    unigrams = torch.tensor([2.25, 2.25, 1.25, 0.25], dtype=torch.float64) / 6
    torch.testing.assert_close(drafter(first_layers([[]])).exp()[0, 0], unigrams)
    # (3, 1) never came, 1 did: the law after 1 alone.
    layer = layer_below(layer_below(first_layers([[]]), [[3]], [[0]]), [[1]], [[0]])
    counts = torch.tensor([1.0, 0, 1, 0], dtype=torch.float64)
    torch.testing.assert_close(drafter(layer).exp()[0, 0], (counts + unigrams) / 3)


def test_an_ngram_of_order_1_is_the_same_after_every_node() -> None:
    drafter = NgramDraft(VOCAB, order=1)
    begin(drafter, TEXTS)
    rows = [drafter(layer) for layer in trees()]
    assert all(torch.equal(row[:, 0], rows[0][:, 0]) for row in rows)


@pytest.mark.parametrize("make", [ngram, small])
def test_a_batch_of_texts_of_different_lengths_drafts_what_each_would_alone(make: Any) -> None:
    drafter = make()
    begin(drafter, TEXTS)
    for _ in drafted(drafter, trees()):
        pass
    grow(drafter, MORE)
    together = drafted(drafter, trees())
    for r, text in enumerate(TEXTS):
        alone = make()
        begin(alone, [text + MORE[r]])
        for layer, rows, single in zip(trees(), together, drafted(alone, trees([r])), strict=True):
            there = layer.there[r] | (layer.layer == 0)
            torch.testing.assert_close(rows[r][there], single[0][there])


def drafted(drafter: Any, layers: list[Layer]) -> list[Tensor]:
    return [drafter(layer) for layer in layers]


def test_a_draft_tree_of_a_small_model_is_what_it_says_after_each_whole_text() -> None:
    model, drafter = tiny.llama(4, 2), small()
    begin(drafter, TEXTS)
    texts = TEXTS
    for more in ([], *[MORE]):
        if more:
            grow(drafter, more)
            texts = [text + new for text, new in zip(texts, more, strict=True)]
        compared = 0
        for layer in trees():
            logits = drafter(layer)
            for r, w in (layer.there | (layer.layer == 0)).nonzero().tolist():
                expected = logits_after(model, texts[r] + layer.paths[r, w].tolist())
                torch.testing.assert_close(logits[r, w], expected)
                compared += 1
        assert compared == 3 + 8 + 10 + 5


def test_siblings_that_saw_each_other_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "eye", lambda n, **others: torch.ones(n, n, **others))
    with pytest.raises(AssertionError, match="not close"):
        test_a_draft_tree_of_a_small_model_is_what_it_says_after_each_whole_text()


def test_a_small_model_says_that_its_positions_are_used_up() -> None:
    model = plain_target(1)
    model.positions = 6
    drafter = SmallDraft(model)
    begin(drafter, [[1, 2, 3, 4, 5]])
    layers = [first_layers([[]])]
    for _ in range(2):
        layers.append(layer_below(layers[-1], [[1]], [[0]]))
    drafted(drafter, layers[:2])
    with pytest.raises(Unusable, match="7 tokens with a model of 6 positions"):
        drafter(layers[2])


@pytest.mark.parametrize("wrong", [{"vocab": 0}, {"order": 0}, {"strength": 0.0}, {"strength": float("nan")}])
def test_an_ngram_of_unusable_numbers_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Unusable, match="n-gram of vocabulary"):
        NgramDraft(**{"vocab": 4, **wrong})
