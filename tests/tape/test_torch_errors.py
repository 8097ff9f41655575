"""What the torch decoder refuses: sizes, settings, tapes and tensors that do not fit. A message names the value."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from rheo_gpu import Config, Layer, Processing, Tape, Trees, decode_step, draft_trees, verify
from rheo_reference import Config as ReferenceConfig
from torch import Tensor

from tests.torch_models import RULES

CONFIG = Config(slots=2, head=1, depth=2, nodes=4, sparse=None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"slots": 0}, "slots is 0, expected a whole number of at least 1"),
        ({"slots": True}, "slots is True, expected a whole number of at least 1"),
        ({"depth": 1.5}, "depth is 1.5, expected a whole number of at least 1"),
        ({"nodes": -1}, "nodes is -1, expected a whole number of at least 1"),
        ({"beam": 0}, "beam is 0, expected a whole number of at least 1"),
        ({"sparse": 0}, "sparse is 0, expected a whole number of at least 1"),
        ({"head": -1}, "head is -1, expected a whole number of at least 0"),
        ({"slots": 3, "head": 4}, "head is 4, expected at most slots = 3"),
        ({"proxy_scale": 0}, "proxy_scale is 0, expected more than 0 and at most 1"),
        ({"fill_scale": 1.5}, "fill_scale is 1.5, expected more than 0 and at most 1"),
        ({"fill_scale": float("nan")}, "fill_scale is nan, expected more than 0 and at most 1"),
        ({"proxy": "best"}, "proxy is 'best', expected one of paper, tail"),
        ({"verify": "bottom-up"}, "verify is 'bottom-up', expected one of rheo, rrsw, match, flow"),
        ({"verify": "rrsw", "proxy": "tail"}, 'verify = "rrsw" with proxy = "tail" is not lossless'),
    ],
)
def test_sizes_that_make_no_tree(settings: dict[str, Any], message: str) -> None:
    for kind in (Config, ReferenceConfig):
        with pytest.raises(ValueError, match=re.escape(message)):
            kind(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -1.0}, "temperature is -1.0, expected a number of at least 0"),
        ({"temperature": float("nan")}, "temperature is nan, expected"),
        ({"temperature": float("inf")}, "temperature is inf, expected"),
        ({"top_k": 0}, "top_k is 0, expected a whole number of at least 1"),
        ({"top_k": 2.5}, "top_k is 2.5, expected a whole number of at least 1"),
        ({"top_p": 0.0}, "top_p is 0.0, expected more than 0 and at most 1"),
        ({"top_p": float("nan")}, "top_p is nan, expected"),
        ({"min_p": 1.1}, "min_p is 1.1, expected a number from 0 to 1"),
    ],
)
def test_numbers_that_are_no_processing(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Processing(**settings)


def test_the_sizes_of_eagle() -> None:
    """Its depth leaves out the first layer, its total counts the root."""
    config = Config.from_eagle(depth=5, top_k=8, total_tokens=32, head=8, verify="match")
    assert (config.depth, config.slots, config.width, config.nodes) == (6, 8, 8, 31)
    assert (config.head, config.verify) == (8, "match")
    ours, theirs = Config.from_eagle(), ReferenceConfig.from_eagle()
    for name in ("slots", "head", "depth", "beam", "nodes", "sparse", "proxy", "verify"):
        assert getattr(ours, name) == getattr(theirs, name)
    with pytest.raises(ValueError, match="total_tokens is 1, expected a whole number of at least 2"):
        Config.from_eagle(total_tokens=1)
    with pytest.raises(ValueError, match="depth is -1, expected a whole number of at least 0"):
        Config.from_eagle(depth=-1)


def test_the_defaults_are_those_of_the_numpy_decoder() -> None:
    ours, theirs = vars(Config()), vars(ReferenceConfig())
    assert ours == {name: theirs[name] for name in ours}


@pytest.mark.parametrize(
    ("sizes", "widths", "kept"),
    [
        ({"slots": 3, "depth": 3}, (1, 3, 3), 21),
        ({"slots": 3, "depth": 3, "beam": 50}, (1, 3, 9), 39),
        ({"slots": 2, "depth": 4, "beam": 3}, (1, 2, 3, 3), 18),
        ({"slots": 4, "depth": 2, "beam": 1}, (1, 1), 8),
        ({"slots": 4, "depth": 1, "beam": 7}, (1,), 4),
    ],
)
def test_how_many_nodes_are_expanded_and_kept(sizes: dict[str, Any], widths: tuple[int, ...], kept: int) -> None:
    config = Config(**{"head": 1, "nodes": 60, **sizes})
    assert (config.widths, config.kept) == (widths, kept)
    assert Config(**{"head": 1, **sizes, "nodes": 2}).kept == 2


# Tapes


def tape(batch: int = 3, depth: int = 2, beam: int = 2) -> Tape:
    return Tape.fill(Config(depth=depth, beam=beam), batch)


def test_a_filled_tape_has_the_shapes_of_its_sizes_and_lies_below_one() -> None:
    made = Tape.fill(Config(depth=3, beam=4), 500, torch.Generator().manual_seed(0))
    again = Tape.fill(Config(depth=3, beam=4), 500, torch.Generator().manual_seed(0))
    for name, shape in (("draft_u", (500, 3, 4)), ("coin_u", (500, 3, 2)), ("token_u", (500, 4))):
        part = getattr(made, name)
        assert part.shape == shape
        assert part.dtype == torch.float64
        assert torch.equal(part, getattr(again, name))
        assert ((part >= 0) & (part < 1)).all()
    assert Tape.fill(CONFIG, 2, dtype=torch.float32).coin_u.dtype == torch.float32


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (tape(depth=1), "a tape for depth 1 and beam 2, but the step has depth 2 and beam 2"),
        (tape(beam=1), "a tape for depth 2 and beam 1, but the step has depth 2 and beam 2"),
        (Tape(torch.rand(3, 2, 2), torch.rand(3, 2, 1), torch.rand(3, 3)), r"expected (R, D, B), (R, D, 2) and (R, D"),
        (Tape(torch.rand(3, 2, 2), torch.rand(3, 2, 2), torch.rand(3, 2)), r"expected (R, D, B), (R, D, 2) and (R, D"),
        (Tape(torch.rand(3, 2, 2), torch.rand(1, 2, 2), torch.rand(3, 3)), r"expected (R, D, B), (R, D, 2) and (R, D"),
        (
            Tape(torch.rand(2, 2), torch.rand(2, 2), torch.rand(3)),
            r"a tape of shapes (2, 2), (2, 2) and (3,), expected",
        ),
    ],
)
def test_tapes_that_do_not_fit(given: Tape, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        draft_trees(rows(4), CONFIG, given, None)


# Shapes


def rows(vocab: int) -> Any:
    return lambda asked: torch.full((*asked.tokens.shape, vocab), 1 / vocab)


def drafted(batch: int = 3, vocab: int = 4) -> Trees:
    return draft_trees(rows(vocab), CONFIG, tape(batch), None)


def test_draft_rows_of_the_wrong_shape() -> None:
    def flat(layer: Layer) -> Tensor:
        return torch.full((len(layer.tokens), 4), 0.25)

    with pytest.raises(ValueError, match=r"draft rows of shape \(3, 4\), expected \(3, 1\) and V"):
        draft_trees(flat, CONFIG, tape(), None)


@pytest.mark.parametrize("shape", [(1,), (3, 1), (4,), ()])
def test_budgets_of_the_wrong_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected one number for each of 3 requests"):
        draft_trees(rows(4), CONFIG, tape(), None, torch.ones(shape, dtype=torch.int64))


@pytest.mark.parametrize("shape", [(3, 4, 4), (2, 5, 4), (3, 5)])
def test_target_rows_of_the_wrong_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"target rows of shape \(.*\), expected \(3, 5, V\)"):
        verify(drafted(), torch.full(shape, 0.25), CONFIG, tape(), None)


@pytest.mark.parametrize("batch", [1, 2])
def test_a_tape_for_other_requests_is_no_tape_for_these(batch: int) -> None:
    """One that is too short could be stretched over the batch: then all requests would share their coins."""
    with pytest.raises(ValueError, match=f"a tape for {batch} requests, expected one for 3"):
        verify(drafted(), torch.full((3, 5, 4), 0.25), CONFIG, tape(batch), None)


@pytest.mark.parametrize("sizes", [{"head": 0}, {"head": 2}, {"slots": 3}, {"depth": 1}, {"beam": 1}])
def test_trees_are_verified_with_the_sizes_they_were_drafted_with(sizes: dict[str, Any]) -> None:
    """With another m, another slot would be taken for the sampled one."""
    other = Config(**{"slots": 2, "head": 1, "depth": 2, "nodes": 4, **sizes})
    with pytest.raises(ValueError, match="the trees were drafted with other sizes"):
        verify(drafted(), torch.full((3, 5, 4), 0.25), other, tape(beam=3), None)


@pytest.mark.parametrize("rule", RULES)
def test_a_target_may_have_more_tokens_than_the_draft_but_not_fewer(rule: str) -> None:
    config = Config(slots=2, head=1, depth=2, nodes=4, sparse=None, verify=rule)
    step = decode_step(rows(6), rows(3), config, Tape.fill(config, 200), None, None)
    assert step.trees.tokens.max() == 2
    assert step.verified.tokens.max() == 5
    with pytest.raises(ValueError, match="the draft model has 6 tokens, but the target model has 3"):
        decode_step(rows(3), rows(6), config, Tape.fill(config, 3), None, None)
