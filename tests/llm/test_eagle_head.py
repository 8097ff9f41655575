"""The head drafts in a tree what training's unrolling predicts on each path."""

from __future__ import annotations

import pytest
import torch
from rheo_gpu.llm.eagle import EagleDraft
from rheo_gpu.llm.unroll import unrolled
from rheo_gpu.tree import Layer

from tests.llm import tiny

DEPTH = 4


def drafted(draft: EagleDraft, batch: int, random: torch.Generator) -> list[tuple[Layer, torch.Tensor]]:
    """Layers of a random tree, three nodes wide, and the rows at its nodes."""
    layer = Layer(
        0,
        torch.full((batch, 1), -1),
        torch.zeros(batch, 1, 0, dtype=torch.int64),
        torch.full((batch, 1), -1),
        torch.ones(batch, 1, dtype=torch.bool),
    )
    made = []
    for depth in range(DEPTH):
        made.append((layer, draft(layer)))
        tokens = torch.randint(draft.vocab, (batch, 3), generator=random)
        parents = torch.randint(layer.tokens.shape[1], (batch, 3), generator=random)
        paths = torch.cat([layer.paths.gather(1, parents[..., None].expand(-1, -1, depth)), tokens[..., None]], -1)
        layer = Layer(depth + 1, tokens, paths, parents, torch.ones(batch, 3, dtype=torch.bool))
    return made


@pytest.mark.parametrize("extras", [True, False])
def test_a_draft_tree_has_the_logits_of_unrolled_paths_for_texts_of_different_lengths(extras: bool) -> None:
    target = tiny.target()
    head = tiny.head(target, extras=extras, kv_heads=2)
    prompts = tiny.texts(9, 5, 12)
    _, seen = target.begin(prompts)
    draft = EagleDraft(head)
    draft.begin(torch.tensor([text[0] for text in prompts]))
    width = max(map(len, prompts)) - 1
    tokens = torch.full((3, width), -1)
    for row, text in enumerate(prompts):
        tokens[row, : len(text) - 1] = torch.tensor(text[1:])
    counts = torch.tensor([len(text) - 1 for text in prompts])
    draft.follow(tokens[:, :3], counts.clamp(max=3), seen.features[:, :3])
    draft.follow(tokens[:, 3:], counts - 3, seen.features[:, 3:])
    compared = 0
    for layer, rows in drafted(draft, 3, torch.Generator().manual_seed(1)):
        for row, text in enumerate(prompts):
            for node in range(rows.shape[1]):
                path = head.d2t[layer.paths[row, node]].tolist()
                whole = torch.tensor([text[1:] + path])
                features = torch.cat(
                    [
                        seen.features[row : row + 1, : len(text) - 1],
                        torch.zeros(1, len(path), 3, tiny.H, dtype=torch.float64),
                    ],
                    1,
                )
                state_of = unrolled(head, whole, features, len(path) + 1)[-1][0, -1]
                torch.testing.assert_close(rows[row, node], head.lm_head(state_of), rtol=1e-9, atol=1e-9)
                compared += 1
    assert compared == 3 * (1 + 3 * (DEPTH - 1))


def test_siblings_do_not_see_one_another() -> None:
    """The twin: rows must depend on the token above, and not on the one beside."""
    target = tiny.target()
    draft = EagleDraft(tiny.head(target))
    [text] = tiny.texts(6)
    _, seen = target.begin([text])

    def rows(first: int, second: int) -> torch.Tensor:
        draft.begin(torch.tensor(text[:1]))
        draft.follow(torch.tensor([text[1:]]), torch.tensor([5]), seen.features)
        root = torch.full((1, 1), -1)
        draft(Layer(0, root, root[..., None][..., :0], root, root < 0))
        two = torch.tensor([[first, second]])
        return draft(Layer(1, two, two[..., None], torch.zeros_like(two), two >= 0))

    one, other = rows(3, 4), rows(3, 5)
    assert torch.equal(one[0, 0], other[0, 0])
    assert not torch.allclose(one[0, 1], other[0, 1])
