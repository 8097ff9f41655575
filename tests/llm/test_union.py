"""Many trees of one text read at once: each node has the law that it has in its own tree."""

from __future__ import annotations

import pytest
import torch
from rheo_gpu import Config, Processing, Tape, Trees, draft_trees
from rheo_gpu.llm.eagle import EagleDraft
from rheo_gpu.llm.target import State, Target
from rheo_gpu.llm.union import Union, joined, laws_at
from torch import Tensor

from tests.llm import tiny
from tests.torch_models import assert_equal_steps

HOW = Processing(0.8)


def drafted(heads: tuple[int, ...] = (0, 1, 2), draws: int = 2) -> tuple[Target, State, int, list[Trees]]:
    """Trees of one text, in the target's tokens, and the text's last token."""
    target = tiny.target()
    draft = EagleDraft(tiny.head(target))
    [prompt] = tiny.texts(9)
    state, seen = target.begin([prompt])
    draft.begin(torch.tensor(prompt[:1]))
    draft.follow(torch.tensor([prompt[1:]]), torch.tensor([len(prompt) - 1]), seen.features)
    generator = torch.Generator().manual_seed(0)
    trees = []
    for m in heads:
        for _ in range(draws):
            config = Config(slots=3, head=m, depth=3, nodes=10, sparse=8)
            trees.append(draft_trees(draft, config, Tape.fill(config, 1, generator), HOW))
    assert draft.tokens is not None
    return target, state, prompt[-1], [part.mapped(draft.tokens, target.vocab) for part in trees]


def read(target: Target, state: State, tokens: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
    with torch.inference_mode():
        seen = target.forward(state, tokens, positions, mask)
        target.keep(state, torch.full((1, 1), -1))
        return laws_at(seen.hidden[0], target.logits, HOW)


def gap(union: Union, mask: Tensor) -> float:
    """The largest difference between the laws of nodes in the union, read with a mask, and in their own trees."""
    target, state, last, trees = drafted()
    tokens = torch.where(union.tokens >= 0, union.tokens, last)[None]
    laws = read(target, state, tokens, state.lengths[:, None] + union.depths, mask)
    gaps = []
    for part, rows in zip(trees, union.rows, strict=True):
        own = torch.where(part.tokens >= 0, part.tokens, last)
        alone = read(target, state, own, part.position_ids(state.lengths + 1), part.ancestor_mask())
        gaps.append((alone - laws[rows[0]])[part.there[0]].abs().max())
    return float(torch.stack(gaps).max())


def test_a_node_has_the_law_of_its_own_tree() -> None:
    union = Union.of(drafted()[3])
    assert len(union.tokens) < 6 * 11
    assert gap(union, union.mask()) < 1e-12
    faulty = union.mask()
    faulty[:, -1, 1] = ~faulty[:, -1, 1]
    assert gap(union, faulty) > 1e-6


def test_nodes_are_distinct_paths_with_parents_first() -> None:
    trees = drafted()[3]
    union = Union.of(trees)
    paths = {tuple(path) for part in trees for path in part.paths[0].tolist()}
    assert len(union.tokens) == len(paths)
    assert int(union.parents[0]) == int(union.tokens[0]) == -1
    assert bool((union.parents[1:] < torch.arange(1, len(union.parents))).all())
    for part, rows in zip(trees, union.rows, strict=True):
        assert torch.equal(union.tokens[rows], part.tokens)
        assert torch.equal(union.depths[rows], part.depths)
        above = union.parents[rows][part.there][1:]
        assert torch.equal(above, rows.gather(1, part.parents.clamp(min=0))[part.there][1:])


def test_padding_is_the_root() -> None:
    trees = [part.first(3) for part in drafted()[3]]
    for part, rows in zip(trees, Union.of(trees).rows, strict=True):
        assert rows[0].tolist() == [rows[0, i] if part.there[0, i] else 0 for i in range(11)]


def test_laws_are_restricted_without_being_renormalised() -> None:
    hidden = torch.randn(5, 6, generator=torch.Generator().manual_seed(0))
    whole = laws_at(hidden, lambda part: part, Processing())
    assert torch.equal(laws_at(hidden, lambda part: part, Processing(), torch.tensor([4, 1])), whole[:, [4, 1]])


def test_trees_of_one_shape_make_a_batch() -> None:
    trees = drafted((1,), 3)[3]
    batch = joined(trees)
    for i, part in enumerate(trees):
        assert_equal_steps(batch, part, slice(i, i + 1))
    with pytest.raises(ValueError, match="only trees of the same head, widths and vocabulary make a batch"):
        joined([*trees, drafted((2,), 1)[3][0]])


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one tree at least, and trees of one depth D"):
        Union.of([])
