"""Texts from a real model: with a draft model, or one token a step.

A step is the one of docs/torch.md: draft trees, one forward pass of the target over them, verification, and what stays
of the caches. Stop tokens and limits cut a text after the verification, so they change no law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from rheo_gpu import Config, Layer, Processing, Tape, Trees, draft_trees, verify
from rheo_gpu.laws import read
from rheo_gpu.tape import inverse_cdf

from .drafter import Drafter
from .errors import Unusable
from .statistics import Clock, Step
from .target import Seen, State, Target
from .texts import Texts

Emitted = tuple[Tensor, Tensor, Tensor, Tensor]
"""tokens [R, n], lengths [R], accepted [R] and broken [R], as in `rheo_gpu.Verified`."""


def generate(
    target: Target,
    drafter: Drafter,
    prompts: Sequence[Sequence[int]],
    config: Config,
    how: Processing,
    how_draft: Processing,
    *,
    limit: int = 128,
    stop: Sequence[int] = (),
    seeds: int | Sequence[int] = 0,
) -> Iterator[Step]:
    """Decode a batch with draft trees: an iterator of steps, with the new tokens of each request.

    A text has the law of the target under `how`, whatever the draft model is. It ends behind its first stop token or
    after `limit` new tokens. seeds: one for each request, or s for s, s + 1 and so on; the same seed gives the same
    text, whoever shares the batch, but for rounding: kernels may add up otherwise in a batch of another size.

    Raises `Unusable`, before the first step, for prompts, limits and seeds that cannot be used and for models that do
    not fit each other; and in a step if the target answers with logits that are no law.
    """
    texts = Texts(prompts, target.vocab, limit, stop, seeds, target.device)
    _room(target, texts, config.depth)
    _fits(target, drafter)

    def begin(features: Tensor) -> None:
        first, rest, counts = texts.rest_of_prompts()
        drafter.begin(first)
        drafter.follow(rest, counts, features)

    def step(state: State, clock: Clock) -> Emitted:
        trees, tape = _drafted(target, drafter, config, texts, how_draft, clock)
        seen, logits = _seen(target, texts, state, trees, clock)
        out = verify(trees, logits, config, tape, how)
        clock.lap("verification")
        here = texts.active
        keep, counts = torch.where(here[:, None], out.keep, -1), out.lengths * here
        target.keep(state, keep)
        clock.lap("cache")
        drafter.follow(out.tokens, counts, _rows(seen.features, keep))
        clock.lap("draft")
        return out.tokens, out.lengths, out.accepted, out.broken

    return _steps(target, texts, begin, step)


def autoregressive(
    target: Target,
    prompts: Sequence[Sequence[int]],
    how: Processing,
    *,
    limit: int = 128,
    stop: Sequence[int] = (),
    seeds: int | Sequence[int] = 0,
) -> Iterator[Step]:
    """The same without a draft model, one token a step, read and drawn by the same code. Raises `Unusable` likewise."""
    texts = Texts(prompts, target.vocab, limit, stop, seeds, target.device)
    _room(target, texts, 0)
    alone = torch.ones(len(prompts), 1, 1, dtype=torch.bool, device=target.device)

    def step(state: State, clock: Clock) -> Emitted:
        seen = target.forward(state, texts.last[:, None], state.lengths[:, None], alone)
        clock.lap("target layers")
        logits = target.logits(seen.hidden[:, 0])
        clock.lap("lm_head")
        law, sound = read(logits, how)
        tokens = inverse_cdf(law.double(), texts.uniforms())[:, None]
        clock.lap("verification")
        target.keep(state, torch.where(texts.active, 0, -1)[:, None])
        clock.lap("cache")
        one = torch.ones_like(tokens[:, 0])
        return tokens, one, 0 * one, ~sound[:, 0]

    return _steps(target, texts, lambda features: None, step)


def _steps(
    target: Target, texts: Texts, begin: Callable[[Tensor], None], step: Callable[[State, Clock], Emitted]
) -> Iterator[Step]:
    """Prefill, then steps until all texts have ended. The mode is left between steps: the caller's code runs there."""
    clock = Clock(target.device)
    with torch.inference_mode():
        state, seen = target.begin(texts.prompts)
        begin(seen.features)
    clock.lap("prefill")
    while not texts.done:
        with torch.inference_mode():
            before = list(texts.ended)
            tokens, lengths, accepted, broken = step(state, clock)
            new, emitted = texts.grow(tokens, lengths, broken)
            counts = [None if end else count for end, count in zip(before, accepted.tolist(), strict=True)]
        clock.lap("cache")
        yield Step(new, emitted, counts, list(texts.ended), clock.taken())
        clock.resume()


def _drafted(
    target: Target, drafter: Drafter, config: Config, texts: Texts, how: Processing, clock: Clock
) -> tuple[Trees, Tape]:
    """Trees of target ids, and the fresh tape that they and their verification read."""

    def answer(layer: Layer) -> Tensor:
        clock.lap("selection")
        logits = drafter(layer)
        clock.lap("draft")
        return logits

    tape = texts.tape(config)
    trees = draft_trees(answer, config, tape, how)
    if drafter.tokens is not None:
        trees = trees.mapped(drafter.tokens, target.vocab)
    clock.lap("selection")
    return trees, tape


def _seen(target: Target, texts: Texts, state: State, trees: Trees, clock: Clock) -> tuple[Seen, Tensor]:
    """What the target sees at all nodes, and its logits there. The root is the last token of the text."""
    tokens = torch.where(trees.tokens >= 0, trees.tokens, texts.last[:, None])
    seen = target.forward(state, tokens, trees.position_ids(state.lengths + 1), trees.ancestor_mask())
    clock.lap("target layers")
    logits = target.logits(seen.hidden)
    clock.lap("lm_head")
    return seen, logits


def _rows(features: Tensor, nodes: Tensor) -> Tensor:
    """features[r, nodes[r, i]] of features [R, T, F, H]; anything where a node is -1."""
    index = nodes.clamp(min=0)[..., None, None]
    return features.gather(1, index.expand(-1, -1, *features.shape[2:]))


def _room(target: Target, texts: Texts, depth: int) -> None:
    """Whether the positions of the target suffice, the draft nodes behind the last token included."""
    most = getattr(target.model.config, "max_position_embeddings", None)
    # In a batch a text that has ended is carried along, with all that its last step has emitted.
    depth = depth if len(texts.prompts) == 1 else 2 * depth
    longest = max(map(len, texts.prompts)) + texts.limit + depth
    if most is not None and longest > most:
        raise Unusable(
            f"the longest prompt, {texts.limit} new tokens and {depth} draft nodes behind them take {longest} "
            f"positions of the target's {most}: expected a shorter prompt or a lower limit"
        )


def _fits(target: Target, drafter: Drafter) -> None:
    """Whether the draft model speaks of the target's tokens and asks for hidden states that the target keeps."""
    if drafter.layers and drafter.layers != target.layers:
        raise Unusable(
            f"the target keeps its hidden states {target.layers}, but the draft model wants {drafter.layers}: load the "
            "target with those layers"
        )
    ids = drafter.tokens
    if ids is not None and (int(ids[0]) < 0 or bool((ids.diff() <= 0).any())):
        raise Unusable("the target's ids of the draft tokens do not increase, expected each token once, in order")
    if drafter.vocab > target.vocab if ids is None else not len(ids) == drafter.vocab or int(ids.max()) >= target.vocab:
        raise Unusable(
            f"the draft model has {drafter.vocab} tokens that are not among the {target.vocab} of the target, expected "
            "models with the same vocabulary"
        )
