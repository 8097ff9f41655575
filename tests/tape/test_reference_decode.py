"""One step and the loop around it: who is called, what is counted, where a text ends, and large vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rheo_reference import Config, Generation, Processing, Tape, Tapes, decode_step, fresh_tapes, generate
from rheo_reference.laws import Prefix

from tests.tape.test_reference_models import RULES
from tests.tape.test_reference_tree import random_laws

SEEDS = st.integers(0, 1 << 32)
VOCAB = 5


def small(verify: str = "rheo", **others: Any) -> Config:
    return Config(slots=3, head=1, depth=3, nodes=6, sparse=None, verify=verify, target=None, draft=None, **others)


def models(seed: int) -> tuple[Any, Any]:
    return random_laws(seed, VOCAB, "target"), random_laws(seed, VOCAB, "draft")


class Counting:
    """A model that remembers what it was asked."""

    def __init__(self, model: Callable[..., Any]) -> None:
        self.model = model
        self.calls: list[list[Prefix]] = []

    def __call__(self, prefixes: Sequence[Prefix]) -> Any:
        self.calls.append(list(prefixes))
        return self.model(prefixes)


# One step


@given(SEEDS, st.sampled_from(RULES))
def test_the_draft_is_called_once_a_layer_and_the_target_once(seed: int, verify: str) -> None:
    target, draft = map(Counting, models(seed))
    config = small(verify)
    step = decode_step(target, draft, (4, 2), config, Tapes.fill(np.random.default_rng(seed), config)[0])
    assert [len(prefixes) for prefixes in draft.calls] == [1, 3, 3]
    assert [{len(prefix) for prefix in prefixes} for prefixes in draft.calls] == [{2}, {3}, {4}]
    assert target.calls == [[(4, 2, *path) for path in step.tree.paths()]]
    assert target.calls[0][0] == (4, 2)


@given(SEEDS, st.sampled_from(RULES))
def test_a_step_says_what_it_did(seed: int, verify: str) -> None:
    config = small(verify)
    tape = Tapes.fill(np.random.default_rng(seed), config)[0]
    step = decode_step(*models(seed), (), config, tape)
    paths = step.tree.paths()
    assert step.tokens[:-1] == (paths[step.accepted[-1]] if step.accepted else ())
    assert step.tokens not in paths
    assert step.accepted_length == len(step.tokens) - 1 <= config.depth
    assert step.tree_size == len(paths) - 1 <= config.nodes
    assert step.sampled_kept == sum(tail is not None for tail in step.tree.tails)
    assert len(set(step.used)) == len(step.used)
    assert list(step.used) == tape.used
    assert [site for site in step.used if site[0] == "draft"] == sorted(
        site for site in step.used if site[0] == "draft"
    )


@given(SEEDS, st.sampled_from(RULES))
def test_logits_and_the_laws_made_of_them_decode_alike(seed: int, verify: str) -> None:
    rng = np.random.default_rng(seed)
    tables: list[dict[Prefix, Any]] = [{}, {}]

    def logits(side: int) -> Any:
        return lambda us: [tables[side].setdefault(u, rng.normal(scale=2, size=VOCAB)) for u in us]

    def laws(side: int) -> Any:
        return lambda us: [np.exp(row) / np.exp(row).sum() for row in logits(side)(us)]

    config = Config(slots=3, head=1, depth=2, nodes=6, verify=verify)
    given_laws = Config(slots=3, head=1, depth=2, nodes=6, verify=verify, target=None, draft=None)
    tapes = Tapes.fill(rng, config)
    steps = [
        decode_step(logits(0), logits(1), (), config, tapes[0]),
        decode_step(laws(0), laws(1), (), given_laws, tapes[0]),
    ]
    assert steps[0].tokens == steps[1].tokens
    assert steps[0].used == steps[1].used


@pytest.mark.parametrize("verify", RULES)
def test_float32_is_accepted(verify: str) -> None:
    rng = np.random.default_rng(0)
    rows: dict[Prefix, Any] = {}

    def logits(prefixes: Sequence[Prefix]) -> Any:
        return np.array([rows.setdefault(prefix, rng.normal(size=50)) for prefix in prefixes], dtype=np.float32)

    tokens = []
    for dtype in ("float64", "float32"):
        config = Config(slots=3, head=1, depth=3, nodes=8, sparse=16, verify=verify, dtype=dtype)
        tokens.append(decode_step(logits, logits, (), config, Tapes.fill(np.random.default_rng(1), config)[0]).tokens)
    assert tokens[0] == tokens[1]


# Tapes


def test_a_tape_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected \(depth, beam\), \(depth, 2\) and \(depth \+ 1,\)"):
        Tape(np.zeros((2, 3)), np.zeros((2, 2)), np.zeros(2))
    with pytest.raises(ValueError, match="differ in their first axis"):
        Tapes(np.zeros((2, 1, 1)), np.zeros((2, 1, 2)), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="a tape for depth 2 and beam 3, but the step has depth 3 and beam 3"):
        decode_step(*models(0), (), small(), Tape(np.zeros((2, 3)), np.zeros((2, 2)), np.zeros(3)))


def test_a_tape_is_not_read_twice() -> None:
    config = small()
    tape = Tapes.fill(np.random.default_rng(0), config)[0]
    decode_step(*models(0), (), config, tape)
    with pytest.raises(ValueError, match="read before"):
        decode_step(*models(0), (), config, tape)


@pytest.mark.parametrize("u", [1.0, -0.25, float("nan")])
def test_a_uniform_outside_the_unit_interval_is_refused(u: float) -> None:
    with pytest.raises(ValueError, match=r"outside \[0, 1\)"):
        Tape([[0.0]], [[0.0, u]], [0.0, 0.0])


def test_a_filled_batch_has_the_shapes_of_the_specification_and_fresh_numbers() -> None:
    config = small(beam=2)
    tapes = Tapes.fill(np.random.default_rng(0), config, batch=4)
    assert (tapes.draft_u.shape, tapes.coin_u.shape, tapes.token_u.shape) == ((4, 3, 2), (4, 3, 2), (4, 4))
    assert len(tapes) == 4
    numbers = np.concatenate([part.ravel() for part in (tapes.draft_u, tapes.coin_u, tapes.token_u)])
    assert len(set(numbers.tolist())) == numbers.size
    source = fresh_tapes(np.random.default_rng(0), config)
    assert next(source).token_u.tolist() != next(source).token_u.tolist()


def test_used_names_the_uniforms_that_were_read_and_their_order() -> None:
    """Certain models: the head, then the sampled token of a point mass, is always right."""
    rows = [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]
    config = Config(slots=1, head=0, depth=2, nodes=2, target=None, draft=None)
    tape = Tape([[0.5], [0.0]], [[0.1, 0.2], [0.3, 0.4]], [0.5, 0.6, 0.7])
    step = decode_step(lambda us: [rows[len(u)] for u in us], lambda us: [rows[len(u)] for u in us], (), config, tape)
    assert step.tokens == (1, 1, 0)
    assert step.used == (("draft", 0, 0), ("draft", 1, 0), ("coin", 0, 1), ("coin", 1, 1), ("token", 2, 0))


# The loop


def text(seed: int, max_tokens: int, stop: Sequence[int] = (), prefix: Prefix = (3,)) -> Generation:
    config = small("flow")
    tapes = fresh_tapes(np.random.default_rng(seed), config)
    return generate(*models(seed), prefix, config, tapes, max_tokens, stop)


@given(SEEDS, st.integers(0, 12))
def test_generate_concatenates_steps(seed: int, max_tokens: int) -> None:
    config = small("flow")
    found = text(seed, max_tokens)
    tapes = fresh_tapes(np.random.default_rng(seed), config)
    tokens: Prefix = ()
    for step in found.steps:
        assert len(tokens) < max_tokens
        again = decode_step(*models(seed), (3, *tokens), config, next(tapes))
        assert (step.tokens, step.used) == (again.tokens, again.used)
        tokens += step.tokens
    assert (found.tokens, found.ended) == (tokens[:max_tokens], "length")
    assert len(found.tokens) == max_tokens


@given(SEEDS, st.integers(0, 12), st.integers(0, VOCAB - 1))
def test_nothing_follows_a_stop_token(seed: int, max_tokens: int, stop: int) -> None:
    free, found = text(seed, max_tokens), text(seed, max_tokens, (stop,))
    if stop in free.tokens:
        assert found.tokens == free.tokens[: free.tokens.index(stop) + 1]
        assert found.ended == "stop"
    else:
        assert (found.tokens, found.ended) == (free.tokens, "length")


def test_a_stop_token_is_obeyed_where_it_was_accepted_in_the_middle_of_a_step() -> None:
    cut = 0
    for seed in range(40):
        for step in text(seed, 6).steps[:1]:
            if step.accepted_length >= 1:
                found = text(seed, 6, (step.tokens[0],))
                assert (found.tokens, len(found.steps)) == (step.tokens[:1], 1)
                cut += 1
    assert cut > 5


@given(SEEDS)
def test_accepted_lengths_are_counted_by_level(seed: int) -> None:
    found = text(seed, 12)
    counts = found.accepted_by_level()
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == sum(step.accepted_length for step in found.steps)
    assert all(count > 0 for count in counts)


def test_tapes_that_run_out_are_an_error() -> None:
    config = small()
    tapes = Tapes.fill(np.random.default_rng(0), config, batch=2)
    with pytest.raises(ValueError, match="no tape is left after 2 steps"):
        generate(*models(0), (), config, (tapes[i] for i in range(2)), 100)


# Parameters, sizes


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slots", 0),
        ("slots", 2.0),
        ("head", 11),
        ("head", -1),
        ("depth", True),
        ("beam", 0),
        ("nodes", 0),
        ("sparse", 0),
        ("proxy", "z"),
        ("proxy_scale", 0),
        ("fill_scale", 1.5),
        ("fill_scale", float("nan")),
        ("verify", "bottom-up"),
        ("dtype", "float16"),
    ],
)
def test_parameters_out_of_range_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} is"):
        Config(**{name: value})


@pytest.mark.parametrize("total_tokens", [0, 1])
def test_eagle_parameters_without_a_draft_node_are_refused(total_tokens: int) -> None:
    with pytest.raises(ValueError, match="total_tokens is"):
        Config.from_eagle(total_tokens=total_tokens)


@pytest.mark.parametrize("verify", RULES)
def test_a_vocabulary_of_128000_decodes(verify: str) -> None:
    rows = np.random.default_rng(0).normal(scale=4, size=(7, 128_000)).astype(np.float32)

    def model(prefixes: Sequence[Prefix]) -> Any:
        return rows[[sum(prefix) % 7 for prefix in prefixes]]

    config = Config(slots=4, depth=2, nodes=6, verify=verify, draft=Processing(temperature=1.2))
    step = decode_step(model, model, (), config, Tapes.fill(np.random.default_rng(2), config)[0])
    assert step.tree_size == 6
    assert all(len(tail.tokens) == 127 for tail in step.tree.tails if tail)


@pytest.mark.parametrize("verify", ["rheo", "rrsw", "match", "flow"])
def test_a_draft_with_tokens_that_the_target_lacks_is_refused(verify: str) -> None:
    config = Config(slots=2, head=0, depth=1, nodes=2, verify=verify, target=None, draft=None)
    tape = next(fresh_tapes(np.random.default_rng(0), config))
    target = lambda prefixes: [[0.5, 0.5]] * len(prefixes)  # noqa: E731
    draft = lambda prefixes: [[0.25] * 4] * len(prefixes)  # noqa: E731
    with pytest.raises(ValueError, match="the draft model proposes token 3, but the target model has 2 tokens"):
        decode_step(target, draft, (), config, tape)


def test_the_loop_of_a_step_fits_one_short_file() -> None:
    import rheo_reference.decode as module

    assert len(Path(str(module.__file__)).read_text("utf-8").splitlines()) <= 150
